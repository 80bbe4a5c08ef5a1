// SPDX-License-Identifier: Apache-2.0
// horizontal-pod-autoscaler-controller in a real host: spec.behavior, scaling to zero
// (spec/pod-batch.md 4.7, 4.9).
#include "plugins/pod/autoscalers.h"

namespace kcm::harness {
namespace {

class HpaBehavior : public Autoscalers {
 protected:
  using Autoscalers::Autoscalers;
};

TEST_F(HpaBehavior, HPA_14_APolicyLimitsWhatIsAddedInItsPeriod) {
  CreateTarget(2);
  CreatePods(Times(2, "500m"));
  LetPodsGrowOld();
  CreateAutoscaler(
      Only(Cpu(10)), 1, 20,
      {{"scaleUp", {{"policies", {{{"type", "Pods"}, {"value", 2}, {"periodSeconds", 60}}}}}}});
  Sync();
  EXPECT_EQ(Replicas(), 4);
  for (int i = 0; i < 3; ++i) {
    Sync();
    EXPECT_EQ(Replicas(), 4);
    EXPECT_EQ(Verdict("ScalingLimited"), "True ScaleUpLimit");
  }
  cluster.Advance(16s);
  EXPECT_EQ(Replicas(), 6);
}

TEST_F(HpaBehavior, HPA_15_ScalingDownCanBeSwitchedOff) {
  CreateTarget(5);
  CreatePods(Times(5, "100m"));
  LetPodsGrowOld();
  CreateAutoscaler(
      Only(Cpu(50)), 1, 10,
      {{"scaleDown", {{"selectPolicy", "Disabled"}, {"stabilizationWindowSeconds", 0}}}});
  Sync(30);
  EXPECT_EQ(Replicas(), 5);
  EXPECT_EQ(Verdict("ScalingLimited"), "True ScaleDownLimit");
  EXPECT_FALSE(HasHpaEvent("SuccessfulRescale"));
}

TEST_F(HpaBehavior, HPA_16_APercentageLimitsWhatIsTaken) {
  CreateTarget(100);
  SetExternal("jobs", "1500");
  CreateAutoscaler(
      Only(External("jobs", "AverageValue", "30")), 1, 200,
      {{"scaleDown",
        {{"stabilizationWindowSeconds", 0},
         {"policies", {{{"type", "Percent"}, {"value", 10}, {"periodSeconds", 60}}}}}}});
  Sync();
  EXPECT_EQ(Replicas(), 90);
  EXPECT_EQ(Verdict("ScalingLimited"), "True ScaleDownLimit");
  Sync(3);
  EXPECT_EQ(Replicas(), 90);
  Sync(2);
  EXPECT_EQ(Replicas(), 81);
}

TEST_F(HpaBehavior, HPA_17_ToleranceOfOneDirection) {
  CreateTarget(10);
  CreatePods(Times(10, "530m"));
  LetPodsGrowOld();
  CreateAutoscaler(Only(Cpu(50)), 1, 20);
  Sync(2);
  EXPECT_EQ(Replicas(), 10);
  cluster.MergePatch("horizontalpodautoscalers", "h",
                     {{"spec", {{"behavior", {{"scaleUp", {{"tolerance", "0.02"}}}}}}}});
  Sync(2);
  EXPECT_EQ(Replicas(), 11);
}

class HpaWithoutTolerance : public Autoscalers {
 protected:
  HpaWithoutTolerance() : Autoscalers({"--feature-gates=HPAConfigurableTolerance=false"}) {}
};

TEST_F(HpaWithoutTolerance, TheGateSwitchesTheFieldOff) {
  CreateTarget(10);
  CreatePods(Times(10, "530m"));
  LetPodsGrowOld();
  CreateAutoscaler(Only(Cpu(50)), 1, 20, {{"scaleUp", {{"tolerance", "0.02"}}}});
  Sync(2);
  EXPECT_EQ(Replicas(), 10);
}

TEST_F(HpaBehavior, AWindowForScalingUpTakesTheLowestRecommendation) {
  CreateTarget(2);
  CreatePods(Times(2, "500m"));
  LetPodsGrowOld();
  CreateAutoscaler(Only(Cpu(50)), 1, 20, {{"scaleUp", {{"stabilizationWindowSeconds", 60}}}});
  Sync();
  UseAll("1000m");
  Sync();
  EXPECT_EQ(Replicas(), 2);
  EXPECT_EQ(Verdict("AbleToScale"), "True ScaleUpStabilized");
  Sync(4);
  EXPECT_EQ(Replicas(), 4);
}

// Scaling down has the flag's window where the behavior names none.
TEST_F(HpaBehavior, WithoutAWindowTheFlagCounts) {
  CreateTarget(4);
  CreatePods(Times(4, "250m"));
  LetPodsGrowOld();
  CreateAutoscaler(Only(Cpu(50)), 1, 20, {{"scaleUp", {{"stabilizationWindowSeconds", 0}}}});
  cluster.Advance(5min);
  EXPECT_EQ(Replicas(), 4);
  EXPECT_EQ(Verdict("AbleToScale"), "True ScaleDownStabilized");
  Sync(2);
  EXPECT_EQ(Replicas(), 2);
}

class HpaToZero : public Autoscalers {
 protected:
  HpaToZero() : Autoscalers({"--feature-gates=HPAScaleToZero=true"}) {}
  static Json AtOnce() { return {{"scaleDown", {{"stabilizationWindowSeconds", 0}}}}; }
};

// Somebody else took the replicas away: the autoscaler keeps off.
TEST_F(HpaToZero, AZeroOfSomebodyElseStays) {
  CreateTarget(0);
  SetExternal("jobs", "25");
  CreateAutoscaler(Only(External("jobs", "AverageValue", "10")), 1, 10, AtOnce());
  Sync(2);
  EXPECT_EQ(Replicas(), 0);
  EXPECT_EQ(Verdict("ScalingActive"), "False ScalingDisabled");
}

TEST_F(HpaToZero, FromZeroAtLeastTheMinimumIsMade) {
  CreateTarget(0);
  SetExternal("jobs", "10");
  CreateAutoscaler(Only(External("jobs", "AverageValue", "10")), 3, 10, AtOnce());
  cluster.PatchStatus("horizontalpodautoscalers", "h",
                      {{"desiredReplicas", 0},
                       {"conditions",
                        {{{"type", "ScaledToZero"},
                          {"status", "True"},
                          {"reason", "ScaledToZero"},
                          {"message", "m"},
                          {"lastTransitionTime", cluster.Now()}}}}});
  Sync();
  EXPECT_EQ(Replicas(), 3);
  EXPECT_EQ(Verdict("ScaledToZero"), "False NotScaledToZero");
}

}  // namespace
}  // namespace kcm::harness
