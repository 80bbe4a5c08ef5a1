// SPDX-License-Identifier: Apache-2.0
// JSONPath as printer columns use it: .a.b, ['a.b'], [0], [*], [?(@.type=="Ready")].
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "devcluster/api/strategy.h"

namespace kcm::devcluster::kinds {

// A value type; thread-safe as any value.
class JsonPath {
 public:
  // nullopt when the text is no path of the kinds above.
  static std::optional<JsonPath> Parse(std::string_view text);
  // Everything that the path names, in order. Pointers into `object`.
  std::vector<const Json*> Find(const Json& object) const;

 private:
  struct Step {
    enum class Kind : uint8_t { kMember, kIndex, kAll, kFilter } kind = Kind::kMember;
    std::string name, value;  // kFilter: a member and the text it must have
    int64_t index = 0;
  };
  std::vector<Step> steps_;
};

}  // namespace kcm::devcluster::kinds
