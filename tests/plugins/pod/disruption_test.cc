// SPDX-License-Identifier: Apache-2.0
// disruption-controller in a real host: the scenarios of spec/pod-batch.md section 5. The test
// makes the pods and their controllers; nothing else runs.
#include "plugins/pod/jobs.h"
#include "plugins/pod/widgets.h"

namespace kcm::harness {
namespace {

class Disruption : public Jobs {
 protected:
  explicit Disruption(const std::string& controllers = "disruption-controller")
      : Jobs(controllers) {
    AlignToSecond();
  }

  static Json ReferenceTo(const Json& owner) {
    return {{"apiVersion", owner["apiVersion"]},
            {"kind", owner["kind"]},
            {"name", owner["metadata"]["name"]},
            {"uid", owner["metadata"]["uid"]},
            {"controller", true}};
  }
  Json CreateWorkload(const std::string& kind, const std::string& name, int replicas,
                      const Json& owner = nullptr) {
    Json w = Workload(kind, name, replicas);
    if (kind == "StatefulSet") w["spec"]["serviceName"] = "s";
    if (!owner.is_null()) w["metadata"]["ownerReferences"] = Json::array({ReferenceTo(owner)});
    return cluster.Create(w);
  }
  void CreatePod(const std::string& name, const Json& owner = nullptr, bool ready = true) {
    Json pod = Orphan(name, {{"app", "x"}});
    if (!owner.is_null()) pod["metadata"]["ownerReferences"] = Json::array({ReferenceTo(owner)});
    cluster.Create(pod);
    if (!ready) return;
    cluster.Bind(name, "n1");
    cluster.MakeReady(name);
  }
  void CreatePods(int count, const Json& owner, const std::string& prefix = "p") {
    for (int i = 0; i < count; ++i) CreatePod(prefix + std::to_string(i), owner);
  }
  // A Deployment of `replicas` with one ReplicaSet and as many Ready pods.
  void CreateDeployment(int replicas) {
    const Json d = CreateWorkload("Deployment", "d", replicas);
    CreatePods(replicas, CreateWorkload("ReplicaSet", "rs", replicas, d));
  }
  void CreateBudget(const Json& spec, const std::string& name = "b") {
    Json budget{{"apiVersion", "policy/v1"},
                {"kind", "PodDisruptionBudget"},
                {"metadata", {{"name", name}}},
                {"spec", {{"selector", {{"matchLabels", {{"app", "x"}}}}}}}};
    budget["spec"].merge_patch(spec);
    CreateAndSettle(budget);
  }
  Json Budget(const std::string& name = "b") { return cluster.Get("poddisruptionbudgets", name); }
  // expectedPods, desiredHealthy, currentHealthy, disruptionsAllowed
  std::vector<int64_t> Numbers(const std::string& name = "b") {
    const Json s = Budget(name)["status"];
    return {Number(s, "expectedPods"), Number(s, "desiredHealthy"), Number(s, "currentHealthy"),
            Number(s, "disruptionsAllowed")};
  }
  using N = std::vector<int64_t>;
  std::string Verdict(const std::string& name = "b") {
    const Json c = Condition(Budget(name), "DisruptionAllowed");
    return c.is_null() ? "none"
                       : c["status"].get<std::string>() + " " + c["reason"].get<std::string>();
  }
  std::string Message() { return Condition(Budget(), "DisruptionAllowed")["message"]; }
  bool Observed() {
    const Json b = Budget();
    return Number(b["status"], "observedGeneration") == b["metadata"]["generation"];
  }
  bool HasBudgetEvent(const std::string& reason, const std::string& text = "") {
    return cluster.HasEvent("PodDisruptionBudget", "b", reason, text);
  }
  void SetDisrupted(const std::string& pod, const std::string& since) {
    cluster.PatchStatus("poddisruptionbudgets", "b", {{"disruptedPods", {{pod, since}}}});
    Settle();
  }
};

TEST_F(Disruption, PDB_01_MaxUnavailableOfADeployment) {
  CreateDeployment(5);
  CreateBudget({{"maxUnavailable", 1}});
  EXPECT_EQ(Numbers(), (N{5, 4, 5, 1}));
  EXPECT_TRUE(Observed());
  EXPECT_EQ(Verdict(), "True SufficientPods");
  EXPECT_EQ(Message(), "");
}

TEST_F(Disruption, PDB_02_AnUnreadyPodTakesTheAllowance) {
  CreateDeployment(5);
  CreateBudget({{"maxUnavailable", 1}});
  ASSERT_EQ(Numbers(), (N{5, 4, 5, 1}));
  cluster.MakeNotReady("p0");
  Settle();
  EXPECT_EQ(Numbers(), (N{5, 4, 4, 0}));
  EXPECT_EQ(Verdict(), "False InsufficientPods");
}

TEST_F(Disruption, PDB_03_APercentageThatMayBeUnavailableIsRoundedUp) {
  CreateDeployment(7);
  CreateBudget({{"maxUnavailable", "30%"}});
  EXPECT_EQ(Numbers(), (N{7, 4, 7, 3}));
}

TEST_F(Disruption, PDB_04_APercentageThatMustBeAvailableIsRoundedUp) {
  CreateDeployment(7);
  CreateBudget({{"minAvailable", "30%"}});
  EXPECT_EQ(Numbers(), (N{7, 3, 7, 4}));
}

TEST_F(Disruption, PDB_05_ANumberThatMustBeAvailableNeedsNoControllers) {
  CreatePods(3, nullptr);
  CreateBudget({{"minAvailable", 2}});
  EXPECT_EQ(Numbers(), (N{3, 2, 3, 1}));
  EXPECT_FALSE(HasBudgetEvent("UnmanagedPods"));
}

TEST_F(Disruption, PDB_06_UnmanagedPodsAddNothing) {
  CreatePods(2, nullptr);
  CreateBudget({{"minAvailable", "28%"}});
  EXPECT_EQ(Numbers(), (N{0, 0, 2, 0}));
  EXPECT_EQ(Verdict(), "False InsufficientPods");
  const std::vector<std::string> events = cluster.Events("PodDisruptionBudget", "b");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0],
            "Warning UnmanagedPods Pods selected by this PodDisruptionBudget (selector: "
            "&LabelSelector{MatchLabels:map[string]string{app: x,},MatchExpressions:"
            "[]LabelSelectorRequirement{},}) were found to be unmanaged. As a result, the status "
            "of the PDB cannot be calculated correctly, which may result in undefined behavior. "
            "To account for these pods please set \".spec.minAvailable\" field of the PDB to an "
            "integer value.");
}

// The pods of a Job and its budget, which can not be counted.
class DisruptionOfJob : public Disruption {
 protected:
  void Fail() {
    CreatePod("j0", cluster.Create(Job("j")));
    CreateBudget({{"maxUnavailable", 1}});
  }
};

TEST_F(DisruptionOfJob, PDB_07_AnOwnerWithoutScaleFailsSafe) {
  Fail();
  EXPECT_EQ(Numbers(), (N{0, 0, 0, 0}));
  EXPECT_EQ(Verdict(), "False SyncFailed");
  EXPECT_EQ(Message(), "jobs.batch does not implement the scale subresource");
  EXPECT_TRUE(HasBudgetEvent("CalculateExpectedPodCountFailed",
                             "Failed to calculate the number of expected pods: jobs.batch does "
                             "not implement the scale subresource"));
  // It is not tried again before something changes.
  (void)cluster.HostWrites();
  cluster.Advance(600s);
  EXPECT_EQ(cluster.HostWrites(), std::vector<std::string>());
}

TEST_F(Disruption, PDB_08_ACustomResourceWithScaleCounts) {
  CreateWidgetKind(cluster);
  cluster.Advance(31s);
  const Reply widget = CreateWidget(cluster, 10);
  ASSERT_TRUE(widget.ok()) << widget.body.dump();
  CreatePods(4, widget.body);
  CreateBudget({{"maxUnavailable", 7}});
  EXPECT_EQ(Numbers(), (N{10, 3, 4, 1})) << Message();
  EXPECT_EQ(Verdict(), "True SufficientPods");
}

TEST_F(Disruption, PDB_09_TwoReplicaSetsOfADeploymentCountOnce) {
  const Json d = CreateWorkload("Deployment", "d", 4);
  CreatePods(2, CreateWorkload("ReplicaSet", "old", 2, d), "old");
  CreatePods(3, CreateWorkload("ReplicaSet", "new", 3, d), "new");
  CreateBudget({{"maxUnavailable", 1}});
  EXPECT_EQ(Numbers(), (N{4, 3, 5, 2}));
}

TEST_F(Disruption, PDB_10_AnEvictedPodThatStaysCountsAgain) {
  CreateDeployment(3);
  CreateBudget({{"maxUnavailable", 1}});
  ASSERT_EQ(Numbers(), (N{3, 2, 3, 1}));
  SetDisrupted("p0", cluster.Now());
  EXPECT_EQ(Numbers(), (N{3, 2, 2, 0}));
  cluster.Advance(118s);
  EXPECT_EQ(Numbers(), (N{3, 2, 2, 0}));
  EXPECT_TRUE(Budget()["status"]["disruptedPods"].contains("p0"));
  cluster.Advance(3s);
  EXPECT_EQ(Numbers(), (N{3, 2, 3, 1}));
  EXPECT_FALSE(Budget()["status"].contains("disruptedPods"));
  EXPECT_TRUE(
      cluster.HasEvent("Pod", "p0", "NotDeleted",
                       "Pod was expected by PDB default/default to be deleted but it wasn't"));
}

TEST_F(Disruption, PDB_11_AnEntryOfAPodThatIsGoneIsDropped) {
  CreateDeployment(3);
  CreateBudget({{"maxUnavailable", 1}});
  SetDisrupted("gone", cluster.Now());
  EXPECT_FALSE(Budget()["status"].contains("disruptedPods"));
  EXPECT_EQ(Numbers(), (N{3, 2, 3, 1}));
}

TEST_F(Disruption, PDB_12_AnEmptySelectorIsEverythingAndNoneNothing) {
  CreateDeployment(2);
  Json other = Orphan("other", {{"app", "other"}});
  cluster.Create(other);
  CreateBudget({{"minAvailable", 1}, {"selector", {{"matchLabels", nullptr}}}}, "all");
  CreateBudget({{"minAvailable", 1}, {"selector", nullptr}});
  EXPECT_EQ(Numbers("all"), (N{3, 1, 2, 1}));
  EXPECT_EQ(Numbers(), (N{0, 1, 0, 0}));
  EXPECT_TRUE(HasBudgetEvent("NoPods", "No matching pods found"));
  EXPECT_FALSE(cluster.HasEvent("PodDisruptionBudget", "all", "NoPods"));
}

TEST_F(Disruption, PDB_13_ADisruptionThatDidNotHappenIsTakenBack) {
  const auto target = [&](const std::string& pod, const std::string& reason,
                          const std::string& phase = "Running") {
    CreatePod(pod, nullptr, false);
    cluster.PatchStatus("pods", pod,
                        {{"phase", phase},
                         {"conditions",
                          {{{"type", "DisruptionTarget"},
                            {"status", "True"},
                            {"reason", reason},
                            {"message", "why"},
                            {"lastTransitionTime", cluster.Now()}},
                           {{"type", "example.com/foreign"}, {"status", "True"}}}}});
  };
  target("stale", "EvictionByEvictionAPI");
  target("kubelet", "TerminationByKubelet");
  target("failed", "EvictionByEvictionAPI", "Failed");
  target("leaving", "EvictionByEvictionAPI");
  cluster.MergePatch("pods", "leaving", {{"metadata", {{"finalizers", {"example.com/hold"}}}}});
  cluster.Delete("pods", "leaving");
  Settle();
  std::vector<Json> before;
  for (const char* pod : {"kubelet", "failed", "leaving"})
    before.push_back(cluster.Get("pods", pod));
  cluster.Advance(118s);
  EXPECT_EQ(Condition(cluster.Get("pods", "stale"), "DisruptionTarget")["status"], "True");
  const std::string since = cluster.Now();
  cluster.Advance(5s);
  const Json stale = Condition(cluster.Get("pods", "stale"), "DisruptionTarget");
  EXPECT_EQ(stale["status"], "False");
  EXPECT_FALSE(stale.contains("reason"));
  EXPECT_FALSE(stale.contains("message"));
  EXPECT_GT(stale["lastTransitionTime"].get<std::string>(), since);
  EXPECT_EQ(Condition(cluster.Get("pods", "stale"), "example.com/foreign")["status"], "True");
  size_t i = 0;
  for (const char* pod : {"kubelet", "failed", "leaving"})
    EXPECT_EQ(cluster.Get("pods", pod), before[i++]) << pod;
}

TEST_F(Disruption, PDB_14_AChangedSpecIsObserved) {
  CreatePods(3, nullptr);
  CreateBudget({{"minAvailable", 3}});
  EXPECT_EQ(Numbers(), (N{3, 3, 3, 0}));
  EXPECT_TRUE(Observed());
  cluster.MergePatch("poddisruptionbudgets", "b", {{"spec", {{"minAvailable", 2}}}});
  Settle();
  EXPECT_TRUE(Observed());
  EXPECT_EQ(Budget()["metadata"]["generation"], 2);
  EXPECT_EQ(Numbers(), (N{3, 2, 3, 1}));
}

TEST_F(Disruption, PDB_15_AForeignConditionSurvives) {
  CreatePods(2, nullptr);
  CreateBudget({{"minAvailable", 1}});
  Json conditions = Budget()["status"]["conditions"];
  conditions.push_back({{"type", "example.com/foreign"},
                        {"status", "True"},
                        {"reason", "Foreign"},
                        {"message", "kept"},
                        {"lastTransitionTime", cluster.Now()}});
  cluster.PatchStatus("poddisruptionbudgets", "b", {{"conditions", conditions}});
  cluster.MakeNotReady("p0");
  Settle();
  EXPECT_EQ(Numbers(), (N{2, 1, 1, 0}));
  EXPECT_EQ(Condition(Budget(), "example.com/foreign")["message"], "kept");
  EXPECT_EQ(Budget()["status"]["conditions"].size(), 2u);
}

TEST_F(DisruptionOfJob, PDB_16_RecoversWhenItsPodsCanBeCounted) {
  Fail();
  ASSERT_EQ(Verdict(), "False SyncFailed");
  Gone("j0");
  CreateDeployment(3);
  Settle();
  EXPECT_EQ(Numbers(), (N{3, 2, 3, 1}));
  EXPECT_EQ(Verdict(), "True SufficientPods");
  EXPECT_EQ(Message(), "");
}

TEST_F(Disruption, PDB_17_AStableBudgetIsLeftAlone) {
  CreateDeployment(3);
  CreateBudget({{"maxUnavailable", 1}});
  const Json before = Budget();
  cluster.Create({{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "other"}}}});
  CreateAccount(cluster, "other");
  for (int i = 0; i < 5; ++i) {
    Json pod = Orphan("o" + std::to_string(i), {{"app", "x"}});
    pod["metadata"]["namespace"] = "other";
    cluster.Create(pod);
    cluster.MakeReady("o" + std::to_string(i), "other");
  }
  (void)cluster.HostWrites();
  cluster.Advance(300s);
  EXPECT_EQ(Budget(), before);
  // A restart changes nothing either.
  ASSERT_EQ(cluster.StopHost(), 0);
  cluster.StartHost();
  cluster.Advance(10s);
  EXPECT_EQ(Budget(), before);
  EXPECT_EQ(cluster.HostWrites(), std::vector<std::string>());
}

// ---- beyond the scenarios ----

TEST_F(Disruption, AReplicaSetWithoutItsDeploymentIsCountedByItsScale) {
  const Json d = CreateWorkload("Deployment", "d", 9);
  CreatePods(2, CreateWorkload("ReplicaSet", "rs", 2, d));
  cluster.Delete("deployments", "d", {{"propagationPolicy", "Orphan"}});
  cluster.MergePatch("deployments", "d", {{"metadata", {{"finalizers", nullptr}}}});
  Settle();
  CreateBudget({{"maxUnavailable", 1}});
  EXPECT_EQ(Numbers(), (N{2, 1, 2, 1})) << Message();
}

TEST_F(Disruption, OtherControllersCountByThemselves) {
  const Json sts = CreateWorkload("StatefulSet", "sts", 3);
  const Json rs = CreateWorkload("ReplicaSet", "rs", 4);
  Json rc = Workload("ReplicationController", "rc", 5);
  rc["apiVersion"] = "v1";
  rc["spec"]["selector"] = {{"app", "x"}};
  CreatePod("a", sts);
  CreatePod("b", rs);
  CreatePod("c", cluster.Create(rc));
  CreateBudget({{"maxUnavailable", "50%"}});
  EXPECT_EQ(Numbers(), (N{12, 6, 3, 0})) << Message();
}

TEST_F(Disruption, AnOwnerOfAnUnknownKindOrThatIsAnotherFailsSafe) {
  Json owner = CreateWorkload("ReplicaSet", "rs", 1);
  owner["metadata"]["uid"] = "11111111-1111-4111-8111-111111111111";
  CreatePod("a", owner);
  CreateBudget({{"maxUnavailable", 1}});
  EXPECT_EQ(Message(), "found no controllers for pod \"a\"");
  Gone("a");
  owner["apiVersion"] = "example.com/v1";
  owner["kind"] = "Gadget";
  CreatePod("a", owner);
  Settle();
  EXPECT_EQ(Message(), "no matches for kind \"Gadget\" in version \"example.com/v1\"");
  EXPECT_EQ(Verdict(), "False SyncFailed");
}

TEST_F(Disruption, FailingSafeKeepsWhatTheStatusSays) {
  CreateDeployment(3);
  CreateBudget({{"maxUnavailable", 1}});
  SetDisrupted("p0", cluster.Now());
  cluster.MergePatch("poddisruptionbudgets", "b", {{"spec", {{"maxUnavailable", 2}}}});
  Settle();
  ASSERT_EQ(Numbers(), (N{3, 1, 2, 1}));
  CreatePod("j0", cluster.Create(Job("j")));
  Settle();
  EXPECT_EQ(Numbers(), (N{3, 1, 2, 0}));
  EXPECT_TRUE(Budget()["status"]["disruptedPods"].contains("p0"));
  EXPECT_EQ(Verdict(), "False SyncFailed");
  EXPECT_EQ(Condition(Budget(), "DisruptionAllowed")["observedGeneration"], 2);
}

TEST_F(Disruption, AConflictIsTriedAgainAndNoFailure) {
  CreatePods(2, nullptr);
  cluster.server().AddFault(Answered("PUT", "/poddisruptionbudgets/b/status", 1, 409, "Conflict",
                                     "the object has been modified"));
  CreateBudget({{"minAvailable", 1}});
  EXPECT_EQ(Numbers(), (N{2, 1, 2, 1}));
  int puts = 0;
  for (const auto& e : cluster.Audit()) {
    if (e.method != "PUT") continue;
    ++puts;
    EXPECT_EQ(e.body.find("SyncFailed"), std::string::npos);
  }
  EXPECT_EQ(puts, 2);
}

TEST_F(Disruption, AnotherErrorOfTheWriteFailsSafe) {
  CreatePods(2, nullptr);
  cluster.server().AddFault(
      Answered("PUT", "/poddisruptionbudgets/b/status", 1, 403, "Forbidden", "not now"));
  CreateBudget({{"minAvailable", 1}});
  int failures = 0;
  for (const auto& e : cluster.Audit())
    if (e.method == "PUT" && e.body.find("SyncFailed") != std::string::npos) ++failures;
  EXPECT_EQ(failures, 1);
  // That write was a change, so it was looked at again.
  EXPECT_EQ(Numbers(), (N{2, 1, 2, 1}));
  EXPECT_EQ(Verdict(), "True SufficientPods");
}

TEST_F(Disruption, APodOfSeveralBudgetsGetsAWarningAndAllAreKept) {
  CreateBudget({{"minAvailable", 1}}, "a");
  CreateBudget({{"minAvailable", 2}});
  CreatePods(2, nullptr);
  Settle();
  EXPECT_EQ(Numbers("a"), (N{2, 1, 2, 1}));
  EXPECT_EQ(Numbers(), (N{2, 2, 2, 0}));
  EXPECT_TRUE(cluster.HasEvent("Pod", "p0", "MultiplePodDisruptionBudgets",
                               "Pod \"default\"/\"p0\" matches multiple PodDisruptionBudgets.  "
                               "Chose \"a\" arbitrarily."));
}

TEST_F(Disruption, TerminatingPodsAreNotHealthyAndMinAvailableZeroNeedsPods) {
  CreateBudget({{"minAvailable", 0}});
  EXPECT_EQ(Numbers(), (N{0, 0, 0, 0}));
  CreatePods(2, nullptr);
  cluster.Delete("pods", "p0", {{"gracePeriodSeconds", 30}});
  Settle();
  EXPECT_EQ(Numbers(), (N{2, 0, 1, 1}));
}

}  // namespace
}  // namespace kcm::harness
