// SPDX-License-Identifier: Apache-2.0
// Selectors (selector.h).
#include "devcluster/server/selector.h"

#include <algorithm>

#include "devcluster/server/convert.h"
#include "devcluster/server/failure.h"

namespace kcm::devcluster {

using host::wire::Object;
using host::wire::Value;

rules::LabelSelector ParseLabelSelector(std::string_view text) {
  Result<rules::LabelSelector> selector = rules::LabelSelector::Parse(text);
  if (!selector.ok()) Fail(BadRequest(selector.error().message));
  return std::move(*selector);
}

bool Matches(const rules::LabelSelector& selector, const Object& object) {
  if (selector.SelectsEverything()) return true;
  const Value labels = object.Root().Member("metadata").Member("labels");
  return selector.MatchesWith([&labels](std::string_view key) -> std::optional<std::string_view> {
    const Value value = labels.Member(key);
    if (value.kind() != rules::Kind::kString) return std::nullopt;
    return value.String();
  });
}

rules::FieldSelector ParseFieldSelector(std::string_view text, const ResourceKind& kind) {
  Result<rules::FieldSelector> selector = rules::FieldSelector::Parse(text);
  if (!selector.ok()) Fail(BadRequest(selector.error().message));
  for (const rules::FieldRequirement& r : selector->requirements()) {
    if (r.key == "metadata.name" ||
        (r.key == "metadata.namespace" && (kind.namespaced || kind.field_labels.empty()))) {
      continue;
    }
    if (std::find(kind.field_labels.begin(), kind.field_labels.end(), r.key) !=
        kind.field_labels.end())
      continue;
    if (!kind.field_labels.empty()) Fail(BadRequest("field label not supported: " + r.key));
    Fail(BadRequest(
        GoQuote(r.key) +
        " is not a known field selector: only \"metadata.name\", \"metadata.namespace\""));
  }
  return std::move(*selector);
}

bool Matches(const rules::FieldSelector& selector, const Object& object, const ResourceKind& kind) {
  std::optional<Json> json;
  std::string found;
  return selector.MatchesWith([&](std::string_view key) -> std::string_view {
    if (key == "metadata.name") return object.Name();
    if (key == "metadata.namespace") return object.Namespace();
    // The two that kubelets and controllers select by, without a detour.
    if (kind.kind == "Pod" && (key == "spec.nodeName" || key == "status.phase")) {
      const size_t dot = key.find('.');
      return object.Root().Member(key.substr(0, dot)).Member(key.substr(dot + 1)).String();
    }
    if (!kind.field_label) return {};
    if (!json) json = Editable(object.Root());
    found = kind.field_label(std::string(key), *json).value_or("");
    return found;
  });
}

}  // namespace kcm::devcluster
