// SPDX-License-Identifier: Apache-2.0
// The arithmetic of replicas.
#include "plugins/pod/hpa/replica_count.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kcm::pod::hpa {
namespace {

constexpr int64_t kWholeRequest = 100;  // percent

double Real(int64_t value) { return static_cast<double>(value); }

// Memory of many pods in milli units, times a hundred, is beyond int64.
__extension__ using Wide = __int128;

int64_t PercentOf(int64_t part, int64_t whole) {
  constexpr Wide kMost = std::numeric_limits<int32_t>::max();
  return static_cast<int64_t>(std::min(Wide{part} * 100 / whole, kMost));
}

Result<Usage> UtilizationOf(const Samples& samples, const Target& target) {
  int64_t used = 0, requested = 0, pods = 0;
  for (const auto& [name, sample] : samples) {
    const auto request = target.requests->find(name);
    if (request == target.requests->end()) continue;  // of a pod that is gone
    used = AddSaturated(used, sample.value);
    requested = AddSaturated(requested, request->second);
    ++pods;
  }
  if (requested == 0) return MakeError(Code::kNotFound, "no metrics returned matched known pods");
  Usage usage;
  usage.utilization = PercentOf(used, requested);
  usage.ratio = Real(usage.utilization) / Real(target.value);
  usage.average = used / pods;
  return usage;
}

// What a pod without a sample is taken to use when that must not let the target shrink.
int64_t AssumedUse(const std::string& pod, const Target& target) {
  if (target.requests == nullptr) return target.value;
  const auto request = target.requests->find(pod);
  if (request == target.requests->end()) return 0;
  return request->second * std::max(kWholeRequest, target.value) / 100;
}

}  // namespace

int64_t CeilToInt32(double value) {
  if (std::isnan(value)) return 0;
  constexpr double kMin = std::numeric_limits<int32_t>::min();
  constexpr double kMax = std::numeric_limits<int32_t>::max();
  return static_cast<int64_t>(std::clamp(std::ceil(value), kMin, kMax));
}

Result<Usage> UsageOf(const Samples& samples, const Target& target) {
  if (target.requests != nullptr) return UtilizationOf(samples, target);
  int64_t sum = 0;
  for (const auto& [name, sample] : samples) sum = AddSaturated(sum, sample.value);
  Usage usage;
  usage.average = sum / std::max<int64_t>(1, static_cast<int64_t>(samples.size()));
  usage.ratio = Real(usage.average) / Real(target.value);
  return usage;
}

Status DropUncounted(Samples& samples, const PodGroups& groups) {
  std::erase_if(samples, [&](const auto& entry) {
    return groups.ignored.contains(entry.first) || groups.unready.contains(entry.first);
  });
  if (!samples.empty()) return Ok();
  return MakeError(Code::kNotFound,
                   "did not receive metrics for targeted pods (pods might be unready)");
}

Result<ReplicaCount> CountReplicas(Samples samples, const PodGroups& groups, const Target& target,
                                   const Tolerances& tolerances, int64_t current) {
  const Result<Usage> measured = UsageOf(samples, target);
  if (!measured.ok()) return measured.error();
  ReplicaCount out{current, *measured};
  const double ratio = measured->ratio;
  const bool up_with_unready = !groups.unready.empty() && ratio > 1.0;
  if (!up_with_unready && groups.missing.empty()) {
    if (!tolerances.Within(ratio)) out.replicas = CeilToInt32(ratio * Real(groups.ready));
    return out;
  }
  // What is not known is assumed to be what holds the change back.
  for (const std::string& pod : groups.missing) {
    if (ratio < 1.0) {
      samples[pod].value = AssumedUse(pod, target);
    } else if (ratio > 1.0) {
      samples[pod].value = 0;
    }
  }
  if (up_with_unready)
    for (const std::string& pod : groups.unready) samples[pod].value = 0;

  const Result<Usage> assumed = UsageOf(samples, target);
  if (!assumed.ok()) return assumed.error();
  const double next = assumed->ratio;
  const bool turned = (ratio < 1.0 && next > 1.0) || (ratio > 1.0 && next < 1.0);
  if (tolerances.Within(next) || turned) return out;
  const int64_t replicas = CeilToInt32(next * Real(static_cast<int64_t>(samples.size())));
  const bool against = (next < 1.0 && replicas > current) || (next > 1.0 && replicas < current);
  if (!against) out.replicas = replicas;
  return out;
}

Result<int64_t> ReplicasForRatio(double ratio, int64_t current, std::span<const rules::Node> pods,
                                 const Tolerances& tolerances) {
  if (current == 0) return CeilToInt32(ratio);
  if (tolerances.Within(ratio)) return current;
  if (pods.empty()) {
    return MakeError(Code::kNotFound, "unable to calculate ready pods: " + NoPods().message);
  }
  return CeilToInt32(ratio * Real(CountReady(pods)));
}

PerPod ReplicasPerPod(int64_t usage, int64_t target, int64_t replicas,
                      const Tolerances& tolerances) {
  PerPod out{.replicas = replicas};
  // Without replicas the ratio is infinite or no number: outside any tolerance.
  const double ratio = Real(usage) / (Real(target) * Real(replicas));
  if (!tolerances.Within(ratio)) out.replicas = CeilToInt32(Real(usage) / Real(target));
  const double average = std::ceil(Real(usage) / Real(replicas));
  constexpr double kEnd = 9223372036854775808.0;  // 2^63, the first beyond int64
  if (std::isnan(average)) return out;
  if (average >= kEnd) {
    out.average = std::numeric_limits<int64_t>::max();
  } else if (average < -kEnd) {
    out.average = std::numeric_limits<int64_t>::min();
  } else {
    out.average = static_cast<int64_t>(average);
  }
  return out;
}

}  // namespace kcm::pod::hpa
