// SPDX-License-Identifier: Apache-2.0
// Metrics of horizontal-pod-autoscaler-controller.
#include "plugins/pod/hpa/instruments.h"

#include <vector>

namespace kcm::pod::hpa {
namespace {

// 1 ms, doubled 14 times.
std::vector<double> SecondsBuckets() {
  std::vector<double> out;
  for (double bucket = 0.001; out.size() < 15; bucket *= 2) out.push_back(bucket);
  return out;
}

double Seconds(std::chrono::nanoseconds d) { return std::chrono::duration<double>(d).count(); }

}  // namespace

std::string_view ActionOf(int64_t from, int64_t to) {
  return to > from ? kScaleUp : to < from ? kScaleDown : kNoAction;
}

Instruments::Instruments(const sdk::Context& context)
    : reconciliations_(context.DefineMetric(
          {.name = "horizontal_pod_autoscaler_controller_reconciliations_total",
           .help = "Number of reconciliations of HPA controller. The label 'action' should be "
                   "either 'scale_down', 'scale_up', or 'none'. Also, the label 'error' should be "
                   "either 'spec', 'internal', or 'none'. Note that if both spec and internal "
                   "errors happen during a reconciliation, the first one to occur is reported in "
                   "`error` label.",
           .labels = {"action", "error"}})),
      reconciliation_seconds_(context.DefineMetric(
          {.type = KCM_METRIC_HISTOGRAM,
           .name = "horizontal_pod_autoscaler_controller_reconciliation_duration_seconds",
           .help = "The time(seconds) that the HPA controller takes to reconcile once. The label "
                   "'action' should be either 'scale_down', 'scale_up', or 'none'. Also, the label "
                   "'error' should be either 'spec', 'internal', or 'none'. Note that if both spec "
                   "and internal errors happen during a reconciliation, the first one to occur is "
                   "reported in `error` label.",
           .labels = {"action", "error"},
           .buckets = SecondsBuckets()})),
      computations_(context.DefineMetric(
          {.name = "horizontal_pod_autoscaler_controller_metric_computation_total",
           .help = "Number of metric computations. The label 'action' should be either "
                   "'scale_down', 'scale_up', or 'none'. Also, the label 'error' should be either "
                   "'spec', 'internal', or 'none'. The label 'metric_type' corresponds to "
                   "HPA.spec.metrics[*].type",
           .labels = {"action", "error", "metric_type"}})),
      computation_seconds_(context.DefineMetric(
          {.type = KCM_METRIC_HISTOGRAM,
           .name = "horizontal_pod_autoscaler_controller_metric_computation_duration_seconds",
           .help = "The time(seconds) that the HPA controller takes to calculate one metric. The "
                   "label 'action' should be either 'scale_down', 'scale_up', or 'none'. The label "
                   "'error' should be either 'spec', 'internal', or 'none'. The label "
                   "'metric_type' corresponds to HPA.spec.metrics[*].type",
           .labels = {"action", "error", "metric_type"},
           .buckets = SecondsBuckets()})),
      autoscalers_(context.DefineMetric(
          {.type = KCM_METRIC_GAUGE,
           .name = "horizontal_pod_autoscaler_controller_num_horizontal_pod_autoscalers",
           .help = "Current number of controlled HPA objects."})),
      desired_(
          context.DefineMetric({.type = KCM_METRIC_GAUGE,
                                .name = "horizontal_pod_autoscaler_controller_desired_replicas",
                                .help = "Current desired replica count for HPA objects.",
                                .labels = {"namespace", "hpa_name"}})) {}

void Instruments::Reconciled(std::string_view action, std::string_view error,
                             std::chrono::nanoseconds duration) const {
  reconciliations_.Add({action, error});
  reconciliation_seconds_.Observe(Seconds(duration), {action, error});
}

void Instruments::Computed(std::string_view action, std::string_view error, std::string_view type,
                           std::chrono::nanoseconds duration) const {
  computations_.Add({action, error, type});
  computation_seconds_.Observe(Seconds(duration), {action, error, type});
}

void Instruments::Autoscalers(size_t count) const { autoscalers_.Set(static_cast<double>(count)); }

void Instruments::Desired(std::string_view ns, std::string_view name, int64_t replicas) const {
  desired_.Set(static_cast<double>(replicas), {ns, name});
}

}  // namespace kcm::pod::hpa
