// SPDX-License-Identifier: Apache-2.0
// Canonical revision data.
#include "kcm/rules/controller_revision.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kcm/rules/equality.h"
#include "kcm/rules/hash.h"
#include "kcm/rules/json_text.h"

namespace kcm::rules {

std::string RevisionData(Node pod_template) {
  std::vector<std::pair<std::string_view, Node>> members;
  for (const auto& entry : pod_template.Entries()) {
    if (entry.first != "$patch") members.push_back(entry);
  }
  std::sort(members.begin(), members.end(),
            [](const auto& x, const auto& y) { return x.first < y.first; });
  // `$` sorts before every character that begins a field name.
  std::string out = R"({"spec":{"template":{"$patch":"replace")";
  for (const auto& [name, value] : members) {
    out += ',';
    AppendJsonString(out, name);
    out += ':';
    AppendJson(out, value, JsonForm::kCanonical);
  }
  return out + "}}}";
}

std::string RevisionHash(std::string_view data, std::optional<int64_t> collision_count) {
  uint32_t h = Fnv1(data);
  if (collision_count) h = Fnv1(std::to_string(*collision_count), h);
  return EncodeHash(h);
}

bool RevisionDataEqual(Node x, Node y) { return SemanticEqual(x, y); }

}  // namespace kcm::rules
