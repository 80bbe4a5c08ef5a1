// SPDX-License-Identifier: Apache-2.0
// The check of a syntax tree before it runs: names, functions, numbers of arguments, and types
// where they are certain.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "devcluster/kinds/cel_syntax.h"

namespace kcm::devcluster::kinds::cel {

// The type of the result when it is certain. `*error` gets the first mistake, as ErrorAt shows it.
std::optional<Value::Type> CheckNames(std::string_view text, const Expr& root,
                                      const std::vector<std::string>& names, std::string* error);

// Whether `name` is a type that expressions can name.
bool IsTypeName(std::string_view name);
// `optional.of(x)`, `optional.none()` look like methods of a variable `optional`.
bool IsNamespace(const Expr& e);

}  // namespace kcm::devcluster::kinds::cel
