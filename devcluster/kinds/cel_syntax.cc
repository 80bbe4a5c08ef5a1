// SPDX-License-Identifier: Apache-2.0
// Recursive descent with bounded depth (cel_syntax.h).
#include "devcluster/kinds/cel_syntax.h"

#include <algorithm>
#include <array>

#include "devcluster/kinds/cel_lexer.h"

namespace kcm::devcluster::kinds::cel {

namespace {

constexpr int kMaxNesting = 100;  // of the parser's own recursion
constexpr std::array<std::string_view, 16> kReserved = {
    "as", "break",  "const", "continue", "else", "false",   "for", "function",
    "if", "import", "in",    "let",      "loop", "package", "var", "while"};

bool Reserved(std::string_view name) {
  return std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end() || name == "true" ||
         name == "null" || name == "namespace" || name == "return" || name == "void";
}

class Parser {
 public:
  Parser(std::string_view text, std::vector<Token> tokens)
      : text_(text), tokens_(std::move(tokens)) {}

  Result<ExprPtr> Run() {
    ExprPtr root = Conditional();
    if (error_.empty() && Now().kind != Token::Kind::kEnd) Unexpected();
    if (!error_.empty()) return MakeError(Code::kInvalid, error_);
    return root;
  }

 private:
  const Token& Now() const { return tokens_[at_]; }
  bool IsSymbol(std::string_view s) const {
    return Now().kind == Token::Kind::kSymbol && Now().text == s;
  }
  bool Take(std::string_view symbol) {
    if (!error_.empty() || !IsSymbol(symbol)) return false;
    ++at_;
    return true;
  }
  void Fail(size_t offset, std::string_view why) {
    if (error_.empty()) error_ = ErrorAt(text_, offset, why);
  }
  void Unexpected() {
    const Token& t = Now();
    if (t.kind == Token::Kind::kEnd)
      return Fail(t.offset, "Syntax error: mismatched input '<EOF>'");
    const size_t end = at_ + 1 < tokens_.size() ? tokens_[at_ + 1].offset : text_.size();
    std::string shown(text_.substr(t.offset, std::min<size_t>(end - t.offset, 40)));
    while (!shown.empty() && shown.back() == ' ') shown.pop_back();
    Fail(t.offset, "Syntax error: unexpected input '" + shown + "'");
  }
  void Expect(std::string_view symbol) {
    if (!Take(symbol)) Unexpected();
  }

  // Finishes a node: knows its depth, refuses trees that are too deep to walk.
  ExprPtr Done(ExprPtr e) {
    for (const ExprPtr& arg : e->args) {
      if (arg) e->depth = std::max(e->depth, arg->depth + 1);
    }
    if (e->depth > kMaxExpressionDepth)
      Fail(e->offset, "expression is nested too deeply: split it into variables");
    return e;
  }
  static ExprPtr Make(Expr::Kind kind, size_t offset) {
    auto e = std::make_unique<Expr>();
    e->kind = kind;
    e->offset = offset;
    return e;
  }
  ExprPtr Operator(std::string name, size_t offset, ExprPtr left, ExprPtr right = nullptr) {
    ExprPtr e = Make(Expr::Kind::kOperator, offset);
    e->name = std::move(name);
    e->args.push_back(std::move(left));
    if (right) e->args.push_back(std::move(right));
    return Done(std::move(e));
  }

  ExprPtr Conditional() {
    ExprPtr none = Make(Expr::Kind::kLiteral, Now().offset);
    if (++nesting_ > kMaxNesting)
      Fail(Now().offset, "expression is nested too deeply: split it into variables");
    if (!error_.empty()) {
      --nesting_;
      return none;
    }
    ExprPtr e = Chain(Expr::Kind::kOr);
    const size_t offset = Now().offset;
    if (Take("?")) {
      ExprPtr c = Make(Expr::Kind::kConditional, offset);
      c->args.push_back(std::move(e));
      c->args.push_back(Chain(Expr::Kind::kOr));
      Expect(":");
      c->args.push_back(Conditional());
      e = Done(std::move(c));
    }
    --nesting_;
    return e;
  }

  // a || b || c, a && b && c: one node however long.
  ExprPtr Chain(Expr::Kind kind) {
    const bool is_or = kind == Expr::Kind::kOr;
    const auto operand = [&] { return is_or ? Chain(Expr::Kind::kAnd) : Relation(); };
    ExprPtr first = operand();
    const char* symbol = is_or ? "||" : "&&";
    if (!error_.empty() || !IsSymbol(symbol)) return first;
    ExprPtr e = Make(kind, Now().offset);
    e->args.push_back(std::move(first));
    while (Take(symbol)) e->args.push_back(operand());
    return Done(std::move(e));
  }

  ExprPtr Relation() {
    ExprPtr left = Sum();
    for (;;) {
      const Token& t = Now();
      static constexpr std::array<std::string_view, 6> kOperators = {"==", "!=", "<",
                                                                     "<=", ">",  ">="};
      const bool in = t.kind == Token::Kind::kName && t.text == "in";
      if (!error_.empty() ||
          (!in && (t.kind != Token::Kind::kSymbol ||
                   std::find(kOperators.begin(), kOperators.end(), t.text) == kOperators.end())))
        return left;
      std::string name = t.text;
      const size_t offset = t.offset;
      ++at_;
      left = Operator(std::move(name), offset, std::move(left), Sum());
    }
  }

  ExprPtr Sum() {
    ExprPtr left = Product();
    while (error_.empty() && (IsSymbol("+") || IsSymbol("-"))) {
      std::string name = Now().text;
      const size_t offset = Now().offset;
      ++at_;
      left = Operator(std::move(name), offset, std::move(left), Product());
    }
    return left;
  }

  ExprPtr Product() {
    ExprPtr left = Unary();
    while (error_.empty() && (IsSymbol("*") || IsSymbol("/") || IsSymbol("%"))) {
      std::string name = Now().text;
      const size_t offset = Now().offset;
      ++at_;
      left = Operator(std::move(name), offset, std::move(left), Unary());
    }
    return left;
  }

  ExprPtr Unary() {
    const size_t offset = Now().offset;
    if (!IsSymbol("!") && !IsSymbol("-")) return Member();
    const std::string symbol = Now().text;
    size_t count = 0;
    while (Take(symbol)) ++count;
    // The smallest int is the negation of a number that int can not hold.
    if (symbol == "-" && count == 1 && Now().kind == Token::Kind::kLiteral && Now().text == "int") {
      const Value v = Now().value;
      ++at_;
      ExprPtr e = Make(Expr::Kind::kLiteral, offset);
      e->value = v.Is(Value::Type::kUint) ? Value::Int(INT64_MIN) : Value::Int(-v.whole());
      return Suffixes(std::move(e));
    }
    ExprPtr e = Member();
    if (count % 2 == 0) {
      // !!x keeps the demand that x is a bool.
      if (count == 0) return e;
      return Operator(symbol, offset, Operator(symbol, offset, std::move(e)));
    }
    return Operator(symbol, offset, std::move(e));
  }

  ExprPtr Member() { return Suffixes(Primary()); }

  ExprPtr Suffixes(ExprPtr e) {
    for (;;) {
      const size_t offset = Now().offset;
      if (Take(".")) {
        const bool optional = Take("?");
        if (Now().kind != Token::Kind::kName) {
          Unexpected();
          return e;
        }
        std::string name = Now().text;
        ++at_;
        e = !optional && IsSymbol("(") ? Method(std::move(e), std::move(name), offset)
                                       : Select(std::move(e), std::move(name), offset, optional);
      } else if (Take("[")) {
        ExprPtr index = Make(Expr::Kind::kIndex, offset);
        index->optional = Take("?");
        index->args.push_back(std::move(e));
        index->args.push_back(Conditional());
        Expect("]");
        e = Done(std::move(index));
      } else {
        return e;
      }
      if (!error_.empty()) return e;
    }
  }

  ExprPtr Select(ExprPtr of, std::string name, size_t offset, bool optional) {
    ExprPtr e = Make(Expr::Kind::kSelect, offset);
    e->name = std::move(name);
    e->optional = optional;
    e->args.push_back(std::move(of));
    return Done(std::move(e));
  }

  std::vector<ExprPtr> List(std::string_view close) {
    std::vector<ExprPtr> out;
    if (Take(close)) return out;
    do {
      if (close == "]" && IsSymbol("]")) break;  // a trailing comma
      out.push_back(Conditional());
    } while (Take(","));
    Expect(close);
    return out;
  }

  ExprPtr Method(ExprPtr of, std::string name, size_t offset) {
    Expect("(");
    std::vector<ExprPtr> args = List(")");
    if (name == "existsOne") name = "exists_one";
    const bool macro = name == "all" || name == "exists" || name == "exists_one" || name == "map" ||
                       name == "filter";
    ExprPtr e = Make(macro ? Expr::Kind::kMacro : Expr::Kind::kMethod, offset);
    e->args.push_back(std::move(of));
    if (macro && error_.empty()) {
      const size_t most = name == "map" ? 3 : 2;
      if (args.size() < 2 || args.size() > most) {
        Fail(offset, name + "() takes a variable and an expression");
      } else if (args[0]->kind != Expr::Kind::kName) {
        Fail(args[0]->offset, "argument must be a simple name");
      } else {
        e->variable = args[0]->name;
        args.erase(args.begin());
      }
    }
    e->name = std::move(name);
    for (ExprPtr& arg : args) e->args.push_back(std::move(arg));
    return Done(std::move(e));
  }

  ExprPtr Call(std::string name, size_t offset) {
    std::vector<ExprPtr> args = List(")");
    if (name == "has") {
      if (args.size() != 1 || args[0]->kind != Expr::Kind::kSelect || args[0]->optional) {
        Fail(offset, "invalid argument to has() macro: give it a field, as in has(object.spec)");
      } else {
        args[0]->kind = Expr::Kind::kHas;
        return std::move(args[0]);
      }
    }
    ExprPtr e = Make(Expr::Kind::kCall, offset);
    e->name = std::move(name);
    e->args = std::move(args);
    return Done(std::move(e));
  }

  ExprPtr Primary() {
    const Token& t = Now();
    const size_t offset = t.offset;
    ExprPtr e = Make(Expr::Kind::kLiteral, offset);
    if (!error_.empty()) return e;
    if (t.kind == Token::Kind::kLiteral) {
      if (t.text == "int" && t.value.Is(Value::Type::kUint)) Fail(offset, "invalid int literal");
      e->value = t.value;
      ++at_;
      return e;
    }
    if (Take("(")) {
      e = Conditional();
      Expect(")");
      return e;
    }
    if (Take("[")) {
      e = Make(Expr::Kind::kList, offset);
      e->args = List("]");
      return Done(std::move(e));
    }
    if (Take("{")) return MapLiteral(offset);
    Take(".");
    if (Now().kind != Token::Kind::kName) {
      Unexpected();
      return e;
    }
    std::string name = Now().text;
    ++at_;
    if (name == "true" || name == "false") {
      e->value = Value::Bool(name == "true");
      return e;
    }
    if (name == "null") return e;
    if (Take("(")) return Call(std::move(name), offset);
    if (Reserved(name)) Fail(offset, "Syntax error: reserved identifier: " + name);
    e = Make(Expr::Kind::kName, offset);
    e->name = std::move(name);
    return e;
  }

  ExprPtr MapLiteral(size_t offset) {
    ExprPtr e = Make(Expr::Kind::kMap, offset);
    if (Take("}")) return e;
    do {
      if (IsSymbol("}")) break;
      e->args.push_back(Conditional());
      Expect(":");
      e->args.push_back(Conditional());
    } while (Take(","));
    Expect("}");
    return Done(std::move(e));
  }

  std::string_view text_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int nesting_ = 0;
  std::string error_;
};

}  // namespace

std::string ErrorAt(std::string_view text, size_t offset, std::string_view why) {
  offset = std::min(offset, text.size());
  const size_t before = offset == 0 ? std::string_view::npos : text.rfind('\n', offset - 1);
  const size_t start = before == std::string_view::npos ? 0 : before + 1;
  const auto line =
      1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(start), '\n');
  const std::string_view shown = text.substr(start, text.find('\n', start) - start);
  std::string out =
      "ERROR: <input>:" + std::to_string(line) + ":" + std::to_string(offset - start + 1) + ": ";
  out.append(why).append("\n | ").append(shown).append("\n | ");
  return out.append(offset - start, '.').append("^");
}

Result<ExprPtr> Parse(std::string_view text) {
  if (text.size() > kMaxExpressionBytes)
    return MakeError(Code::kInvalid, "ERROR: <input>:1:1: expression is longer than " +
                                         std::to_string(kMaxExpressionBytes) + " bytes");
  std::vector<Token> tokens;
  std::string why;
  size_t offset = 0;
  if (!Tokenize(text, &tokens, &why, &offset))
    return MakeError(Code::kInvalid, ErrorAt(text, offset, why));
  return Parser(text, std::move(tokens)).Run();
}

}  // namespace kcm::devcluster::kinds::cel
