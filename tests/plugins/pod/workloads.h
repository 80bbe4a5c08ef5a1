// SPDX-License-Identifier: Apache-2.0
// Workloads: what the scenario tests of the pod family share. The test plays kubelet: nothing
// schedules pods or makes them ready.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "harness/cluster.h"

namespace kcm::harness {

class Workloads : public ::testing::Test {
 protected:
  explicit Workloads(Options options = {.plugins = {"pod"}, .nodes = 0, .scheduler = false})
      : cluster(WithoutPodGc(std::move(options))) {
    CreateAccount(cluster, "default");
  }

  // The test binds pods to nodes that nobody has made: the collector of such pods is not to run.
  static Options WithoutPodGc(Options options) {
    const bool chosen =
        std::any_of(options.flags.begin(), options.flags.end(),
                    [](const std::string& flag) { return flag.starts_with("--controllers="); });
    if (!chosen) options.flags.emplace_back("--controllers=*,-pod-garbage-collector-controller");
    return options;
  }

  // Pods need one; serviceaccount-controller does not run here.
  static void CreateAccount(Cluster& c, const std::string& ns) {
    c.Create({{"apiVersion", "v1"},
              {"kind", "ServiceAccount"},
              {"metadata", {{"name", "default"}, {"namespace", ns}}}});
  }

  // Until everything has happened, the retries of a controller that waits for its own writes
  // included.
  void Settle() { cluster.Advance(200ms); }
  // To the next full second: times of the API have no fractions.
  void AlignToSecond() {
    const auto now = cluster.clock().Now().time_since_epoch();
    cluster.Advance(1s - (now - std::chrono::floor<std::chrono::seconds>(now)));
  }

  // A ReplicaSet or Deployment that selects app=<app>; `spec` is merged into its spec.
  static Json Workload(const std::string& kind, const std::string& name, int replicas,
                       const Json& spec = Json::object(), const std::string& app = "x") {
    Json w{{"apiVersion", "apps/v1"},
           {"kind", kind},
           {"metadata", {{"name", name}}},
           {"spec",
            {{"replicas", replicas},
             {"selector", {{"matchLabels", {{"app", app}}}}},
             {"template", PodTemplate({{"app", app}})}}}};
    w["spec"].merge_patch(spec);
    return w;
  }
  static Json Orphan(const std::string& name, const Json& labels) {
    Json pod = PodTemplate(labels);
    pod["apiVersion"] = "v1";
    pod["kind"] = "Pod";
    pod["metadata"]["name"] = name;
    return pod;
  }
  void CreateAndSettle(const Json& manifest) {
    cluster.Create(manifest);
    Settle();
  }

  static std::string Name(const Json& object) { return object["metadata"]["name"]; }
  static bool IsDeleting(const Json& object) {
    return object["metadata"].contains("deletionTimestamp");
  }
  static Json Controller(const Json& object) {
    for (const Json& o : object["metadata"].value("ownerReferences", Json::array()))
      if (o.value("controller", false)) return o;
    return nullptr;
  }
  static std::string OwnerName(const Json& object) {
    const Json owner = Controller(object);
    return owner.is_null() ? "" : owner["name"].get<std::string>();
  }
  // Pods controlled by `owner`, also those being deleted.
  std::vector<Json> PodsOf(const std::string& owner) {
    std::vector<Json> pods = cluster.List("pods");
    std::erase_if(pods, [&](const Json& p) { return OwnerName(p) != owner; });
    return pods;
  }
  std::vector<Json> AlivePodsOf(const std::string& owner) {
    std::vector<Json> pods = PodsOf(owner);
    std::erase_if(pods, IsDeleting);
    return pods;
  }
  std::vector<std::string> AliveNames() {
    std::vector<std::string> names;
    for (const Json& p : cluster.List("pods"))
      if (!IsDeleting(p)) names.push_back(Name(p));
    return names;
  }
  bool IsGoing(const std::string& pod) {
    const std::optional<Json> found = cluster.Find("pods", pod);
    return !found || IsDeleting(*found);
  }
  static bool IsReady(const Json& pod) {
    for (const Json& c : pod["status"].value("conditions", Json::array()))
      if (c["type"] == "Ready") return c["status"] == "True";
    return false;
  }
  // Running and Ready since `since` (of cluster.Now()).
  void ReadySince(const std::string& pod, std::chrono::seconds since,
                  const Json& more = Json::object()) {
    Json status{
        {"phase", "Running"},
        {"conditions",
         {{{"type", "Ready"}, {"status", "True"}, {"lastTransitionTime", cluster.Now(since)}}}}};
    status.merge_patch(more);
    cluster.PatchStatus("pods", pod, status);
  }
  // Bound to `node` and Ready.
  void Run(const std::string& pod, const std::string& node = "n1") {
    cluster.Bind(pod, node);
    cluster.MakeReady(pod);
  }
  // Until nothing is left that could be made ready.
  void RunAll(const std::string& owner, const std::string& node = "n1") {
    for (const Json& p : AlivePodsOf(owner))
      if (!IsReady(p)) Run(Name(p), node);
    Settle();
  }
  // As the kubelet: the pod has stopped.
  void Gone(const std::string& pod) { cluster.Delete("pods", pod, {{"gracePeriodSeconds", 0}}); }
  // The garbage collector's part in what `Gone` leaves behind is not needed here.
  void FinishDeletions() {
    for (const Json& p : cluster.List("pods"))
      if (IsDeleting(p)) Gone(Name(p));
    Settle();
  }

  Json Status(const std::string& resource, const std::string& name) {
    return cluster.Get(resource, name).value("status", Json::object());
  }
  static int64_t Number(const Json& object, const std::string& name) {
    return object.value(name, int64_t{0});
  }
  static Json Condition(const Json& object, const std::string& type) {
    for (const Json& c : object.value("status", Json::object()).value("conditions", Json::array()))
      if (c["type"] == type) return c;
    return nullptr;
  }
  static std::string Annotation(const Json& object, const std::string& name) {
    return object["metadata"].value("annotations", Json::object()).value(name, "");
  }
  int CountWrites(const std::vector<std::string>& writes, const std::string& start) {
    return static_cast<int>(std::count_if(writes.begin(), writes.end(), [&](const std::string& w) {
      return w.rfind(start, 0) == 0;
    }));
  }
  // A quota that counts pods, as its controller leaves it.
  void CreateQuota(const std::string& name, const std::string& pods) {
    cluster.Create({{"apiVersion", "v1"},
                    {"kind", "ResourceQuota"},
                    {"metadata", {{"name", name}}},
                    {"spec", {{"hard", {{"pods", pods}}}}}});
    cluster.PatchStatus("resourcequotas", name,
                        {{"hard", {{"pods", pods}}}, {"used", {{"pods", "0"}}}});
  }
  void Scale(const std::string& resource, const std::string& name, int replicas) {
    cluster.MergePatch(resource, name, {{"spec", {{"replicas", replicas}}}});
    Settle();
  }

  Cluster cluster;
};

}  // namespace kcm::harness
