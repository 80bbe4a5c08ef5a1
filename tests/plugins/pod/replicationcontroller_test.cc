// SPDX-License-Identifier: Apache-2.0
// replicationcontroller-controller in a real host: the scenarios of spec/pod-workloads.md
// section 3. What it shares with ReplicaSets is tested there.
#include "plugins/pod/workloads.h"

namespace kcm::harness {
namespace {

class ReplicationController : public Workloads {
 protected:
  static Json Manifest(int replicas, const std::string& name = "a") {
    return {{"apiVersion", "v1"},
            {"kind", "ReplicationController"},
            {"metadata", {{"name", name}}},
            {"spec",
             {{"replicas", replicas},
              {"selector", {{"app", "x"}}},
              {"template", PodTemplate({{"app", "x"}})}}}};
  }
  void Create(int replicas) { CreateAndSettle(Manifest(replicas)); }
  Json A() { return cluster.Get("replicationcontrollers", "a"); }
};

TEST_F(ReplicationController, RC_01_CreatesPodsFromItsTemplate) {
  Create(2);
  const Json a = A();
  const std::vector<Json> pods = cluster.List("pods");
  ASSERT_EQ(pods.size(), 2u);
  for (const Json& pod : pods) {
    EXPECT_EQ(pod["metadata"]["generateName"], "a-");
    EXPECT_EQ(pod["metadata"]["labels"], (Json{{"app", "x"}}));
    EXPECT_EQ(pod["metadata"]["ownerReferences"], (Json{{{"apiVersion", "v1"},
                                                         {"kind", "ReplicationController"},
                                                         {"name", "a"},
                                                         {"uid", a["metadata"]["uid"]},
                                                         {"controller", true},
                                                         {"blockOwnerDeletion", true}}}));
    EXPECT_TRUE(cluster.HasEvent("ReplicationController", "a", "SuccessfulCreate",
                                 "Created pod: " + Name(pod)));
  }
  EXPECT_EQ(a["status"]["replicas"], 2);
  EXPECT_EQ(a["status"]["fullyLabeledReplicas"], 2);
  EXPECT_EQ(a["status"]["observedGeneration"], 1);
  EXPECT_FALSE(a["status"].contains("terminatingReplicas"));
}

TEST_F(ReplicationController, RC_02_AQuotaStopsCreationAndShowsAsACondition) {
  CreateQuota("q", "2");
  Settle();
  Create(3);
  EXPECT_EQ(cluster.List("pods").size(), 2u);
  const Json failure = Condition(A(), "ReplicaFailure");
  ASSERT_FALSE(failure.is_null());
  EXPECT_EQ(failure["status"], "True");
  EXPECT_EQ(failure["reason"], "FailedCreate");
  Scale("replicationcontrollers", "a", 2);
  cluster.Until(
      "the condition is gone", [&] { return Condition(A(), "ReplicaFailure").is_null(); }, 30s, 1s);
  EXPECT_EQ(cluster.List("pods").size(), 2u);
}

TEST_F(ReplicationController, RC_03_AdoptsAnOrphanInsteadOfCreatingAPod) {
  CreateAndSettle(Orphan("orphan", {{"app", "x"}}));
  Create(1);
  ASSERT_EQ(cluster.List("pods").size(), 1u);
  EXPECT_EQ(OwnerName(cluster.Get("pods", "orphan")), "a");
  EXPECT_EQ(A()["status"]["replicas"], 1);
}

TEST_F(ReplicationController, RC_04_ReleasesAPodWhoseLabelChangesAndReplacesIt) {
  CreateAndSettle(Orphan("orphan", {{"app", "x"}}));
  Create(1);
  ASSERT_EQ(OwnerName(cluster.Get("pods", "orphan")), "a");
  cluster.MergePatch("pods", "orphan", {{"metadata", {{"labels", {{"app", "y"}}}}}});
  Settle();
  EXPECT_EQ(OwnerName(cluster.Get("pods", "orphan")), "");
  const std::vector<Json> own = PodsOf("a");
  ASSERT_EQ(own.size(), 1u);
  EXPECT_NE(Name(own[0]), "orphan");
}

TEST_F(ReplicationController, RC_05_DoesNotRankPodsOfACrowdedNode) {
  AlignToSecond();
  Create(3);
  const std::vector<Json> pods = PodsOf("a");
  ASSERT_EQ(pods.size(), 3u);
  const std::string old_1 = Name(pods[0]), old_2 = Name(pods[1]), young = Name(pods[2]);
  cluster.Bind(old_1, "n1");
  cluster.Bind(old_2, "n1");
  cluster.Bind(young, "n2");
  ReadySince(old_1, -3600s);
  ReadySince(old_2, -3600s);
  ReadySince(young, -30s);
  Settle();
  Scale("replicationcontrollers", "a", 2);
  EXPECT_TRUE(IsGoing(young));
  EXPECT_FALSE(IsGoing(old_1) || IsGoing(old_2));
}

// The garbage collector's part of the deletion is done by the test, as it does it.
TEST_F(ReplicationController, RC_06_OrphanedPodsStayAndANewOneAdoptsThem) {
  Create(2);
  const std::string old_uid = A()["metadata"]["uid"];
  cluster.Delete("replicationcontrollers", "a", {{"propagationPolicy", "Orphan"}});
  Settle();
  ASSERT_TRUE(IsDeleting(A())) << "it waits for the finalizer orphan";
  for (const Json& pod : PodsOf("a"))
    cluster.MergePatch("pods", Name(pod), {{"metadata", {{"ownerReferences", nullptr}}}});
  Settle();
  const std::vector<std::string> survivors = AliveNames();
  EXPECT_EQ(survivors.size(), 2u) << "an RC in deletion neither adopts nor creates";
  for (const Json& pod : cluster.List("pods")) EXPECT_EQ(OwnerName(pod), "");
  cluster.MergePatch("replicationcontrollers", "a", {{"metadata", {{"finalizers", nullptr}}}});
  Settle();
  ASSERT_FALSE(cluster.Find("replicationcontrollers", "a"));

  CreateAndSettle(Manifest(2));
  EXPECT_EQ(AliveNames(), survivors);
  const std::string uid = A()["metadata"]["uid"];
  EXPECT_NE(uid, old_uid);
  for (const Json& pod : cluster.List("pods")) EXPECT_EQ(Controller(pod)["uid"], uid);
}

TEST_F(ReplicationController, RC_07_OneOrphanIsOwnedByOneOfTwo) {
  CreateAndSettle(Orphan("orphan", {{"app", "x"}}));
  cluster.Create(Manifest(1, "rc"));
  cluster.Create(Workload("ReplicaSet", "rs", 1));
  Settle();
  const std::string owner = OwnerName(cluster.Get("pods", "orphan"));
  EXPECT_TRUE(owner == "rc" || owner == "rs") << owner;
  EXPECT_EQ(cluster.List("pods").size(), 2u);
  EXPECT_EQ(PodsOf("rc").size(), 1u);
  EXPECT_EQ(PodsOf("rs").size(), 1u);
}

}  // namespace
}  // namespace kcm::harness
