// SPDX-License-Identifier: Apache-2.0
// CEL: expressions of admission policies and custom resource schemas, small and bounded.
//
//   Result<cel::Program> p = cel::Program::Compile("object.spec.replicas <= 5", {"object"});
//   cel::Budget budget;
//   const cel::Value v = p->Run({{"object", cel::Value::OfJson(object)}}, budget);
//   if (v.failed()) ... v.text() ...
//
// The language: all operators with their error rules, has, all, exists, exists_one, map, filter,
// conversions, texts, lists, times, optional values (.?x, [?x], orValue), Kubernetes' quantities,
// and regular expressions in linear time. Objects are dynamic: nothing is known of their types
// before they are looked at. Not there: messages, bind, two-variable macros, url, ip, authorizer;
// they are refused when the expression is compiled.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "devcluster/kinds/cel_syntax.h"
#include "devcluster/kinds/cel_value.h"
#include "kcm/rules/result.h"

namespace kcm::devcluster::kinds::cel {

// What one evaluation may still cost: a unit is about one step or ten bytes of text.
class Budget {
 public:
  explicit Budget(uint64_t units = 1'000'000) : left_(units) {}
  // False: used up, and it stays so.
  bool Spend(uint64_t units) {
    if (units > left_) {
      left_ = 0;
      over_ = true;
      return false;
    }
    left_ -= units;
    return true;
  }
  bool over() const { return over_; }
  uint64_t left() const { return left_; }
  static Value Exceeded() { return Value::Fail("operation cancelled: actual cost limit exceeded"); }

 private:
  uint64_t left_;
  bool over_ = false;
};

// Names and values an expression can see. Few: looked up in order, the last of a name counts.
using Variables = std::vector<std::pair<std::string, Value>>;

// Immutable, thread-safe, cheap to copy.
class Program {
 public:
  // `names`: the variables that will be there. Error kInvalid: `ERROR: <input>:1:3: undeclared
  // reference to ...`, with the line and a mark.
  static Result<Program> Compile(std::string text, const std::vector<std::string>& names);
  // Never throws; an error of the expression is a failed() value. What `variables` point into must
  // outlive the result.
  Value Run(const Variables& variables, Budget& budget) const;
  const std::string& text() const { return *text_; }
  // The type that the result has when that is certain without an object: a policy must give a bool.
  std::optional<Value::Type> ResultType() const { return type_; }

 private:
  Program() = default;
  std::shared_ptr<const std::string> text_;
  std::shared_ptr<const Expr> root_;
  std::optional<Value::Type> type_;
};

}  // namespace kcm::devcluster::kinds::cel
