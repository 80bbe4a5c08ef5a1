// SPDX-License-Identifier: Apache-2.0
// daemonset-controller in a real host: updates, history and taking over (spec/pod-workloads.md 6.3,
// 6.4).
#include "kcm/rules/controller_revision.h"
#include "kcm/rules/json_node.h"
#include "kcm/rules/pod_template.h"
#include "plugins/pod/daemon_workloads.h"

namespace kcm::harness {
namespace {

class DaemonSetUpdate : public DaemonWorkloads {
 protected:
  using DaemonWorkloads::DaemonWorkloads;
  void CreateFive(const Json& spec) {
    CreateNodes(5);
    CreateReady(Daemon(spec));
    ASSERT_EQ(Count("numberAvailable"), 5);
  }
};

TEST_F(DaemonSetUpdate, DS_06_ReplacesWithinTheBudget) {
  CreateFive(Rolling(2));
  SetImage("nginx:2");
  EXPECT_EQ(Alive().size(), 3u) << "exactly two are deleted";
  EXPECT_EQ(PodsOf("d").size(), 5u) << "and hold their nodes";
  FinishDeletions();
  EXPECT_EQ(Alive("nginx:2").size(), 2u);
  cluster.Advance(60s);
  EXPECT_EQ(Alive("nginx:1").size(), 3u) << "none of the new ones is ready";
  StartOn(*Alive("nginx:2").begin());
  EXPECT_EQ(Alive("nginx:1").size(), 2u);
  PlayToTheEnd();
  EXPECT_EQ(Count("updatedNumberScheduled"), 5);
  EXPECT_EQ(Count("numberAvailable"), 5);
  EXPECT_EQ(Alive("nginx:2").size(), 5u);
}

TEST_F(DaemonSetUpdate, DS_07_UnavailableOnesGoFirst) {
  CreateFive(Rolling(2));
  for (const char* node : {"n2", "n4"}) cluster.MakeNotReady(Name(PodOn(node)));
  Settle();
  SetImage("nginx:2");
  EXPECT_EQ(Alive(), (Nodes{"n1", "n3", "n5"}));
  FinishDeletions();
  cluster.Advance(60s);
  EXPECT_EQ(Alive("nginx:1"), (Nodes{"n1", "n3", "n5"}));
  EXPECT_EQ(Alive("nginx:2"), (Nodes{"n2", "n4"}));
  StartOn("n2");
  StartOn("n4");
  EXPECT_EQ(Alive("nginx:1").size(), 1u);
}

TEST_F(DaemonSetUpdate, DS_08_PercentagesRoundUp) {
  CreateFive(Rolling("30%"));
  SetImage("nginx:2");
  EXPECT_EQ(Alive().size(), 3u);
  PlayToTheEnd([&] { EXPECT_LE(Count("numberUnavailable"), 2); });
  EXPECT_EQ(Alive("nginx:2").size(), 5u);
}

TEST_F(DaemonSetUpdate, DS_09_SurgeNeverLosesAvailability) {
  CreateFive(Rolling(0, 2));
  SetImage("nginx:2");
  EXPECT_EQ(Alive("nginx:1").size(), 5u);
  const Nodes surged = Alive("nginx:2");
  ASSERT_EQ(surged.size(), 2u);
  cluster.Advance(60s);
  EXPECT_EQ(Alive("nginx:1").size(), 5u);
  StartOn(*surged.begin());
  Nodes left{"n1", "n2", "n3", "n4", "n5"};
  left.erase(*surged.begin());
  EXPECT_EQ(Alive("nginx:1"), left);
  EXPECT_EQ(Alive("nginx:2").size(), 3u);
  PlayToTheEnd([&] { EXPECT_EQ(Count("numberAvailable"), 5); });
  EXPECT_EQ(Alive("nginx:2").size(), 5u);
  EXPECT_EQ(AlivePodsOf("d").size(), 5u);
}

TEST_F(DaemonSetUpdate, DS_10_SurgeReplacesUnavailableOnesBeyondItsLimit) {
  CreateFive(Rolling(0, 1));
  const std::string old = Name(PodOn("n3"));
  cluster.MakeNotReady(old);
  Settle();
  SetImage("nginx:2");
  EXPECT_TRUE(IsGoing(old));
  const Nodes surged = Alive("nginx:2");
  EXPECT_EQ(surged.size(), 2u);
  EXPECT_TRUE(surged.contains("n3"));
  EXPECT_EQ(Alive("nginx:1").size(), 4u);
}

TEST_F(DaemonSetUpdate, DS_11_OnlySurgeGoesOnBesideAPodThatIsEnding) {
  CreateFive(Rolling(0, 1));
  Json pod = PodOn("n1");
  cluster.Delete("pods", Name(pod), {{"gracePeriodSeconds", 300}});
  Settle();
  EXPECT_NE(Name(PodOn("n1")), Name(pod));
  EXPECT_TRUE(IsDeleting(cluster.Get("pods", Name(pod))));
  PlayToTheEnd();
  Patch(Rolling(1));
  pod = PodOn("n1");
  cluster.Delete("pods", Name(pod), {{"gracePeriodSeconds", 300}});
  cluster.Advance(30s);
  EXPECT_TRUE(PodsOn("n1").empty());
  FinishDeletions();
  EXPECT_NE(Name(PodOn("n1")), Name(pod));
}

TEST_F(DaemonSetUpdate, DS_12_OnDeleteLeavesItToTheUser) {
  CreateFive(OnDelete());
  const auto uids = Uids();
  SetImage("nginx:2");
  cluster.Advance(60s);
  const std::map<int, std::string> revisions = Revisions();
  ASSERT_EQ(revisions.size(), 2u);
  EXPECT_EQ(Uids(), uids);
  EXPECT_EQ(Count("updatedNumberScheduled"), 0);
  cluster.Delete("pods", Name(PodOn("n1")));
  FinishDeletions();
  EXPECT_EQ("d-" + HashOf(PodOn("n1")), revisions.at(2));
  EXPECT_EQ(ImageOf(PodOn("n1")), "nginx:2");
}

TEST_F(DaemonSetUpdate, DS_13_GoingBackKeepsWhatIsStillOld) {
  CreateFive(Rolling(2));
  const std::string first = Revisions().at(1);
  const auto uids = Uids();
  SetImage("nginx:2");
  FinishDeletions();
  for (const std::string& node : Alive("nginx:2")) cluster.Bind(Name(PodOn(node)), node);
  Settle();
  const std::string second = Revisions().at(2);
  const Nodes replaced = Alive("nginx:2");
  ASSERT_EQ(replaced.size(), 2u);
  SetImage("nginx:1");
  EXPECT_EQ(Revisions(), (std::map<int, std::string>{{2, second}, {3, first}}));
  PlayToTheEnd();
  EXPECT_EQ(Alive("nginx:1").size(), 5u);
  EXPECT_EQ(Count("updatedNumberScheduled"), 5);
  for (const auto& [node, uid] : Uids()) {
    EXPECT_EQ(uid != uids.at(node), replaced.contains(node)) << node;
    EXPECT_EQ("d-" + HashOf(PodOn(node)), first);
  }
}

TEST_F(DaemonSetUpdate, DS_21_KeepsTheLimitAndWhatPodsName) {
  CreateNode("n1");
  Json spec = Rolling(1);
  spec["revisionHistoryLimit"] = 1;
  CreateReady(Daemon(spec));
  for (const char* image : {"nginx:2", "nginx:3", "nginx:4"}) {
    SetImage(image);
    PlayToTheEnd();
  }
  std::map<int, std::string> left = Revisions();
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left.begin()->first, 3);
  EXPECT_EQ(left.rbegin()->first, 4);

  spec = OnDelete();
  spec["revisionHistoryLimit"] = 0;
  Patch(spec);
  const std::string named = left.at(4);
  for (const char* image : {"nginx:5", "nginx:6", "nginx:7"}) SetImage(image);
  left = Revisions();
  EXPECT_EQ(left.size(), 2u);
  EXPECT_EQ(left.at(4), named) << "the pod's, though beyond the limit";
  EXPECT_TRUE(left.contains(7));
}

TEST_F(DaemonSetUpdate, DS_23_TwoRevisionsOfOneTemplateBecomeOne) {
  CreateFive(Rolling(1));
  const auto uids = Uids();
  const std::string first = Revisions().at(1);
  Json twin = cluster.Get("controllerrevisions", first);
  twin["metadata"] = {{"name", "d-h2"},
                      {"labels", {{"app", "x"}, {"controller-revision-hash", "h2"}}},
                      {"ownerReferences", {OwnerOf(SetNow())}}};
  twin["revision"] = 5;
  cluster.Create(twin);
  (void)cluster.HostWrites();
  Touch();
  EXPECT_EQ(Revisions(), (std::map<int, std::string>{{5, "d-h2"}}));
  EXPECT_EQ(Uids(), uids);
  for (const Json& pod : PodsOf("d")) EXPECT_EQ(HashOf(pod), "h2");
  std::vector<std::string> writes = cluster.HostWrites();
  ASSERT_GE(writes.size(), 6u);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(writes[i].rfind("PATCH ", 0), 0u) << writes[i];
  EXPECT_EQ(writes[5], "DELETE /apis/apps/v1/namespaces/default/controllerrevisions/" + first);
  EXPECT_EQ(Count("updatedNumberScheduled"), 5);
}

TEST_F(DaemonSetUpdate, DS_24_AMoveToOtherNodesIsNoUpdate) {
  for (const char* node : {"n1", "n2"}) CreateNode(node, {{"zone", "a"}});
  for (const char* node : {"n3", "n4"}) CreateNode(node, {{"zone", "b"}});
  Json spec = Rolling(0, 1);
  spec.merge_patch(Selecting({{"zone", "a"}}));
  CreateReady(Daemon(spec));
  ASSERT_EQ(Alive(), (Nodes{"n1", "n2"}));
  Patch(Selecting({{"zone", "b"}}));
  EXPECT_EQ(Alive(), (Nodes{"n3", "n4"}));
}

// Creates are expected to show up first: what is missing would count as unavailable, or be made
// twice.
TEST_F(DaemonSetUpdate, AnUpdateWaitsForWhatWasJustBegun) {
  CreateNodes(2);
  CreateReady(Daemon(Rolling(3)));
  ASSERT_EQ(cluster.StopHost(), 0);
  CreateNode("n3");
  cluster.MergePatch("daemonsets", "d",
                     {{"spec", {{"template", PodTemplate({{"app", "x"}}, "nginx:2")}}}});
  (void)cluster.HostWrites();
  cluster.StartHost();
  Settle();
  std::string order;  // of creates, statuses and deletes of pods
  for (const std::string& write : cluster.HostWrites()) {
    if (write.ends_with("/daemonsets/d/status")) order += 's';
    if (write.find("/pods") == std::string::npos) continue;
    order += write.rfind("POST ", 0) == 0 ? 'c' : 'd';
  }
  EXPECT_EQ(order.substr(0, 2), "cs") << order;
  EXPECT_EQ(std::ranges::count(order, 'd'), 2) << order;
  EXPECT_EQ(Alive(), Nodes{"n3"});
}

TEST_F(DaemonSetUpdate, AGenerationCountsAsObservedOnceItWasActedUpon) {
  CreateNodes(3);
  CreateReady(Daemon(Rolling(1)));
  cluster.HoldCaches("pods");
  SetImage("nginx:2");
  EXPECT_EQ(Count("observedGeneration"), 2);
  EXPECT_EQ(Alive().size(), 2u);
  Patch(Rolling(2));
  cluster.Advance(5s);
  EXPECT_EQ(Alive().size(), 2u) << "one deletion has not been seen yet";
  EXPECT_EQ(Count("observedGeneration"), 2);
  cluster.ReleaseCaches();
  Settle();
  EXPECT_EQ(Alive().size(), 1u);
  EXPECT_EQ(Count("observedGeneration"), 3);
}

TEST_F(DaemonSetUpdate, AForeignNameIsACollision) {
  CreateNode("n1");
  CreateReady(Daemon(Rolling(1)));
  Json next = SetNow()["spec"]["template"];
  next["spec"]["containers"][0]["image"] = "nginx:2";
  const auto named = [&](std::optional<int64_t> count) {
    return "d-" + rules::PodTemplateHash(rules::JsonNode(next), count);
  };
  cluster.Create({{"apiVersion", "apps/v1"},
                  {"kind", "ControllerRevision"},
                  {"metadata", {{"name", named(std::nullopt)}}},
                  {"data", {{"spec", {{"template", {{"$patch", "replace"}}}}}}},
                  {"revision", 1}});
  SetImage("nginx:2");
  EXPECT_EQ(Count("collisionCount"), 1);
  EXPECT_EQ(Revisions().at(2), named(1));
  EXPECT_EQ(OwnerName(cluster.Get("controllerrevisions", named(std::nullopt))), "");
  PlayToTheEnd();
  EXPECT_EQ(Alive("nginx:2"), Nodes{"n1"});
  EXPECT_EQ(Count("observedGeneration"), SetNow()["metadata"]["generation"]);
}

TEST_F(DaemonSetUpdate, RevisionsAreAdoptedLabelledAndReleased) {
  CreateNode("n1");
  CreateReady(Daemon(Rolling(1)));
  const auto uids = Uids();
  const std::string first = Revisions().at(1);
  cluster.MergePatch("controllerrevisions", first, {{"metadata", {{"ownerReferences", nullptr}}}});
  Settle();
  EXPECT_EQ(OwnerName(cluster.Get("controllerrevisions", first)), "d");
  EXPECT_EQ(Revisions().size(), 1u);

  Json old = cluster.Get("controllerrevisions", first);
  old["metadata"] = {{"name", "old"}, {"labels", {{"app", "x"}}}};
  old["data"]["spec"]["template"]["spec"]["containers"][0]["image"] = "nginx:0";
  old["revision"] = 0;
  CreateAndSettle(old);
  EXPECT_EQ(OwnerName(cluster.Get("controllerrevisions", "old")), "d");
  EXPECT_EQ(HashOf(cluster.Get("controllerrevisions", "old")), "old");

  cluster.MergePatch("controllerrevisions", "old", {{"metadata", {{"labels", {{"app", "y"}}}}}});
  Settle();
  EXPECT_EQ(OwnerName(cluster.Get("controllerrevisions", "old")), "");
  EXPECT_EQ(Uids(), uids);
}

// DaemonSets as the reference manager leaves them: hashes of its own, data as an older server
// showed it.
class DaemonSetTakeOver : public DaemonSetUpdate {
 protected:
  DaemonSetTakeOver()
      : DaemonSetUpdate({.plugins = {"pod"}, .start_host = false, .nodes = 0, .scheduler = false}) {
  }
  void Leave(int number) {
    const std::string name = "d" + std::to_string(number),
                      hash = "6c8b8f7" + std::to_string(number);
    Json set = Daemon();
    set["metadata"]["name"] = name;
    set["spec"]["selector"]["matchLabels"]["app"] = name;
    set["spec"]["template"]["metadata"]["labels"]["app"] = name;
    const Json created = cluster.Create(set);
    Json served = created["spec"]["template"];
    if (number % 2 == 0) served["metadata"]["creationTimestamp"] = nullptr;
    const std::string data = rules::RevisionData(rules::JsonNode(served));
    cluster.Create({{"apiVersion", "apps/v1"},
                    {"kind", "ControllerRevision"},
                    {"metadata",
                     {{"name", name + "-" + hash},
                      {"labels", {{"app", name}, {"controller-revision-hash", hash}}},
                      {"ownerReferences", {OwnerOf(created)}}}},
                    {"data", Json::parse(data)},
                    {"revision", 1}});
    for (const char* node : {"n1", "n2"}) {
      Json pod = Orphan(
          name + "-" + node,
          {{"app", name}, {"controller-revision-hash", hash}, {"pod-template-generation", "1"}});
      pod["metadata"]["ownerReferences"] = {OwnerOf(created)};
      pod["spec"]["nodeName"] = node;
      cluster.Create(pod);
      ReadySince(Name(pod), -3600s);
    }
    cluster.PatchStatus("daemonsets", name,
                        {{"observedGeneration", 1},
                         {"desiredNumberScheduled", 2},
                         {"currentNumberScheduled", 2},
                         {"updatedNumberScheduled", 2},
                         {"numberReady", 2},
                         {"numberAvailable", 2}});
  }
};

TEST_F(DaemonSetTakeOver, DS_26_WritesNothingForDaemonSetsOfTheReference) {
  CreateNodes(2);
  for (int i = 0; i < 20; ++i) Leave(i);
  cluster.StartHost();
  (void)cluster.HostWrites();
  cluster.Advance(10min);
  EXPECT_EQ(cluster.HostWrites(), std::vector<std::string>());
}

// Its data stays as the older server showed it, byte for byte.
TEST_F(DaemonSetTakeOver, GoingBackToATakenOverRevisionRenumbersIt) {
  CreateNodes(2);
  Leave(0);
  const Json first = cluster.List("controllerrevisions")[0];
  ASSERT_TRUE(first["data"]["spec"]["template"]["metadata"].contains("creationTimestamp"));
  cluster.StartHost();
  Settle();
  const Json image{{"template", PodTemplate({{"app", "d0"}}, "nginx:2")}},
      back{{"template", PodTemplate({{"app", "d0"}}, "nginx:1")}};
  cluster.MergePatch("daemonsets", "d0", {{"spec", image}});
  Settle();
  EXPECT_EQ(Revisions().size(), 2u);
  cluster.MergePatch("daemonsets", "d0", {{"spec", back}});
  Settle();
  const Json again = cluster.Get("controllerrevisions", Name(first));
  EXPECT_EQ(again["revision"], 3);
  EXPECT_EQ(again["data"], first["data"]);
}

}  // namespace
}  // namespace kcm::harness
