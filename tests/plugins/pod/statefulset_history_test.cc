// SPDX-License-Identifier: Apache-2.0
// statefulset-controller in a real host: ControllerRevisions and taking over
// (spec/pod-workloads.md 5.1, 5.8).
#include "kcm/rules/controller_revision.h"
#include "kcm/rules/json_node.h"
#include "plugins/pod/stateful_workloads.h"

namespace kcm::harness {
namespace {

using rules::JsonNode;

constexpr char kHashLabel[] = "controller.kubernetes.io/hash";

class StatefulSetHistory : public StatefulWorkloads {
 protected:
  using StatefulWorkloads::StatefulWorkloads;
  // The revision data of web's template, with another image when one is given.
  std::string DataNow(const std::string& image = "") {
    Json pod_template = WebNow()["spec"]["template"];
    if (!image.empty()) pod_template["spec"]["containers"][0]["image"] = image;
    return rules::RevisionData(JsonNode(pod_template));
  }
  Json Revision(const std::string& name) { return cluster.Get("controllerrevisions", name); }
};

TEST_F(StatefulSetHistory, STS_07_AnOldTemplateRenumbersItsRevision) {
  CreateReady(Web());
  const std::string first = WebStatus()["updateRevision"];
  SetImage("nginx:2");
  PlayKubelet();
  const std::string second = WebStatus()["updateRevision"];
  ASSERT_NE(first, second);
  SetImage("nginx:1");
  EXPECT_EQ(Revisions(), (std::map<int, std::string>{{2, second}, {3, first}}));
  PlayKubelet();
  for (const char* pod : {"web-0", "web-1", "web-2"}) {
    EXPECT_EQ(Image(pod), "nginx:1") << pod;
    EXPECT_EQ(cluster.Get("pods", pod)["metadata"]["labels"]["controller-revision-hash"], first);
  }
  EXPECT_EQ(WebStatus()["currentRevision"], first);
}

TEST_F(StatefulSetHistory, STS_18_KeepsTheLiveOnesAndTheLimit) {
  CreateReady(Web(1, {{"revisionHistoryLimit", 1}}));
  for (const char* image : {"nginx:2", "nginx:3", "nginx:4"}) {
    SetImage(image);
    PlayKubelet();
  }
  const std::map<int, std::string> left = Revisions();
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left.begin()->first, 3);
  EXPECT_EQ(left.rbegin()->first, 4);
  EXPECT_EQ(left.rbegin()->second, WebStatus()["currentRevision"]);
}

TEST_F(StatefulSetHistory, KeepsTheRevisionOfAPodThatIsLeftBehind) {
  CreateReady(Web(3, {{"revisionHistoryLimit", 0}}));
  SetImage("nginx:2");
  FinishAndSettle("web-2");  // its successor is never Ready
  const std::string second = WebStatus()["updateRevision"];
  SetImage("nginx:3");
  EXPECT_EQ(Revisions().size(), 3u);
  EXPECT_EQ(Revisions()[2], second);
  cluster.Delete("pods", "web-2");
  Settle();
  PlayKubelet();
  EXPECT_EQ(Revisions(), (std::map<int, std::string>{{3, WebStatus()["currentRevision"]}}));
}

TEST_F(StatefulSetHistory, STS_24_AForeignNameIsACollision) {
  CreateReady(Web(1));
  const std::string data = DataNow("nginx:2");
  const std::string hash = rules::RevisionHash(data, 0);
  cluster.Create({{"apiVersion", "apps/v1"},
                  {"kind", "ControllerRevision"},
                  {"metadata", {{"name", "web-" + hash}}},
                  {"data", {{"spec", {{"template", {{"$patch", "replace"}}}}}}},
                  {"revision", 1}});
  SetImage("nginx:2");
  const std::string made = "web-" + rules::RevisionHash(data, 1);
  EXPECT_EQ(WebStatus()["updateRevision"], made);
  EXPECT_EQ(WebStatus()["collisionCount"], 1);
  EXPECT_EQ(Revision(made)["metadata"]["labels"][kHashLabel], hash);
  EXPECT_EQ(OwnerName(Revision("web-" + hash)), "") << "the foreign one is nobody's still";
  PlayKubelet();
  EXPECT_EQ(Image("web-0"), "nginx:2");
}

TEST_F(StatefulSetHistory, STS_26_NameAndDataAreThoseOfTheReference) {
  Json set = Web(1);
  set["metadata"]["annotations"] = {{"team", "x"}};
  (void)cluster.Audit();
  CreateAndSettle(set);
  const std::string data = DataNow(), hash = rules::RevisionHash(data, 0);
  const Json revision = Revision("web-" + hash);
  EXPECT_EQ(revision["metadata"]["labels"], (Json{{"app", "x"}, {kHashLabel, hash}}));
  EXPECT_EQ(Annotation(revision, "team"), "x");
  EXPECT_EQ(revision["revision"], 1);
  EXPECT_EQ(revision["metadata"]["ownerReferences"],
            Json::array({OwnerOf("apps/v1", "StatefulSet", WebNow())}));
  Json served = WebNow()["spec"]["template"];
  served["$patch"] = "replace";
  EXPECT_EQ(revision["data"], (Json{{"spec", {{"template", served}}}}));
  std::string posted;
  for (const auto& e : cluster.Audit())
    if (e.method == "POST" && e.uri.find("/controllerrevisions") != std::string::npos)
      posted = e.body;
  EXPECT_NE(posted.find("\"data\":" + data + ",\"revision\":1"), std::string::npos) << posted;
}

TEST_F(StatefulSetHistory, STS_19_ByNameAndLabels) {
  CreateReady(Web());
  const std::string uid = Uid("web-1");
  cluster.MergePatch("pods", "web-1", {{"metadata", {{"ownerReferences", nullptr}}}});
  Settle();
  EXPECT_EQ(Uid("web-1"), uid);
  EXPECT_EQ(OwnerName(cluster.Get("pods", "web-1")), "web");
  for (const char* name : {"xweb-1", "web-a"}) {
    CreateAndSettle(Orphan(name, {{"app", "x"}}));
    EXPECT_EQ(OwnerName(cluster.Get("pods", name)), "") << name;
  }
  Json other = Orphan("other-0", {{"app", "x"}});
  other["metadata"]["ownerReferences"] = {OwnerOf("apps/v1", "StatefulSet", WebNow())};
  CreateAndSettle(other);
  EXPECT_EQ(OwnerName(cluster.Get("pods", "other-0")), "");
  EXPECT_FALSE(IsGoing("other-0"));
}

TEST_F(StatefulSetHistory, OrphanedRevisionsAreAdopted) {
  CreateReady(Web(1));
  const std::string name = WebStatus()["updateRevision"];
  cluster.MergePatch("controllerrevisions", name, {{"metadata", {{"ownerReferences", nullptr}}}});
  Touch();
  EXPECT_EQ(OwnerName(Revision(name)), "web");
  EXPECT_EQ(Revisions().size(), 1u);
}

TEST_F(StatefulSetHistory, APodThatOnlyLooksLikeOneDoesNotTakeItsPlace) {
  CreateReady(Web(2));
  CreateAndSettle(Orphan("web-01", {{"app", "x"}}));
  EXPECT_EQ(Alive(), (Names{"web-0", "web-01", "web-1"}));
  (void)cluster.HostWrites();
  cluster.Delete("pods", "web-1");
  PlayKubelet();
  EXPECT_TRUE(Alive().contains("web-1"));
  EXPECT_EQ(cluster.Get("pods", "web-01")["metadata"]["labels"], (Json{{"app", "x"}}));
}

// A set as an older manager on an older server left it.
class StatefulSetTakeOver : public StatefulSetHistory {
 protected:
  StatefulSetTakeOver()
      : StatefulSetHistory(
            {.plugins = {"pod"}, .start_host = false, .nodes = 0, .scheduler = false}) {}
  // `lost`: member of the container that the revision does not have yet.
  void Leave(const char* lost) {
    Json fresh = Web(1);
    fresh["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"] = "Never";
    const Json set = cluster.Create(fresh);
    Json old = set["spec"]["template"];
    old["metadata"]["creationTimestamp"] = nullptr;
    if (lost != nullptr) old["spec"]["containers"][0].erase(lost);
    const std::string data = rules::RevisionData(JsonNode(old)),
                      hash = rules::RevisionHash(data, 0);
    name_ = "web-" + hash;
    cluster.Create({{"apiVersion", "apps/v1"},
                    {"kind", "ControllerRevision"},
                    {"metadata",
                     {{"name", name_},
                      {"labels", {{"app", "x"}, {kHashLabel, hash}}},
                      {"ownerReferences", {OwnerOf("apps/v1", "StatefulSet", set)}}}},
                    {"data", Json::parse(data)},
                    {"revision", 1}});
    Json claim = ClaimTemplate("data-web-0");
    claim["apiVersion"] = "v1";
    claim["kind"] = "PersistentVolumeClaim";
    cluster.Create(claim);
    Json pod = Orphan("web-0", {{"app", "x"},
                                {"controller-revision-hash", name_},
                                {"apps.kubernetes.io/pod-index", "0"},
                                {"statefulset.kubernetes.io/pod-name", "web-0"}});
    pod["metadata"]["ownerReferences"] = {OwnerOf("apps/v1", "StatefulSet", set)};
    pod["spec"]["volumes"] =
        Json::array({{{"name", "data"}, {"persistentVolumeClaim", {{"claimName", "data-web-0"}}}}});
    cluster.Create(pod);
    Start("web-0");
    cluster.PatchStatus("statefulsets", "web",
                        {{"replicas", 1},
                         {"readyReplicas", 1},
                         {"availableReplicas", 1},
                         {"currentReplicas", 1},
                         {"updatedReplicas", 1},
                         {"currentRevision", name_},
                         {"updateRevision", name_},
                         {"observedGeneration", 1},
                         {"collisionCount", 0}});
  }
  void ExpectUntouched() {
    EXPECT_EQ(Revisions(), (std::map<int, std::string>{{1, name_}}));
    EXPECT_EQ(WebStatus()["updateRevision"], name_);
    EXPECT_FALSE(IsGoing("web-0"));
  }
  std::string name_;
};

TEST_F(StatefulSetTakeOver, STS_23_NewDefaultsOfTheServerAreNoNewRevision) {
  Leave("terminationMessagePolicy");
  cluster.StartHost();
  (void)cluster.HostWrites();
  cluster.Advance(60s);
  EXPECT_EQ(cluster.HostWrites(), std::vector<std::string>());
  ExpectUntouched();
}

TEST_F(StatefulSetTakeOver, AScaleKeepsTheRevisionThatWasTakenOver) {
  // No default that this build knows: only what was taken over tells.
  Leave("imagePullPolicy");
  cluster.StartHost();
  Settle();
  ScaleTo(2);
  PlayKubelet();
  ExpectUntouched();
  EXPECT_EQ(cluster.Get("pods", "web-1")["metadata"]["labels"]["controller-revision-hash"], name_);
}

TEST_F(StatefulSetTakeOver, AScaleWhileNobodyLookedKeepsARevisionThatLacksDefaults) {
  Leave("terminationMessagePath");
  cluster.MergePatch("statefulsets", "web", {{"spec", {{"replicas", 2}}}});
  cluster.StartHost();
  Settle();
  PlayKubelet();
  ExpectUntouched();
  EXPECT_EQ(Alive(), (Names{"web-0", "web-1"}));
}

}  // namespace
}  // namespace kcm::harness
