// SPDX-License-Identifier: Apache-2.0
// Validation of deployments, replica sets, daemon sets, stateful sets, replication controllers and
// revisions.
#include "devcluster/api/api_error.h"
#include "devcluster/kinds/fields.h"
#include "devcluster/kinds/validate.h"
#include "kcm/rules/json_node.h"
#include "kcm/rules/label_selector.h"

namespace kcm::devcluster::kinds {

namespace {

void RequireSelector(FieldErrors& out, const Json& object, const char* kind) {
  const Json* selector = Find(object, "spec.selector");
  if (selector == nullptr) {
    out.push_back(Required("spec.selector", ""));
    return;
  }
  Append(out, ValidateLabelSelector(selector, "spec.selector"));
  if (IsEmpty(Find(*selector, "matchLabels")) && IsEmpty(Find(*selector, "matchExpressions"))) {
    out.push_back(
        InvalidValue("spec.selector", "{}", std::string("empty selector is invalid for ") + kind));
  }
}

// Labels match the selector, the pod spec is valid and restarts always. An empty selector is
// reported elsewhere.
void ValidateTemplate(FieldErrors& out, const Json& object, bool map_selector) {
  const Json* selector = Find(object, "spec.selector");
  const Json* labels = Find(object, "spec.template.metadata.labels");
  const Json none = Json::object();
  const rules::Node node = rules::JsonNode(labels == nullptr ? none : *labels);
  bool matches = true;
  if (map_selector) {
    matches = IsEmpty(selector) ||
              rules::LabelSelector::FromMap(rules::JsonNode(*selector)).Matches(node);
  } else {
    const auto compiled = rules::LabelSelector::FromObject(
        selector == nullptr ? rules::Node() : rules::JsonNode(*selector));
    matches = !compiled.ok() || compiled->Matches(node);
  }
  if (!matches) {
    out.push_back(InvalidValue("spec.template.metadata.labels",
                               labels == nullptr ? "null" : labels->dump(), kSelectorMismatch));
  }
  Append(out, ValidateLabels(labels, "spec.template.labels"));
  const Json* spec = Find(object, "spec.template.spec");
  Append(out, ValidatePodSpec(spec == nullptr ? none : *spec, "spec.template.spec"));
  const std::string_view policy = spec == nullptr ? "" : Text(*spec, "restartPolicy");
  if (policy != "Always")
    out.push_back(NotSupported("spec.template.spec.restartPolicy", GoQuote(policy), {"Always"}));
  if (spec != nullptr && Find(*spec, "activeDeadlineSeconds") != nullptr) {
    out.push_back(ForbiddenField("spec.template.spec.activeDeadlineSeconds",
                                 "activeDeadlineSeconds in ReplicaSet is not Supported"));
  }
}

bool IsZero(const Json* value) {
  return value == nullptr || *value == 0 || PercentValue(*value) == 0;
}

void ValidateDeployment(FieldErrors& out, const Json& o) {
  NonNegative(out, o, "spec.replicas");
  RequireSelector(out, o, "deployment");
  ValidateTemplate(out, o, false);
  const std::string_view type = Text(o, "spec.strategy.type");
  const Json* rolling = Find(o, "spec.strategy.rollingUpdate");
  if (type == "Recreate") {
    if (rolling != nullptr) {
      out.push_back(ForbiddenField("spec.strategy.rollingUpdate",
                                   "may not be specified when strategy `type` is 'Recreate'"));
    }
  } else if (type == "RollingUpdate") {
    IntOrPercent(out, o, "spec.strategy.rollingUpdate.maxUnavailable");
    IntOrPercent(out, o, "spec.strategy.rollingUpdate.maxSurge");
    if (rolling != nullptr && IsZero(Find(*rolling, "maxUnavailable")) &&
        IsZero(Find(*rolling, "maxSurge"))) {
      const Json* shown = Find(*rolling, "maxUnavailable");
      out.push_back(InvalidValue("spec.strategy.rollingUpdate.maxUnavailable",
                                 shown == nullptr ? "0" : shown->dump(),
                                 "may not be 0 when `maxSurge` is 0"));
    }
    AtMost100Percent(out, o, "spec.strategy.rollingUpdate.maxUnavailable");
  } else {
    out.push_back(NotSupported("spec.strategy.type", GoQuote(type), {"Recreate", "RollingUpdate"}));
  }
  NonNegative(out, o, "spec.minReadySeconds");
  NonNegative(out, o, "spec.revisionHistoryLimit");
  if (Find(o, "spec.progressDeadlineSeconds") != nullptr) {
    NonNegative(out, o, "spec.progressDeadlineSeconds");
    const int64_t deadline = Integer(o, "spec.progressDeadlineSeconds");
    if (deadline <= Integer(o, "spec.minReadySeconds")) {
      out.push_back(InvalidValue("spec.progressDeadlineSeconds", std::to_string(deadline),
                                 "must be greater than minReadySeconds"));
    }
  }
}

void ValidateReplicaSet(FieldErrors& out, const Json& o) {
  NonNegative(out, o, "spec.replicas");
  NonNegative(out, o, "spec.minReadySeconds");
  RequireSelector(out, o, "deployment");
  ValidateTemplate(out, o, false);
}

void ValidateDaemonSet(FieldErrors& out, const Json& o) {
  RequireSelector(out, o, "daemonset");
  ValidateTemplate(out, o, false);
  NonNegative(out, o, "spec.minReadySeconds");
  const std::string_view type = Text(o, "spec.updateStrategy.type");
  if (type == "RollingUpdate") {
    const Json* rolling = Find(o, "spec.updateStrategy.rollingUpdate");
    if (rolling == nullptr) {
      out.push_back(Required("spec.updateStrategy.rollingUpdate", ""));
    } else {
      IntOrPercent(out, o, "spec.updateStrategy.rollingUpdate.maxUnavailable");
      IntOrPercent(out, o, "spec.updateStrategy.rollingUpdate.maxSurge");
      AtMost100Percent(out, o, "spec.updateStrategy.rollingUpdate.maxUnavailable");
      AtMost100Percent(out, o, "spec.updateStrategy.rollingUpdate.maxSurge");
      const Json* surge = Find(*rolling, "maxSurge");
      const bool has_surge = !IsZero(surge),
                 has_unavailable = !IsZero(Find(*rolling, "maxUnavailable"));
      if (has_surge && has_unavailable) {
        out.push_back(InvalidValue("spec.updateStrategy.rollingUpdate.maxSurge", surge->dump(),
                                   "may not be set when maxUnavailable is non-zero"));
      } else if (!has_surge && !has_unavailable) {
        out.push_back(Required("spec.updateStrategy.rollingUpdate.maxUnavailable",
                               "cannot be 0 when maxSurge is 0"));
      }
    }
  } else if (type != "OnDelete") {
    out.push_back(
        NotSupported("spec.updateStrategy.type", GoQuote(type), {"RollingUpdate", "OnDelete"}));
  }
  NonNegative(out, o, "spec.revisionHistoryLimit");
}

void ValidateStatefulSet(FieldErrors& out, const Json& o) {
  const std::string_view policy = Text(o, "spec.podManagementPolicy");
  if (policy.empty()) {
    out.push_back(Required("spec.podManagementPolicy", ""));
  } else if (policy != "OrderedReady" && policy != "Parallel") {
    out.push_back(InvalidValue("spec.podManagementPolicy", GoQuote(policy),
                               "must be 'OrderedReady' or 'Parallel'"));
  }
  const std::string_view type = Text(o, "spec.updateStrategy.type");
  if (type == "OnDelete") {
    if (Find(o, "spec.updateStrategy.rollingUpdate") != nullptr) {
      out.push_back(InvalidValue("spec.updateStrategy.rollingUpdate",
                                 o["spec"]["updateStrategy"]["rollingUpdate"].dump(),
                                 "only allowed for updateStrategy 'RollingUpdate'"));
    }
  } else if (type == "RollingUpdate") {
    NonNegative(out, o, "spec.updateStrategy.rollingUpdate.partition");
  } else {
    out.push_back(InvalidValue("spec.updateStrategy", GoQuote(type),
                               "must be 'RollingUpdate' or 'OnDelete'"));
  }
  NonNegative(out, o, "spec.replicas");
  NonNegative(out, o, "spec.minReadySeconds");
  NonNegative(out, o, "spec.ordinals.start");
  RequireSelector(out, o, "statefulset");
  ValidateTemplate(out, o, false);
}

void ValidateReplicationController(FieldErrors& out, const Json& o) {
  NonNegative(out, o, "spec.minReadySeconds");
  if (IsEmpty(Find(o, "spec.selector"))) out.push_back(Required("spec.selector", ""));
  NonNegative(out, o, "spec.replicas");
  if (Find(o, "spec.template") == nullptr) {
    out.push_back(Required("spec.template", ""));
  } else {
    ValidateTemplate(out, o, true);
  }
}

void ValidateRevision(FieldErrors& out, const Json& o) {
  if (Find(o, "data") == nullptr) out.push_back(Required("data", "data is mandatory"));
  NonNegative(out, o, "revision");
}

// A stateful set but what may be updated.
Json FixedPart(const Json& o) {
  Json spec = o.value("spec", Json::object());
  for (const char* member :
       {"replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy", "minReadySeconds"}) {
    spec.erase(member);
  }
  return spec;
}

}  // namespace

FieldErrors ValidateWorkload(const Validation& v, const Json& o) {
  FieldErrors out;
  const std::string_view r = v.row.resource;
  if (r == "deployments")
    ValidateDeployment(out, o);
  else if (r == "replicasets")
    ValidateReplicaSet(out, o);
  else if (r == "daemonsets")
    ValidateDaemonSet(out, o);
  else if (r == "statefulsets")
    ValidateStatefulSet(out, o);
  else if (r == "replicationcontrollers")
    ValidateReplicationController(out, o);
  else if (r == "controllerrevisions")
    ValidateRevision(out, o);
  return out;
}

FieldErrors ValidateWorkloadUpdate(const Validation& v, const Json& o, const Json& old) {
  if (v.info.subresource == "status") return ValidateWorkloadStatus(v, o);
  FieldErrors out;
  const std::string_view r = v.row.resource;
  if (r == "statefulsets") {
    Append(out, ValidateWorkload(v, o));
    if (FixedPart(o) != FixedPart(old)) {
      out.push_back(ForbiddenField(
          "spec",
          "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
          "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' "
          "and 'minReadySeconds' are forbidden"));
    }
    return out;
  }
  Append(out, ValidateWorkload(v, o));
  if (r == "deployments" || r == "replicasets" || r == "daemonsets") {
    Immutable(out, o, old, "spec.selector", v.schema.Find("meta.v1.LabelSelector"));
  }
  if (r == "controllerrevisions") Immutable(out, o, old, "data");
  return out;
}

FieldErrors ValidateWorkloadStatus(const Validation& v, const Json& o) {
  FieldErrors out;
  const std::string_view r = v.row.resource;
  if (r == "daemonsets") {
    for (const char* counter :
         {"currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady",
          "observedGeneration", "updatedNumberScheduled", "numberAvailable", "numberUnavailable",
          "collisionCount"}) {
      NonNegative(out, o, std::string("status.") + counter);
    }
    return out;
  }
  for (const char* counter : {"observedGeneration", "replicas", "updatedReplicas", "readyReplicas",
                              "availableReplicas", "unavailableReplicas", "fullyLabeledReplicas",
                              "currentReplicas", "terminatingReplicas", "collisionCount"}) {
    NonNegative(out, o, std::string("status.") + counter);
  }
  const int64_t total = Integer(o, "status.replicas"),
                available = Integer(o, "status.availableReplicas");
  const auto within = [&](const char* member, int64_t limit, const char* text) {
    const std::string path = std::string("status.") + member;
    const int64_t value = Integer(o, path);
    if (value > limit) out.push_back(InvalidValue(path, std::to_string(value), text));
  };
  constexpr const char* kTotal = "cannot be greater than status.replicas";
  const bool sets = r == "replicasets" || r == "replicationcontrollers";
  within(sets ? "fullyLabeledReplicas" : "updatedReplicas", total, kTotal);
  within("readyReplicas", total, kTotal);
  within("availableReplicas", total, kTotal);
  if (r == "statefulsets") within("currentReplicas", total, kTotal);
  if (available > Integer(o, "status.readyReplicas")) {
    within("availableReplicas", Integer(o, "status.readyReplicas"),
           "cannot be greater than readyReplicas");
  }
  return out;
}

}  // namespace kcm::devcluster::kinds
