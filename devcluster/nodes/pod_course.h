// SPDX-License-Identifier: Apache-2.0
// PodCourse: what the annotations of a pod say about its life on a simulated node (kubelets.h lists
// them). Pure.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "devcluster/nodes/objects.h"
#include "host/clock/clock.h"

namespace kcm::devcluster::nodes {

// How a container ends.
struct ContainerEnd {
  int code = 0;
  std::string reason;  // "Completed", "Error", "OOMKilled"
};

// What happens after a pod runs, decided when its node first sees it.
struct PodCourse {
  bool ready_at_once = true;
  std::optional<host::clock::Duration> ready_after;
  std::optional<host::clock::Duration> exit_after;
  int exit_code = 0;                                   // of containers without one of their own
  std::optional<host::clock::Duration> restart_after;  // since the last start
  int restarts = 0;                                    // how many times at most
  std::vector<ContainerEnd> ends;  // of the pod's containers, at an exit or restart
};
PodCourse CourseOf(const Pod& pod);

// How long a kubelet waits before restart number `count` (1 is the first): at once, then 10 s
// doubled up to five minutes.
host::clock::Duration RestartDelay(int count);

// How long a deletion takes.
host::clock::Duration DeletionTime(const Pod& pod);

// "2.5" seconds; 0 for anything that is not a positive number.
host::clock::Duration SecondsIn(const std::string& text);

// Whether the annotation is there with this value; its value or "".
bool Says(const Strings& annotations, std::string_view name, std::string_view value);
std::string Value(const Strings& annotations, std::string_view name);

}  // namespace kcm::devcluster::nodes
