// SPDX-License-Identifier: Apache-2.0
// What a pod requests in total, as its spec says (spec/namespace.md S6, steps 3 to 7).
//
//   const ResourceList requests = PodRequests(pod);
//
// What a resize in place has changed in the status is not looked at.
#pragma once
#include <string_view>

#include "kcm/rules/node.h"
#include "kcm/rules/resource_list.h"

namespace kcm::rules {

// What spec.resources of a pod may hold: cpu, memory, hugepages-*.
bool IsPodLevelResource(std::string_view name);
// spec.resources.requests holds one of those.
bool HasPodLevelRequests(Node pod);

// Per resource the containers and sidecars together, or the peak while an init container runs; a
// pod level request takes its place; plus overhead.
ResourceList PodRequests(Node pod);

}  // namespace kcm::rules
