// SPDX-License-Identifier: Apache-2.0
// Which pods of a target count, and what they request (spec/pod-batch.md 4.5.1, 4.5.2). Pure.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "kcm/rules/node.h"
#include "kcm/rules/result.h"
#include "kcm/rules/time.h"
#include "plugins/pod/hpa/samples.h"

namespace kcm::pod::hpa {

struct PodGroups {
  using Names = std::set<std::string, std::less<>>;
  int64_t ready = 0;
  Names unready;  // start, or have just started: their usage says little yet
  Names missing;  // have no sample
  Names ignored;  // fail or are being deleted
};

// When the cpu usage of a pod that has started means something.
struct Readiness {
  rules::WallTime now;
  std::chrono::nanoseconds cpu_initialization;
  std::chrono::nanoseconds initial_delay;
};

// `resource`: of the samples; empty for custom metrics. Only cpu knows unready pods besides
// Pending ones.
PodGroups GroupPods(std::span<const rules::Node> pods, const Samples& samples,
                    std::string_view resource, const Readiness& readiness);

// What there is to say when a selector finds no pods.
Error NoPods();

// Pods with phase Running that are Ready.
int64_t CountReady(std::span<const rules::Node> pods);

using Requests = std::map<std::string, int64_t, std::less<>>;  // milli units, by name of the pod

// What each pod requests of the resource; `container`: that one alone, empty for all.
// `pod_level`: requests of the pod as a whole replace those of its containers. Error: one of the
// pods requests none.
Result<Requests> RequestsOf(std::span<const rules::Node> pods, std::string_view resource,
                            std::string_view container, bool pod_level);

}  // namespace kcm::pod::hpa
