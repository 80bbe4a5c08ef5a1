// SPDX-License-Identifier: Apache-2.0
// Paths of printer columns.
#include "devcluster/kinds/json_path.h"

#include <nlohmann/json.hpp>

#include "fuzz/try.h"

namespace kcm::fuzz {

void Try(std::string_view input) {
  static const devcluster::Json object = devcluster::Json::parse(
      R"({"a":{"b":[{"type":"Ready","status":"True"},{"type":"x"},3]},"c.d":"e"})");
  const auto path = devcluster::kinds::JsonPath::Parse(input);
  if (!path) return;
  for (const devcluster::Json* found : path->Find(object)) (void)found->dump();
}

std::vector<std::string> Seeds() {
  return {".a.b[0].status", ".a['b'][*].type", R"(.a.b[?(@.type=="Ready")].status)", R"(.c\.d)",
          "{.a}",           ".a.b[-1]"};
}

}  // namespace kcm::fuzz
