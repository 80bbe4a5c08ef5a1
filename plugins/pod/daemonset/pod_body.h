// SPDX-License-Identifier: Apache-2.0
// PodBodies: the pods of a DaemonSet as they are posted (spec/pod-workloads.md 6.2.2). Pure.
#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "plugins/pod/daemonset/spec.h"

namespace kcm::pod::daemonset {

// One thread.
class PodBodies {
 public:
  PodBodies(const Spec& set, std::string_view hash);
  ~PodBodies();

  // JSON of the pod for one node: only its node affinity names the node, binding it is the
  // scheduler's.
  std::string For(std::string_view node);

 private:
  std::unique_ptr<nlohmann::json> pod_;  // with the affinity of the last one
};

}  // namespace kcm::pod::daemonset
