// SPDX-License-Identifier: Apache-2.0
// Asking for a template as it is served.
#include "plugins/pod/revisions/served_data.h"

#include <nlohmann/json.hpp>

#include "kcm/rules/controller_revision.h"
#include "kcm/rules/json_node.h"

namespace kcm::pod {
namespace {

// API servers up to this minor version show `creationTimestamp: null` in a template as JSON.
constexpr int kLastMinorWithNullTimes = 33;

}  // namespace

Result<std::string> ServedRevisionData(const sdk::Run& run, const sdk::Resource& resource,
                                       const sdk::WholeRef& owner) {
  const rules::Node cached = owner.Root();
  const Result<int> minor = run.discovery().ServerMinor();
  if (!minor.ok()) return minor.error();
  if (*minor > kLastMinorWithNullTimes) return rules::RevisionData(cached.Path("spec.template"));
  const std::string plural(resource.resource), name(owner.Name());
  const Result<std::string> raw =
      run.client().Raw("/apis/" + resource.ApiVersion() + "/namespaces/" +
                       std::string(owner.Namespace()) + "/" + plural + "/" + name);
  if (!raw.ok()) return raw.error();
  const nlohmann::json served = nlohmann::json::parse(*raw, nullptr, false);
  const rules::Node live = rules::JsonNode(served);
  if (live.Path("metadata.uid").String() != owner.Uid() ||
      live.Path("metadata.generation").Int() != cached.Path("metadata.generation").Int()) {
    return MakeError(Code::kConflict,
                     plural + " " + owner.Key() + " has changed: its cache is behind");
  }
  return rules::RevisionData(live.Path("spec.template"));
}

}  // namespace kcm::pod
