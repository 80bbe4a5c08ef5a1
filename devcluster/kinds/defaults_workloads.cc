// SPDX-License-Identifier: Apache-2.0
// Defaults of workload kinds and autoscalers.
#include "devcluster/kinds/defaults.h"
#include "devcluster/kinds/fields.h"

namespace kcm::devcluster::kinds {

namespace {

constexpr int64_t kNoBackoffLimit = 2147483647;

Json& SpecWithTemplate(Json& o) {
  Json& spec = Child(o, "spec");
  DefaultPodTemplate(Child(spec, "template"));
  return spec;
}

// A claim template is a whole claim: its kind, mode and phase are written out.
void DefaultClaimTemplates(Json& spec) {
  Json* templates = Find(spec, "volumeClaimTemplates");
  if (templates == nullptr || !templates->is_array()) return;
  for (Json& claim : *templates) {
    if (!claim.is_object()) continue;
    SetDefaultText(claim, "kind", "PersistentVolumeClaim");
    SetDefaultText(claim, "apiVersion", "v1");
    DefaultClaimSpec(Child(claim, "spec"));
    SetDefaultText(Child(claim, "status"), "phase", "Pending");
  }
}

void DefaultScalingRules(Json& rules, bool up) {
  if (up) SetDefault(rules, "stabilizationWindowSeconds", 0);
  SetDefault(rules, "selectPolicy", "Max");
  Json& policies = rules["policies"];
  if (policies.is_array() && !policies.empty()) return;
  policies = Json::array();
  if (up) policies.push_back({{"type", "Pods"}, {"value", 4}, {"periodSeconds", 15}});
  policies.push_back({{"type", "Percent"}, {"value", 100}, {"periodSeconds", 15}});
}

}  // namespace

void DefaultDeployment(Json& o) {
  Json& spec = SpecWithTemplate(o);
  SetDefault(spec, "replicas", 1);
  Json& strategy = Child(spec, "strategy");
  SetDefaultText(strategy, "type", "RollingUpdate");
  if (Text(strategy, "type") == "RollingUpdate") {
    Json& rolling = Child(strategy, "rollingUpdate");
    SetDefault(rolling, "maxUnavailable", "25%");
    SetDefault(rolling, "maxSurge", "25%");
  }
  SetDefault(spec, "revisionHistoryLimit", 10);
  SetDefault(spec, "progressDeadlineSeconds", 600);
}

void DefaultReplicaSet(Json& o) { SetDefault(SpecWithTemplate(o), "replicas", 1); }

void DefaultDaemonSet(Json& o) {
  Json& spec = SpecWithTemplate(o);
  Json& strategy = Child(spec, "updateStrategy");
  SetDefaultText(strategy, "type", "RollingUpdate");
  if (Text(strategy, "type") == "RollingUpdate") {
    Json& rolling = Child(strategy, "rollingUpdate");
    SetDefault(rolling, "maxUnavailable", 1);
    SetDefault(rolling, "maxSurge", 0);
  }
  SetDefault(spec, "revisionHistoryLimit", 10);
}

void DefaultStatefulSet(Json& o) {
  Json& spec = SpecWithTemplate(o);
  SetDefaultText(spec, "podManagementPolicy", "OrderedReady");
  Json& strategy = Child(spec, "updateStrategy");
  SetDefaultText(strategy, "type", "RollingUpdate");
  if (Text(strategy, "type") == "RollingUpdate")
    SetDefault(Child(strategy, "rollingUpdate"), "partition", 0);
  Json& retention = Child(spec, "persistentVolumeClaimRetentionPolicy");
  SetDefaultText(retention, "whenDeleted", "Retain");
  SetDefaultText(retention, "whenScaled", "Retain");
  SetDefault(spec, "replicas", 1);
  SetDefault(spec, "revisionHistoryLimit", 10);
  DefaultClaimTemplates(spec);
}

void DefaultReplicationController(Json& o) {
  Json& spec = Child(o, "spec");
  if (Find(spec, "template") != nullptr) {
    DefaultPodTemplate(Child(spec, "template"));
    const Json* labels = Find(spec, "template.metadata.labels");
    if (!IsEmpty(labels)) {
      const Json copy = *labels;
      if (IsEmpty(Find(spec, "selector"))) spec["selector"] = copy;
      if (IsEmpty(Find(o, "metadata.labels"))) Child(o, "metadata")["labels"] = copy;
    }
  }
  SetDefault(Child(o, "spec"), "replicas", 1);
}

void DefaultJob(Json& o) {
  Json& spec = SpecWithTemplate(o);
  // With parallelism alone the job is a work queue: completions stay unset.
  if (Find(spec, "completions") == nullptr && Find(spec, "parallelism") == nullptr) {
    spec["completions"] = 1;
  }
  SetDefault(spec, "parallelism", 1);
  SetDefault(spec, "backoffLimit",
             Find(spec, "backoffLimitPerIndex") != nullptr ? kNoBackoffLimit : 6);
  SetDefault(spec, "completionMode", "NonIndexed");
  SetDefault(spec, "suspend", false);
  SetDefault(spec, "manualSelector", false);
  SetDefault(spec, "podReplacementPolicy",
             Find(spec, "podFailurePolicy") != nullptr ? "Failed" : "TerminatingOrFailed");
  const Json* labels = Find(spec, "template.metadata.labels");
  if (!IsEmpty(labels) && IsEmpty(Find(o, "metadata.labels"))) {
    const Json copy = *labels;
    Child(o, "metadata")["labels"] = copy;
  }
  if (Json* rules = Find(o, "spec.podFailurePolicy.rules"); rules != nullptr && rules->is_array()) {
    for (Json& rule : *rules) {
      Json* conditions = Find(rule, "onPodConditions");
      if (conditions == nullptr || !conditions->is_array()) continue;
      for (Json& condition : *conditions) SetDefaultText(condition, "status", "True");
    }
  }
}

void DefaultCronJob(Json& o) {
  Json& spec = Child(o, "spec");
  SetDefaultText(spec, "concurrencyPolicy", "Allow");
  SetDefault(spec, "suspend", false);
  SetDefault(spec, "successfulJobsHistoryLimit", 3);
  SetDefault(spec, "failedJobsHistoryLimit", 1);
  DefaultPodTemplate(Child(spec, "jobTemplate.spec.template"));
}

void DefaultAutoscalerV2(Json& o) {
  Json& spec = Child(o, "spec");
  SetDefault(spec, "minReplicas", 1);
  if (IsEmpty(Find(spec, "metrics"))) {
    spec["metrics"] = Json::array(
        {{{"type", "Resource"},
          {"resource",
           {{"name", "cpu"}, {"target", {{"type", "Utilization"}, {"averageUtilization", 80}}}}}}});
  }
  if (Json* behavior = Find(spec, "behavior")) {
    DefaultScalingRules(Child(*behavior, "scaleUp"), true);
    DefaultScalingRules(Child(*behavior, "scaleDown"), false);
  }
}

void DefaultAutoscalerV1(Json& o) {
  Json& spec = Child(o, "spec");
  SetDefault(spec, "minReplicas", 1);
  // Metrics that version 1 can not express travel as an annotation: then there is no default.
  const Json* annotations = Find(o, "metadata.annotations");
  const bool other_metrics =
      annotations != nullptr &&
      Key(*annotations, "autoscaling.alpha.kubernetes.io/metrics") != nullptr;
  if (!other_metrics) SetDefault(spec, "targetCPUUtilizationPercentage", 80);
}

}  // namespace kcm::devcluster::kinds
