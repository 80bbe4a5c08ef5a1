// SPDX-License-Identifier: Apache-2.0
// Metrics objects made of annotations.
#include "devcluster/nodes/metrics.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace kcm::devcluster::nodes {
namespace {

using nlohmann::json;

constexpr rules::WallTime kNow{std::chrono::seconds(1893456000)};

MeteredPod PodOf(const std::string& name, const Strings& annotations,
                 std::vector<std::string> containers = {"c"}, const std::string& owner = "") {
  MeteredPod pod;
  pod.ns = "ns";
  pod.name = name;
  pod.owner_uid = owner;
  pod.annotations = annotations;
  pod.containers = std::move(containers);
  return pod;
}

TEST(SimulatedUsage, ComesFromAnnotations) {
  const std::vector<MeteredPod> pods = {
      PodOf("idle", {}),
      PodOf("busy", {{"sim/cpu", "251m"}, {"sim/memory", "3Ki"}, {"sim/cpu.b", "1"}}, {"a", "b"}),
      PodOf("new", {{"sim/no-metrics", "true"}}),
      PodOf("s1", {{"sim/cpu-shared", "2"}}, {"c"}, "rs"),
      PodOf("s2", {}, {"c"}, "rs"),
      PodOf("s3", {{"sim/cpu", "5m"}}, {"c"}, "rs"),
      PodOf("s4", {}, {"c"}, "rs"),
  };
  const std::vector<PodUsage> usage = UsageOf(pods);
  ASSERT_EQ(usage.size(), 6u);
  EXPECT_EQ(usage[0].containers[0].milli_cpu, 10);
  EXPECT_EQ(usage[1].containers[0].milli_cpu, 126) << "half, and the odd one";
  EXPECT_EQ(usage[1].containers[1].milli_cpu, 1000);
  EXPECT_EQ(usage[1].containers[1].memory, 1536);
  EXPECT_EQ(usage[2].containers[0].milli_cpu, 500);
  EXPECT_EQ(usage[3].containers[0].milli_cpu, 500) << "one annotated pod is enough";
  EXPECT_EQ(usage[4].containers[0].milli_cpu, 5) << "its own value wins";
  const json object = PodMetricsJson(usage[1], kNow);
  EXPECT_EQ(object["containers"][0]["usage"]["cpu"], "126m");
  EXPECT_EQ(object["metadata"]["name"], "busy");
  EXPECT_EQ(object["timestamp"], "2030-01-01T00:00:00Z");
  const json node = NodeMetricsJson("n", {&usage[0], &usage[3]}, kNow);
  EXPECT_EQ(node["usage"]["cpu"], "610m");
}

TEST(ExternalSeries, AreSelectedByLabels) {
  const auto values = [](const std::string& text, const std::string& selector) {
    const auto r = ExternalValues("depth", text, *rules::LabelSelector::Parse(selector), kNow);
    if (!r.ok()) return r.error().message;
    std::string out;
    for (const json& item : *r) out += item["value"].get<std::string>() + " ";
    return out;
  };
  EXPECT_EQ(values("30", ""), "30 ");
  EXPECT_EQ(values("queue=a:30;queue=b,env=x:5", ""), "30 5 ");
  EXPECT_EQ(values("queue=a:30;queue=b,env=x:5", "queue=b"), "5 ");
  EXPECT_EQ(values("30", "queue=b"), "");
  EXPECT_EQ(values("lots", ""),
            "annotation sim/external.depth: \"lots\" is neither a quantity nor LABELS:QUANTITY");
}

TEST(CustomValues, HaveTheFormOfTheirVersion) {
  const DescribedObject pod{"Pod", "v1", "ns", "p"};
  const json old = MetricValueJson("v1beta1", pod, "rps", "12", kNow);
  EXPECT_EQ(old["metricName"], "rps");
  const json now = MetricValueJson("v1beta2", pod, "rps", "12", kNow);
  EXPECT_EQ(now["metric"]["name"], "rps");
  EXPECT_EQ(now["windowSeconds"], 30);
  EXPECT_EQ(now["describedObject"]["name"], "p");
  EXPECT_EQ(now["value"], "12");
}

}  // namespace
}  // namespace kcm::devcluster::nodes
