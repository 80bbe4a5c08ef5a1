// SPDX-License-Identifier: Apache-2.0
// The syntax tree of a CEL expression, and the parser that makes it.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "devcluster/kinds/cel_value.h"
#include "kcm/rules/result.h"

namespace kcm::devcluster::kinds::cel {

struct Expr {
  enum class Kind : uint8_t {
    kLiteral,      // value
    kName,         // name
    kSelect,       // args[0].name
    kHas,          // has(args[0].name)
    kIndex,        // args[0][args[1]]
    kCall,         // name(args...)
    kMethod,       // args[0].name(args[1]...)
    kOperator,     // name is the operator's text: one or two args
    kAnd,          // all args
    kOr,           // any arg
    kConditional,  // args[0] ? args[1] : args[2]
    kList,         // [args...]
    kMap,          // {args[0]: args[1], args[2]: ...}
    kMacro,  // args[0].name(variable, args[1] [, args[2]]): all, exists, exists_one, map, filter
  };
  Kind kind = Kind::kLiteral;
  bool optional = false;  // kSelect, kIndex: `.?name`, `[?i]`
  int depth = 1;
  size_t offset = 0;  // in the expression's text, bytes
  std::string name, variable;
  Value value;
  std::vector<std::unique_ptr<Expr>> args;
};
using ExprPtr = std::unique_ptr<Expr>;

constexpr size_t kMaxExpressionBytes = 64 * 1024;
constexpr int kMaxExpressionDepth = 200;  // of the tree: bounds the recursion of all that walk it

// `ERROR: <input>:LINE:COLUMN: WHY` with the line and a mark below it.
std::string ErrorAt(std::string_view text, size_t offset, std::string_view why);

// The tree. Error kInvalid: ErrorAt(...).
Result<ExprPtr> Parse(std::string_view text);

}  // namespace kcm::devcluster::kinds::cel
