// SPDX-License-Identifier: Apache-2.0
// Evaluation of CEL (cel.h).
#include "devcluster/kinds/cel.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "devcluster/kinds/cel_check.h"
#include "devcluster/kinds/cel_functions.h"

namespace kcm::devcluster::kinds::cel {

namespace {

using Type = Value::Type;
using Kind = Expr::Kind;

// ---- arithmetic ----

template <class T>
Value Whole(std::string_view op, T a, T b) {
  T out = 0;
  constexpr bool kSigned = std::is_signed_v<T>;
  const char* type = kSigned ? "integer" : "unsigned integer";
  const auto wrap = [](T v) {
    if constexpr (kSigned) {
      return Value::Int(v);
    } else {
      return Value::Uint(v);
    }
  };
  if (op == "/" || op == "%") {
    if (b == 0) return Value::Fail(op == "/" ? "division by zero" : "modulus by zero");
    if constexpr (kSigned) {
      if (a == std::numeric_limits<T>::min() && b == T(-1)) return Overflow(type);
    }
    return wrap(op == "/" ? a / b : a % b);
  }
  const bool over = op == "+"   ? __builtin_add_overflow(a, b, &out)
                    : op == "-" ? __builtin_sub_overflow(a, b, &out)
                                : __builtin_mul_overflow(a, b, &out);
  return over ? Overflow(type) : wrap(out);
}

Value Real(std::string_view op, double a, double b) {
  if (op == "+") return Value::Double(a + b);
  if (op == "-") return Value::Double(a - b);
  if (op == "*") return Value::Double(a * b);
  if (op == "/") return Value::Double(a / b);
  return NoOverload();
}

Value TimeSum(std::string_view op, const Value& a, const Value& b) {
  int64_t out = 0;
  const bool at = a.Is(Type::kTimestamp), bt = b.Is(Type::kTimestamp);
  if (op == "-" && bt && !at) return NoOverload();
  if (op == "+" && at && bt) return NoOverload();
  const bool over = op == "+" ? __builtin_add_overflow(a.whole(), b.whole(), &out)
                              : __builtin_sub_overflow(a.whole(), b.whole(), &out);
  if (over) return Overflow(at != bt ? "timestamp" : "duration");
  return at != bt ? Value::Timestamp(out) : Value::Duration(out);
}

Value Concatenate(const Value& a, const Value& b, Budget& budget) {
  if (a.Is(Type::kList)) {
    if (!budget.Spend(a.size() + b.size())) return Budget::Exceeded();
    List out;
    out.reserve(a.size() + b.size());
    for (size_t i = 0; i < a.size(); ++i) out.push_back(a.At(i));
    for (size_t i = 0; i < b.size(); ++i) out.push_back(b.At(i));
    return Value::Of(std::move(out));
  }
  if (!budget.Spend((a.text().size() + b.text().size()) / 10 + 1)) return Budget::Exceeded();
  return a.Is(Type::kString) ? Value::String(a.text() + b.text())
                             : Value::Bytes(a.text() + b.text());
}

Value Arithmetic(std::string_view op, const Value& a, const Value& b, Budget& budget) {
  const auto time = [](const Value& v) { return v.Is(Type::kTimestamp) || v.Is(Type::kDuration); };
  if ((op == "+" || op == "-") && time(a) && time(b)) return TimeSum(op, a, b);
  if (a.type() != b.type()) return NoOverload();
  switch (a.type()) {
    case Type::kInt:
      return Whole(op, a.whole(), b.whole());
    case Type::kUint:
      return Whole(op, a.natural(), b.natural());
    case Type::kDouble:
      return Real(op, a.real(), b.real());
    case Type::kString:
    case Type::kBytes:
    case Type::kList:
      return op == "+" ? Concatenate(a, b, budget) : NoOverload();
    default:
      return NoOverload();
  }
}

// ---- evaluation ----

std::string Unescaped(std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> kEscapes[] = {
      {"__underscores__", "__"}, {"__dot__", "."}, {"__dash__", "-"}, {"__slash__", "/"}};
  std::string out;
  if (name.size() > 4 && name.starts_with("__") && name.ends_with("__")) {
    const std::string_view inner = name.substr(2, name.size() - 4);
    if (inner.find("__") == std::string_view::npos && inner != "dot" && inner != "dash" &&
        inner != "slash" && inner != "underscores")
      return std::string(inner);
  }
  for (size_t i = 0; i < name.size();) {
    bool found = false;
    for (const auto& [escape, text] : kEscapes) {
      if (name.substr(i, escape.size()) != escape) continue;
      out += text;
      i += escape.size();
      found = true;
      break;
    }
    if (!found) out += name[i++];
  }
  return out;
}

std::string KeyText(const Value& key) {
  if (key.Is(Type::kString)) return key.text();
  if (key.Is(Type::kInt)) return std::to_string(key.whole());
  if (key.Is(Type::kUint)) return std::to_string(key.natural());
  if (key.Is(Type::kBool)) return key.truth() ? "true" : "false";
  return "<" + key.TypeName() + ">";
}

class Evaluator {
 public:
  Evaluator(const Variables& variables, Budget& budget) : variables_(variables), budget_(budget) {}

  Value Eval(const Expr& e) {
    if (!budget_.Spend(1)) return Budget::Exceeded();
    switch (e.kind) {
      case Kind::kLiteral:
        return e.value;
      case Kind::kName:
        return Name(e.name);
      case Kind::kSelect:
        return Select(Eval(*e.args[0]), e.name, e.optional);
      case Kind::kHas:
        return Has(Eval(*e.args[0]), e.name);
      case Kind::kIndex: {
        const Value of = Eval(*e.args[0]);
        if (of.failed()) return of;
        const Value index = Eval(*e.args[1]);
        return index.failed() ? index : Index(of, index, e.optional);
      }
      case Kind::kCall:
      case Kind::kMethod:
        return Call(e);
      case Kind::kOperator:
        return Operator(e);
      case Kind::kAnd:
      case Kind::kOr:
        return Logic(e, e.kind == Kind::kOr);
      case Kind::kConditional: {
        const Value test = Eval(*e.args[0]);
        if (test.failed()) return test;
        if (!test.Is(Type::kBool)) return NoOverload();
        return Eval(*e.args[test.truth() ? 1 : 2]);
      }
      case Kind::kList: {
        List items;
        for (const ExprPtr& arg : e.args) {
          items.push_back(Eval(*arg));
          if (items.back().failed()) return items.back();
        }
        return Value::Of(std::move(items));
      }
      case Kind::kMap:
        return MapOf(e);
      case Kind::kMacro:
        return Macro(e);
    }
    return NoOverload();
  }

 private:
  Value Name(const std::string& name) const {
    for (auto it = locals_.rbegin(); it != locals_.rend(); ++it) {
      if (*it->first == name) return it->second;
    }
    for (auto it = variables_.rbegin(); it != variables_.rend(); ++it) {
      if (it->first == name) return it->second;
    }
    if (IsTypeName(name)) return Value::TypeNamed(name);
    return Value::Fail("no such attribute(s): " + name);
  }

  static std::optional<Value> Member(const Value& of, const std::string& name) {
    if (std::optional<Value> v = of.Get(Value::String(name))) return v;
    if (name.find("__") == std::string::npos) return std::nullopt;
    return of.Get(Value::String(Unescaped(name)));
  }

  static Value Select(const Value& of, const std::string& name, bool optional) {
    if (of.failed()) return of;
    if (of.Is(Type::kOptional)) {
      const std::optional<Value> held = of.held();
      return held ? Select(*held, name, true) : Value::None();
    }
    if (!of.Is(Type::kMap)) {
      if (optional && of.Is(Type::kNull)) return Value::None();
      return Value::Fail("no such key: " + name);
    }
    std::optional<Value> v = Member(of, name);
    if (optional) return v ? (v->failed() ? *v : Value::Some(*v)) : Value::None();
    return v ? *v : Value::Fail("no such key: " + name);
  }

  static Value Has(const Value& of, const std::string& name) {
    if (of.failed()) return of;
    if (of.Is(Type::kOptional)) {
      const std::optional<Value> held = of.held();
      return held ? Has(*held, name) : Value::Bool(false);
    }
    if (!of.Is(Type::kMap)) return Value::Fail("no such key: " + name);
    return Value::Bool(Member(of, name).has_value());
  }

  // The position that an index names, nullopt when it is no whole number.
  static std::optional<int64_t> Position(const Value& index) {
    if (index.Is(Type::kInt)) return index.whole();
    if (index.Is(Type::kUint))
      return static_cast<int64_t>(std::min<uint64_t>(index.natural(), INT64_MAX));
    if (index.Is(Type::kDouble) && std::floor(index.real()) == index.real() &&
        std::fabs(index.real()) < 9e15)
      return static_cast<int64_t>(index.real());
    return std::nullopt;
  }

  static Value Index(const Value& of, const Value& index, bool optional) {
    if (of.Is(Type::kOptional)) {
      const std::optional<Value> held = of.held();
      return held ? Index(*held, index, true) : Value::None();
    }
    if (of.Is(Type::kList)) {
      const std::optional<int64_t> at = Position(index);
      if (!at) return Value::Fail("unsupported index type '" + index.TypeName() + "' in list");
      const bool inside = *at >= 0 && static_cast<uint64_t>(*at) < of.size();
      if (optional) return inside ? Value::Some(of.At(static_cast<size_t>(*at))) : Value::None();
      return inside ? of.At(static_cast<size_t>(*at))
                    : Value::Fail("index out of bounds: " + std::to_string(*at));
    }
    if (!of.Is(Type::kMap)) return optional && of.Is(Type::kNull) ? Value::None() : NoOverload();
    std::optional<Value> v = of.Get(index);
    if (optional) return v ? Value::Some(*v) : Value::None();
    return v ? *v : Value::Fail("no such key: " + KeyText(index));
  }

  Value Call(const Expr& e) {
    const bool space = IsNamespace(e);
    const Function* f =
        FindFunction(space ? "optional." + e.name : e.name, e.kind == Kind::kMethod && !space);
    if (f == nullptr) return NoOverload();
    std::vector<Value> args;
    for (size_t i = space ? 1 : 0; i < e.args.size(); ++i) {
      args.push_back(Eval(*e.args[i]));
      if (args.back().failed()) return args.back();
    }
    return f->call(args, budget_);
  }

  Value Operator(const Expr& e) {
    const Value a = Eval(*e.args[0]);
    if (a.failed()) return a;
    if (e.args.size() == 1) {
      if (e.name == "!") return a.Is(Type::kBool) ? Value::Bool(!a.truth()) : NoOverload();
      if (a.Is(Type::kDouble)) return Value::Double(-a.real());
      if (a.Is(Type::kInt)) return Whole<int64_t>("-", 0, a.whole());
      if (a.Is(Type::kDuration) && a.whole() != INT64_MIN) return Value::Duration(-a.whole());
      return NoOverload();
    }
    const Value b = Eval(*e.args[1]);
    if (b.failed()) return b;
    if (e.name == "==" || e.name == "!=") {
      uint64_t cost = 0;
      const bool equal = Equal(a, b, &cost);
      return budget_.Spend(cost) ? Value::Bool(equal == (e.name == "==")) : Budget::Exceeded();
    }
    if (e.name == "in") return In(a, b);
    if (e.name[0] == '<' || e.name[0] == '>') {
      const std::optional<int> order = Compare(a, b);
      if (!order) {
        // A NaN is neither less nor more than anything.
        return a.IsNumber() && b.IsNumber() ? Value::Bool(false) : NoOverload();
      }
      const bool equal = *order == 0 && e.name.size() == 2;
      return Value::Bool(equal || (e.name[0] == '<' ? *order < 0 : *order > 0));
    }
    return Arithmetic(e.name, a, b, budget_);
  }

  Value In(const Value& what, const Value& where) {
    if (where.Is(Type::kMap)) return Value::Bool(where.Get(what).has_value());
    if (!where.Is(Type::kList)) return NoOverload();
    uint64_t cost = 0;
    for (size_t i = 0; i < where.size(); ++i) {
      if (Equal(what, where.At(i), &cost)) return Value::Bool(true);
      if (!budget_.Spend(cost)) return Budget::Exceeded();
      cost = 0;
    }
    return Value::Bool(false);
  }

  // The decisive value wins over errors, on whichever side it stands.
  Value Logic(const Expr& e, bool decisive) {
    std::optional<Value> error;
    for (const ExprPtr& arg : e.args) {
      Value v = Eval(*arg);
      if (v.Is(Type::kBool)) {
        if (v.truth() == decisive) return v;
      } else if (!error) {
        error = v.failed() ? v : NoOverload();
      }
      if (budget_.over()) return Budget::Exceeded();
    }
    return error ? *error : Value::Bool(!decisive);
  }

  Value MapOf(const Expr& e) {
    Map entries;
    uint64_t cost = 0;
    for (size_t i = 0; i + 1 < e.args.size(); i += 2) {
      Value key = Eval(*e.args[i]);
      if (key.failed()) return key;
      if (!key.Is(Type::kString) && !key.Is(Type::kInt) && !key.Is(Type::kUint) &&
          !key.Is(Type::kBool))
        return Value::Fail("unsupported key type");
      for (const MapEntry& entry : entries) {
        if (Equal(entry.key, key, &cost))
          return Value::Fail("insert failed: key " + KeyText(key) + " already exists");
      }
      if (!budget_.Spend(cost)) return Budget::Exceeded();
      cost = 0;
      Value value = Eval(*e.args[i + 1]);
      if (value.failed()) return value;
      entries.push_back({std::move(key), std::move(value)});
    }
    return Value::Of(std::move(entries));
  }

  // Keeps a macro's variable while its body runs.
  class Local {
   public:
    Local(Evaluator* of, const std::string* name, Value value) : of_(of) {
      of->locals_.emplace_back(name, std::move(value));
    }
    ~Local() { of_->locals_.pop_back(); }
    Local(const Local&) = delete;
    Local& operator=(const Local&) = delete;

   private:
    Evaluator* of_;
  };

  Value Macro(const Expr& e) {
    const Value range = Eval(*e.args[0]);
    if (range.failed()) return range;
    if (!range.Is(Type::kList) && !range.Is(Type::kMap))
      return Value::Fail("expression of type '" + range.TypeName() +
                         "' cannot be range of a comprehension (must be list, map, or dynamic)");
    const bool is_map = range.Is(Type::kMap);
    const List keys = is_map ? range.Keys() : List{};
    List out;
    std::optional<Value> error;
    int64_t hits = 0;
    for (size_t i = 0; i < range.size(); ++i) {
      const Value item = is_map ? keys[i] : range.At(i);
      const Local local(this, &e.variable, item);
      Value v = Eval(*e.args[1]);
      if (budget_.over()) return Budget::Exceeded();
      if (e.name == "map" && e.args.size() == 2) {
        if (v.failed()) return v;
        out.push_back(std::move(v));
        continue;
      }
      const bool truth = v.Is(Type::kBool) && v.truth();
      if (!v.Is(Type::kBool)) {
        if (!v.failed()) v = NoOverload();
        // all and exists go on: a later item may decide.
        if (e.name != "all" && e.name != "exists") return v;
        if (!error) error = v;
        continue;
      }
      if (e.name == "all" && !truth) return Value::Bool(false);
      if (e.name == "exists" && truth) return Value::Bool(true);
      if (!truth) continue;
      ++hits;
      if (e.name == "filter") out.push_back(item);
      if (e.name == "map") {
        Value mapped = Eval(*e.args[2]);
        if (mapped.failed()) return mapped;
        out.push_back(std::move(mapped));
      }
    }
    if (error) return *error;
    if (e.name == "all") return Value::Bool(true);
    if (e.name == "exists") return Value::Bool(false);
    if (e.name == "exists_one") return Value::Bool(hits == 1);
    return Value::Of(std::move(out));
  }

  const Variables& variables_;
  Budget& budget_;
  std::vector<std::pair<const std::string*, Value>> locals_;
};

}  // namespace

Result<Program> Program::Compile(std::string text, const std::vector<std::string>& names) {
  Result<ExprPtr> root = Parse(text);
  if (!root.ok()) return root.error();
  Program p;
  std::string error;
  p.type_ = CheckNames(text, **root, names, &error);
  if (!error.empty()) return MakeError(Code::kInvalid, error);
  p.root_ = std::move(*root);
  p.text_ = std::make_shared<const std::string>(std::move(text));
  return p;
}

Value Program::Run(const Variables& variables, Budget& budget) const {
  return Evaluator(variables, budget).Eval(*root_);
}

}  // namespace kcm::devcluster::kinds::cel
