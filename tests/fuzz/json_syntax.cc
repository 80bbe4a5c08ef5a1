// SPDX-License-Identifier: Apache-2.0
// What devcluster says of a text that is no JSON.
#include "devcluster/server/json_syntax.h"

#include <nlohmann/json.hpp>

#include "fuzz/try.h"

namespace kcm::fuzz {

void Try(std::string_view input) {
  const std::string wrong = devcluster::JsonSyntaxError(input);
  const bool has_nul = input.find('\0') != std::string_view::npos;  // the library's end of text
  if (has_nul) Check(!wrong.empty(), "JSON has no NUL");
  if (!has_nul && nlohmann::json::accept(input))
    Check(wrong.empty(), "good JSON is not complained about");
}

std::vector<std::string> Seeds() {
  return {R"({"a":[1,-2.5e+3,true,false,null,"x\u00e9\n"],"b":{}})", "[]", R"(  "\ud800\udc00" )",
          "nul"};
}

}  // namespace kcm::fuzz
