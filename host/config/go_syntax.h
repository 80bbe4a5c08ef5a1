// SPDX-License-Identifier: Apache-2.0
// Go's textual forms that operators meet on the command line: booleans, integers, floats, lists,
// CSV.
//
// Parsers answer with the value or with the reason in Go's words (`strconv.ParseInt: parsing "x":
// invalid syntax`), because scripts match on these texts (spec/host.md 1.1 rule 6). Pure functions,
// any thread.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kcm/rules/result.h"

namespace kcm::host::config {

// `["a" "b"]`, Go's %q of a string slice.
std::string GoQuoteList(const std::vector<std::string>& list);

// As rules::ParseGoBool.
Result<bool> ParseGoBool(std::string_view text);
// Base prefix 0x, 0o, 0b or leading 0, underscores between digits; `bits` is 32 or 64.
Result<int64_t> ParseGoInt(std::string_view text, int bits);
// Decimal only, at most 2^bits - 1.
Result<int64_t> ParseGoUint(std::string_view text, int bits);
// With `bits` 32 the value is rounded to float first; the returned double is the shortest decimal
// of that float.
Result<double> ParseGoFloat(std::string_view text, int bits);
// Shortest form that reads back, %g as Go prints it: 20, 0.1, 1e+06.
std::string FormatGoFloat(double value);
// One CSV record; "" is no field at all.
Result<std::vector<std::string>> ParseCsv(std::string_view text);
std::string FormatCsv(const std::vector<std::string>& fields);

}  // namespace kcm::host::config
