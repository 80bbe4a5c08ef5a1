// SPDX-License-Identifier: Apache-2.0
// Functions and methods of CEL.
#pragma once
#include <optional>
#include <span>
#include <string_view>

#include "devcluster/kinds/cel.h"

namespace kcm::devcluster::kinds::cel {

struct Function {
  std::string_view name;
  bool method;                        // x.name(...): x is the first argument
  size_t least, most;                 // arguments, x included
  std::optional<Value::Type> result;  // when it is always the same
  // Arguments are no errors.
  Value (*call)(std::span<const Value> args, Budget& budget);
};

// nullptr: no such function or method.
const Function* FindFunction(std::string_view name, bool method);

Value NoOverload();
Value Overflow(const char* type);  // a result that type "integer", "timestamp", ... can not hold

// Go's form of a duration: "1h30m5.5s". nullopt when it is none.
std::optional<int64_t> ParseDuration(std::string_view text);
std::string DurationText(int64_t nanos);

// Groups that have files of their own.
std::span<const Function> TextFunctions();  // cel_text.cc
std::span<const Function> ListFunctions();  // cel_lists.cc: lists, optional values, quantities
std::span<const Function> ConversionFunctions();  // cel_conversions.cc: conversions and times

}  // namespace kcm::devcluster::kinds::cel
