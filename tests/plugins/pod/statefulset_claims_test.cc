// SPDX-License-Identifier: Apache-2.0
// statefulset-controller in a real host: claims and their owners (spec/pod-workloads.md 5.5, 5.6).
#include "plugins/pod/jobs.h"
#include "plugins/pod/stateful_workloads.h"

namespace kcm::harness {
namespace {

class StatefulSetClaims : public StatefulWorkloads {};

TEST_F(StatefulSetClaims, STS_11_ScaleDownHandsTheClaimToItsPod) {
  CreateReady(Web(3, Retention("Delete", "Retain")));
  for (const std::string& claim : Claims()) EXPECT_EQ(ClaimOwners(claim), Json::array()) << claim;
  const Json pod = cluster.Get("pods", "web-2");
  (void)cluster.HostWrites();
  ScaleTo(2);
  EXPECT_EQ(ClaimOwners("data-web-2"), Json::array({OwnerOf("v1", "Pod", pod)}));
  EXPECT_EQ(ClaimOwners("data-web-0"), Json::array());
  EXPECT_EQ(ClaimOwners("data-web-1"), Json::array());
  EXPECT_TRUE(IsGoing("web-2"));
  const std::vector<std::string> writes = cluster.HostWrites();
  const auto owned = std::find(writes.begin(), writes.end(),
                               "PUT /api/v1/namespaces/default/persistentvolumeclaims/data-web-2");
  const auto deleted =
      std::find(writes.begin(), writes.end(), "DELETE /api/v1/namespaces/default/pods/web-2");
  ASSERT_NE(deleted, writes.end());
  EXPECT_LT(owned - writes.begin(), deleted - writes.begin());
}

TEST_F(StatefulSetClaims, STS_12_ClaimsGoWithTheSetIfItSaysSo) {
  CreateReady(Web(3, Retention("Retain", "Delete")));
  for (const std::string& claim : Claims())
    EXPECT_EQ(ClaimOwners(claim), Json::array({OwnerOf("apps/v1", "StatefulSet", WebNow())}))
        << claim;
  PatchWeb(Retention("Retain", "Retain"));
  EXPECT_EQ(Claims().size(), 3u);
  for (const std::string& claim : Claims()) EXPECT_EQ(ClaimOwners(claim), Json::array()) << claim;
  EXPECT_EQ(Alive().size(), 3u);
}

TEST_F(StatefulSetClaims, STS_13_ANewPodWaitsUntilTheOldClaimIsGone) {
  CreateReady(Web(3, Retention("Delete", "Delete")));
  ScaleTo(2);
  FinishAndSettle("web-2");
  const std::string old = UidOf(cluster.Get("persistentvolumeclaims", "data-web-2"));
  cluster.MergePatch("persistentvolumeclaims", "data-web-2",
                     {{"metadata", {{"finalizers", {"example.com/hold"}}}}});
  cluster.Delete("persistentvolumeclaims", "data-web-2");
  Settle();
  ScaleTo(3);
  cluster.Advance(30s);
  EXPECT_EQ(Alive(), (Names{"web-0", "web-1"}));
  RemoveClaim("data-web-2");
  Settle();
  Touch();
  EXPECT_EQ(Alive(), (Names{"web-0", "web-1", "web-2"}));
  EXPECT_NE(UidOf(cluster.Get("persistentvolumeclaims", "data-web-2")), old);
}

// Beyond STS-13: nobody has to touch the set.
TEST_F(StatefulSetClaims, TheNewPodComesAsSoonAsTheOldClaimIsGone) {
  CreateReady(Web(2, Retention("Delete", "Retain")));
  ScaleTo(1);
  FinishAndSettle("web-1");
  ScaleTo(2);
  cluster.Advance(30s);
  EXPECT_EQ(Alive(), Names{"web-0"});
  RemoveClaim("data-web-1");
  Settle();
  EXPECT_EQ(Alive(), (Names{"web-0", "web-1"}));
  EXPECT_TRUE(Claims().contains("data-web-1"));
}

TEST_F(StatefulSetClaims, AClaimBeingDeletedHoldsItsPod) {
  CreateReady(Web(2));
  const std::string old = UidOf(cluster.Get("persistentvolumeclaims", "data-web-1"));
  cluster.MergePatch("persistentvolumeclaims", "data-web-1",
                     {{"metadata", {{"finalizers", {"example.com/hold"}}}}});
  cluster.Delete("persistentvolumeclaims", "data-web-1");
  FinishAndSettle("web-1");
  ASSERT_EQ(Alive(), Names{"web-0"});
  EXPECT_TRUE(cluster.HasEvent("StatefulSet", "web", "FailedCreate",
                               "Create Pod web-1 in StatefulSet web failed error: pvc data-web-1 "
                               "is being deleted"));
  RemoveClaim("data-web-1");
  cluster.Advance(10s);  // until it is tried again
  EXPECT_EQ(Alive(), (Names{"web-0", "web-1"}));
  EXPECT_NE(UidOf(cluster.Get("persistentvolumeclaims", "data-web-1")), old);
}

TEST_F(StatefulSetClaims, STS_14_AClaimOfAnotherControllerIsLeftAlone) {
  const Json foreign = cluster.Create(
      {{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", "manager"}}}});
  Json claim = ClaimTemplate("data-web-1");
  claim["apiVersion"] = "v1";
  claim["kind"] = "PersistentVolumeClaim";
  claim["metadata"]["ownerReferences"] = {OwnerOf("v1", "ConfigMap", foreign)};
  cluster.Create(claim);
  (void)cluster.HostWrites();
  CreateReady(Web(2, Retention("Retain", "Delete")));
  EXPECT_TRUE(cluster.HasEvent(
      "StatefulSet", "web", "ConflictingController",
      "PersistentVolumeClaim data-web-1 has a conflicting OwnerReference that acts as a manging "
      "controller, the retention policy is ignored for this claim"));
  EXPECT_EQ(ClaimOwners("data-web-1"), Json::array({OwnerOf("v1", "ConfigMap", foreign)}));
  EXPECT_EQ(CountWrites(cluster.HostWrites(),
                        "PUT /api/v1/namespaces/default/persistentvolumeclaims/data-web-1"),
            0);
  EXPECT_EQ(ClaimOwners("data-web-0"), Json::array({OwnerOf("apps/v1", "StatefulSet", WebNow())}));
}

TEST_F(StatefulSetClaims, STS_17_AMissingClaimOfAPendingPodIsMadeAnew) {
  CreateAndSettle(Web(1));
  const std::string pod = Uid("web-0");
  const std::string old = UidOf(cluster.Get("persistentvolumeclaims", "data-web-0"));
  RemoveClaim("data-web-0");
  Settle();
  Touch();
  EXPECT_NE(UidOf(cluster.Get("persistentvolumeclaims", "data-web-0")), old);
  EXPECT_EQ(Uid("web-0"), pod);
}

TEST_F(StatefulSetClaims, AClaimThatIsRefusedHoldsItsPod) {
  cluster.Create({{"apiVersion", "v1"},
                  {"kind", "ResourceQuota"},
                  {"metadata", {{"name", "q"}}},
                  {"spec", {{"hard", {{"persistentvolumeclaims", "0"}}}}}});
  cluster.PatchStatus(
      "resourcequotas", "q",
      {{"hard", {{"persistentvolumeclaims", "0"}}}, {"used", {{"persistentvolumeclaims", "0"}}}});
  Settle();
  CreateAndSettle(Web(1));
  EXPECT_TRUE(Alive().empty());
  EXPECT_TRUE(
      cluster.HasEvent("StatefulSet", "web", "FailedCreate",
                       "Create Claim data-web-0 for Pod web-0 in StatefulSet web failed error: "));
  EXPECT_TRUE(cluster.HasEvent("StatefulSet", "web", "FailedCreate",
                               "Create Pod web-0 in StatefulSet web failed error: failed to create "
                               "PVC data-web-0: "));
  EXPECT_EQ(WebStatus()["observedGeneration"], 1) << "the status is written all the same";
}

class StatefulSetClaimWrites : public StatefulSetClaims {
 protected:
  static constexpr const char* kFailed = "Update Pod web-0 in StatefulSet web failed error: ";

  bool Told(const std::string& error) {
    return cluster.HasEvent("StatefulSet", "web", "FailedUpdate", kFailed + error);
  }
  void CheckThatARefusedOwnerIsTold(int status, const char* reason) {
    cluster.server().AddFault(
        Answered("PUT", "/persistentvolumeclaims/data-web-0", -1, status, reason));
    PatchWeb(Retention("Retain", "Delete"));
    EXPECT_TRUE(Told("could not update claim data-web-0 for delete policy ownerRefs: "));
    EXPECT_EQ(ClaimOwners("data-web-0"), Json::array());
    cluster.server().ClearFaults();
    cluster.Advance(30s);  // until it is tried again
    EXPECT_EQ(ClaimOwners("data-web-0"),
              Json::array({OwnerOf("apps/v1", "StatefulSet", WebNow())}));
  }
};

TEST_F(StatefulSetClaimWrites, ARefusedOwnerIsToldOfAPendingPod) {
  CreateAndSettle(Web(1));
  CheckThatARefusedOwnerIsTold(500, "InternalError");
}

TEST_F(StatefulSetClaimWrites, ARefusedOwnerIsToldOfARunningPod) {
  CreateReady(Web(1));
  CheckThatARefusedOwnerIsTold(409, "Conflict");
  EXPECT_TRUE(cluster.HasEvent("StatefulSet", "web", "SuccessfulUpdate",
                               "Update Pod web-0 in StatefulSet web successful"));
}

TEST_F(StatefulSetClaimWrites, AClaimThatIsRefusedIsToldOfTheAdoptedPodThatNeedsIt) {
  cluster.Create(Orphan("web-0", {{"app", "x"}}));
  Start("web-0");
  cluster.server().AddFault(Answered("POST", "/persistentvolumeclaims", -1, 500, "InternalError"));
  CreateAndSettle(Web(1));
  ASSERT_EQ(OwnerName(cluster.Get("pods", "web-0")), "web");
  EXPECT_TRUE(Told("failed to create PVC data-web-0: "));
}

TEST_F(StatefulSetClaims, ALostNameLabelIsPutBack) {
  CreateReady(Web(1));
  const std::string uid = Uid("web-0");
  cluster.MergePatch("pods", "web-0",
                     {{"metadata",
                       {{"labels",
                         {{"statefulset.kubernetes.io/pod-name", nullptr},
                          {"apps.kubernetes.io/pod-index", nullptr}}},
                        {"annotations", {{"team", "x"}}}}}});
  Settle();
  const Json pod = cluster.Get("pods", "web-0");
  EXPECT_EQ(pod["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"], "web-0");
  EXPECT_EQ(pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"], "0");
  EXPECT_EQ(Annotation(pod, "team"), "x");
  EXPECT_EQ(ImageOf(pod), "nginx:1");
  EXPECT_EQ(UidOf(pod), uid);
  EXPECT_TRUE(cluster.HasEvent("StatefulSet", "web", "SuccessfulUpdate",
                               "Update Pod web-0 in StatefulSet web successful"));
}

}  // namespace
}  // namespace kcm::harness
