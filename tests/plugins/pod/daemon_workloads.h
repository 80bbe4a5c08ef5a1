// SPDX-License-Identifier: Apache-2.0
// DaemonWorkloads: what the scenario tests of DaemonSets share: nodes that nobody keeps alive, the
// DaemonSet `d`, and a scheduler and kubelet that are played.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "plugins/pod/workloads.h"

namespace kcm::harness {

using Nodes = std::set<std::string>;

class DaemonWorkloads : public Workloads {
 protected:
  using Workloads::Workloads;

  // ---- nodes ----
  static Json Taint(const std::string& key, const std::string& effect) {
    return {{"key", key}, {"effect", effect}};
  }
  // Its taints are these alone: the one that the server gives to new nodes is taken away.
  void CreateNode(const std::string& name, const Json& labels = Json::object(),
                  const Json& taints = Json::array()) {
    cluster.Create({{"apiVersion", "v1"},
                    {"kind", "Node"},
                    {"metadata", {{"name", name}, {"labels", labels}}}});
    SetTaints(name, taints);
  }
  void SetTaints(const std::string& node, const Json& taints) {
    cluster.MergePatch("nodes", node, {{"spec", {{"taints", taints}}}}, "");
  }
  void SetNodeLabel(const std::string& node, const std::string& label, const Json& value) {
    cluster.MergePatch("nodes", node, {{"metadata", {{"labels", {{label, value}}}}}}, "");
    Settle();
  }
  void CreateNodes(int count) {
    for (int i = 1; i <= count; ++i) CreateNode("n" + std::to_string(i));
  }

  // ---- the set ---- `spec` is merged into its spec
  static Json Daemon(const Json& spec = Json::object()) {
    Json set = Workload("DaemonSet", "d", 0, spec);
    set["spec"].erase("replicas");
    return set;
  }
  static Json Rolling(const Json& max_unavailable, const Json& max_surge = 0) {
    return {{"updateStrategy",
             {{"type", "RollingUpdate"},
              {"rollingUpdate", {{"maxUnavailable", max_unavailable}, {"maxSurge", max_surge}}}}}};
  }
  static Json OnDelete() { return {{"updateStrategy", {{"type", "OnDelete"}}}}; }
  static Json Selecting(const Json& labels) {
    return {{"template", {{"spec", {{"nodeSelector", labels}}}}}};
  }
  void CreateReady(const Json& set) {
    CreateAndSettle(set);
    PlayToTheEnd();
  }
  void Patch(const Json& spec) {
    cluster.MergePatch("daemonsets", "d", {{"spec", spec}});
    Settle();
  }
  void SetImage(const std::string& image) {
    Patch({{"template", PodTemplate({{"app", "x"}}, image)}});
  }
  void Touch() {
    cluster.MergePatch("daemonsets", "d",
                       {{"metadata", {{"annotations", {{"touched", cluster.Now()}}}}}});
    Settle();
  }
  Json SetNow() { return cluster.Get("daemonsets", "d"); }
  int64_t Count(const std::string& number) { return Number(Status("daemonsets", "d"), number); }
  static Json OwnerOf(const Json& set) {
    return {{"apiVersion", "apps/v1"},       {"kind", "DaemonSet"}, {"name", Name(set)},
            {"uid", set["metadata"]["uid"]}, {"controller", true},  {"blockOwnerDeletion", true}};
  }

  // ---- its pods ----
  static Json RequiredTerms(const Json& pod) {
    return pod["spec"]
        .value("affinity", Json::object())
        .value("nodeAffinity", Json::object())
        .value("requiredDuringSchedulingIgnoredDuringExecution", Json::object())
        .value("nodeSelectorTerms", Json::array());
  }
  // The node that a pod is on or made for.
  static std::string NodeOf(const Json& pod) {
    if (pod["spec"].contains("nodeName")) return pod["spec"]["nodeName"];
    const Json terms = RequiredTerms(pod);
    return terms.empty() ? "" : terms[0]["matchFields"][0]["values"][0].get<std::string>();
  }
  static bool IsBound(const Json& pod) { return pod["spec"].contains("nodeName"); }
  static std::string ImageOf(const Json& pod) { return pod["spec"]["containers"][0]["image"]; }
  static std::string HashOf(const Json& object) {
    return object["metadata"].value("labels", Json::object()).value("controller-revision-hash", "");
  }
  static std::string UidOf(const Json& object) { return object["metadata"]["uid"]; }
  std::vector<Json> PodsOn(const std::string& node) {
    std::vector<Json> pods = AlivePodsOf("d");
    std::erase_if(pods, [&](const Json& pod) { return NodeOf(pod) != node; });
    return pods;
  }
  Json PodOn(const std::string& node) {
    const std::vector<Json> pods = PodsOn(node);
    EXPECT_EQ(pods.size(), 1u) << "on " << node;
    return pods.empty() ? Json() : pods[0];
  }
  // Nodes with a pod that is not being deleted, of this image if one is given.
  Nodes Alive(const std::string& image = "") {
    Nodes nodes;
    for (const Json& pod : AlivePodsOf("d"))
      if (image.empty() || ImageOf(pod) == image) nodes.insert(NodeOf(pod));
    return nodes;
  }
  std::map<std::string, std::string> Uids() {
    std::map<std::string, std::string> uids;
    for (const Json& pod : AlivePodsOf("d")) uids[NodeOf(pod)] = UidOf(pod);
    return uids;
  }

  // ---- scheduler and kubelet ----
  void Start(const Json& pod) {
    if (!IsBound(pod)) cluster.Bind(Name(pod), NodeOf(pod));
    cluster.MakeReady(Name(pod));
  }
  void StartOn(const std::string& node) {
    for (const Json& pod : PodsOn(node))
      if (!IsReady(pod)) Start(pod);
    Settle();
  }
  void StartAll() {
    for (const Json& pod : AlivePodsOf("d"))
      if (!IsReady(pod)) Start(pod);
    Settle();
  }
  // Until nothing starts or ends any more; `look` sees every step.
  void PlayToTheEnd(const std::function<void()>& look = [] {}) {
    for (int i = 0; i < 60; ++i) {
      bool busy = false;
      for (const Json& pod : PodsOf("d")) {
        if (!IsDeleting(pod) && IsReady(pod)) continue;
        busy = true;
        IsDeleting(pod) ? Gone(Name(pod)) : Start(pod);
        Settle();
        look();
      }
      if (!busy) return;
    }
    ADD_FAILURE() << "the set does not come to rest";
  }

  // ---- its history ---- by number: name
  std::map<int, std::string> Revisions() {
    std::map<int, std::string> out;
    for (const Json& revision : cluster.List("controllerrevisions"))
      out[revision["revision"].get<int>()] = Name(revision);
    return out;
  }
};

}  // namespace kcm::harness
