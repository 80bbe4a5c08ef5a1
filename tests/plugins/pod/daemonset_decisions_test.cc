// SPDX-License-Identifier: Apache-2.0
// Decisions of daemonset-controller (spec/pod-workloads.md section 6).
#include <gtest/gtest.h>

#include <list>
#include <nlohmann/json.hpp>

#include "kcm/rules/json_node.h"
#include "plugins/pod/daemonset/failed_pods.h"
#include "plugins/pod/daemonset/fleet.h"
#include "plugins/pod/daemonset/old_revisions.h"
#include "plugins/pod/daemonset/placement.h"
#include "plugins/pod/daemonset/pod_body.h"
#include "plugins/pod/daemonset/rolling_update.h"
#include "plugins/pod/daemonset/status.h"

namespace kcm::pod::daemonset {
namespace {

using namespace std::chrono_literals;  // NOLINT: test vocabulary
using nlohmann::json;
using rules::JsonNode;
using rules::Node;

using Texts = std::vector<std::string>;

const rules::WallTime kNow = *rules::ParseTime("2024-05-01T12:00:00Z");

json Set(const std::string& spec = "{}") {
  json set = json::parse(R"({"metadata":{"name":"d","namespace":"ns","uid":"ud","generation":3,
      "annotations":{"deprecated.daemonset.template.generation":"2"}},
    "spec":{"selector":{"matchLabels":{"app":"x"}},
      "template":{"metadata":{"labels":{"app":"x"}},"spec":{"containers":[{"name":"c","image":"i"}]}},
      "updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":1,"maxSurge":0}}}})");
  set["spec"].merge_patch(json::parse(spec));
  return set;
}
const char kSurge[] =
    R"({"updateStrategy":{"rollingUpdate":{"maxUnavailable":0,"maxSurge":"34%"}}})";

// Made for `node`. "ready", "new" (Ready since 1 s), "notready", "failed", "succeeded"; a trailing
// "-" deletes it.
json PodMadeFor(const std::string& node, const std::string& name, std::string state,
                const std::string& hash) {
  json pod{{"metadata", {{"name", name}, {"creationTimestamp", "2024-05-01T10:00:00Z"}}}};
  if (!hash.empty()) pod["metadata"]["labels"] = {{"controller-revision-hash", hash}};
  if (state.ends_with('-')) {
    pod["metadata"]["deletionTimestamp"] = "2024-05-01T11:59:00Z";
    state.pop_back();
  }
  SetTargetNode(pod["spec"], node);
  pod["status"]["phase"] = state == "failed"      ? "Failed"
                           : state == "succeeded" ? "Succeeded"
                                                  : "Running";
  const bool ready = state == "ready" || state == "new";
  pod["status"]["conditions"] = {
      {{"type", "Ready"},
       {"status", ready ? "True" : "False"},
       {"lastTransitionTime", state == "new" ? "2024-05-01T11:59:59Z" : "2024-05-01T11:00:00Z"}}};
  return pod;
}
json PodOn(const std::string& node, const std::string& name, const std::string& state = "ready",
           const std::string& hash = "h") {
  json pod = PodMadeFor(node, name, state, hash);
  pod["spec"]["nodeName"] = node;
  return pod;
}

constexpr Eligibility kRun{.should_run = true, .should_continue = true};
constexpr Eligibility kStay{.should_continue = true};
constexpr Eligibility kLeave{};

// A fleet over objects of its own.
struct Sample {
  std::list<json> objects;
  Fleet fleet;

  Sample(std::vector<json> pods, std::map<std::string_view, Eligibility> nodes) {
    std::vector<Node> roots;
    for (json& pod : pods) roots.push_back(JsonNode(objects.emplace_back(std::move(pod))));
    fleet = FleetOf(std::move(roots));
    fleet.nodes = std::move(nodes);
  }
  Texts Names(const std::vector<size_t>& places) const {
    Texts names;
    for (const size_t p : places) names.emplace_back(fleet.pods[p].Path("metadata.name").String());
    return names;
  }
};

TEST(DaemonTolerations, AreAddedOrReplaced) {
  json spec = json::parse(R"({"tolerations":[
      {"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute",
       "tolerationSeconds":30},
      {"key":"node.kubernetes.io/unreachable","operator":"Equal","effect":"NoExecute"}]})");
  AddDaemonTolerations(spec);
  EXPECT_EQ(spec["tolerations"], json::parse(R"([
      {"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute"},
      {"key":"node.kubernetes.io/unreachable","operator":"Equal","effect":"NoExecute"},
      {"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute"},
      {"key":"node.kubernetes.io/disk-pressure","operator":"Exists","effect":"NoSchedule"},
      {"key":"node.kubernetes.io/memory-pressure","operator":"Exists","effect":"NoSchedule"},
      {"key":"node.kubernetes.io/pid-pressure","operator":"Exists","effect":"NoSchedule"},
      {"key":"node.kubernetes.io/unschedulable","operator":"Exists","effect":"NoSchedule"}])"));
  json host{{"hostNetwork", true}};
  AddDaemonTolerations(host);
  ASSERT_EQ(host["tolerations"].size(), 7u);
  EXPECT_EQ(host["tolerations"].back(),
            json::parse(R"({"key":"node.kubernetes.io/network-unavailable","operator":"Exists",
                            "effect":"NoSchedule"})"));
}

TEST(Placement, LooksAtNameLabelsAndTaints) {
  const char kNode[] = R"({"metadata":{"name":"n1","labels":{"zone":"a"}}})";
  const auto tainted = [](const std::string& key, const std::string& effect) {
    return R"({"metadata":{"name":"n1"},"spec":{"taints":[{"key":")" + key +
           R"(","value":"5","effect":")" + effect + R"("}]}})";
  };
  const char kAffinity[] = R"({"affinity":{"nodeAffinity":{
      "requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
        {"matchExpressions":[{"key":"zone","operator":"In","values":["b"]}]},
        {"matchFields":[{"key":"metadata.name","operator":"In","values":["n2"]}]}]}}}})";
  const struct {
    const char* name;
    std::string spec, node;
    Eligibility want;
  } rows[] = {
      {"a plain node", "{}", kNode, kRun},
      {"named itself", R"({"nodeName":"n1"})", kNode, kRun},
      {"another is named", R"({"nodeName":"n2"})", kNode, kLeave},
      {"its label is selected", R"({"nodeSelector":{"zone":"a"}})", kNode, kRun},
      {"its label is not selected", R"({"nodeSelector":{"zone":"b"}})", kNode, kLeave},
      {"affinity matches no term", kAffinity, kNode, kLeave},
      {"affinity by label", kAffinity, R"({"metadata":{"name":"n1","labels":{"zone":"b"}}})", kRun},
      {"affinity by name", kAffinity, R"({"metadata":{"name":"n2"}})", kRun},
      {"new pods only are kept off", "{}", tainted("k", "NoSchedule"), kStay},
      {"all pods are kept off", "{}", tainted("k", "NoExecute"), kLeave},
      {"a mere preference", "{}", tainted("k", "PreferNoSchedule"), kRun},
      {"tolerated", R"({"tolerations":[{"key":"k","operator":"Exists"}]})",
       tainted("k", "NoExecute"), kRun},
      {"not ready, to be evicted from", "{}", tainted("node.kubernetes.io/not-ready", "NoExecute"),
       kRun},
      {"not ready, not to be scheduled to", "{}",
       tainted("node.kubernetes.io/not-ready", "NoSchedule"), kStay},
      {"cordoned", "{}", tainted("node.kubernetes.io/unschedulable", "NoSchedule"), kRun},
      {"no network", "{}", tainted("node.kubernetes.io/network-unavailable", "NoSchedule"), kStay},
      {"no network is needed", R"({"hostNetwork":true})",
       tainted("node.kubernetes.io/network-unavailable", "NoSchedule"), kRun},
      {"comparison is off", R"({"tolerations":[{"key":"k","operator":"Lt","value":"9"}]})",
       tainted("k", "NoSchedule"), kStay},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const json pod_template{{"spec", json::parse(row.spec)}}, node = json::parse(row.node);
    const Placement placement(JsonNode(pod_template), rules::ComparisonOperators::kOff);
    EXPECT_EQ(placement.On(JsonNode(node)), row.want);
  }
  const json compares =
      json::parse(R"({"spec":{"tolerations":[{"key":"k","operator":"Lt","value":"9"}]}})");
  const json node = json::parse(tainted("k", "NoSchedule"));
  EXPECT_EQ(Placement(JsonNode(compares), rules::ComparisonOperators::kOn).On(JsonNode(node)),
            kRun);
}

TEST(TargetNode, IsTheBoundOneOrTheOneMadeFor) {
  const auto made_for = [](const std::string& terms) {
    json pod;
    pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = {
        {"nodeSelectorTerms", json::parse(terms)}};
    return std::string(TargetNodeOf(JsonNode(pod)));
  };
  EXPECT_EQ(
      made_for(R"([{"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]}])"),
      "n1");
  EXPECT_EQ(made_for(R"([{"matchExpressions":[]},{"matchFields":[
      {"key":"metadata.name","operator":"NotIn","values":["n0"]},
      {"key":"metadata.name","operator":"In","values":["n1"]},
      {"key":"metadata.name","operator":"In","values":["n2"]}]}])"),
            "n1");
  EXPECT_EQ(
      made_for(
          R"([{"matchFields":[{"key":"metadata.name","operator":"In","values":["n1","n2"]}]}])"),
      "");
  EXPECT_EQ(made_for("[]"), "");
  const json bound = PodOn("n1", "a"), waiting = PodMadeFor("n2", "b", "notready", "h"),
             free = json::object();
  EXPECT_EQ(TargetNodeOf(JsonNode(bound)), "n1");
  EXPECT_EQ(TargetNodeOf(JsonNode(waiting)), "n2");
  EXPECT_EQ(TargetNodeOf(JsonNode(free)), "");
}

TEST(PodBodies, NameTheNodeInTheAffinityOnly) {
  json set = Set();
  json& spec = set["spec"]["template"]["spec"];
  spec["affinity"] = json::parse(R"({"podAffinity":{"x":1},"nodeAffinity":{
      "preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1}],
      "requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":
        [{"key":"zone","operator":"Exists"}]}]}}})");
  PodBodies bodies(SpecOf(JsonNode(set)), "h");
  (void)bodies.For("n1");
  const json pod = json::parse(bodies.For("n2"));
  EXPECT_EQ(pod["metadata"]["generateName"], "d-");
  EXPECT_EQ(
      pod["metadata"]["labels"],
      (json{{"app", "x"}, {"controller-revision-hash", "h"}, {"pod-template-generation", "2"}}));
  EXPECT_EQ(pod["spec"]["affinity"], json::parse(R"({"podAffinity":{"x":1},"nodeAffinity":{
      "preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1}],
      "requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchFields":
        [{"key":"metadata.name","operator":"In","values":["n2"]}]}]}}})"));
  EXPECT_FALSE(pod["spec"].contains("nodeName"));
  EXPECT_EQ(pod["spec"]["tolerations"].size(), 6u);

  set["metadata"]["annotations"]["deprecated.daemonset.template.generation"] = "two";
  EXPECT_EQ(json::parse(PodBodies(SpecOf(JsonNode(set)), "h").For("n1"))["metadata"]["labels"],
            (json{{"app", "x"}, {"controller-revision-hash", "h"}}));
}

TEST(Updated, ByHashOrByGeneration) {
  const json set = Set();
  const Spec spec = SpecOf(JsonNode(set));
  const auto updated = [&](const json& labels, std::string_view hash = "h") {
    const json pod{{"metadata", {{"labels", labels}}}};
    return IsUpdated(spec, JsonNode(pod), hash);
  };
  EXPECT_TRUE(updated({{"controller-revision-hash", "h"}}));
  EXPECT_TRUE(updated({{"controller-revision-hash", "g"}, {"pod-template-generation", "2"}}));
  EXPECT_FALSE(updated({{"controller-revision-hash", "g"}, {"pod-template-generation", "1"}}));
  EXPECT_FALSE(updated(json::object()));
  EXPECT_FALSE(updated({{"controller-revision-hash", ""}}, "")) << "no hash is no match";
}

TEST(Fleet, GroupsByNodeInTheOrderOfKeeping) {
  json older = PodOn("n1", "older");
  older["metadata"]["creationTimestamp"] = "2024-05-01T09:00:00Z";
  json waiting = PodMadeFor("n1", "waiting", "notready", "h");
  waiting["metadata"]["creationTimestamp"] = "2024-05-01T08:00:00Z";
  const Sample s(
      {waiting, PodOn("n1", "b"), PodOn("n1", "a"), older, PodOn("n1", "going", "ready-"),
       PodOn("n1", "ended", "failed-"), PodOn("n1", "failed", "failed")},
      {});
  const auto here = s.fleet.PodsOn("n1");
  EXPECT_EQ(s.Names({here.begin(), here.end()}),
            (Texts{"older", "a", "b", "failed", "going", "waiting"}));
  EXPECT_TRUE(s.fleet.PodsOn("n2").empty());
}

TEST(NodePlan, WithoutSurgeOnePodStays) {
  const json set = Set();
  const auto plan = [&](const std::vector<json>& pods, Eligibility eligibility) {
    const Sample s(pods, {{"n1", eligibility}});
    const NodePlan p = PlanNode(SpecOf(JsonNode(set)), s.fleet, "n1", "h", kNow);
    Texts out;
    if (p.create) out.emplace_back("create");
    for (const std::string& name : s.Names(p.failed)) out.push_back("failed " + name);
    for (const std::string& name : s.Names(p.succeeded)) out.push_back("succeeded " + name);
    for (const std::string& name : s.Names(p.deleted)) out.push_back("delete " + name);
    return out;
  };
  EXPECT_EQ(plan({}, kRun), Texts{"create"});
  EXPECT_EQ(plan({}, kStay), Texts{});
  EXPECT_EQ(plan({PodOn("n1", "a")}, kRun), Texts{});
  EXPECT_EQ(plan({PodOn("n1", "a")}, kStay), Texts{});
  EXPECT_EQ(plan({PodOn("n1", "a", "notready"), PodOn("n1", "b", "failed")}, kLeave),
            (Texts{"delete a", "delete b"}));
  EXPECT_EQ(plan({PodOn("n1", "a", "ready-")}, kLeave), Texts{});
  EXPECT_EQ(plan({PodOn("n1", "a", "ready-")}, kRun), Texts{}) << "it still holds its node";
  EXPECT_EQ(plan({PodOn("n1", "a", "failed-")}, kRun), Texts{"create"}) << "it has ended";
  EXPECT_EQ(
      plan({PodMadeFor("n1", "a", "notready", "h"), PodOn("n1", "b"), PodOn("n1", "c")}, kRun),
      (Texts{"delete c", "delete a"}));
  EXPECT_EQ(
      plan({PodOn("n1", "a", "failed"), PodOn("n1", "b", "succeeded"), PodOn("n1", "c")}, kRun),
      (Texts{"failed a", "succeeded b"}));
}

TEST(NodePlan, WithSurgeAnOldAndANewPodMayStay) {
  json set = Set(kSurge);
  const auto plan = [&](const std::vector<json>& pods, Eligibility eligibility = kRun) {
    const Sample s(pods, {{"n1", eligibility}});
    const NodePlan p = PlanNode(SpecOf(JsonNode(set)), s.fleet, "n1", "h", kNow);
    Texts out = s.Names(p.deleted);
    if (p.create) out.emplace_back("create");
    return out;
  };
  EXPECT_EQ(plan({PodOn("n1", "a", "ready-")}), Texts{"create"});
  EXPECT_EQ(plan({PodOn("n1", "a", "ready-")}, kStay), Texts{});
  EXPECT_EQ(plan({PodOn("n1", "a", "ready", "g")}), Texts{});
  EXPECT_EQ(plan({PodOn("n1", "a", "ready", "g"), PodOn("n1", "b", "notready")}), Texts{});
  EXPECT_EQ(plan({PodOn("n1", "a", "ready", "g"), PodOn("n1", "b", "new")}), Texts{"a"});
  EXPECT_EQ(plan({PodOn("n1", "a", "notready", "g"), PodOn("n1", "b", "notready")}), Texts{"a"});
  EXPECT_EQ(plan({PodOn("n1", "a", "ready", "g"), PodOn("n1", "b", "ready", "f"),
                  PodOn("n1", "c", "notready"), PodOn("n1", "d", "notready")}),
            (Texts{"b", "d"}));
  set["spec"]["minReadySeconds"] = 2;
  EXPECT_EQ(plan({PodOn("n1", "a", "ready", "g"), PodOn("n1", "b", "new")}), Texts{});
}

TEST(NodePlan, PodsOfLostNodesGoUnlessBound) {
  const Sample s({PodMadeFor("n9", "a", "notready", "h"), PodOn("n9", "b"),
                  PodMadeFor("n9", "c", "notready-", "h"), PodMadeFor("n1", "d", "notready", "h")},
                 {{"n1", kRun}});
  EXPECT_EQ(s.Names(PodsOfLostNodes(s.fleet)), Texts{"a"});
}

// "delete p", "create n" of each rolling update.
Texts Roll(const json& set, const Sample& s) {
  const Result<RollingPlan> plan = PlanRollingUpdate(SpecOf(JsonNode(set)), s.fleet, "h", kNow);
  if (!plan.ok()) return {"error " + plan.error().message};
  Texts out;
  for (const std::string& name : s.Names(plan->deleted)) out.push_back("delete " + name);
  for (const std::string_view node : plan->created) out.push_back("create " + std::string(node));
  return out;
}

TEST(RollingUpdate, WithoutSurgeKeepsTheBudget) {
  const json two = Set(R"({"updateStrategy":{"rollingUpdate":{"maxUnavailable":2}}})");
  const auto old = [](const std::string& node, const std::string& state = "ready") {
    return PodOn(node, "o" + node, state, "g");
  };
  const std::map<std::string_view, Eligibility> three = {{"1", kRun}, {"2", kRun}, {"3", kRun}};
  const struct {
    const char* name;
    std::vector<json> pods;
    Texts want;
  } rows[] = {
      {"two of three", {old("1"), old("2"), old("3")}, {"delete o1", "delete o2"}},
      {"one is new and not available",
       {PodOn("1", "n1", "notready"), old("2"), old("3")},
       {"delete o2"}},
      {"one is new and available",
       {PodOn("1", "n1"), old("2"), old("3")},
       {"delete o2", "delete o3"}},
      {"a node without a pod counts", {old("2"), old("3")}, {"delete o2"}},
      {"a pod being deleted counts", {old("1", "ready-"), old("2"), old("3")}, {"delete o2"}},
      {"unavailable old ones go whatever the budget",
       {old("1", "notready"), old("2", "notready"), old("3", "notready")},
       {"delete o1", "delete o2", "delete o3"}},
      {"and use it up",
       {old("1"), old("2", "notready"), old("3", "notready")},
       {"delete o2", "delete o3"}},
      {"old and new at once wait for the pods to be put right",
       {old("1"), PodOn("1", "n1"), old("2"), old("3")},
       {"delete o2"}},
      {"two of a kind likewise",
       {old("1"), PodOn("1", "x1", "ready", "g"), old("2"), old("3")},
       {"delete o2"}},
      {"all are new", {PodOn("1", "n1"), PodOn("2", "n2"), PodOn("3", "n3")}, {}},
      {"a node that no longer exists is one too",
       {old("9"), old("1"), old("2"), PodOn("3", "n3")},
       {"delete o1", "delete o2"}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(Roll(two, Sample(row.pods, three)), row.want);
  }
  EXPECT_EQ(Roll(Set(R"({"updateStrategy":{"rollingUpdate":{"maxUnavailable":"34%"}}})"),
                 Sample({old("1"), old("2"), old("3")}, three)),
            (Texts{"delete o1", "delete o2"}))
      << "rounded up";
  const Texts wrong = Roll(Set(R"({"updateStrategy":{"rollingUpdate":{"maxUnavailable":"many"}}})"),
                           Sample({}, three));
  ASSERT_EQ(wrong.size(), 1u);
  EXPECT_NE(wrong[0].find("daemonset ns/d: spec.updateStrategy.rollingUpdate: "), std::string::npos)
      << wrong[0];
}

TEST(RollingUpdate, WithSurgeANewPodComesFirst) {
  const json two = Set(kSurge);  // of three nodes
  const auto old = [](const std::string& node, const std::string& state = "ready") {
    return PodOn(node, "o" + node, state, "g");
  };
  const std::map<std::string_view, Eligibility> three = {{"1", kRun}, {"2", kRun}, {"3", kRun}};
  const std::map<std::string_view, Eligibility> moved = {{"1", kStay}, {"2", kRun}, {"3", kRun}};
  const struct {
    const char* name;
    std::vector<json> pods;
    std::map<std::string_view, Eligibility> nodes;
    Texts want;
  } rows[] = {
      {"two of three", {old("1"), old("2"), old("3")}, three, {"create 1", "create 2"}},
      {"one is under way",
       {old("1"), PodOn("1", "n1", "notready"), old("2"), old("3")},
       three,
       {"create 2"}},
      {"one has come",
       {old("1"), PodOn("1", "n1"), old("2"), old("3")},
       three,
       {"delete o1", "create 2", "create 3"}},
      {"unavailable old ones are replaced whatever the limit",
       {old("1", "notready"), old("2", "notready"), old("3", "notready")},
       three,
       {"create 1", "create 2", "create 3"}},
      {"beside those within it",
       {old("1"), old("2", "notready"), old("3")},
       three,
       {"create 2", "create 1", "create 3"}},
      {"two of a kind use one up",
       {old("1"), PodOn("1", "x1", "ready", "g"), old("2"), old("3")},
       three,
       {"create 2"}},
      {"where none belongs the pod stays until enough are available",
       {old("1"), old("2"), PodOn("3", "n3", "notready")},
       moved,
       {"create 2"}},
      {"then it goes", {old("1"), PodOn("2", "n2"), PodOn("3", "n3")}, moved, {"delete o1"}},
      {"an unavailable one goes at once",
       {old("1", "notready"), PodOn("2", "n2"), PodOn("3", "n3")},
       moved,
       {"delete o1"}},
      {"the new ones are all there is", {PodOn("1", "n1"), PodOn("2", "n2")}, three, {}},
      {"a node that is not known",
       {old("9")},
       three,
       {"error couldn't get node for nodeName \"9\": the cache of nodes does not have it"}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(Roll(two, Sample(row.pods, row.nodes)), row.want);
  }
}

TEST(DaemonStatus, CountsNodesByTheirFirstPod) {
  json set = Set(R"({"minReadySeconds":5})");
  json going = PodOn("n5", "going", "ready-");
  const Sample s({PodOn("n1", "a"), PodOn("n1", "b", "notready"), PodOn("n2", "c", "new", "g"),
                  PodOn("n3", "d", "notready"), PodOn("n4", "e"), going, PodOn("n9", "f")},
                 {{"n1", kRun},
                  {"n2", kRun},
                  {"n3", kRun},
                  {"n4", kStay},
                  {"n5", kRun},
                  {"n6", kRun},
                  {"n7", kLeave}});
  const Counts counts = CountNodes(SpecOf(JsonNode(set)), s.fleet, "h", kNow);
  EXPECT_EQ(counts, (Counts{.desired = 5,
                            .current = 4,
                            .misscheduled = 1,
                            .ready = 3,
                            .updated = 3,
                            .available = 2,
                            .unavailable = 3}));
  set["status"] = {{"collisionCount", 4}, {"observedGeneration", 1}};
  ApplyStatus(set, counts, std::nullopt);
  EXPECT_EQ(CountsInStatus(JsonNode(set)), counts);
  EXPECT_EQ(set["status"]["observedGeneration"], 1);
  EXPECT_EQ(set["status"]["collisionCount"], 4);
  ApplyStatus(set, counts, 3);
  EXPECT_EQ(set["status"]["observedGeneration"], 3);
}

TEST(OldRevisions, InUseOnesCountButStay) {
  std::list<json> objects;
  std::vector<Node> old;
  for (const char* hash : {"a", "b", "c", "d"}) {
    objects.push_back({{"metadata", {{"labels", {{"controller-revision-hash", hash}}}}}});
    old.push_back(JsonNode(objects.back()));
  }
  using Places = std::vector<size_t>;
  EXPECT_EQ(OldRevisionsToDelete(old, {}, 4), Places{});
  EXPECT_EQ(OldRevisionsToDelete(old, {}, 2), (Places{0, 1}));
  EXPECT_EQ(OldRevisionsToDelete(old, {"a"}, 2), (Places{1, 2}));
  EXPECT_EQ(OldRevisionsToDelete(old, {"a", "b", "c"}, 1), Places{3});
  EXPECT_EQ(OldRevisionsToDelete(old, {"a", "b", "c", "d"}, 0), Places{});
}

TEST(FailedPods, WaitTwiceAsLongEachTime) {
  FailedPodBackOff back_off;
  EXPECT_EQ(back_off.Hold("k", 100s), std::nullopt);
  EXPECT_EQ(back_off.Hold("k", 100s + 999ms), 1s);
  EXPECT_EQ(back_off.Hold("other", 100s), std::nullopt);
  EXPECT_EQ(back_off.Hold("k", 101s), std::nullopt);
  EXPECT_EQ(back_off.Hold("k", 102s), 2s);
  EXPECT_EQ(back_off.Hold("k", 103s), std::nullopt);
  std::chrono::nanoseconds now = 103s, wait = 4s;
  for (int i = 0; i < 20; ++i) {
    const auto held = back_off.Hold("k", now + wait - 1ns);
    EXPECT_EQ(held, wait);
    now += wait;
    ASSERT_EQ(back_off.Hold("k", now), std::nullopt);
    wait = std::min<std::chrono::nanoseconds>(wait * 2, 15min);
  }
  EXPECT_EQ(wait, 15min);
  EXPECT_EQ(back_off.Hold("k", now + 30min), std::nullopt);
  EXPECT_EQ(back_off.Hold("k", now + 45min - 1ns), 15min);
  now += 60min + 1ns;
  EXPECT_EQ(back_off.Hold("k", now), std::nullopt) << "forgotten";
  EXPECT_EQ(back_off.Hold("k", now + 1s), std::nullopt) << "anew from one second";
  EXPECT_EQ(back_off.size(), 1u) << "what is not used is dropped";
  EXPECT_EQ(FailedPodKey("u", 3, "n1"), "u/3/n1");
}

}  // namespace
}  // namespace kcm::pod::daemonset
