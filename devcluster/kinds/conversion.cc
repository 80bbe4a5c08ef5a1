// SPDX-License-Identifier: Apache-2.0
// Events of events.k8s.io, and autoscaling/v1 with the annotations that carry what version 1 can
// not say (spec C6).
#include "devcluster/kinds/conversion.h"

#include <array>

#include "devcluster/kinds/fields.h"

namespace kcm::devcluster::kinds {

namespace {

using Ordered = nlohmann::ordered_json;

constexpr std::string_view kAlphaPrefix = "autoscaling.alpha.kubernetes.io/";

struct Renamed {
  const char* core;
  const char* group;
};
constexpr auto kEventMembers =
    std::to_array<Renamed>({{"involvedObject", "regarding"},
                            {"message", "note"},
                            {"source", "deprecatedSource"},
                            {"firstTimestamp", "deprecatedFirstTimestamp"},
                            {"lastTimestamp", "deprecatedLastTimestamp"},
                            {"count", "deprecatedCount"},
                            {"reportingComponent", "reportingController"}});

void Rename(Json& object, const char* from, const char* to) {
  const auto it = object.find(from);
  if (it == object.end()) return;
  object[to] = std::move(*it);
  object.erase(from);
}

Json EventToGroup(const Json& stored) {
  Json out = stored;
  for (const Renamed& r : kEventMembers) Rename(out, r.core, r.group);
  if (out.contains("apiVersion")) out["apiVersion"] = "events.k8s.io/v1";
  // Both are written always by the core version, only when set by this one.
  for (const char* member : {"reportingController", "reportingInstance"}) {
    if (Text(out, member).empty()) out.erase(member);
  }
  return out;
}

Json EventToCore(const Json& given) {
  Json out = given;
  for (const Renamed& r : kEventMembers) Rename(out, r.group, r.core);
  if (out.contains("apiVersion")) out["apiVersion"] = "v1";
  for (const char* member : {"reportingComponent", "reportingInstance"})
    SetDefault(out, member, "");
  for (const char* member : {"source", "involvedObject"}) SetDefault(out, member, Json::object());
  for (const char* member : {"firstTimestamp", "lastTimestamp", "eventTime"})
    SetDefault(out, member, nullptr);
  return out;
}

// ---- autoscaling ----

bool IsPlainCpu(const Json& metric) {
  return Text(metric, "type") == "Resource" && Text(metric, "resource.name") == "cpu" &&
         Find(metric, "resource.target.averageUtilization") != nullptr;
}

void Copy(Ordered& to, const char* name, const Json& from, std::string_view path) {
  if (const Json* value = Find(from, path)) to[name] = Ordered::parse(value->dump());
}

// A v2 metric in the flat form of version 1.
Ordered FlatMetric(const Json& metric) {
  Ordered out;
  const std::string type(Text(metric, "type"));
  out["type"] = type;
  Ordered body;
  if (const Json* m = Find(metric, "resource")) {
    Copy(body, "name", *m, "name");
    Copy(body, "targetAverageUtilization", *m, "target.averageUtilization");
    Copy(body, "targetAverageValue", *m, "target.averageValue");
    out["resource"] = body;
  } else if (const Json* pods = Find(metric, "pods")) {
    Copy(body, "metricName", *pods, "metric.name");
    Copy(body, "targetAverageValue", *pods, "target.averageValue");
    Copy(body, "selector", *pods, "metric.selector");
    out["pods"] = body;
  } else if (const Json* object = Find(metric, "object")) {
    Ordered target;
    Copy(target, "kind", *object, "describedObject.kind");
    Copy(target, "name", *object, "describedObject.name");
    Copy(target, "apiVersion", *object, "describedObject.apiVersion");
    body["target"] = target;
    Copy(body, "metricName", *object, "metric.name");
    body["targetValue"] = "0";
    Copy(body, "targetValue", *object, "target.value");
    Copy(body, "selector", *object, "metric.selector");
    Copy(body, "averageValue", *object, "target.averageValue");
    out["object"] = body;
  } else if (const Json* external = Find(metric, "external")) {
    Copy(body, "metricName", *external, "metric.name");
    Copy(body, "metricSelector", *external, "metric.selector");
    Copy(body, "targetValue", *external, "target.value");
    Copy(body, "targetAverageValue", *external, "target.averageValue");
    out["external"] = body;
  } else if (const Json* container = Find(metric, "containerResource")) {
    Copy(body, "name", *container, "name");
    Copy(body, "targetAverageUtilization", *container, "target.averageUtilization");
    Copy(body, "targetAverageValue", *container, "target.averageValue");
    Copy(body, "container", *container, "container");
    out["containerResource"] = body;
  }
  return out;
}

Json Target(const Json& flat) {
  Json target = Json::object();
  const auto take = [&](const char* from, const char* to, const char* type) {
    const Json* value = Find(flat, from);
    if (value == nullptr) return;
    target[to] = *value;
    target["type"] = type;
  };
  take("targetValue", "value", "Value");
  take("averageValue", "averageValue", "AverageValue");
  take("targetAverageValue", "averageValue", "AverageValue");
  take("targetAverageUtilization", "averageUtilization", "Utilization");
  if (Text(target, "type") == "AverageValue") target.erase("value");
  return target;
}

Json RichMetric(const Json& flat) {
  Json out = {{"type", Text(flat, "type")}};
  const auto named = [](const Json& m, const char* selector) {
    Json metric = {{"name", Text(m, "metricName")}};
    if (const Json* s = Find(m, selector)) metric["selector"] = *s;
    return metric;
  };
  if (const Json* m = Find(flat, "resource")) {
    out["resource"] = {{"name", Text(*m, "name")}, {"target", Target(*m)}};
  } else if (const Json* pods = Find(flat, "pods")) {
    out["pods"] = {{"metric", named(*pods, "selector")}, {"target", Target(*pods)}};
  } else if (const Json* object = Find(flat, "object")) {
    out["object"] = {{"describedObject", object->value("target", Json::object())},
                     {"metric", named(*object, "selector")},
                     {"target", Target(*object)}};
  } else if (const Json* external = Find(flat, "external")) {
    out["external"] = {{"metric", named(*external, "metricSelector")},
                       {"target", Target(*external)}};
  } else if (const Json* container = Find(flat, "containerResource")) {
    out["containerResource"] = {{"name", Text(*container, "name")},
                                {"container", Text(*container, "container")},
                                {"target", Target(*container)}};
  }
  return out;
}

Ordered GoRules(const Json& rules) {
  Ordered out;
  const auto member = [&](const Json& from, const char* name) {
    const Json* value = Find(from, name);
    return value == nullptr ? Ordered(nullptr) : Ordered::parse(value->dump());
  };
  out["StabilizationWindowSeconds"] = member(rules, "stabilizationWindowSeconds");
  out["SelectPolicy"] = member(rules, "selectPolicy");
  Ordered policies = Ordered::array();
  for (const Json& policy : Items(rules, "policies")) {
    Ordered p;
    p["Type"] = member(policy, "type");
    p["Value"] = member(policy, "value");
    p["PeriodSeconds"] = member(policy, "periodSeconds");
    policies.push_back(p);
  }
  out["Policies"] = policies;
  out["Tolerance"] = member(rules, "tolerance");
  return out;
}

Json RulesFromGo(const Json& go) {
  Json out = Json::object();
  const auto take = [](const Json& from, const char* name, Json& to, const char* as) {
    if (const Json* value = Find(from, name)) to[as] = *value;
  };
  take(go, "StabilizationWindowSeconds", out, "stabilizationWindowSeconds");
  take(go, "SelectPolicy", out, "selectPolicy");
  take(go, "Tolerance", out, "tolerance");
  for (const Json& policy : Items(go, "Policies")) {
    Json p = Json::object();
    take(policy, "Type", p, "type");
    take(policy, "Value", p, "value");
    take(policy, "PeriodSeconds", p, "periodSeconds");
    out["policies"].push_back(p);
  }
  return out;
}

void Annotate(Json& object, const char* name, const std::string& text) {
  Child(object, "metadata.annotations")[std::string(kAlphaPrefix) + name] = text;
}

std::optional<Json> TakeAnnotation(Json& object, const char* name) {
  Json* annotations = Find(object, "metadata.annotations");
  if (annotations == nullptr) return std::nullopt;
  const std::string key = std::string(kAlphaPrefix) + name;
  const std::string text(KeyText(*annotations, key));
  if (text.empty()) return std::nullopt;
  annotations->erase(key);
  if (annotations->empty()) object["metadata"].erase("annotations");
  Json parsed = Json::parse(text, nullptr, false);
  if (parsed.is_discarded()) return std::nullopt;
  return parsed;
}

std::string OrderedConditions(const Json& conditions) {
  Ordered list = Ordered::array();
  for (const Json& c : conditions) {
    Ordered one;
    for (const char* member : {"type", "status", "lastTransitionTime", "reason", "message"})
      Copy(one, member, c, member);
    list.push_back(one);
  }
  return list.dump();
}

Json AutoscalerToV1(const Json& stored) {
  Json out = stored;
  if (out.contains("apiVersion")) out["apiVersion"] = "autoscaling/v1";
  Json& spec = Child(out, "spec");
  Ordered others = Ordered::array();
  for (const Json& metric : Items(spec, "metrics")) {
    if (IsPlainCpu(metric) && !spec.contains("targetCPUUtilizationPercentage")) {
      spec["targetCPUUtilizationPercentage"] =
          Integer(metric, "resource.target.averageUtilization");
    } else {
      others.push_back(FlatMetric(metric));
    }
  }
  spec.erase("metrics");
  if (!others.empty()) Annotate(out, "metrics", others.dump());
  if (const Json* behavior = Find(spec, "behavior")) {
    Ordered go;
    for (const auto& [name, as] :
         {std::pair{"scaleUp", "ScaleUp"}, std::pair{"scaleDown", "ScaleDown"}}) {
      const Json* rules = Find(*behavior, name);
      go[as] = rules == nullptr ? Ordered(nullptr) : GoRules(*rules);
    }
    const std::string text = go.dump();
    spec.erase("behavior");
    Annotate(out, "behavior", text);
  }
  Json& status = Child(out, "status");
  if (!Items(status, "conditions").empty())
    Annotate(out, "conditions", OrderedConditions(Items(status, "conditions")));
  for (const Json& metric : Items(status, "currentMetrics")) {
    if (Text(metric, "resource.name") == "cpu" &&
        Find(metric, "resource.current.averageUtilization") != nullptr) {
      status["currentCPUUtilizationPercentage"] =
          Integer(metric, "resource.current.averageUtilization");
    }
  }
  for (const char* member : {"conditions", "currentMetrics"}) out["status"].erase(member);
  SetDefault(out["status"], "currentReplicas", 0);
  SetDefault(out["status"], "desiredReplicas", 0);
  return out;
}

Json AutoscalerToV2(const Json& given) {
  Json out = given;
  if (out.contains("apiVersion")) out["apiVersion"] = "autoscaling/v2";
  Json metrics = Json::array();
  Json& spec = Child(out, "spec");
  if (const Json* percent = Find(spec, "targetCPUUtilizationPercentage")) {
    Json metric = Json::parse(
        R"({"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization"}}})");
    metric["resource"]["target"]["averageUtilization"] = *percent;
    metrics.push_back(metric);
  }
  spec.erase("targetCPUUtilizationPercentage");
  if (const std::optional<Json> others = TakeAnnotation(out, "metrics");
      others && others->is_array()) {
    for (const Json& flat : *others) metrics.push_back(RichMetric(flat));
  }
  if (!metrics.empty()) out["spec"]["metrics"] = metrics;
  if (const std::optional<Json> go = TakeAnnotation(out, "behavior"); go && go->is_object()) {
    for (const auto& [name, as] :
         {std::pair{"scaleUp", "ScaleUp"}, std::pair{"scaleDown", "ScaleDown"}}) {
      if (const Json* rules = Find(*go, as)) out["spec"]["behavior"][name] = RulesFromGo(*rules);
    }
  }
  Json& status = Child(out, "status");
  status.erase("currentCPUUtilizationPercentage");
  if (const std::optional<Json> conditions = TakeAnnotation(out, "conditions"))
    out["status"]["conditions"] = *conditions;
  TakeAnnotation(out, "current-metrics");
  return out;
}

}  // namespace

std::optional<std::string> NodeConversionFault(const Json& node) {
  const std::string one(Text(node, "spec.podCIDR"));
  const Json& list = Items(node, "spec.podCIDRs");
  if (one.empty() || list.empty() || list[0] == one) return std::nullopt;
  return "conversion Error: v1.PodCIDR(" + one + ") and v1.CIDRs[0](" + list[0].get<std::string>() +
         ") do not match";
}

void BindConversion(ResourceKind& kind) {
  if (kind.gvr.group == "events.k8s.io") {
    kind.from_storage = EventToGroup;
    kind.to_storage = EventToCore;
  } else if (kind.gvr.group == "autoscaling" && kind.gvr.version == "v1") {
    kind.from_storage = AutoscalerToV1;
    kind.to_storage = AutoscalerToV2;
  }
}

}  // namespace kcm::devcluster::kinds
