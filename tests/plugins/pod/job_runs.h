// SPDX-License-Identifier: Apache-2.0
// Jobs: what the scenario tests of job-controller share. The test plays kubelet.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "plugins/pod/workloads.h"

namespace kcm::harness {

inline constexpr char kTracking[] = "batch.kubernetes.io/job-tracking";
inline constexpr char kIndexName[] = "batch.kubernetes.io/job-completion-index";

class Jobs : public Workloads {
 protected:
  using Workloads::Workloads;

  // Job `j`; `spec` is merged into its spec.
  static Json Manifest(const Json& spec, const std::string& name = "j") {
    Json pod = PodTemplate(Json::object());
    pod["spec"]["restartPolicy"] = "Never";
    Json job{{"apiVersion", "batch/v1"},
             {"kind", "Job"},
             {"metadata", {{"name", name}}},
             {"spec", {{"template", pod}}}};
    job["spec"].merge_patch(spec);
    return job;
  }
  void Start(const Json& spec) {
    AlignToSecond();
    cluster.Create(Manifest(spec));
    Sync();
  }
  static Json Indexed(int completions, const Json& more = Json::object()) {
    Json spec{
        {"completionMode", "Indexed"}, {"completions", completions}, {"parallelism", completions}};
    spec.merge_patch(more);
    return spec;
  }
  // Changes of pods are looked at together, a second later; so are the controller's own writes.
  void Sync() { cluster.Advance(2500ms); }

  Json J() { return cluster.Get("jobs", "j"); }
  Json S() { return Status("jobs", "j"); }
  int64_t N(const char* counter) { return Number(S(), counter); }
  bool Is(const char* condition, const std::string& reason = "") {
    const Json c = Condition(J(), condition);
    return !c.is_null() && c["status"] == "True" && (reason.empty() || c["reason"] == reason);
  }
  std::vector<Json> Pods() { return PodsOf("j"); }
  // Names of the pods that are neither terminal nor being deleted.
  std::vector<std::string> Active() {
    std::vector<std::string> names;
    for (const Json& p : Pods()) {
      const std::string phase = p["status"].value("phase", "");
      if (!IsDeleting(p) && phase != "Succeeded" && phase != "Failed") names.push_back(Name(p));
    }
    return names;
  }
  std::string TheActive() {
    const std::vector<std::string> active = Active();
    EXPECT_EQ(active.size(), 1u);
    return active.empty() ? "none" : active[0];
  }
  std::map<std::string, std::string> ActiveByIndex() {
    std::map<std::string, std::string> out;
    for (const std::string& name : Active())
      out[Annotation(cluster.Get("pods", name), kIndexName)] = name;
    return out;
  }
  std::set<std::string> ActiveIndexes() {
    std::set<std::string> out;
    for (const auto& [index, name] : ActiveByIndex()) out.insert(index);
    return out;
  }
  std::string OfIndex(const std::string& index) {
    const auto pods = ActiveByIndex();
    const auto it = pods.find(index);
    EXPECT_NE(it, pods.end()) << "no active pod of index " << index;
    return it == pods.end() ? "none" : it->second;
  }
  static bool IsTracked(const Json& pod) {
    for (const Json& f : pod["metadata"].value("finalizers", Json::array()))
      if (f == kTracking) return true;
    return false;
  }
  bool IsTracked(const std::string& pod) {
    const std::optional<Json> found = cluster.Find("pods", pod);
    return found && IsTracked(*found);
  }

  // As the kubelet: the pod has ended now, its only container with this code.
  void End(const std::string& pod, int code, const Json& conditions = Json::array()) {
    Json all{{{"type", "Ready"}, {"status", "False"}, {"lastTransitionTime", cluster.Now()}}};
    for (const Json& c : conditions) all.push_back(c);
    const std::string now = cluster.Now();
    cluster.PatchStatus(
        "pods", pod,
        {{"phase", code == 0 ? "Succeeded" : "Failed"},
         {"conditions", all},
         {"containerStatuses",
          {{{"name", "c"},
            {"image", "nginx:1"},
            {"imageID", ""},
            {"ready", false},
            {"restartCount", 0},
            {"state",
             {{"terminated", {{"exitCode", code}, {"startedAt", now}, {"finishedAt", now}}}}}}}}});
  }
  void Succeed(const std::string& pod) { End(pod, 0); }
  void Fail(const std::string& pod, int code = 1) { End(pod, code); }
  // Bound, running and ready, all that are active.
  void RunActive() {
    for (const std::string& pod : Active()) Run(pod);
    Sync();
  }
  // The first message of an event about j with this reason.
  std::string EventText(const std::string& reason) {
    for (const std::string& line : cluster.Events("Job", "j")) {
      const size_t at = line.find(" " + reason + " ");
      if (at != std::string::npos) return line.substr(at + reason.size() + 2);
    }
    return "";
  }
};

}  // namespace kcm::harness
