// SPDX-License-Identifier: Apache-2.0
// Adds up what pods request.
#include "kcm/rules/pod_requests.h"

#include <utility>

#include "kcm/rules/pod.h"

namespace kcm::rules {
namespace {

ResourceList RequestsOf(Node container) {
  return ResourceListOf(container.Path("resources.requests"));
}

}  // namespace

bool IsPodLevelResource(std::string_view name) {
  return name == "cpu" || name == "memory" || name.starts_with("hugepages-");
}

bool HasPodLevelRequests(Node pod) {
  for (const auto& [name, quantity] : pod.Path("spec.resources.requests").Entries())
    if (IsPodLevelResource(name)) return true;
  return false;
}

ResourceList PodRequests(Node pod) {
  ResourceList total, sidecars, peak;
  for (const Node c : pod.Path("spec.containers").Items())
    total = AddResources(total, RequestsOf(c));
  for (const Node c : pod.Path("spec.initContainers").Items()) {
    const ResourceList requests = RequestsOf(c);
    ResourceList candidate = AddResources(sidecars, requests);
    peak = MaxResources(peak, candidate);
    if (!IsSidecar(c)) continue;
    total = AddResources(total, requests);
    sidecars = std::move(candidate);
  }
  total = MaxResources(total, peak);
  for (auto& [name, quantity] : ResourceListOf(pod.Path("spec.resources.requests")))
    if (IsPodLevelResource(name)) total.insert_or_assign(name, quantity);
  return AddResources(total, ResourceListOf(pod.Path("spec.overhead")));
}

}  // namespace kcm::rules
