// SPDX-License-Identifier: Apache-2.0
// PodCourse: what the annotations of a pod say about its life on a simulated node (kubelets.h lists
// them). Pure.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "devcluster/nodes/objects.h"
#include "host/clock/clock.h"

namespace kcm::devcluster::nodes {

// What happens after a pod runs, decided when its node first sees it.
struct PodCourse {
  bool ready_at_once = true;
  std::optional<host::clock::Duration> ready_after;
  std::optional<host::clock::Duration> exit_after;
  int exit_code = 0;
};
PodCourse CourseOf(const Pod& pod);

// How long a deletion takes.
host::clock::Duration DeletionTime(const Pod& pod);

// Whether the annotation is there with this value; its value or "".
bool Says(const Strings& annotations, std::string_view name, std::string_view value);
std::string Value(const Strings& annotations, std::string_view name);

}  // namespace kcm::devcluster::nodes
