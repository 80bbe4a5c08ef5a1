// SPDX-License-Identifier: Apache-2.0
// Builds and compares statuses.
#include "plugins/pod/hpa/status.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "kcm/rules/condition.h"
#include "kcm/rules/equality.h"
#include "kcm/rules/json_node.h"
#include "kcm/rules/quantity.h"
#include "kcm/sdk/object.h"

namespace kcm::pod::hpa {

using nlohmann::json;
using rules::JsonNode;
using rules::Node;
using rules::Quantity;

namespace {

constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
    {"Object", "object"},
    {"Pods", "pods"},
    {"Resource", "resource"},
    {"ContainerResource", "containerResource"},
    {"External", "external"}};

json& ConditionsOf(json& status) {
  json& conditions = status["conditions"];
  if (!conditions.is_array()) conditions = json::array();
  return conditions;
}

json::iterator Named(json& conditions, std::string_view type) {
  return std::find_if(conditions.begin(), conditions.end(),
                      [&](const json& c) { return JsonNode(c).Get("type").String() == type; });
}

std::string MilliText(int64_t milli, rules::QuantityFormat format) {
  return Quantity::Milli(milli, format).Text();
}

// Where both say the same in other words, `after` says it as `before`.
void AlignQuantities(const json& before, json& after) {
  for (const char* member : {"value", "averageValue"}) {
    if (!before.contains(member) || !after.contains(member)) continue;
    const Result<Quantity> x = Quantity::Parse(JsonNode(before[member]));
    const Result<Quantity> y = Quantity::Parse(JsonNode(after[member]));
    if (x.ok() && y.ok() && *x == *y) after[member] = before[member];
  }
}

// {"type": T, member: {..., "current": {...}}}
const json* CurrentOf(const json& entry) {
  const std::string_view member = MemberOfType(JsonNode(entry).Get("type").String());
  if (member.empty()) return nullptr;
  const auto source = entry.find(member);
  if (source == entry.end() || !source->is_object()) return nullptr;
  const auto current = source->find("current");
  return current != source->end() && current->is_object() ? &*current : nullptr;
}

// With zeros and empty texts as the API leaves them out or not.
json Compared(const json& status) {
  json out = status.is_object() ? status : json::object();
  if (JsonNode(out).Get("currentReplicas").Int() == 0) out.erase("currentReplicas");
  out.emplace("desiredReplicas", 0);
  if (const auto metrics = out.find("currentMetrics"); metrics != out.end())
    for (json& metric : *metrics) metric.emplace("type", "");
  return out;
}

}  // namespace

std::string_view MemberOfType(std::string_view type) {
  for (const auto& [name, member] : kTypes)
    if (name == type) return member;
  return {};
}

void SetCondition(json& status, std::string_view type, bool holds, std::string_view reason,
                  std::string_view message, rules::WallTime now) {
  json& conditions = ConditionsOf(status);
  auto it = Named(conditions, type);
  if (it == conditions.end()) {
    conditions.push_back({{"type", type}});
    it = std::prev(conditions.end());
  }
  const char* text = holds ? "True" : "False";
  if (JsonNode(*it).Get("status").String() != text) {
    (*it)["status"] = text;
    (*it)["lastTransitionTime"] = rules::FormatTime(now);
  }
  (*it)["reason"] = reason;
  (*it)["message"] = message;
}

void RemoveCondition(json& status, std::string_view type) {
  if (!status.contains("conditions")) return;
  json& conditions = ConditionsOf(status);
  const auto it = Named(conditions, type);
  if (it != conditions.end()) conditions.erase(it);
}

bool HasTrueCondition(const json& status, std::string_view type) {
  const Node condition = rules::FindConditionIn(JsonNode(status).Get("conditions"), type);
  return condition.Get("status").String() == "True";
}

void SetCounts(json& status, int64_t current, int64_t desired, json metrics) {
  status.erase("observedGeneration");
  if (current == 0) {
    status.erase("currentReplicas");
  } else {
    status["currentReplicas"] = current;
  }
  status["desiredReplicas"] = desired;
  status["currentMetrics"] = std::move(metrics);
}

bool SameStatus(const json& before, const json& after) {
  const json was = Compared(before);
  json is = Compared(after);
  if (was.contains("currentMetrics") && is.contains("currentMetrics")) {
    const json& old_metrics = was["currentMetrics"];
    json& metrics = is["currentMetrics"];
    for (size_t i = 0; i < std::min(old_metrics.size(), metrics.size()); ++i) {
      const json* old_current = CurrentOf(old_metrics[i]);
      if (old_current == nullptr || CurrentOf(metrics[i]) == nullptr) continue;
      const std::string member(MemberOfType(JsonNode(metrics[i]).Get("type").String()));
      AlignQuantities(*old_current, metrics[i][member]["current"]);
    }
  }
  return rules::SemanticEqual(JsonNode(was), JsonNode(is));
}

json FailedMetricStatus() { return {{"type", ""}}; }

json ResourceMetricStatus(Node metric, const Usage& usage, bool utilization) {
  const std::string_view type = metric.Get("type").String();
  const std::string member(MemberOfType(type));
  const Node source = metric.Get(member);
  const std::string_view resource = source.Get("name").String();
  const auto format =
      resource == "memory" ? rules::QuantityFormat::kBinarySI : rules::QuantityFormat::kDecimalSI;
  json current{{"averageValue", MilliText(usage.average, format)}};
  if (utilization) current["averageUtilization"] = usage.utilization;
  json entry{{"name", resource}, {"current", std::move(current)}};
  if (source.Get("container").Has()) entry["container"] = source.Get("container").String();
  return {{"type", type}, {member, std::move(entry)}};
}

json ValueMetricStatus(Node metric, std::string_view member, int64_t milli) {
  const std::string_view type = metric.Get("type").String();
  const std::string source_member(MemberOfType(type));
  const Node source = metric.Get(source_member);
  json entry{{"metric", sdk::ToJson(source.Get("metric"))}};
  entry["current"][std::string(member)] = MilliText(milli, rules::QuantityFormat::kDecimalSI);
  if (source.Get("describedObject").Has())
    entry["describedObject"] = sdk::ToJson(source.Get("describedObject"));
  return {{"type", type}, {source_member, std::move(entry)}};
}

}  // namespace kcm::pod::hpa
