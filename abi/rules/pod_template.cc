// SPDX-License-Identifier: Apache-2.0
// Building pods.
#include "kcm/rules/pod_template.h"

#include "kcm/rules/hash.h"
#include "kcm/rules/json_text.h"
#include "kcm/rules/name_validation.h"

namespace kcm::rules {

std::string PodNamePrefix(std::string_view owner_name) {
  std::string prefix(owner_name);
  prefix += '-';
  if (!ValidateDns1123Subdomain(MaskTrailingDash(prefix)).empty()) prefix.pop_back();
  return prefix;
}

bool TemplateHasLabels(Node pod_template) {
  return !pod_template.Get("metadata").Get("labels").empty();
}

std::string PodFromTemplate(Node pod_template, const OwnerReference& owner) {
  std::string out = "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"generateName\":";
  AppendJsonString(out, PodNamePrefix(owner.name));
  const Node metadata = pod_template.Get("metadata");
  for (const std::string_view name : {"labels", "annotations", "finalizers"}) {
    const Node value = metadata.Get(name);
    if (value.empty()) continue;
    out += ",\"";
    out += name;
    out += "\":";
    AppendJson(out, value);
  }
  out += ",\"ownerReferences\":[" + OwnerReferenceJson(owner) + "]}";
  if (const Node spec = pod_template.Get("spec"); spec.Has()) {
    out += ",\"spec\":";
    AppendJson(out, spec);
  }
  return out + "}";
}

std::string PodTemplateHash(Node pod_template, std::optional<int64_t> collision_count) {
  uint32_t h = Fnv1a(JsonText(pod_template, JsonForm::kCanonicalWithoutNulls));
  if (collision_count) {
    // Four little-endian bytes and four zeros; a count of 0 counts as well.
    std::string bytes(8, '\0');
    for (size_t i = 0; i < 4; ++i) {
      bytes[i] = static_cast<char>(static_cast<uint64_t>(*collision_count) >> (8 * i) & 0xFF);
    }
    h = Fnv1a(bytes, h);
  }
  return EncodeHash(h);
}

}  // namespace kcm::rules
