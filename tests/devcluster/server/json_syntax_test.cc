// SPDX-License-Identifier: Apache-2.0
// Texts that are no JSON, in the API server's words.
#include "devcluster/server/json_syntax.h"

#include <gtest/gtest.h>

namespace kcm::devcluster {
namespace {

TEST(JsonSyntax, NamesTheCharacterAndThePlace) {
  const struct {
    const char* text;
    const char* want;
  } rows[] = {
      {"{\"a\": [1, 2.5e-3, true, null, \"\\u00e9\"]}", ""},
      {" 7 ", ""},
      {"", "unexpected end of JSON input"},
      {"{\"a\":1", "unexpected end of JSON input"},
      {"\"open", "unexpected end of JSON input"},
      {"nojson", "invalid character 'o' in literal null (expecting 'u')"},
      {"{bad}", "invalid character 'b' looking for beginning of object key string"},
      {"{\"a\":1,}", "invalid character '}' looking for beginning of object key string"},
      {"[1,]", "invalid character ']' looking for beginning of value"},
      {"{\"a\" 1}", "invalid character '1' after object key"},
      {"{\"a\":1 2}", "invalid character '2' after object key:value pair"},
      {"[1 2]", "invalid character '2' after array element"},
      {"{} x", "invalid character 'x' after top-level value"},
      {"01", "invalid character '1' after top-level value"},
      {"-x", "invalid character 'x' in numeric literal"},
      {"1.x", "invalid character 'x' after decimal point in numeric literal"},
      {"1ex", "invalid character 'x' in exponent of numeric literal"},
      {"\"\\q\"", "invalid character 'q' in string escape code"},
      {"\"\\u12x4\"", "invalid character 'x' in \\u hexadecimal character escape"},
      {"\"a\nb\"", "invalid character '\\n' in string literal"},
      {"'a'", "invalid character '\\'' looking for beginning of value"},
      {"\xc3\xa9", "invalid character '\xc3\x83' looking for beginning of value"},
  };
  for (const auto& row : rows) EXPECT_EQ(JsonSyntaxError(row.text), row.want) << row.text;
}

}  // namespace
}  // namespace kcm::devcluster
