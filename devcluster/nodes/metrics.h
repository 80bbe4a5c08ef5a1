// SPDX-License-Identifier: Apache-2.0
// What the metrics APIs answer about simulated pods: metrics.k8s.io, custom.metrics.k8s.io and
// external.metrics.k8s.io objects. Pure. Values are not measured, annotations say them:
//
// Annotations of pods
//   sim/cpu: "250m"          used by the pod, shared out among its containers (default 10m)
//   sim/memory: "64Mi"       (default 16Mi)
//   sim/cpu.CONTAINER, sim/memory.CONTAINER      of one container
//   sim/cpu-shared: "2"      used by all pods of the same controller together: each uses its part.
//                            The greatest value among them counts, so one annotated pod is enough
//   sim/no-metrics: "true"   the pod has no metrics yet
//   sim/metric.NAME: "12"    a custom metric of the pod
// Annotations of any other object: sim/metric.NAME: "12"   a custom metric of that object
// Annotations of namespaces
//   sim/external.NAME: "30"                  an external metric, for HPAs of that namespace
//   sim/external.NAME: "queue=a:30;queue=b:5"   several series with labels
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "devcluster/nodes/objects.h"
#include "devcluster/nodes/pod_workers.h"
#include "kcm/rules/label_selector.h"
#include "kcm/rules/result.h"
#include "kcm/rules/time.h"

namespace kcm::devcluster::nodes {

struct ContainerUsage {
  std::string name;
  int64_t milli_cpu = 0, memory = 0;
};
struct PodUsage {
  const MeteredPod* pod;
  std::vector<ContainerUsage> containers;
};

// In the order of `pods`, which must be all pods of their controllers; without those that have no
// metrics.
std::vector<PodUsage> UsageOf(const std::vector<MeteredPod>& pods);

// metrics.k8s.io/v1beta1
nlohmann::json PodMetricsJson(const PodUsage& usage, rules::WallTime now);
// `usages`: of the pods on the node.
nlohmann::json NodeMetricsJson(const std::string& node, const std::vector<const PodUsage*>& usages,
                               rules::WallTime now);

// What a custom metric describes.
struct DescribedObject {
  std::string kind, api_version, ns, name;
};
// An item of a MetricValueList of custom.metrics.k8s.io/`version` (v1beta1 or v1beta2).
nlohmann::json MetricValueJson(const std::string& version, const DescribedObject& object,
                               const std::string& metric, const std::string& value,
                               rules::WallTime now);

// The items of an ExternalMetricValueList: the series in `text` that `selector` matches. Error:
// `text` is neither a quantity nor series.
Result<nlohmann::json> ExternalValues(const std::string& metric, const std::string& text,
                                      const rules::LabelSelector& selector, rules::WallTime now);

}  // namespace kcm::devcluster::nodes
