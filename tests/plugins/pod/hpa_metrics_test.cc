// SPDX-License-Identifier: Apache-2.0
// horizontal-pod-autoscaler-controller in a real host: kinds of metrics and how their failures are
// told, and its own metrics (spec/pod-batch.md 4.5, 4.8, 4.11).
#include "plugins/pod/autoscalers.h"

namespace kcm::harness {
namespace {

class HpaMetrics : public Autoscalers {
 protected:
  using Autoscalers::Autoscalers;
  static Json PodsMetric(const std::string& value, const Json& selector = nullptr) {
    Json metric{{"name", "qps"}};
    if (!selector.is_null()) metric["selector"] = selector;
    return {
        {"type", "Pods"},
        {"pods",
         {{"metric", metric}, {"target", {{"type", "AverageValue"}, {"averageValue", value}}}}}};
  }
  static Json ContainerCpu(const std::string& container, int utilization) {
    return {{"type", "ContainerResource"},
            {"containerResource",
             {{"name", "cpu"},
              {"container", container},
              {"target", {{"type", "Utilization"}, {"averageUtilization", utilization}}}}}};
  }
  // A metric about an object of the namespace.
  static Json ObjectMetric(const std::string& api_version, const std::string& kind,
                           const std::string& name, const std::string& type,
                           const std::string& value) {
    return {{"type", "Object"},
            {"object",
             {{"metric", {{"name", "qps"}}},
              {"describedObject", {{"apiVersion", api_version}, {"kind", kind}, {"name", name}}},
              {"target", {{"type", type}, {type == "Value" ? "value" : "averageValue", value}}}}}};
  }
  // One metric that failed: `text` is told by Event and condition, with `context` by the whole.
  void ExpectFailure(const std::string& reason, const std::string& context,
                     const std::string& text) {
    EXPECT_EQ(Verdict("ScalingActive"), "False " + reason);
    EXPECT_EQ(Message("ScalingActive"), "the HPA was unable to compute the replica count: " + text);
    EXPECT_EQ(SortedEvents(),
              (Lines{"Warning FailedComputeMetricsReplicas invalid metrics (1 invalid out of 1), "
                     "first error is: " +
                         context + text,
                     "Warning " + reason + " " + text}));
  }
  std::vector<std::string> SortedEvents() {
    Lines lines = HpaEvents();
    std::sort(lines.begin(), lines.end());
    return lines;
  }
};

TEST_F(HpaMetrics, PodsMetric) {
  CreateTarget(2);
  CreatePods(Times(2, ""));
  for (const char* pod : {"web-0", "web-1"}) Annotate("pods", pod, "sim/metric.qps", "15");
  CreateAutoscaler(Only(PodsMetric("10")));
  Sync();
  EXPECT_EQ(Replicas(), 3);
  EXPECT_TRUE(HasHpaEvent("SuccessfulRescale", "pods metric qps above target"));
  EXPECT_EQ(CurrentOf("pods")["averageValue"], "15");
  EXPECT_EQ(HpaStatus()["currentMetrics"][0]["pods"]["metric"]["name"], "qps");
}

TEST_F(HpaMetrics, OneContainerOfSeveral) {
  CreateTarget(2);
  for (const char* name : {"web-0", "web-1"}) {
    Json pod = Pod(name, "", {{"sim/cpu.c", "900m"}, {"sim/cpu.side", "10m"}});
    Json side = pod["spec"]["containers"][0];
    side["name"] = "side";
    side.erase("resources");  // what it lacks does not matter
    pod["spec"]["containers"].push_back(side);
    cluster.Create(pod);
  }
  LetPodsGrowOld();
  CreateAutoscaler(Only(ContainerCpu("c", 60)));
  Sync();
  EXPECT_EQ(Replicas(), 3);
  EXPECT_TRUE(HasHpaEvent("SuccessfulRescale",
                          "cpu container resource utilization (percentage of request) above"));
  const Json status = HpaStatus()["currentMetrics"][0];
  EXPECT_EQ(status["type"], "ContainerResource");
  EXPECT_EQ(status["containerResource"]["container"], "c");
  EXPECT_EQ(status["containerResource"]["current"]["averageUtilization"], 90);
}

TEST_F(HpaMetrics, AnObjectsTotalAPod) {
  CreateTarget(2);
  Annotate("deployments", "web", "sim/metric.qps", "50");
  CreateAutoscaler(Only(ObjectMetric("apps/v1", "Deployment", "web", "AverageValue", "10")));
  Sync();
  EXPECT_EQ(Replicas(), 4) << "twice as many at most";
  EXPECT_EQ(CurrentOf("object")["averageValue"], "25");
  EXPECT_TRUE(HasHpaEvent("SuccessfulRescale", "external metric qps(nil) above target"));
}

TEST_F(HpaMetrics, AMetricOfTheNamespaceItself) {
  CreateTarget(2);
  CreatePods(Times(2, ""));
  Annotate("namespaces", "default", "sim/metric.qps", "30");
  CreateAutoscaler(Only(ObjectMetric("v1", "Namespace", "whatever", "Value", "20")));
  (void)cluster.Audit();
  Sync();
  EXPECT_EQ(Replicas(), 3);
  bool asked = false;
  for (const auto& e : cluster.Audit())
    asked = asked || e.uri.starts_with(
                         "/apis/custom.metrics.k8s.io/v1beta2/namespaces/default/"
                         "metrics/qps");
  EXPECT_TRUE(asked);
}

TEST_F(HpaMetrics, SelectorsNarrowExternalSeries) {
  CreateTarget(2);
  SetExternal("jobs", "queue=a:60;queue=b:1000");
  Json metric = External("jobs", "Value", "40");
  metric["external"]["metric"]["selector"] = {{"matchLabels", {{"queue", "a"}}}};
  CreatePods(Times(2, ""));
  CreateAutoscaler(Only(metric));
  Sync();
  EXPECT_EQ(Replicas(), 3);
  EXPECT_EQ(CurrentOf("external")["value"], "60");
  EXPECT_TRUE(
      HasHpaEvent("SuccessfulRescale",
                  "external metric jobs(&LabelSelector{MatchLabels:map[string]string{queue: "
                  "a,},MatchExpressions:[]LabelSelectorRequirement{},}) above target"));
}

TEST_F(HpaMetrics, FailureOfAPodsMetric) {
  CreateTarget(1);
  CreatePods({""});
  CreateAutoscaler(Only(PodsMetric("10")));
  Sync();
  ExpectFailure("FailedGetPodsMetric", "failed to get pods metric value: ",
                "unable to get metric qps: unable to fetch metrics from custom metrics API: the "
                "server could not find the metric qps for pods");
}

TEST_F(HpaMetrics, FailureOfAnObjectMetric) {
  CreateTarget(1);
  CreatePods({""});
  CreateAutoscaler(Only(ObjectMetric("apps/v1", "Deployment", "web", "AverageValue", "10")));
  Sync();
  ExpectFailure("FailedGetObjectMetric",
                "failed to get object metric value: failed to get qps object metric: ",
                "unable to get metric qps: Deployment on default web/unable to fetch metrics from "
                "custom metrics API: the server could not find the metric qps for "
                "deployments.apps web");
}

TEST_F(HpaMetrics, FailureOfAnExternalTotal) {
  CreateTarget(1);
  CreatePods({""});
  CreateAutoscaler(Only(External("jobs", "Value", "10")));
  Sync();
  ExpectFailure("FailedGetExternalMetric",
                "failed to get jobs external metric value: failed to get external metric jobs: ",
                "unable to get external metric default/jobs/nil: no metrics returned from external "
                "metrics API");
}

TEST_F(HpaMetrics, AFailureThatGoesOnIsWrittenOnce) {
  CreateTarget(1);
  CreatePods({""});
  CreateAutoscaler(Only(External("jobs", "Value", "10")));
  Sync();
  ASSERT_EQ(Verdict("ScalingActive"), "False FailedGetExternalMetric");
  const std::string version = Hpa()["metadata"]["resourceVersion"];
  Sync();
  EXPECT_EQ(Hpa()["metadata"]["resourceVersion"], version);
}

TEST_F(HpaMetrics, FailureOfAContainer) {
  CreateTarget(1);
  CreatePods({"100m"});
  CreateAutoscaler(Only(ContainerCpu("nope", 50)));
  Sync();
  ExpectFailure("FailedGetContainerResourceMetric", "failed to get nope container metric value: ",
                "failed to get cpu utilization: unable to get metrics for resource cpu: failed to "
                "get container metrics: container nope not present in metrics for pod "
                "default/web-0");
}

TEST_F(HpaMetrics, PodsThatHaveJustStartedHaveNoCpu) {
  CreateTarget(1);
  CreatePods({"900m"});
  CreateAutoscaler(Only(Cpu(50)));
  Sync();
  EXPECT_EQ(Verdict("ScalingActive"), "False FailedGetResourceMetric");
  EXPECT_TRUE(HasHpaEvent("FailedGetResourceMetric",
                          "failed to get cpu utilization: did not receive metrics for targeted "
                          "pods (pods might be unready)"));
  Sync();
  EXPECT_EQ(Replicas(), 2) << "a whole window after the pod became ready";
}

class HpaWithoutMetrics : public HpaMetrics {
 protected:
  HpaWithoutMetrics() : HpaMetrics({}, false) {}
};

TEST_F(HpaWithoutMetrics, AnApiThatNobodyServesIsNamed) {
  CreateTarget(1);
  CreatePods({""});
  CreateAutoscaler(Only(PodsMetric("10")));
  Sync();
  ExpectFailure("FailedGetPodsMetric", "failed to get pods metric value: ",
                "unable to get metric qps: unable to fetch metrics from custom metrics API: no "
                "custom metrics API (custom.metrics.k8s.io) registered");
  cluster.MergePatch("horizontalpodautoscalers", "h", {{"spec", {{"metrics", Only(Cpu(50))}}}});
  Sync();
  EXPECT_EQ(Message("ScalingActive"),
            "the HPA was unable to compute the replica count: failed to get cpu utilization: "
            "unable to get metrics for resource cpu: unable to fetch metrics from resource metrics "
            "API: the server could not find the requested resource (get pods.metrics.k8s.io)");
}

TEST_F(HpaMetrics, TargetsThatCanNotBeFoundAreTold) {
  Json unknown = Autoscaler(Only(Cpu(50)), 1, 10, nullptr, "web", "unknown");
  unknown["spec"]["scaleTargetRef"] = {
      {"apiVersion", "no.such/v1"}, {"kind", "Nope"}, {"name", "x"}};
  cluster.Create(unknown);
  Sync();
  EXPECT_TRUE(HasHpaEvent("FailedGetScale", "no matches for kind \"Nope\" in group \"no.such\"",
                          "unknown"));
  EXPECT_EQ(Verdict("AbleToScale", "unknown"), "False FailedGetScale");
}

// A status PUT replaces the metadata, so it has to carry all of it.
TEST_F(HpaMetrics, WritingTheStatusKeepsLabelsAndAnnotations) {
  CreateTarget(2);
  Json hpa = Autoscaler(Only(Cpu(50)));
  hpa["metadata"]["labels"] = {{"team", "a"}};
  hpa["metadata"]["annotations"] = {{"note", "b"}};
  hpa["metadata"]["finalizers"] = {"example.com/keep"};
  cluster.Create(hpa);
  Sync();
  const Json metadata = Hpa()["metadata"];
  EXPECT_FALSE(HpaStatus().empty());
  EXPECT_EQ(metadata["labels"], (Json{{"team", "a"}}));
  EXPECT_EQ(metadata["annotations"], (Json{{"note", "b"}}));
  EXPECT_EQ(metadata["finalizers"], (Json{"example.com/keep"}));
}

TEST_F(HpaMetrics, AFailedStatusWriteIsToldAndMadeUpFor) {
  CreateTarget(0);
  cluster.server().AddFault(
      Answered("PUT", ".*/horizontalpodautoscalers/h/status.*", 1, 403, "Forbidden", "not now"));
  CreateAutoscaler(Only(Cpu(50)));
  Sync();
  EXPECT_TRUE(HasHpaEvent("FailedUpdateStatus", "not now"));
  EXPECT_EQ(Verdict("ScalingActive"), "none");
  Sync();
  EXPECT_EQ(Verdict("ScalingActive"), "False ScalingDisabled");
}

TEST_F(HpaMetrics, ChangesDoNotSpeedUpTheNextLook) {
  CreateTarget(1);
  CreateAutoscaler(Only(Cpu(50)), 1, 10);
  cluster.Advance(10s);
  cluster.MergePatch("horizontalpodautoscalers", "h", {{"spec", {{"minReplicas", 2}}}});
  cluster.Advance(4s);
  EXPECT_EQ(Replicas(), 1);
  cluster.Advance(1500ms);
  EXPECT_EQ(Replicas(), 2);
  cluster.MergePatch("horizontalpodautoscalers", "h", {{"spec", {{"minReplicas", 3}}}});
  cluster.Advance(14s);
  EXPECT_EQ(Replicas(), 2);
  cluster.Advance(1500ms);
  EXPECT_EQ(Replicas(), 3);
}

TEST_F(HpaMetrics, ADeletedAutoscalerIsForgotten) {
  CreateTarget(1);
  CreatePods({""});
  CreateAutoscaler(Only(Cpu(50)));
  Sync();
  const std::string count = "horizontal_pod_autoscaler_controller_num_horizontal_pod_autoscalers";
  EXPECT_EQ(cluster.Metric(count), 1);
  cluster.Delete("horizontalpodautoscalers", "h");
  Settle();
  EXPECT_EQ(cluster.Metric(count), 0);
  (void)cluster.Audit();
  Sync(3);
  for (const auto& e : cluster.Audit()) EXPECT_EQ(e.uri.find("/scale"), std::string::npos) << e.uri;
}

TEST_F(HpaMetrics, CountsWhatItDoes) {
  CreateTarget(3);
  CreatePods({"300m", "500m", "700m"});
  LetPodsGrowOld();
  CreateAutoscaler({Cpu(30), External("absent", "Value", "1")});
  Sync();
  const std::string prefix = "horizontal_pod_autoscaler_controller_";
  EXPECT_EQ(
      cluster.Metric(prefix + "reconciliations_total{action=\"scale_up\",error=\"internal\"}"), 1);
  EXPECT_EQ(cluster.Metric(prefix + "metric_computation_total{action=\"scale_up\",error=\"none\","
                                    "metric_type=\"Resource\"}"),
            1);
  EXPECT_EQ(cluster.Metric(prefix + "metric_computation_total{action=\"none\",error=\"internal\","
                                    "metric_type=\"External\"}"),
            1);
  EXPECT_EQ(cluster.Metric(prefix + "desired_replicas{namespace=\"default\",hpa_name=\"h\"}"), 5);
}

}  // namespace
}  // namespace kcm::harness
