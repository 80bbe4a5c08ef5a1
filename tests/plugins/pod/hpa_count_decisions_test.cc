// SPDX-License-Identifier: Apache-2.0
// From samples and pods to replicas.
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "kcm/rules/json_node.h"
#include "plugins/pod/hpa/pod_groups.h"
#include "plugins/pod/hpa/replica_count.h"
#include "plugins/pod/hpa/samples.h"

namespace kcm::pod::hpa {
namespace {

using nlohmann::json;
using rules::JsonNode;
using rules::Node;
using namespace std::chrono_literals;  // NOLINT: test vocabulary

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

rules::WallTime At(const char* time) { return *rules::ParseTime(time); }

// ---- samples ----

json PodMetrics(const char* name, const json& containers) {
  return {{"metadata", {{"name", name}, {"namespace", "ns"}}},
          {"timestamp", "2024-05-01T12:00:00Z"},
          {"window", "1m30s"},
          {"containers", containers}};
}
json Using(const char* container, const char* cpu) {
  return {{"name", container}, {"usage", {{"cpu", cpu}}}};
}

TEST(HpaPodSamples, AreOfAllContainers) {
  const json list{
      {"items",
       {PodMetrics("a", {Using("x", "100m"), Using("y", "1500u")}),
        PodMetrics("none", json::array()),
        PodMetrics("part", {Using("x", "1"), {{"name", "y"}, {"usage", {{"memory", "1"}}}}})}}};
  const Samples got = PodSamples(JsonNode(list), "cpu");
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got.at("a"), (Sample{102, At("2024-05-01T12:00:00Z"), 90s})) << "each rounded up";
}

TEST(HpaContainerSamples, WantTheContainerOfEveryPod) {
  const json list{{"items",
                   {PodMetrics("a", {Using("x", "100m"), Using("y", "1")}),
                    PodMetrics("b", {{{"name", "x"}, {"usage", {{"memory", "1"}}}}})}}};
  const Result<Samples> got = ContainerSamples(JsonNode(list), "cpu", "x");
  ASSERT_TRUE(got.ok());
  ASSERT_EQ(got->size(), 1u) << "one has it, but not this resource";
  EXPECT_EQ(got->at("a").value, 100);
  const Result<Samples> missing = ContainerSamples(JsonNode(list), "cpu", "y");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().message,
            "failed to get container metrics: container y not present in metrics for pod ns/b");
}

TEST(HpaCustomSamples, BothVersionsTellTheirWindow) {
  const auto value = [](const char* pod, const char* window, const json& seconds) {
    json item{{"describedObject", {{"name", pod}}}, {"value", "1500m"}};
    if (!seconds.is_null()) item[window] = seconds;
    return item;
  };
  const json list{{"items",
                   {value("new", "windowSeconds", 20), value("old", "window", 30),
                    value("none", "window", nullptr)}}};
  const Samples got = CustomSamples(JsonNode(list));
  EXPECT_EQ(got.at("new").window, 20s);
  EXPECT_EQ(got.at("old").window, 30s);
  EXPECT_EQ(got.at("none").window, 60s);
  EXPECT_EQ(got.at("none").value, 1500);
}

TEST(HpaExternalTotal, StopsAtTheEndOfItsRange) {
  const json some{{"items", {{{"value", "60"}}, {{"value", "40500m"}}}}};
  EXPECT_EQ(ExternalTotal(JsonNode(some)), 100500);
  const json many{{"items", {{{"value", "9E"}}, {{"value", "9E"}}, {{"value", "1"}}}}};
  EXPECT_EQ(ExternalTotal(JsonNode(many)), kMax);
}

// ---- groups ----

json MeteredPod(const char* phase, const char* ready, const char* since, const char* started) {
  json pod{{"metadata", {{"name", "p"}}}, {"status", {{"phase", phase}}}};
  if (ready != nullptr) {
    pod["status"]["conditions"] = {
        {{"type", "Ready"}, {"status", ready}, {"lastTransitionTime", since}}};
  }
  if (started != nullptr) pod["status"]["startTime"] = started;
  return pod;
}

// Now is 12:00:00; the sample is of 11:59:50 and reaches back 30 s.
std::string GroupOf(const json& pod, std::string_view resource, bool sampled = true) {
  Samples samples;
  if (sampled) samples["p"] = {100, At("2024-05-01T11:59:50Z"), 30s};
  const Node pods[] = {JsonNode(pod)};
  const PodGroups groups = GroupPods(
      pods, samples, resource,
      {.now = At("2024-05-01T12:00:00Z"), .cpu_initialization = 5min, .initial_delay = 30s});
  if (groups.ready == 1) return "ready";
  if (groups.unready.contains("p")) return "unready";
  if (groups.missing.contains("p")) return "missing";
  return groups.ignored.contains("p") ? "ignored" : "nowhere";
}

TEST(HpaGroupPods, ByPhaseSampleAndReadiness) {
  const char* old = "2024-05-01T11:00:00Z";
  const char* recent = "2024-05-01T11:58:00Z";
  const struct {
    const char* name;
    json pod;
    const char *cpu, *memory;
  } rows[] = {
      {"failed", MeteredPod("Failed", "True", old, old), "ignored", "ignored"},
      {"pending", MeteredPod("Pending", nullptr, nullptr, nullptr), "unready", "unready"},
      {"succeeded", MeteredPod("Succeeded", "False", old, "2024-05-01T10:00:00Z"), "ready",
       "ready"},
      {"no condition", MeteredPod("Running", nullptr, nullptr, old), "unready", "ready"},
      {"no start time", MeteredPod("Running", "True", old, nullptr), "unready", "ready"},
      {"ready for long", MeteredPod("Running", "True", old, old), "ready", "ready"},
      {"never ready", MeteredPod("Running", "False", "2024-05-01T11:00:29Z", old), "unready",
       "ready"},
      {"was ready once", MeteredPod("Running", "False", "2024-05-01T11:00:30Z", old), "ready",
       "ready"},
      {"starts, not ready", MeteredPod("Running", "False", recent, recent), "unready", "ready"},
      {"starts, its sample reaches back before it was ready",
       MeteredPod("Running", "True", "2024-05-01T11:59:21Z", recent), "unready", "ready"},
      {"starts, its sample lies behind",
       MeteredPod("Running", "True", "2024-05-01T11:59:20Z", recent), "ready", "ready"},
      {"unknown is not False", MeteredPod("Running", "Unknown", recent, old), "ready", "ready"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(GroupOf(row.pod, "cpu"), row.cpu);
    EXPECT_EQ(GroupOf(row.pod, "memory"), row.memory);
    EXPECT_EQ(GroupOf(row.pod, ""), row.memory);
  }
  EXPECT_EQ(GroupOf(MeteredPod("Running", "True", old, old), "cpu", false), "missing");
  json deleting = MeteredPod("Running", "True", old, old);
  deleting["metadata"]["deletionTimestamp"] = old;
  EXPECT_EQ(GroupOf(deleting, "cpu"), "ignored");
}

TEST(HpaRequestsOf, ContainersSidecarsAndPodLevel) {
  const auto container = [](const char* name, const json& requests) {
    return json{{"name", name}, {"resources", {{"requests", requests}}}};
  };
  const json cpu{{"cpu", "200m"}};
  json sidecar = container("side", cpu);
  sidecar["restartPolicy"] = "Always";
  const json plain{{"containers", {container("a", cpu), container("b", {{"cpu", "1"}})}},
                   {"initContainers", {sidecar, container("init", {{"cpu", "9"}})}}};
  json lacking = plain;
  lacking["containers"][1] = container("b", {{"memory", "1Gi"}});
  json whole = lacking;
  whole["resources"]["requests"] = {{"cpu", "3"}};
  whole["overhead"] = {{"cpu", "250m"}};
  json other_whole = plain;
  other_whole["resources"]["requests"] = {{"memory", "1Gi"}};
  const struct {
    const char* name;
    json spec;
    const char* container;
    bool pod_level;
    std::string want;
  } rows[] = {
      {"all", plain, "", true, "1400"},
      {"one", plain, "b", true, "1000"},
      {"a sidecar", plain, "side", true, "200"},
      {"one that lacks it", lacking, "", true, "missing request for cpu in container b of Pod p"},
      {"another one", lacking, "a", true, "200"},
      {"unknown", plain, "z", true, "container z not found in Pod p"},
      {"an init container is none", plain, "init", true, "container init not found in Pod p"},
      {"of the pod", whole, "", true, "3250"},
      {"of the pod, gate off", whole, "", false, "missing request for cpu in container b of Pod p"},
      {"a container's own goes before the pod's", whole, "a", true, "200"},
      {"the pod names another resource", other_whole, "", true, "9200"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const json pod{{"metadata", {{"name", "p"}}}, {"spec", row.spec}};
    const Node pods[] = {JsonNode(pod)};
    const Result<Requests> got = RequestsOf(pods, "cpu", row.container, row.pod_level);
    EXPECT_EQ(got.ok() ? std::to_string(got->at("p")) : got.error().message, row.want);
  }
  const json pod{{"metadata", {{"name", "p"}}}, {"spec", whole}};
  const Node pods[] = {JsonNode(pod)};
  const Result<Requests> got = RequestsOf(pods, "example.com/gpu", "", true);
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().message, "missing pod-level request for example.com/gpu in Pod p");
}

// ---- replicas ----

struct CountRow {
  const char* name;
  std::vector<int64_t> used;  // of pods that count
  int missing, unready;
  int64_t target, current, want;
};

Samples SamplesOf(const std::vector<int64_t>& used) {
  Samples out;
  for (size_t i = 0; i < used.size(); ++i) out["r" + std::to_string(i)].value = used[i];
  return out;
}

// Each pod requests 1000m. The last 2 rows of percentages show what is rounded where.
TEST(HpaCountReplicas, ByUtilization) {
  const CountRow rows[] = {
      {"HPA-01", {300, 500, 700}, 0, 0, 30, 3, 5},
      {"HPA-02: an unready pod counts as idle", {500, 700}, 0, 1, 30, 3, 4},
      {"HPA-03: missing pods use all they request", {250, 250}, 2, 0, 100, 4, 3},
      {"HPA-04: within", {550, 550, 550}, 0, 0, 50, 3, 3},
      {"HPA-04: beyond", {560, 560, 560}, 0, 0, 50, 3, 4},
      {"the lower end is within", {450, 450}, 0, 0, 50, 2, 2},
      {"below it", {440, 440}, 0, 0, 50, 3, 2},
      {"HPA-05: missing pods use nothing", {1900}, 1, 0, 100, 2, 2},
      {"HPA-23: more pods than replicas", {100, 100}, 1, 0, 50, 2, 2},
      {"missing pods turn the direction", {100, 100, 100}, 3, 0, 40, 6, 6},
      {"above 100 % they use the target", {1000, 1000}, 2, 0, 200, 4, 3},
      {"unready pods do not hold back scaling down", {100, 100}, 0, 2, 50, 4, 1},
      {"at the target nothing is assumed", {500, 500}, 2, 0, 50, 4, 4},
      {"unready pods turn the direction", {600}, 0, 3, 50, 4, 4},
      {"replicas count, not samples, when in tolerance", {500, 500}, 0, 0, 50, 7, 7},
      {"doubles: 22 / 10 * 25 is more than 55", std::vector<int64_t>(25, 220), 0, 0, 10, 25, 56},
      {"percent are cut off", {119, 119}, 0, 0, 10, 2, 2},
  };
  for (const CountRow& row : rows) {
    SCOPED_TRACE(row.name);
    PodGroups groups;
    groups.ready = static_cast<int64_t>(row.used.size());
    Requests requests;
    for (size_t i = 0; i < row.used.size(); ++i) requests["r" + std::to_string(i)] = 1000;
    for (int i = 0; i < row.missing; ++i) groups.missing.insert("m" + std::to_string(i));
    for (int i = 0; i < row.unready; ++i) groups.unready.insert("u" + std::to_string(i));
    for (const auto* names : {&groups.missing, &groups.unready})
      for (const std::string& name : *names) requests[name] = 1000;
    const Result<ReplicaCount> got =
        CountReplicas(SamplesOf(row.used), groups, {.value = row.target, .requests = &requests},
                      {.down = 0.1, .up = 0.1}, row.current);
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_EQ(got->replicas, row.want);
  }
}

TEST(HpaCountReplicas, ByAverage) {
  const CountRow rows[] = {
      {"up", {15000, 15000}, 0, 0, 10000, 2, 3},
      {"down", {2000, 2000, 2000}, 0, 0, 10000, 3, 1},
      {"missing pods use the target", {2000}, 2, 0, 10000, 3, 3},
      {"averages are cut off", {10000, 10001}, 0, 0, 10000, 2, 2},
      {"nothing used", {0, 0}, 0, 0, 10000, 2, 0},
  };
  for (const CountRow& row : rows) {
    SCOPED_TRACE(row.name);
    PodGroups groups;
    groups.ready = static_cast<int64_t>(row.used.size());
    for (int i = 0; i < row.missing; ++i) groups.missing.insert("m" + std::to_string(i));
    const Result<ReplicaCount> got = CountReplicas(
        SamplesOf(row.used), groups, {.value = row.target}, {.down = 0.1, .up = 0.1}, row.current);
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_EQ(got->replicas, row.want);
  }
}

TEST(HpaUsageOf, BigAmountsDoNotOverflow) {
  const Requests requests{{"r0", kMax / 2}, {"r1", kMax / 4}};
  const Result<Usage> got =
      UsageOf(SamplesOf({kMax / 4, kMax / 4}), {.value = 50, .requests = &requests});
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->utilization, 66);
  EXPECT_EQ(got->average, kMax / 4);
  const Requests others{{"x", 1000}};
  const Result<Usage> none = UsageOf(SamplesOf({100}), {.value = 50, .requests = &others});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message, "no metrics returned matched known pods");
}

TEST(HpaDropUncounted, LeavesAtLeastOne) {
  PodGroups groups;
  groups.ignored.insert("r0");
  groups.unready.insert("r1");
  Samples samples = SamplesOf({1, 2, 3});
  EXPECT_TRUE(DropUncounted(samples, groups).ok());
  EXPECT_EQ(samples.size(), 1u);
  EXPECT_TRUE(samples.contains("r2"));
  Samples others = SamplesOf({1, 2});
  const Status none = DropUncounted(others, groups);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message,
            "did not receive metrics for targeted pods (pods might be unready)");
}

TEST(HpaReplicasForRatio, CountsReadyPods) {
  const auto pod = [](const char* phase, const char* ready) {
    return json{
        {"status", {{"phase", phase}, {"conditions", {{{"type", "Ready"}, {"status", ready}}}}}}};
  };
  const json pods[] = {pod("Running", "True"), pod("Running", "True"), pod("Running", "False"),
                       pod("Succeeded", "True")};
  std::vector<Node> nodes;
  for (const json& p : pods) nodes.push_back(JsonNode(p));
  const Tolerances tolerances{.down = 0.1, .up = 0.1};
  EXPECT_EQ(*ReplicasForRatio(20.0 / 15.0, 3, nodes, tolerances), 3) << "HPA-12: of two";
  EXPECT_EQ(*ReplicasForRatio(1.1, 3, nodes, tolerances), 3);
  EXPECT_EQ(*ReplicasForRatio(0.2, 3, nodes, tolerances), 1);
  EXPECT_EQ(*ReplicasForRatio(2.5, 0, {}, tolerances), 3) << "from zero the ratio is the number";
  EXPECT_EQ(*ReplicasForRatio(1e30, 3, nodes, tolerances), std::numeric_limits<int32_t>::max());
  const Result<int64_t> none = ReplicasForRatio(3, 3, {}, tolerances);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message,
            "unable to calculate ready pods: no pods returned by selector while calculating "
            "replica count");
}

TEST(HpaReplicasPerPod, DividesByWhatIsThere) {
  const Tolerances tolerances{.down = 0.1, .up = 0.1};
  const auto numbers = [&](int64_t usage, int64_t target, int64_t replicas) {
    const PerPod got = ReplicasPerPod(usage, target, replicas, tolerances);
    return std::pair(got.replicas, got.average);
  };
  using P = std::pair<int64_t, int64_t>;
  EXPECT_EQ(numbers(100000, 30000, 3), (P{4, 33334})) << "HPA-13";
  EXPECT_EQ(numbers(99000, 30000, 3), (P{3, 33000})) << "within";
  EXPECT_EQ(numbers(60000, 30000, 3), (P{2, 20000}));
  EXPECT_EQ(numbers(60000, 30000, 0), (P{2, kMax})) << "no pods: no tolerance";
  EXPECT_EQ(numbers(0, 30000, 0), (P{0, 0}));
}

TEST(HpaTolerances, BothEndsBelongToThem) {
  const Tolerances t{.down = 0.1, .up = 0.02};
  EXPECT_TRUE(t.Within(0.9));
  EXPECT_TRUE(t.Within(1.02));
  EXPECT_FALSE(t.Within(0.89));
  EXPECT_FALSE(t.Within(1.03));
}

}  // namespace
}  // namespace kcm::pod::hpa
