// SPDX-License-Identifier: Apache-2.0
// horizontal-pod-autoscaler-controller in a real host: what its metrics make of it
// (spec/pod-batch.md section 4).
#include "plugins/pod/autoscalers.h"
#include "plugins/pod/widgets.h"

namespace kcm::harness {
namespace {

class Hpas : public Autoscalers {
 protected:
  using Autoscalers::Autoscalers;
};

// Decisions of the metrics alone: no stabilization keeps replicas.
class UnstabilizedHpas : public Autoscalers {
 protected:
  UnstabilizedHpas() : Autoscalers({"--horizontal-pod-autoscaler-downscale-stabilization=0s"}) {}
};

TEST_F(Hpas, HPA_01_ScalesUpByUtilization) {
  CreateTarget(3);
  CreatePods({"300m", "500m", "700m"});
  LetPodsGrowOld();
  CreateAutoscaler(Only(Cpu(30)));
  cluster.Advance(14s);
  EXPECT_EQ(Replicas(), 3) << "the first look comes after a sync period";
  cluster.Advance(2s);
  EXPECT_EQ(Replicas(), 5);
  EXPECT_EQ(HpaEvents(), (Lines{"Normal SuccessfulRescale New size: 5; reason: cpu resource "
                                "utilization (percentage of request) above target"}));
  const Json current = CurrentOf("resource");
  EXPECT_EQ(current["averageUtilization"], 50);
  EXPECT_EQ(current["averageValue"], "500m");
  EXPECT_EQ(Verdict("AbleToScale"), "True SucceededRescale");
  EXPECT_EQ(Verdict("ScalingActive"), "True ValidMetricFound");
  EXPECT_EQ(Verdict("ScalingLimited"), "False DesiredWithinRange");
  Sync();
  EXPECT_EQ(Replicas(), 5);
}

TEST_F(Hpas, HPA_02_PodsThatWereNeverReadyHoldBackScalingUp) {
  CreateTarget(3);
  cluster.Create(Pod("web-0", "300m", {{"sim/never-ready", "true"}}));
  cluster.Create(Pod("web-1", "500m"));
  cluster.Create(Pod("web-2", "700m"));
  LetPodsGrowOld();
  CreateAutoscaler(Only(Cpu(30)));
  Sync(2);
  EXPECT_EQ(Replicas(), 4);
  EXPECT_EQ(CurrentOf("resource")["averageUtilization"], 60);
  EXPECT_EQ(CurrentOf("resource")["averageValue"], "600m");
}

TEST_F(UnstabilizedHpas, HPA_03_PodsWithoutSamplesHoldBackScalingDown) {
  CreateTarget(4);
  CreatePods({"250m", "250m", "", ""});
  for (const char* pod : {"web-2", "web-3"}) Annotate("pods", pod, "sim/no-metrics", "true");
  LetPodsGrowOld();
  CreateAutoscaler(Only(Cpu(100)));
  Sync(3);
  EXPECT_EQ(Replicas(), 3);
}

TEST_F(Hpas, HPA_04_TheEndOfTheToleranceBelongsToIt) {
  CreateTarget(3);
  CreatePods(Times(3, "550m"));
  LetPodsGrowOld();
  CreateAutoscaler(Only(Cpu(50)));
  Sync(2);
  EXPECT_EQ(Replicas(), 3);
  EXPECT_EQ(Verdict("ScalingActive"), "True ValidMetricFound");
  UseAll("560m");
  Sync(2);
  EXPECT_EQ(Replicas(), 4);
}

TEST_F(Hpas, HPA_05_PodsWithoutSamplesHoldBackScalingUp) {
  CreateTarget(2);
  CreatePods({"1900m", ""});
  Annotate("pods", "web-1", "sim/no-metrics", "true");
  LetPodsGrowOld();
  CreateAutoscaler(Only(Cpu(100)));
  Sync(2);
  EXPECT_EQ(Replicas(), 2);
  EXPECT_EQ(Verdict("ScalingActive"), "True ValidMetricFound");
  EXPECT_EQ(CurrentOf("resource")["averageUtilization"], 190) << "as measured";
  EXPECT_FALSE(HasHpaEvent("SuccessfulRescale"));
}

TEST_F(Hpas, HPA_06_AtMostDoublesInOneStep) {
  CreateTarget(3);
  CreatePods(Times(3, "660m"));
  CreateTarget(1, "one");
  CreatePods({"2000m"}, "one");
  LetPodsGrowOld();
  cluster.Create(Autoscaler(Only(Cpu(10)), 1, 30));
  cluster.Create(Autoscaler(Only(Cpu(10)), 1, 30, nullptr, "one", "h1"));
  Sync();
  EXPECT_EQ(Replicas(), 6);
  EXPECT_EQ(Verdict("ScalingLimited"), "True ScaleUpLimit");
  EXPECT_EQ(Replicas("one"), 4) << "but four at any rate";
  EXPECT_EQ(Verdict("ScalingLimited", "h1"), "True ScaleUpLimit");
}

TEST_F(Hpas, HPA_07_KeepsReplicasForTheStabilizationWindow) {
  CreateTarget(5);
  CreatePods(Times(5, "200m"));
  CreateTarget(5, "busy");
  CreatePods(Times(5, "500m"), "busy");
  LetPodsGrowOld();
  CreateAutoscaler(Only(Cpu(50)));
  cluster.Create(Autoscaler(Only(Cpu(50)), 1, 10, nullptr, "busy", "h2"));
  Sync();
  EXPECT_EQ(Verdict("AbleToScale"), "True ScaleDownStabilized");
  cluster.Advance(5min - 1s);
  EXPECT_EQ(Replicas(), 5) << "what was there at the start counts as recommended";
  EXPECT_EQ(Verdict("AbleToScale"), "True ScaleDownStabilized");
  Sync(2);
  EXPECT_EQ(Replicas(), 2);
  EXPECT_TRUE(HasHpaEvent("SuccessfulRescale", "New size: 2; reason: All metrics below target"));

  // The same after a recommendation that was higher.
  EXPECT_EQ(Verdict("AbleToScale", "h2"), "True ReadyForNewScale");
  for (int i = 0; i < 5; ++i) Use("busy-" + std::to_string(i), "200m");
  cluster.Advance(5min - kSyncPeriod);
  EXPECT_EQ(Replicas("busy"), 5);
  EXPECT_EQ(Verdict("AbleToScale", "h2"), "True ScaleDownStabilized");
  Sync(3);
  EXPECT_EQ(Replicas("busy"), 2);
  EXPECT_TRUE(
      HasHpaEvent("SuccessfulRescale", "New size: 2; reason: All metrics below target", "h2"));
}

// Also HPA-07: after a start of the controller.
TEST_F(Hpas, ARestartCausesNoEarlyScaleDown) {
  CreateTarget(5);
  CreatePods(Times(5, "500m"));
  LetPodsGrowOld();
  CreateAutoscaler(Only(Cpu(50)));
  Sync(2);
  EXPECT_EQ(cluster.StopHost(), 0);
  UseAll("200m");
  cluster.StartHost();
  cluster.Advance(5min);
  EXPECT_EQ(Replicas(), 5);
  Sync(3);
  EXPECT_EQ(Replicas(), 2);
}

TEST_F(Hpas, HPA_08_WhatIsOutOfBoundsIsPutRightAtOnce) {
  CreateTarget(12);
  CreateTarget(1, "few");
  CreateAutoscaler(Only(Cpu(50)));
  cluster.Create(Autoscaler(Only(Cpu(50)), 3, 10, nullptr, "few", "h2"));
  (void)cluster.Audit();
  Sync();
  EXPECT_EQ(Replicas(), 10);
  EXPECT_TRUE(HasHpaEvent("SuccessfulRescale",
                          "New size: 10; reason: Current number of replicas above "
                          "Spec.MaxReplicas"));
  EXPECT_EQ(HpaStatus().value("currentMetrics", Json()), nullptr);
  EXPECT_TRUE(HpaStatus().contains("lastScaleTime"));
  EXPECT_EQ(Replicas("few"), 3);
  EXPECT_TRUE(HasHpaEvent("SuccessfulRescale",
                          "New size: 3; reason: Current number of replicas below "
                          "Spec.MinReplicas",
                          "h2"));
  EXPECT_EQ(HpaStatus("h2").value("currentMetrics", Json()), nullptr);
  for (const auto& e : cluster.Audit())
    EXPECT_EQ(e.uri.find("/apis/metrics.k8s.io"), std::string::npos) << e.uri;
}

TEST_F(Hpas, HPA_09_NoReplicasIsSwitchedOff) {
  CreateTarget(0);
  CreateAutoscaler(Only(Cpu(50)));
  (void)cluster.Audit();
  Sync(2);
  EXPECT_EQ(Replicas(), 0);
  EXPECT_EQ(Verdict("ScalingActive"), "False ScalingDisabled");
  EXPECT_EQ(HpaStatus()["desiredReplicas"], 0);
  for (const auto& e : cluster.Audit())
    EXPECT_EQ(e.uri.find("/apis/metrics.k8s.io"), std::string::npos) << e.uri;
}

TEST_F(Hpas, HPA_10_AFailedMetricForbidsScalingDownOnly) {
  CreateTarget(4);
  CreatePods(Times(4, "870m"));
  LetPodsGrowOld();
  CreateAutoscaler({Cpu(50), External("absent", "AverageValue", "10")});
  Sync();
  EXPECT_EQ(Replicas(), 7);
  EXPECT_EQ(Verdict("ScalingActive"), "True ValidMetricFound");
  EXPECT_EQ(HpaStatus()["currentMetrics"].size(), 2u);
  EXPECT_EQ(HpaStatus()["currentMetrics"].at(1)["type"], "");
  EXPECT_FALSE(HasHpaEvent("FailedComputeMetricsReplicas"));
  UseAll("250m");
  Sync(30);
  EXPECT_EQ(Replicas(), 7);
  EXPECT_EQ(Verdict("ScalingActive"), "False FailedGetExternalMetric");
  EXPECT_TRUE(HasHpaEvent("FailedComputeMetricsReplicas",
                          "invalid metrics (1 invalid out of 2), first error is: failed to get "
                          "absent external metric value: failed to get absent external metric: "
                          "unable to get external metric default/absent/nil: no metrics returned "
                          "from external metrics API"));
}

TEST_F(Hpas, HPA_11_TwoAutoscalersOfOneTargetScaleNothing) {
  CreateTarget(2);
  CreatePods(Times(2, "500m"));
  LetPodsGrowOld();
  CreateAutoscaler(Only(Cpu(50)));
  cluster.Create(Autoscaler(Only(Cpu(50)), 1, 10, nullptr, "web", "h2"));
  Sync(2);
  UseAll("1000m");
  Sync(2);
  EXPECT_EQ(Replicas(), 2);
  for (const char* name : {"h", "h2"}) {
    EXPECT_EQ(Verdict("ScalingActive", name), "False AmbiguousSelector");
    EXPECT_TRUE(HasHpaEvent("AmbiguousSelector", "", name));
  }
  EXPECT_EQ(Message("ScalingActive"),
            "pods by selector app=web are controlled by multiple HPAs: [default/h default/h2]");
  // And the other works again when it is alone.
  cluster.Delete("horizontalpodautoscalers", "h2");
  Sync();
  EXPECT_EQ(Replicas(), 4);
}

TEST_F(Hpas, HPA_12_AnObjectsValueIsAboutReadyPods) {
  CreateTarget(3);
  CreatePods(Times(3, ""));
  CreateTarget(3, "slow");
  CreatePods({"", ""}, "slow");
  cluster.Create(Pod("slow-2", "", {{"sim/never-ready", "true"}}, "slow"));
  cluster.Create({{"apiVersion", "v1"},
                  {"kind", "Service"},
                  {"metadata", {{"name", "front"}, {"annotations", {{"sim/metric.qps", "20"}}}}},
                  {"spec", {{"ports", {{{"port", 80}}}}}}});
  const Json metric{
      {"type", "Object"},
      {"object",
       {{"metric", {{"name", "qps"}}},
        {"describedObject", {{"apiVersion", "v1"}, {"kind", "Service"}, {"name", "front"}}},
        {"target", {{"type", "Value"}, {"value", "15"}}}}}};
  CreateAutoscaler(Only(metric));
  cluster.Create(Autoscaler(Only(metric), 1, 10, nullptr, "slow", "h2"));
  Sync(2);
  EXPECT_EQ(Replicas(), 4);
  EXPECT_TRUE(HasHpaEvent("SuccessfulRescale", "Service metric qps above target"));
  EXPECT_EQ(CurrentOf("object")["value"], "20");
  EXPECT_EQ(Verdict("ScalingActive", "h2"), "True ValidMetricFound");
  EXPECT_EQ(Replicas("slow"), 3);
}

TEST_F(Hpas, HPA_13_AnExternalTotalIsDividedByThePods) {
  CreateTarget(3);
  SetExternal("jobs", "queue=a:60;queue=b:40");
  CreateAutoscaler(Only(External("jobs", "AverageValue", "30")));
  Sync(2);
  EXPECT_EQ(Replicas(), 4);
  EXPECT_EQ(CurrentOf("external")["averageValue"], "33334m");
  EXPECT_TRUE(HasHpaEvent("SuccessfulRescale", "external metric jobs(nil) above target"));
}

TEST_F(Hpas, HPA_18_AMissingTargetIsTold) {
  CreateAutoscaler(Only(Cpu(50)));
  Sync();
  EXPECT_EQ(Verdict("AbleToScale"), "False FailedGetScale");
  EXPECT_EQ(Message("AbleToScale"),
            "the HPA controller was unable to get the target's current scale: deployments.apps "
            "\"web\" not found");
  EXPECT_TRUE(HasHpaEvent("FailedGetScale", "deployments.apps \"web\" not found"));
  EXPECT_EQ(HpaStatus()["desiredReplicas"], 0);
  EXPECT_FALSE(HpaStatus().contains("currentReplicas"));
}

// A target of a custom kind.
class HpasOfWidgets : public Autoscalers {
 protected:
  // Until the autoscaler of Widget w has found its scale. `scale`: of the CRD.
  void ScaleWidget(const Json& scale, const Json& status) {
    CreateWidgetKind(cluster, scale);
    ASSERT_TRUE(CreateWidget(cluster, 2, status).ok());
    Json hpa = Autoscaler(Only(Cpu(50)));
    hpa["spec"]["scaleTargetRef"] = {// of a version that is not served
                                     {"apiVersion", "example.com/v9"},
                                     {"kind", "Widget"},
                                     {"name", "w"}};
    cluster.Create(hpa);
    cluster.Until(
        "the custom kind is discovered",
        [&] { return Verdict("AbleToScale") == "True SucceededGetScale"; }, 2min, 1s);
  }
};

TEST_F(HpasOfWidgets, HPA_19_AScaleNeedsASelector) {
  ScaleWidget(WidgetScale(), {{"replicas", 2}});
  EXPECT_EQ(Verdict("ScalingActive"), "False InvalidSelector");
  EXPECT_EQ(Message("ScalingActive"), "the HPA target's scale is missing a selector");
  EXPECT_TRUE(HasHpaEvent("SelectorRequired", "selector is required"));
}

TEST_F(HpasOfWidgets, ASelectorThatCanNotBeReadIsTold) {
  Json paths = WidgetScale();
  paths["labelSelectorPath"] = ".status.selector";
  ScaleWidget(paths, {{"replicas", 2}, {"selector", "app in (a"}});
  EXPECT_EQ(Verdict("ScalingActive"), "False InvalidSelector");
  const std::string text =
      "couldn't convert selector into a corresponding internal selector object: ";
  EXPECT_TRUE(Message("ScalingActive").starts_with(text)) << Message("ScalingActive");
  EXPECT_TRUE(HasHpaEvent("InvalidSelector", text));
  EXPECT_TRUE(HasHpaEvent("FailedComputeMetricsReplicas", text));
}

TEST_F(Hpas, HPA_20_EveryPodNeedsARequest) {
  CreateTarget(2);
  CreatePods({"500m"});
  Json bare = Pod("bare", "500m");
  bare["spec"]["containers"][0].erase("resources");
  cluster.Create(bare);
  LetPodsGrowOld();
  CreateAutoscaler(Only(Cpu(50)));
  Sync();
  EXPECT_EQ(Verdict("ScalingActive"), "False FailedGetResourceMetric");
  EXPECT_EQ(Message("ScalingActive"),
            "the HPA was unable to compute the replica count: failed to get cpu utilization: "
            "missing request for cpu in container c of Pod bare");
  EXPECT_TRUE(HasHpaEvent("FailedGetResourceMetric", "missing request for cpu in container"));
}

// Nor is anything written after a restart.
TEST_F(Hpas, HPA_21_AStableAutoscalerIsNotWritten) {
  CreateTarget(2);
  CreatePods(Times(2, "500m"));
  LetPodsGrowOld();
  CreateAutoscaler({Cpu(50), AverageOf("memory", "16Mi")});
  Sync(2);
  const std::string version = Hpa()["metadata"]["resourceVersion"];
  (void)cluster.HostWrites();
  Sync(5);
  EXPECT_EQ(Hpa()["metadata"]["resourceVersion"], version);
  EXPECT_EQ(cluster.StopHost(), 0);
  cluster.StartHost();
  Sync(2);
  EXPECT_EQ(Hpa()["metadata"]["resourceVersion"], version);
  Lines writes = cluster.HostWrites();
  std::erase_if(writes, [](const std::string& w) { return w.ends_with("/token"); });
  EXPECT_EQ(writes, Lines());
}

// The status of another manager, whose quantities are written in another unit.
TEST_F(Hpas, TheSameQuantityInOtherWordsIsNotWritten) {
  CreateTarget(2);
  CreatePods(Times(2, ""));
  for (const char* pod : {"web-0", "web-1"}) Annotate("pods", pod, "sim/memory", "100Mi");
  CreateAutoscaler(Only(AverageOf("memory", "100Mi")));
  Sync(2);
  ASSERT_EQ(CurrentOf("resource")["averageValue"], "100Mi");
  Json hpa = Hpa();
  hpa["status"]["currentMetrics"][0]["resource"]["current"]["averageValue"] = "104857600";
  cluster.Update("horizontalpodautoscalers/status", hpa);
  const std::string version = Hpa()["metadata"]["resourceVersion"];
  Sync(2);
  EXPECT_EQ(Hpa()["metadata"]["resourceVersion"], version);
}

TEST_F(Hpas, HPA_22_AConflictIsTriedAgainAtOnce) {
  CreateTarget(3);
  CreatePods({"300m", "500m", "700m"});
  LetPodsGrowOld();
  cluster.server().AddFault(Answered("PUT", ".*/deployments/web/scale.*", 1, 409, "Conflict"));
  CreateAutoscaler(Only(Cpu(30)));
  Sync();
  EXPECT_EQ(Replicas(), 5);
  EXPECT_EQ(HpaEvents(), (Lines{"Normal SuccessfulRescale New size: 5; reason: cpu resource "
                                "utilization (percentage of request) above target"}));
}

TEST_F(Hpas, ConflictsThatGoOnFailTheRescale) {
  CreateTarget(3);
  CreatePods({"300m", "500m", "700m"});
  LetPodsGrowOld();
  cluster.server().AddFault(
      Answered("PUT", ".*/deployments/web/scale.*", 5, 409, "Conflict", "too late"));
  CreateAutoscaler(Only(Cpu(30)));
  Sync();
  EXPECT_EQ(Replicas(), 3);
  EXPECT_TRUE(HasHpaEvent("FailedRescale",
                          "New size: 5; reason: cpu resource utilization (percentage of request) "
                          "above target; error: "));
  EXPECT_EQ(Verdict("AbleToScale"), "False FailedUpdateScale");
  EXPECT_EQ(HpaStatus()["currentReplicas"], 3);
  EXPECT_EQ(HpaStatus()["desiredReplicas"], 0);
  Sync();
  EXPECT_EQ(Replicas(), 5);
}

TEST_F(UnstabilizedHpas, HPA_23_PodsBeyondTheReplicasCount) {
  CreateTarget(2);
  CreatePods({"100m", "100m", ""});
  Annotate("pods", "web-2", "sim/no-metrics", "true");
  LetPodsGrowOld();
  CreateAutoscaler(Only(Cpu(50)));
  Sync(3);
  EXPECT_EQ(Replicas(), 2);
  EXPECT_EQ(Verdict("ScalingActive"), "True ValidMetricFound");
  EXPECT_FALSE(HasHpaEvent("SuccessfulRescale"));
}

TEST_F(Hpas, HPA_24_MemoryHasBinaryUnits) {
  CreateTarget(2);
  CreatePods(Times(2, ""));
  for (const char* pod : {"web-0", "web-1"}) Annotate("pods", pod, "sim/memory", "150Mi");
  CreateAutoscaler(Only(AverageOf("memory", "100Mi")));
  Sync(2);
  EXPECT_EQ(Replicas(), 3);
  EXPECT_TRUE(HasHpaEvent("SuccessfulRescale", "reason: memory resource above target"));
  EXPECT_EQ(CurrentOf("resource")["averageValue"], "150Mi");
}

}  // namespace
}  // namespace kcm::harness
