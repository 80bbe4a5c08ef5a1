// SPDX-License-Identifier: Apache-2.0
// GoQuote: a text in double quotes as the API server's messages show values ("\"a\\\"b\"").
#pragma once
#include <string>
#include <string_view>

namespace kcm::rules {

// `"` and `\` escaped, control characters as \n \r \t \a \b \f \v or \x1f, broken UTF-8 bytes as
// \xff, DEL as \x7f; other characters as they are.
std::string GoQuote(std::string_view text);

}  // namespace kcm::rules
