// SPDX-License-Identifier: Apache-2.0
// The check before the run (cel_check.h).
#include "devcluster/kinds/cel_check.h"

#include <algorithm>

#include "devcluster/kinds/cel_functions.h"
#include "devcluster/kinds/regex.h"

namespace kcm::devcluster::kinds::cel {

namespace {

using Type = Value::Type;
using Kind = Expr::Kind;

constexpr std::string_view kTypeNames[] = {"bool",  "int",  "uint", "double",    "string",
                                           "bytes", "list", "map",  "null_type", "type"};

class Checker {
 public:
  Checker(std::string_view text, std::vector<std::string> names)
      : text_(text), names_(std::move(names)) {}

  // The type of the result when it is certain.
  std::optional<Type> Check(const Expr& e) {
    if (!error.empty()) return std::nullopt;
    switch (e.kind) {
      case Kind::kLiteral:
        return e.value.type();
      case Kind::kName:
        return Name(e);
      case Kind::kHas:
        Check(*e.args[0]);
        return Type::kBool;
      case Kind::kMacro:
        return Macro(e);
      case Kind::kCall:
      case Kind::kMethod:
        return Call(e);
      case Kind::kAnd:
      case Kind::kOr:
        for (const ExprPtr& arg : e.args) NeedBool(*arg, e.kind == Kind::kAnd ? "&&" : "||");
        return Type::kBool;
      case Kind::kConditional: {
        NeedBool(*e.args[0], "?:");
        const std::optional<Type> x = Check(*e.args[1]), y = Check(*e.args[2]);
        return x == y ? x : std::nullopt;
      }
      case Kind::kOperator:
        return Operator(e);
      default:
        for (const ExprPtr& arg : e.args) Check(*arg);
        if (e.kind == Kind::kList) return Type::kList;
        if (e.kind == Kind::kMap) return Type::kMap;
        return e.optional ? std::optional(Type::kOptional) : std::nullopt;
    }
  }
  std::string error;

 private:
  void Fail(const Expr& e, const std::string& why) {
    if (error.empty()) error = ErrorAt(text_, e.offset, why);
  }
  void NeedBool(const Expr& e, const std::string& name) {
    const std::optional<Type> t = Check(e);
    if (t && *t != Type::kBool)
      Fail(e, "found no matching overload for '_" + name + "_' applied to a value that is no bool");
  }
  std::optional<Type> Name(const Expr& e) {
    if (std::find(names_.begin(), names_.end(), e.name) != names_.end()) return std::nullopt;
    if (IsTypeName(e.name)) return Type::kType;
    Fail(e, "undeclared reference to '" + e.name + "' (in container '')");
    return std::nullopt;
  }
  std::optional<Type> Operator(const Expr& e) {
    std::vector<std::optional<Type>> types;
    for (const ExprPtr& arg : e.args) types.push_back(Check(*arg));
    if (e.name == "!") {
      if (types[0] && *types[0] != Type::kBool)
        Fail(e, "found no matching overload for '!_' applied to a value that is no bool");
      return Type::kBool;
    }
    if (e.name != "+" && e.name != "-" && e.name != "*" && e.name != "/" && e.name != "%")
      return Type::kBool;
    if (types.size() == 2 && types[0] && types[1] && *types[0] == *types[1] &&
        (*types[0] == Type::kInt || *types[0] == Type::kUint || *types[0] == Type::kDouble ||
         *types[0] == Type::kString))
      return types[0];
    return types.size() == 1 ? types[0] : std::nullopt;
  }
  std::optional<Type> Macro(const Expr& e) {
    Check(*e.args[0]);
    names_.push_back(e.variable);
    for (size_t i = 1; i < e.args.size(); ++i) Check(*e.args[i]);
    names_.pop_back();
    return e.name == "map" || e.name == "filter" ? Type::kList : Type::kBool;
  }
  std::optional<Type> Call(const Expr& e) {
    const bool space = IsNamespace(e);
    const bool method = e.kind == Kind::kMethod && !space;
    const std::string name = space ? "optional." + e.name : e.name;
    for (size_t i = space ? 1 : 0; i < e.args.size(); ++i) Check(*e.args[i]);
    const Function* f = FindFunction(name, method);
    if (f == nullptr) {
      Fail(e, "undeclared reference to '" + name + "' (in container '')");
      return std::nullopt;
    }
    const size_t count = e.args.size() - (space ? 1 : 0);
    if (count < f->least || count > f->most) {
      Fail(e, "found no matching overload for '" + name + "' applied to " + std::to_string(count) +
                  " arguments");
    }
    if (e.args.empty()) return f->result;
    const Expr& last = *e.args.back();
    if ((name == "matches" || name == "find" || name == "findAll") && last.kind == Kind::kLiteral &&
        last.value.Is(Type::kString)) {
      const Result<Regex> regex = Regex::Compile(last.value.text());
      if (!regex.ok()) Fail(last, "invalid matches argument: " + regex.error().message);
    }
    return f->result;
  }

  std::string_view text_;
  std::vector<std::string> names_;
};

}  // namespace

bool IsTypeName(std::string_view name) {
  return std::find(std::begin(kTypeNames), std::end(kTypeNames), name) != std::end(kTypeNames);
}

bool IsNamespace(const Expr& e) {
  return e.kind == Kind::kMethod && e.args[0]->kind == Kind::kName && e.args[0]->name == "optional";
}

std::optional<Value::Type> CheckNames(std::string_view text, const Expr& root,
                                      const std::vector<std::string>& names, std::string* error) {
  Checker checker(text, names);
  const std::optional<Type> type = checker.Check(root);
  *error = std::move(checker.error);
  return type;
}

}  // namespace kcm::devcluster::kinds::cel
