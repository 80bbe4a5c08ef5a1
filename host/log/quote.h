// SPDX-License-Identifier: Apache-2.0
// How values are written in log lines: the quoting of klog's text form and of JSON
// (spec/host.md 12.1, 12.2). Pure. Broken UTF-8 is made visible, never passed through.
#pragma once
#include <string>
#include <string_view>

namespace kcm::host::log {

// "a\tb" with quotes: Go syntax. Printable UTF-8 stays, the rest becomes \n, \x07, \u200b, \xff (a
// broken byte).
void AppendQuoted(std::string& out, std::string_view text);
// ="value", or for a value with newlines =< with one indented line per line.
void AppendTextValue(std::string& out, std::string_view text);
// A JSON string with quotes; a broken byte becomes \ufffd.
void AppendJsonString(std::string& out, std::string_view text);
// Shortest form that reads back as the same number. JSON: NaN and infinities become strings.
void AppendTextDouble(std::string& out, double value);
void AppendJsonDouble(std::string& out, double value);

}  // namespace kcm::host::log
