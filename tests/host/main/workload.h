// SPDX-License-Identifier: Apache-2.0
// A Deployment or ReplicaSet for tests of the whole host.
#pragma once
#include <string>

#include "harness/cluster.h"

namespace kcm::harness {

inline Json Workload(const char* kind, const std::string& name, int replicas) {
  return {{"apiVersion", "apps/v1"},
          {"kind", kind},
          {"metadata", {{"name", name}}},
          {"spec",
           {{"replicas", replicas},
            {"selector", {{"matchLabels", {{"app", name}}}}},
            {"template", PodTemplate({{"app", name}})}}}};
}

}  // namespace kcm::harness
