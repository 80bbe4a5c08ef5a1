// SPDX-License-Identifier: Apache-2.0
// From what was measured to a number of replicas (spec/pod-batch.md 4.5.2 to 4.5.6). Pure. Doubles
// are IEEE and evaluated in the order written: the last bit decides what is rounded up.
#pragma once
#include <cstdint>
#include <span>

#include "kcm/rules/node.h"
#include "kcm/rules/result.h"
#include "plugins/pod/hpa/pod_groups.h"
#include "plugins/pod/hpa/samples.h"

namespace kcm::pod::hpa {

// By how much usage may differ from the target before anything is done. Both ends belong to it.
struct Tolerances {
  double down = 0;
  double up = 0;
  bool Within(double ratio) const { return 1.0 - down <= ratio && ratio <= 1.0 + up; }
};

// What samples are held against: percents of what the pods request, or milli units a pod.
struct Target {
  int64_t value = 0;
  const Requests* requests = nullptr;  // nullptr: milli units
};

struct Usage {
  double ratio = 0;         // to the target
  int64_t average = 0;      // milli units a pod
  int64_t utilization = 0;  // percent, with requests
};
// Samples of pods without a request do not count. Error: none is left.
Result<Usage> UsageOf(const Samples& samples, const Target& target);

// Takes out the samples of pods that do not count. Error: none is left.
Status DropUncounted(Samples& samples, const PodGroups& groups);

struct ReplicaCount {
  int64_t replicas = 0;
  Usage usage;  // as measured, without what was assumed about pods without samples
};
// `samples`: without the uncounted ones. `current`: replicas the target is to have.
Result<ReplicaCount> CountReplicas(Samples samples, const PodGroups& groups, const Target& target,
                                   const Tolerances& tolerances, int64_t current);

// ---- one value about everything: Object and External metrics ----

// With a target for the value as a whole. Error: there are no pods.
Result<int64_t> ReplicasForRatio(double ratio, int64_t current, std::span<const rules::Node> pods,
                                 const Tolerances& tolerances);

struct PerPod {
  int64_t replicas = 0;
  int64_t average = 0;  // milli units a pod
};
// With a target a pod. `replicas`: pods that the target has.
PerPod ReplicasPerPod(int64_t usage, int64_t target, int64_t replicas,
                      const Tolerances& tolerances);

// Rounded up into int32, as far as it reaches; 0 for NaN.
int64_t CeilToInt32(double value);

}  // namespace kcm::pod::hpa
