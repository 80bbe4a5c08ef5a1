// SPDX-License-Identifier: Apache-2.0
// Builds metrics objects from annotations.
#include "devcluster/nodes/metrics.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "devcluster/nodes/pod_course.h"
#include "devcluster/nodes/resources.h"
#include "kcm/rules/quantity.h"

namespace kcm::devcluster::nodes {
namespace {

using nlohmann::json;
using rules::FormatTime;
using rules::WallTime;

constexpr int64_t kIdleCpu = 10;  // millicores
constexpr int64_t kIdleMemory = 16 * 1024 * 1024;
constexpr int64_t kNodeCpu = 100;  // of the node's own work
constexpr int64_t kNodeMemory = 512 * 1024 * 1024;
constexpr char kWindow[] = "30s";

json Usage(int64_t milli_cpu, int64_t memory) {
  return {{"cpu", rules::Quantity::Milli(milli_cpu).Text()},
          {"memory", rules::Quantity(memory, rules::QuantityFormat::kBinarySI).Text()}};
}

// How many pods a controller has, and what they share.
struct Group {
  int64_t pods = 0, shared_cpu = 0;
};

// The whole, shared out evenly; the first part takes what is left over.
int64_t Part(int64_t whole, size_t parts, size_t index) {
  const auto n = static_cast<int64_t>(parts);
  return whole / n + (index == 0 ? whole % n : 0);
}

std::vector<ContainerUsage> Containers(const MeteredPod& pod, int64_t milli_cpu, int64_t memory) {
  std::vector<ContainerUsage> out;
  for (size_t i = 0; i < pod.containers.size(); ++i) {
    const std::string& name = pod.containers[i];
    const std::string cpu = Value(pod.annotations, "sim/cpu." + name);
    const std::string bytes = Value(pod.annotations, "sim/memory." + name);
    out.push_back({name, cpu.empty() ? Part(milli_cpu, pod.containers.size(), i) : MilliCpu(cpu),
                   bytes.empty() ? Part(memory, pod.containers.size(), i) : Bytes(bytes)});
  }
  return out;
}

// "a=b,c=d" as labels.
Strings Labels(std::string_view text) {
  Strings out;
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    const std::string_view pair = text.substr(0, end);
    const size_t equals = pair.find('=');
    if (equals != std::string_view::npos) {
      out.emplace(pair.substr(0, equals), pair.substr(equals + 1));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace

std::vector<PodUsage> UsageOf(const std::vector<MeteredPod>& pods) {
  std::map<std::string, Group> groups;
  for (const MeteredPod& pod : pods) {
    if (pod.owner_uid.empty()) continue;
    Group& group = groups[pod.owner_uid];
    ++group.pods;
    group.shared_cpu =
        std::max(group.shared_cpu, MilliCpu(Value(pod.annotations, "sim/cpu-shared")));
  }
  std::vector<PodUsage> out;
  for (const MeteredPod& pod : pods) {
    if (Says(pod.annotations, "sim/no-metrics", "true")) continue;
    const auto group = groups.find(pod.owner_uid);
    const std::string cpu = Value(pod.annotations, "sim/cpu");
    const std::string memory = Value(pod.annotations, "sim/memory");
    int64_t milli_cpu = kIdleCpu;
    if (!cpu.empty()) {
      milli_cpu = MilliCpu(cpu);
    } else if (group != groups.end() && group->second.shared_cpu > 0) {
      milli_cpu = group->second.shared_cpu / group->second.pods;
    }
    out.push_back({&pod, Containers(pod, milli_cpu, memory.empty() ? kIdleMemory : Bytes(memory))});
  }
  return out;
}

json PodMetricsJson(const PodUsage& usage, WallTime now) {
  json metadata = {{"name", usage.pod->name},
                   {"namespace", usage.pod->ns},
                   {"creationTimestamp", FormatTime(now)}};
  if (!usage.pod->labels.empty()) metadata["labels"] = usage.pod->labels;
  json containers = json::array();
  for (const ContainerUsage& c : usage.containers) {
    containers.push_back({{"name", c.name}, {"usage", Usage(c.milli_cpu, c.memory)}});
  }
  return {{"kind", "PodMetrics"}, {"apiVersion", "metrics.k8s.io/v1beta1"},
          {"metadata", metadata}, {"timestamp", FormatTime(now)},
          {"window", kWindow},    {"containers", std::move(containers)}};
}

json NodeMetricsJson(const std::string& node, const std::vector<const PodUsage*>& usages,
                     WallTime now) {
  int64_t milli_cpu = kNodeCpu, memory = kNodeMemory;
  for (const PodUsage* usage : usages) {
    for (const ContainerUsage& c : usage->containers) {
      milli_cpu += c.milli_cpu;
      memory += c.memory;
    }
  }
  return {{"kind", "NodeMetrics"},
          {"apiVersion", "metrics.k8s.io/v1beta1"},
          {"metadata", {{"name", node}, {"creationTimestamp", FormatTime(now)}}},
          {"timestamp", FormatTime(now)},
          {"window", kWindow},
          {"usage", Usage(milli_cpu, memory)}};
}

json MetricValueJson(const std::string& version, const DescribedObject& object,
                     const std::string& metric, const std::string& value, WallTime now) {
  json out = {{"describedObject",
               {{"kind", object.kind},
                {"apiVersion", object.api_version},
                {"namespace", object.ns},
                {"name", object.name}}},
              {"timestamp", FormatTime(now)},
              {"value", value}};
  if (version == "v1beta1") {
    out["metricName"] = metric;
    out["window"] = 30;
  } else {
    out["metric"] = {{"name", metric}, {"selector", nullptr}};
    out["windowSeconds"] = 30;
  }
  return out;
}

Result<json> ExternalValues(const std::string& metric, const std::string& text,
                            const rules::LabelSelector& selector, WallTime now) {
  json out = json::array();
  for (size_t from = 0; from <= text.size();) {
    const size_t end = std::min(text.find(';', from), text.size());
    const std::string_view series = std::string_view(text).substr(from, end - from);
    from = end + 1;
    const size_t colon = series.rfind(':');
    const std::string_view value =
        colon == std::string_view::npos ? series : series.substr(colon + 1);
    const auto quantity = rules::Quantity::Parse(value);
    if (!quantity.ok()) {
      return MakeError(Code::kInvalid, "annotation sim/external." + metric + ": \"" +
                                           std::string(series) +
                                           "\" is neither a quantity nor LABELS:QUANTITY");
    }
    const Strings labels =
        colon == std::string_view::npos ? Strings() : Labels(series.substr(0, colon));
    const bool wanted =
        selector.MatchesWith([&](std::string_view key) -> std::optional<std::string_view> {
          const auto it = labels.find(key);
          if (it == labels.end()) return std::nullopt;
          return std::string_view(it->second);
        });
    if (!wanted) continue;
    out.push_back({{"metricName", metric},
                   {"metricLabels", labels},
                   {"timestamp", FormatTime(now)},
                   {"value", quantity->Text()}});
  }
  return out;
}

}  // namespace kcm::devcluster::nodes
