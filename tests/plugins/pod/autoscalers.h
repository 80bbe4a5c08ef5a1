// SPDX-License-Identifier: Apache-2.0
// Autoscalers: targets, pods with given usage and HorizontalPodAutoscalers. Pods run on a simulated
// node that serves metrics; only the autoscaler works, so the number of pods is the test's own.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plugins/pod/jobs.h"

namespace kcm::harness {

inline constexpr auto kSyncPeriod = 15s;

class Autoscalers : public Workloads {
 protected:
  explicit Autoscalers(std::vector<std::string> flags = {}, bool metrics = true)
      : Workloads(OptionsWith(std::move(flags), metrics)) {
    AlignToSecond();
  }
  static Options OptionsWith(std::vector<std::string> flags, bool metrics) {
    flags.emplace_back("--controllers=horizontal-pod-autoscaler-controller");
    Options options{.plugins = {"pod"}, .flags = std::move(flags), .nodes = 1};
    options.metrics = metrics;
    return options;
  }

  // ---- targets and pods ----
  void CreateTarget(int replicas, const std::string& name = "web") {
    cluster.Create(Workload("Deployment", name, replicas, Json::object(), name));
    cluster.PatchStatus("deployments", name, {{"replicas", replicas}, {"observedGeneration", 1}});
  }
  static Json Pod(const std::string& name, const std::string& cpu,
                  const std::map<std::string, std::string>& annotations = {},
                  const std::string& app = "web") {
    Json pod = Orphan(name, {{"app", app}});
    pod["metadata"]["annotations"] = annotations;
    if (!cpu.empty()) pod["metadata"]["annotations"]["sim/cpu"] = cpu;
    pod["spec"]["containers"][0]["resources"] = {
        {"requests", {{"cpu", "1000m"}, {"memory", "1Gi"}}}};
    return pod;
  }
  void CreatePods(const std::vector<std::string>& cpu, const std::string& app = "web") {
    for (size_t i = 0; i < cpu.size(); ++i)
      cluster.Create(Pod(app + "-" + std::to_string(i), cpu[i], {}, app));
  }
  static std::vector<std::string> Times(size_t n, const std::string& cpu) {
    return std::vector<std::string>(n, cpu);
  }
  void Use(const std::string& pod, const std::string& cpu) {
    Annotate("pods", pod, "sim/cpu", cpu);
  }
  void UseAll(const std::string& cpu) {
    for (const Json& pod : cluster.List("pods")) Use(Name(pod), cpu);
  }
  void Annotate(const std::string& resource, const std::string& name, const std::string& annotation,
                const Json& value) {
    cluster.MergePatch(resource, name, {{"metadata", {{"annotations", {{annotation, value}}}}}});
  }
  // Beyond the time in which the cpu of a pod that has started says little.
  void LetPodsGrowOld() { cluster.Advance(6min); }
  int64_t Replicas(const std::string& target = "web") {
    return cluster.Get("deployments", target)["spec"]["replicas"];
  }

  // ---- metrics ----
  static Json Cpu(int utilization) {
    return {{"type", "Resource"},
            {"resource",
             {{"name", "cpu"},
              {"target", {{"type", "Utilization"}, {"averageUtilization", utilization}}}}}};
  }
  static Json AverageOf(const std::string& resource, const std::string& value) {
    return {
        {"type", "Resource"},
        {"resource",
         {{"name", resource}, {"target", {{"type", "AverageValue"}, {"averageValue", value}}}}}};
  }
  static Json External(const std::string& name, const std::string& type, const std::string& value) {
    const char* member = type == "Value" ? "value" : "averageValue";
    return {{"type", "External"},
            {"external",
             {{"metric", {{"name", name}}}, {"target", {{"type", type}, {member, value}}}}}};
  }
  // Series of the namespace's external metric.
  void SetExternal(const std::string& name, const Json& value) {
    Annotate("namespaces", "default", "sim/external." + name, value);
  }

  // ---- autoscalers ----
  static Json Autoscaler(const Json& metrics, int min = 1, int max = 10,
                         const Json& behavior = nullptr, const std::string& target = "web",
                         const std::string& name = "h") {
    Json hpa{
        {"apiVersion", "autoscaling/v2"},
        {"kind", "HorizontalPodAutoscaler"},
        {"metadata", {{"name", name}}},
        {"spec",
         {{"scaleTargetRef", {{"apiVersion", "apps/v1"}, {"kind", "Deployment"}, {"name", target}}},
          {"minReplicas", min},
          {"maxReplicas", max},
          {"metrics", metrics}}}};
    if (!behavior.is_null()) hpa["spec"]["behavior"] = behavior;
    return hpa;
  }
  // A list of one.
  static Json Only(const Json& metric) { return Json::array({metric}); }
  void CreateAutoscaler(const Json& metrics, int min = 1, int max = 10,
                        const Json& behavior = nullptr) {
    cluster.Create(Autoscaler(metrics, min, max, behavior));
  }
  // Until so many looks have been taken, and everything followed.
  void Sync(int times = 1) {
    cluster.Advance(times * kSyncPeriod);
    Settle();
  }
  Json Hpa(const std::string& name = "h") { return cluster.Get("horizontalpodautoscalers", name); }
  Json HpaStatus(const std::string& name = "h") { return Hpa(name)["status"]; }
  Json CurrentOf(const std::string& source, size_t metric = 0) {
    return HpaStatus()["currentMetrics"].at(metric)[source]["current"];
  }
  // "True ValidMetricFound"
  std::string Verdict(const std::string& type, const std::string& name = "h") {
    const Json c = Condition(Hpa(name), type);
    return c.is_null() ? "none"
                       : c["status"].get<std::string>() + " " + c["reason"].get<std::string>();
  }
  std::string Message(const std::string& type) { return Condition(Hpa(), type)["message"]; }
  bool HasHpaEvent(const std::string& reason, const std::string& text = "",
                   const std::string& name = "h") {
    return cluster.HasEvent("HorizontalPodAutoscaler", name, reason, text);
  }
  std::vector<std::string> HpaEvents(const std::string& name = "h") {
    return cluster.Events("HorizontalPodAutoscaler", name);
  }
  using Lines = std::vector<std::string>;
};

}  // namespace kcm::harness
