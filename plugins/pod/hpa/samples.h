// SPDX-License-Identifier: Apache-2.0
// Samples: what a metrics API has measured of some pods, and how they are read from its answers
// (spec/pod-batch.md 4.1, 4.5.2, 4.5.4, 4.5.6). Pure.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "kcm/rules/node.h"
#include "kcm/rules/result.h"
#include "kcm/rules/time.h"

namespace kcm::pod::hpa {

struct Sample {
  int64_t value = 0;  // milli units
  rules::WallTime timestamp = rules::WallTime::min();
  std::chrono::nanoseconds window{0};  // the time up to `timestamp` that it tells about

  friend bool operator==(const Sample&, const Sample&) = default;
};
using Samples = std::map<std::string, Sample, std::less<>>;  // by name of the pod

// Of a PodMetricsList: a pod's containers together. A pod without containers, or with one that
// lacks the resource, has no sample.
Samples PodSamples(rules::Node list, std::string_view resource);
// Of one container of each pod. Error: a pod that does not have it.
Result<Samples> ContainerSamples(rules::Node list, std::string_view resource,
                                 std::string_view container);

// Of a MetricValueList of custom.metrics.k8s.io, v1beta1 or v1beta2, about pods.
Samples CustomSamples(rules::Node list);

// All items of an ExternalMetricValueList together, in milli units; at most what int64 holds.
int64_t ExternalTotal(rules::Node list);

// int64 addition that stops at the ends of its range.
int64_t AddSaturated(int64_t x, int64_t y);

}  // namespace kcm::pod::hpa
