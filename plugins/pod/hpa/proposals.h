// SPDX-License-Identifier: Apache-2.0
// Proposals: how many replicas each metric of an autoscaler asks for (spec/pod-batch.md 4.5).
//
//   Proposals proposals(settings, metrics, target, now);
//   for (const Node metric : hpa.Path("spec.metrics").Items())
//   results.push_back(proposals.Of(metric));
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kcm/rules/node.h"
#include "kcm/rules/result.h"
#include "kcm/rules/time.h"
#include "plugins/pod/hpa/metrics_client.h"
#include "plugins/pod/hpa/replica_count.h"
#include "plugins/pod/hpa/settings.h"

namespace kcm::pod::hpa {

struct Proposal {
  int64_t replicas = 0;
  std::string metric;     // its name in messages
  nlohmann::json status;  // its entry in currentMetrics
};

struct MetricFailure {
  std::string_view reason;  // of condition and Event: "FailedGetPodsMetric"
  Error error;              // its message is that of the Event
  std::string text;         // what the failure of the whole says of it
  bool by_spec = false;     // the spec can not be understood
};

// One of the two.
struct Computed {
  std::optional<Proposal> proposal;
  MetricFailure failure;
};

// What is scaled. Borrows.
struct ScaleTarget {
  std::string_view ns;
  std::string_view selector;  // text
  int64_t replicas = 0;       // spec.replicas of the Scale
  int64_t observed = 0;       // status.replicas
  std::span<const rules::Node> pods;
  Tolerances tolerances;
};

// One reconcile, one thread.
class Proposals {
 public:
  Proposals(const Settings& settings, const MetricsClient& metrics, const ScaleTarget& target,
            rules::WallTime now)
      : settings_(settings), metrics_(metrics), target_(target), now_(now) {}

  // `metric`: an entry of spec.metrics.
  Computed Of(rules::Node metric) const;

 private:
  using Answer = Result<Proposal>;  // the error's message is that of the Event

  Answer Compute(rules::Node metric, rules::Node source) const;
  Answer OfResource(rules::Node metric, rules::Node source) const;
  Answer OfUtilization(rules::Node metric, rules::Node source, int64_t percent) const;
  Answer OfAverage(rules::Node metric, rules::Node source) const;
  Answer OfPods(rules::Node metric, rules::Node source) const;
  Answer OfObject(rules::Node metric, rules::Node source) const;
  Answer OfExternal(rules::Node metric, rules::Node source) const;
  // `usage`: a value about everything, with a target for its total or a pod.
  Answer InTotal(rules::Node metric, rules::Node target, int64_t usage, std::string name) const;
  Proposal APod(rules::Node metric, rules::Node target, int64_t usage, std::string name) const;

  // Without the samples that do not count. Errors: there are no pods, or no samples left.
  Result<PodGroups> Group(Samples& samples, std::string_view resource) const;
  // Held against the target's averageValue.
  Result<ReplicaCount> CountAverage(Samples samples, std::string_view resource,
                                    rules::Node source) const;

  const Settings& settings_;
  const MetricsClient& metrics_;
  const ScaleTarget& target_;
  const rules::WallTime now_;
};

}  // namespace kcm::pod::hpa
