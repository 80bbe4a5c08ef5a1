// SPDX-License-Identifier: Apache-2.0
// StatefulWorkloads: what the scenario tests of StatefulSets share: the set `web` of the
// specification, and a kubelet that is played step by step or to the end.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "plugins/pod/workloads.h"

namespace kcm::harness {

class StatefulWorkloads : public Workloads {
 protected:
  using Workloads::Workloads;

  static Json ClaimTemplate(const std::string& name) {
    return {{"metadata", {{"name", name}}},
            {"spec",
             {{"accessModes", Json::array({"ReadWriteOnce"})},
              {"resources", {{"requests", {{"storage", "1Gi"}}}}}}}};
  }
  // `web` with service `s` and one claim template `data`; `spec` is merged into its spec.
  static Json Web(int replicas = 3, const Json& spec = Json::object()) {
    Json more{{"serviceName", "s"}, {"volumeClaimTemplates", Json::array({ClaimTemplate("data")})}};
    more.merge_patch(spec);
    return Workload("StatefulSet", "web", replicas, more);
  }
  static Json Retention(const char* when_scaled, const char* when_deleted) {
    return {{"persistentVolumeClaimRetentionPolicy",
             {{"whenScaled", when_scaled}, {"whenDeleted", when_deleted}}}};
  }
  static Json Partition(int partition) {
    return {{"updateStrategy",
             {{"type", "RollingUpdate"}, {"rollingUpdate", {{"partition", partition}}}}}};
  }

  // As the kubelet: bound and Ready.
  void Start(const std::string& pod) {
    if (!cluster.Get("pods", pod)["spec"].contains("nodeName")) cluster.Bind(pod, "n1");
    cluster.MakeReady(pod);
  }
  void StartAndSettle(const std::string& pod) {
    Start(pod);
    Settle();
  }
  void FinishAndSettle(const std::string& pod) {
    Gone(pod);
    Settle();
  }
  // Until nothing starts or ends any more.
  void PlayKubelet() {
    for (int i = 0; i < 40; ++i) {
      bool busy = false;
      for (const Json& pod : PodsOf("web")) {
        if (!IsDeleting(pod) && IsReady(pod)) continue;
        busy = true;
        IsDeleting(pod) ? Gone(Name(pod)) : Start(Name(pod));
      }
      Settle();
      if (!busy) return;
    }
    ADD_FAILURE() << "the set does not come to rest";
  }
  void CreateReady(const Json& set) {
    CreateAndSettle(set);
    PlayKubelet();
  }

  Json WebNow() { return cluster.Get("statefulsets", "web"); }
  Json WebStatus() { return Status("statefulsets", "web"); }
  void PatchWeb(const Json& spec) {
    cluster.MergePatch("statefulsets", "web", {{"spec", spec}});
    Settle();
  }
  void ScaleTo(int replicas) { Scale("statefulsets", "web", replicas); }
  void SetImage(const std::string& image) {
    PatchWeb({{"template", PodTemplate({{"app", "x"}}, image)}});
  }
  static std::string ImageOf(const Json& pod) { return pod["spec"]["containers"][0]["image"]; }
  std::string Image(const std::string& pod) { return ImageOf(cluster.Get("pods", pod)); }
  static std::string UidOf(const Json& object) { return object["metadata"]["uid"]; }
  std::string Uid(const std::string& pod) { return UidOf(cluster.Get("pods", pod)); }

  // Names of the set's pods that are not being deleted.
  std::set<std::string> Alive() {
    std::set<std::string> names;
    for (const Json& pod : AlivePodsOf("web")) names.insert(Name(pod));
    return names;
  }
  std::set<std::string> Claims() {
    std::set<std::string> names;
    for (const Json& claim : cluster.List("persistentvolumeclaims")) names.insert(Name(claim));
    return names;
  }
  Json ClaimOwners(const std::string& claim) {
    return cluster.Get("persistentvolumeclaims", claim)["metadata"].value("ownerReferences",
                                                                          Json::array());
  }
  static Json OwnerOf(const char* api_version, const char* kind, const Json& object) {
    return {{"apiVersion", api_version},        {"kind", kind},       {"name", Name(object)},
            {"uid", object["metadata"]["uid"]}, {"controller", true}, {"blockOwnerDeletion", true}};
  }
  // As the garbage collector and the protection of claims in use: gone at once.
  void RemoveClaim(const std::string& claim) {
    cluster.MergePatch("persistentvolumeclaims", claim, {{"metadata", {{"finalizers", nullptr}}}});
    if (const auto left = cluster.Find("persistentvolumeclaims", claim); left && !IsDeleting(*left))
      cluster.Delete("persistentvolumeclaims", claim);
  }
  // By their numbers: name.
  std::map<int, std::string> Revisions() {
    std::map<int, std::string> out;
    for (const Json& revision : cluster.List("controllerrevisions"))
      out[revision["revision"].get<int>()] = Name(revision);
    return out;
  }
  void Touch() {
    cluster.MergePatch("statefulsets", "web",
                       {{"metadata", {{"annotations", {{"touched", cluster.Now()}}}}}});
    Settle();
  }
};

using Names = std::set<std::string>;

}  // namespace kcm::harness
