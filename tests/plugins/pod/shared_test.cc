// SPDX-License-Identifier: Apache-2.0
// Rules that the workload controllers share, seen through ReplicaSets and Deployments:
// spec/pod-workloads.md 1.19, and taking over from the reference manager.
#include <map>

#include "plugins/pod/workloads.h"

namespace kcm::harness {
namespace {

class SharedRules : public Workloads {
 protected:
  using Workloads::Workloads;
  void Create(const std::string& name, int replicas) {
    CreateAndSettle(Workload("ReplicaSet", name, replicas));
  }
};

TEST_F(SharedRules, SHR_01_AdoptsAnOrphanThenCountsIt) {
  Create("a", 0);
  const std::string uid = cluster.Get("replicasets", "a")["metadata"]["uid"];
  (void)cluster.Audit();
  CreateAndSettle(Orphan("o", {{"app", "x"}}));
  Json adopted;
  for (const auto& e : cluster.Audit())
    if (e.method == "PATCH" && e.uri.find("/pods/o") != std::string::npos && e.code == 200)
      adopted = Json::parse(e.body);
  ASSERT_FALSE(adopted.is_null()) << "no adoption was seen";
  EXPECT_EQ(adopted["metadata"]["ownerReferences"], (Json{{{"apiVersion", "apps/v1"},
                                                           {"kind", "ReplicaSet"},
                                                           {"name", "a"},
                                                           {"uid", uid},
                                                           {"controller", true},
                                                           {"blockOwnerDeletion", true}}}));
  cluster.Until(
      "it is deleted", [&] { return IsGoing("o"); }, 5s);
}

// A conflict or two are caches that are behind; one that never ends is a failure to be told of.
TEST_F(SharedRules, ConflictsThatGoOnAreLoggedAsErrors) {
  const auto told = [&] {
    return std::ranges::any_of(cluster.log(), [](const std::string& line) {
      return line.find("Error syncing") != std::string::npos;
    });
  };
  devcluster::Server::Fault conflict;
  conflict.method = "PUT";
  conflict.path_regex = ".*/replicasets/a/status";
  conflict.status = 409;
  conflict.reason = "Conflict";
  conflict.times = -1;
  cluster.server().AddFault(conflict);
  cluster.Create(Workload("ReplicaSet", "a", 1));
  cluster.Advance(10s);
  EXPECT_FALSE(told());
  cluster.Until("the operator is told", told, 3min, 1s);
}

TEST_F(SharedRules, SHR_02_ReleasesAPodThatDoesNotMatchAnyMore) {
  Create("a", 1);
  const std::string p = Name(PodsOf("a")[0]);
  cluster.MergePatch("pods", p, {{"metadata", {{"labels", {{"app", "y"}}}}}});
  Settle();
  EXPECT_TRUE(cluster.Get("pods", p)["metadata"].value("ownerReferences", Json::array()).empty());
  EXPECT_FALSE(IsGoing(p));
  ASSERT_EQ(PodsOf("a").size(), 1u);
  EXPECT_NE(Name(PodsOf("a")[0]), p);
}

TEST_F(SharedRules, SHR_03_AnOwnerBeingDeletedAdoptsNothing) {
  Json rs = Workload("ReplicaSet", "a", 1);
  rs["metadata"]["finalizers"] = {"example.com/hold"};
  CreateAndSettle(rs);
  cluster.Delete("replicasets", "a", {{"propagationPolicy", "Foreground"}});
  Settle();
  for (const Json& p : PodsOf("a")) Gone(Name(p));
  cluster.Create(Orphan("o", {{"app", "x"}}));
  cluster.Advance(30s);
  EXPECT_EQ(OwnerName(cluster.Get("pods", "o")), "");
  EXPECT_FALSE(IsGoing("o"));
  EXPECT_EQ(cluster.List("pods").size(), 1u);
}

TEST_F(SharedRules, SHR_04_AnOrphanBeingDeletedIsNotAdopted) {
  Json o = Orphan("o", {{"app", "x"}});
  o["metadata"]["finalizers"] = {"example.com/hold"};
  CreateAndSettle(o);
  cluster.Delete("pods", "o");
  Create("a", 1);
  cluster.Advance(5s);
  ASSERT_TRUE(IsDeleting(cluster.Get("pods", "o")));
  EXPECT_EQ(OwnerName(cluster.Get("pods", "o")), "");
  EXPECT_EQ(PodsOf("a").size(), 1u);
}

TEST_F(SharedRules, SHR_05_OneOfTwoAdopts) {
  cluster.Create(Workload("ReplicaSet", "a", 0));
  CreateAndSettle(Workload("ReplicaSet", "b", 0));
  ASSERT_EQ(cluster.StopHost(), 0);
  cluster.Create(Orphan("o", {{"app", "x"}}));
  for (const char* name : {"a", "b"})
    cluster.MergePatch("replicasets", name, {{"spec", {{"replicas", 1}}}});
  cluster.StartHost();
  cluster.Advance(30s);
  const std::string owner = OwnerName(cluster.Get("pods", "o"));
  EXPECT_TRUE(owner == "a" || owner == "b") << owner;
  EXPECT_EQ(PodsOf("a").size(), 1u);
  EXPECT_EQ(PodsOf("b").size(), 1u);
  (void)cluster.HostWrites();
  cluster.Advance(60s);
  EXPECT_EQ(cluster.HostWrites(), std::vector<std::string>());
}

TEST_F(SharedRules, SHR_06_AnOwnerThatIsNoControllerIsMadeOne) {
  Create("a", 1);
  const Json a = cluster.Get("replicasets", "a");
  Gone(Name(PodsOf("a")[0]));
  Settle();
  ASSERT_EQ(cluster.StopHost(), 0);
  for (const Json& p : PodsOf("a")) Gone(Name(p));
  Json o = Orphan("o", {{"app", "x"}});
  o["metadata"]["ownerReferences"] = {{{"apiVersion", "apps/v1"},
                                       {"kind", "ReplicaSet"},
                                       {"name", "a"},
                                       {"uid", a["metadata"]["uid"]}}};
  cluster.Create(o);
  cluster.StartHost();
  cluster.Advance(5s);
  const Json owners = cluster.Get("pods", "o")["metadata"]["ownerReferences"];
  ASSERT_EQ(owners.size(), 1u);
  EXPECT_EQ(owners[0]["controller"], true);
  EXPECT_EQ(owners[0]["uid"], a["metadata"]["uid"]);
  EXPECT_EQ(PodsOf("a").size(), 1u);
}

// The reconcile of one that was deleted goes on and makes its pods, while one of the same name is
// there already: that one waits for nothing of it (1.6.5, RS-13).
TEST_F(SharedRules, OneMadeAnewDoesNotWaitForPodsOfTheOneBefore) {
  const std::pair<const char*, const char*> kinds[] = {
      {"ReplicaSet", "replicasets"},
      {"ReplicationController", "replicationcontrollers"},
      {"DaemonSet", "daemonsets"},
  };
  for (const char* node : {"n1", "n2"}) {
    cluster.Create({{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", {{"name", node}}}});
    cluster.MergePatch("nodes", node, {{"spec", {{"taints", nullptr}}}}, "");
  }
  for (const auto& [kind, resource] : kinds) {
    SCOPED_TRACE(kind);
    Json w = Workload(kind, "w", 2, Json::object(), kind);
    if (w["kind"] == "ReplicationController") {
      w["apiVersion"] = "v1";
      w["spec"]["selector"] = {{"app", kind}};
    }
    if (w["kind"] == "DaemonSet") w["spec"].erase("replicas");
    // Its first reconcile is held up where it adopts, before it makes a pod.
    const std::string orphan = "orphan-" + std::string(resource);
    Json o = Orphan(orphan, {{"app", kind}});
    o["spec"]["nodeName"] = "n1";
    cluster.Create(o);
    devcluster::Server::Fault busy;
    busy.method = "PATCH";
    busy.path_regex = ".*/pods/" + orphan + ".*";
    busy.status = 429;
    busy.reason = "TooManyRequests";
    busy.retry_after_seconds = 3;
    cluster.server().AddFault(busy);
    cluster.Create(w);
    cluster.Advance(1s);
    const std::string first = cluster.Get(resource, "w")["metadata"]["uid"];
    cluster.Delete(resource, "w", {{"propagationPolicy", "Background"}});
    cluster.Create(w);
    const std::string second = cluster.Get(resource, "w")["metadata"]["uid"];
    cluster.Advance(10s);
    std::map<std::string, int> pods;
    for (const Json& pod : PodsOf("w"))
      if (pod["metadata"]["labels"]["app"] == kind) ++pods[Controller(pod)["uid"]];
    EXPECT_EQ(pods[first], 2) << "the adopted one and one that was made: else nothing was tried";
    EXPECT_EQ(pods[second], 2);
  }
}

TEST_F(SharedRules, SHR_07_ARestartWritesNothing) {
  Create("a", 2);
  CreateAndSettle(Workload("Deployment", "d", 2, Json::object(), "d"));
  for (const Json& rs : cluster.List("replicasets")) RunAll(Name(rs));
  cluster.Advance(5s);
  ASSERT_EQ(cluster.StopHost(), 0);
  (void)cluster.HostWrites();
  cluster.StartHost();
  cluster.Advance(60s);
  EXPECT_EQ(cluster.HostWrites(), std::vector<std::string>());
}

TEST_F(SharedRules, SHR_08_StatusWritesKeepForeignMetadata) {
  cluster.Create({{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", {{"name", "n1"}}}});
  cluster.MergePatch("nodes", "n1", {{"spec", {{"taints", nullptr}}}}, "");
  const std::pair<const char*, const char*> kinds[] = {
      {"ReplicaSet", "replicasets"}, {"ReplicationController", "replicationcontrollers"},
      {"Deployment", "deployments"}, {"StatefulSet", "statefulsets"},
      {"DaemonSet", "daemonsets"},
  };
  for (const auto& [kind, resource] : kinds) {
    Json w = Workload(kind, "w", 1, Json::object(), kind);
    w["metadata"]["annotations"] = {{"team", "x"}};
    w["metadata"]["finalizers"] = {"example.com/hold"};
    if (w["kind"] == "ReplicationController") {
      w["apiVersion"] = "v1";
      w["spec"]["selector"] = {{"app", kind}};
    }
    if (w["kind"] == "StatefulSet") w["spec"]["serviceName"] = "s";
    if (w["kind"] == "DaemonSet") w["spec"].erase("replicas");
    cluster.Create(w);
  }
  Settle();
  for (int i = 0; i < 22; ++i) {
    for (const Json& p : cluster.List("pods"))
      i % 2 == 0 ? cluster.MakeReady(Name(p)) : cluster.MakeNotReady(Name(p));
    Settle();
  }
  const std::vector<std::string> writes = cluster.HostWrites();
  for (const auto& [kind, resource] : kinds) {
    const std::string end = "/" + std::string(resource) + "/w/status";
    EXPECT_GE(std::ranges::count_if(writes, [&](const auto& w) { return w.ends_with(end); }), 20)
        << kind;
    const Json w = cluster.Get(resource, "w");
    EXPECT_EQ(Annotation(w, "team"), "x") << kind;
    EXPECT_EQ(w["metadata"]["finalizers"], (Json{"example.com/hold"})) << kind;
  }
}

// Deployments as the reference manager leaves them: its own hashes, complete, paused and stalled
// ones.
class TakeOver : public Workloads {
 protected:
  TakeOver()
      : Workloads({.plugins = {"pod"}, .start_host = false, .nodes = 0, .scheduler = false}) {}

  static Json Condition(const char* type, const char* status, const char* reason,
                        const std::string& message, const std::string& at) {
    return {{"type", type},       {"status", status},     {"reason", reason},
            {"message", message}, {"lastUpdateTime", at}, {"lastTransitionTime", at}};
  }
  void Leave(int number) {
    const bool paused = number % 3 == 1, stalled = number % 3 == 2;
    const std::string name = "d" + std::to_string(number),
                      hash = "6c8b8f7" + std::to_string(number), at = cluster.Now(-3600s);
    const std::string set = name + "-" + hash;
    Json d = Workload("Deployment", name, 1, {{"paused", paused}}, name);
    d["metadata"]["annotations"] = {{"deployment.kubernetes.io/revision", "1"}};
    const Json created = cluster.Create(d);
    Json rs = Workload("ReplicaSet", set, 1,
                       {{"selector", {{"matchLabels", {{"pod-template-hash", hash}}}}},
                        {"template", {{"metadata", {{"labels", {{"pod-template-hash", hash}}}}}}}},
                       name);
    rs["metadata"]["labels"] = {{"app", name}, {"pod-template-hash", hash}};
    rs["metadata"]["annotations"] = {{"deployment.kubernetes.io/revision", "1"},
                                     {"deployment.kubernetes.io/desired-replicas", "1"},
                                     {"deployment.kubernetes.io/max-replicas", "2"}};
    rs["metadata"]["ownerReferences"] = {Owner("Deployment", created)};
    const Json owner = cluster.Create(rs);
    Json pod = Orphan(set + "-abcde", {{"app", name}, {"pod-template-hash", hash}});
    pod["metadata"]["ownerReferences"] = {Owner("ReplicaSet", owner)};
    cluster.Create(pod);
    cluster.Bind(set + "-abcde", "n1");
    if (!stalled) ReadySince(set + "-abcde", -3600s);
    Json status{{"replicas", 1}, {"observedGeneration", 1}, {"terminatingReplicas", 0}};
    if (!stalled) status["readyReplicas"] = status["availableReplicas"] = 1;
    Json rs_status = status;
    rs_status["fullyLabeledReplicas"] = 1;
    cluster.PatchStatus("replicasets", set, rs_status);
    status["updatedReplicas"] = 1;
    if (stalled) status["unavailableReplicas"] = 1;
    Json available = stalled ? Condition("Available", "False", "MinimumReplicasUnavailable",
                                         "Deployment does not have minimum availability.", at)
                             : Condition("Available", "True", "MinimumReplicasAvailable",
                                         "Deployment has minimum availability.", at);
    Json progress =
        stalled ? Condition("Progressing", "False", "ProgressDeadlineExceeded",
                            "ReplicaSet \"" + set + "\" has timed out progressing.", at)
        : paused
            ? Condition("Progressing", "Unknown", "DeploymentPaused", "Deployment is paused", at)
            : Condition("Progressing", "True", "NewReplicaSetAvailable",
                        "ReplicaSet \"" + set + "\" has successfully progressed.", at);
    status["conditions"] = {available, progress};
    cluster.PatchStatus("deployments", name, status);
  }
  static Json Owner(const char* kind, const Json& object) {
    return {{"apiVersion", "apps/v1"},          {"kind", kind},       {"name", Name(object)},
            {"uid", object["metadata"]["uid"]}, {"controller", true}, {"blockOwnerDeletion", true}};
  }
};

TEST_F(TakeOver, DEP_26_WritesNothingForDeploymentsOfTheReference) {
  for (int i = 0; i < 50; ++i) Leave(i);
  cluster.StartHost();
  (void)cluster.HostWrites();
  cluster.Advance(10min);
  EXPECT_EQ(cluster.HostWrites(), std::vector<std::string>());
}

}  // namespace
}  // namespace kcm::harness
