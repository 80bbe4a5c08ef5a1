// SPDX-License-Identifier: Apache-2.0
// Decisions of statefulset-controller (spec/pod-workloads.md section 5).
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kcm/rules/json_node.h"
#include "plugins/pod/statefulset/chosen_revisions.h"
#include "plugins/pod/statefulset/claim_owners.h"
#include "plugins/pod/statefulset/identity.h"
#include "plugins/pod/statefulset/issued_deletions.h"
#include "plugins/pod/statefulset/slots.h"
#include "plugins/pod/statefulset/status.h"

namespace kcm::pod::statefulset {
namespace {

using nlohmann::json;
using rules::JsonNode;
using rules::Node;

const rules::WallTime kNow = *rules::ParseTime("2024-05-01T12:00:00Z");

json Set(const std::string& spec = "{}") {
  json set = json::parse(R"({"metadata":{"name":"web","namespace":"ns","uid":"us","generation":3},
    "spec":{"replicas":3,"serviceName":"s","selector":{"matchLabels":{"app":"x"}},
      "template":{"metadata":{"labels":{"app":"x"}},"spec":{"containers":[{"name":"c","image":"i"}],
        "volumes":[{"name":"data","emptyDir":{}},{"name":"other","emptyDir":{}}]}},
      "volumeClaimTemplates":[{"metadata":{"name":"data","labels":{"tier":"db"}},
        "spec":{"accessModes":["ReadWriteOnce"]}}]}})");
  set["spec"].merge_patch(json::parse(spec));
  return set;
}

// "ready", "new" (Running since now), "notready", "pending", "failed"; a trailing "-" deletes it.
json Pod(const std::string& name, std::string state = "ready", const std::string& revision = "r1") {
  json pod{
      {"metadata",
       {{"name", name},
        {"namespace", "ns"},
        {"uid", "u" + name},
        {"labels",
         {{"statefulset.kubernetes.io/pod-name", name}, {"controller-revision-hash", revision}}}}}};
  if (state.ends_with('-')) {
    pod["metadata"]["deletionTimestamp"] = "2024-05-01T11:59:00Z";
    state.pop_back();
  }
  pod["status"]["phase"] = state == "pending"  ? "Pending"
                           : state == "failed" ? "Failed"
                                               : "Running";
  const bool ready = state == "ready" || state == "new";
  pod["status"]["conditions"] = {
      {{"type", "Ready"},
       {"status", ready ? "True" : "False"},
       {"lastTransitionTime", state == "new" ? "2024-05-01T11:59:59Z" : "2024-05-01T11:00:00Z"}}};
  return pod;
}

std::vector<Node> NodesOf(const std::vector<json>& pods) {
  std::vector<Node> out;
  for (const json& p : pods) out.push_back(JsonNode(p));
  return out;
}

TEST(PodName, IsParsedFromTheLastDash) {
  const struct {
    const char* name;
    const char* parent;
    int64_t ordinal;
  } rows[] = {{"web-12", "web", 12},
              {"a-b-0", "a-b", 0},
              {"web-01", "web", 1},
              {"web-2147483647", "web", 2147483647},
              {"web-2147483648", "", -1},
              {"web-99999999999999999999", "", -1},
              {"web-a", "", -1},
              {"web-1a", "", -1},
              {"web-", "", -1},
              {"web", "", -1},
              {"", "", -1}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(ParsePodName(row.name).parent, row.parent);
    EXPECT_EQ(ParsePodName(row.name).ordinal, row.ordinal);
  }
  EXPECT_EQ(PodName("web", 12), "web-12");
  EXPECT_EQ(ClaimName("data", "web", 12), "data-web-12");
}

TEST(Identity, IsGivenByTheOrdinal) {
  const json object = Set();
  const Spec set = SpecOf(JsonNode(object));
  const json pod = PodOf(set, PodFromRevision(set, set.Template(), "web-r1"), 7);
  EXPECT_EQ(pod, json::parse(R"({"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"web-",
    "name":"web-7","namespace":"ns","labels":{"app":"x","controller-revision-hash":"web-r1",
      "statefulset.kubernetes.io/pod-name":"web-7","apps.kubernetes.io/pod-index":"7"},
    "ownerReferences":[{"apiVersion":"apps/v1","kind":"StatefulSet","name":"web","uid":"us",
      "controller":true,"blockOwnerDeletion":true}]},
    "spec":{"containers":[{"name":"c","image":"i"}],"hostname":"web-7","subdomain":"s",
      "volumes":[{"name":"data","persistentVolumeClaim":{"claimName":"data-web-7"}},
        {"name":"other","emptyDir":{}}]}})"));
  EXPECT_TRUE(IdentityMatches(set, JsonNode(pod)));
  EXPECT_TRUE(StorageMatches(set, JsonNode(pod)));
  EXPECT_EQ(ClaimOf(set, set.ClaimTemplates().At(0), 7),
            json::parse(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim",
    "metadata":{"name":"data-web-7","namespace":"ns","labels":{"tier":"db","app":"x"}},
    "spec":{"accessModes":["ReadWriteOnce"]}})"));

  json other = pod;
  other["metadata"]["labels"].erase("apps.kubernetes.io/pod-index");
  EXPECT_TRUE(IdentityMatches(set, JsonNode(other))) << "the index label alone does not count";
  other["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"] = "web-8";
  EXPECT_FALSE(IdentityMatches(set, JsonNode(other)));
  other["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"] = "data-web-8";
  EXPECT_FALSE(StorageMatches(set, JsonNode(other)));
  SetIdentityLabels(other, 7);
  SetStorage(set, other, 7);
  EXPECT_EQ(other, pod);
}

TEST(Slots, SplitWantedFromCondemned) {
  const json object = Set(R"({"ordinals":{"start":5},"replicas":2})");
  const Spec set = SpecOf(JsonNode(object));
  const std::vector<json> pods = {Pod("web-4"), Pod("web-6"), Pod("web-9"), Pod("web-06"),
                                  Pod("web-x")};
  const Slots slots = Arrange(set, NodesOf(pods));
  EXPECT_EQ(slots.count, 2);
  EXPECT_EQ(slots.pods, (std::map<int64_t, size_t>{{1, 1}}));
  EXPECT_EQ(slots.condemned, (std::vector<size_t>{2, 0}));
}

TEST(Slots, NeedByState) {
  const struct {
    const char* state;
    SlotNeed ordered, parallel;
  } rows[] = {
      {"ready", SlotNeed::kKeepConsistent, SlotNeed::kKeepConsistent},
      {"new", SlotNeed::kWait, SlotNeed::kKeepConsistent},  // minReadySeconds 10
      {"notready", SlotNeed::kWait, SlotNeed::kKeepConsistent},
      {"ready-", SlotNeed::kWait, SlotNeed::kKeepConsistent},
      {"pending", SlotNeed::kClaims, SlotNeed::kClaims},
      {"failed", SlotNeed::kReplace, SlotNeed::kReplace},
      {"failed-", SlotNeed::kWait, SlotNeed::kWait},
  };
  const json ordered = Set(R"({"minReadySeconds":10})");
  const json parallel = Set(R"({"minReadySeconds":10,"podManagementPolicy":"Parallel"})");
  for (const auto& row : rows) {
    SCOPED_TRACE(row.state);
    const json pod = Pod("web-0", row.state);
    EXPECT_EQ(NeedOf(SpecOf(JsonNode(ordered)), JsonNode(pod), kNow), row.ordered);
    EXPECT_EQ(NeedOf(SpecOf(JsonNode(parallel)), JsonNode(pod), kNow), row.parallel);
  }
  EXPECT_EQ(NeedOf(SpecOf(JsonNode(ordered)), Node(), kNow), SlotNeed::kCreate);
}

TEST(Slots, PodsBelowThePartitionAreMadeFromTheCurrentRevision) {
  const struct {
    const char* spec;
    int64_t slot;
    bool want;
  } rows[] = {
      {R"({"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":2}}})", 1, true},
      {R"({"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":2}}})", 2, false},
      {R"({"updateStrategy":{"type":"RollingUpdate"}})", 1, true},  // 2 current replicas
      {R"({"updateStrategy":{"type":"RollingUpdate"}})", 2, false},
      {R"({"updateStrategy":{"type":"OnDelete"}})", 0, false},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(std::string(row.spec) + " slot " + std::to_string(row.slot));
    json object = Set(row.spec);
    object["spec"]["ordinals"]["start"] = 5;
    object["status"]["currentReplicas"] = 2;
    EXPECT_EQ(IsMadeFromCurrent(SpecOf(JsonNode(object)), row.slot), row.want);
  }
}

TEST(ScaleDown, WaitsUnlessItIsThePodThatEverybodyWaitsFor) {
  const struct {
    const char* state;
    bool first;
    ScaleDownStep ordered, parallel;
  } rows[] = {
      {"ready", false, ScaleDownStep::kDelete, ScaleDownStep::kDelete},
      {"notready", false, ScaleDownStep::kStop, ScaleDownStep::kDelete},
      {"notready", true, ScaleDownStep::kDelete, ScaleDownStep::kDelete},
      {"pending", false, ScaleDownStep::kStop, ScaleDownStep::kDelete},
      {"ready-", true, ScaleDownStep::kStop, ScaleDownStep::kSkip},
  };
  const json ordered = Set(), parallel = Set(R"({"podManagementPolicy":"Parallel"})");
  for (const auto& row : rows) {
    SCOPED_TRACE(row.state);
    const json pod = Pod("web-5", row.state);
    EXPECT_EQ(StepFor(SpecOf(JsonNode(ordered)), JsonNode(pod), row.first, kNow), row.ordered);
    EXPECT_EQ(StepFor(SpecOf(JsonNode(parallel)), JsonNode(pod), row.first, kNow), row.parallel);
  }
}

TEST(FirstUnavailable, IsASlotElseTheLowestCondemned) {
  const json object = Set(R"({"replicas":2})");
  const Spec set = SpecOf(JsonNode(object));
  const struct {
    const char* name;
    std::vector<json> pods;
    std::optional<size_t> want;
  } rows[] = {
      {"slot", {Pod("web-0"), Pod("web-1", "notready"), Pod("web-2", "notready")}, 1},
      {"condemned", {Pod("web-0"), Pod("web-1"), Pod("web-2", "notready"), Pod("web-3")}, 2},
      {"lowest", {Pod("web-0"), Pod("web-1"), Pod("web-3", "notready"), Pod("web-2", "ready-")}, 3},
      {"an empty slot", {Pod("web-1"), Pod("web-2", "notready")}, std::nullopt},
      {"all fine", {Pod("web-0"), Pod("web-1"), Pod("web-2")}, std::nullopt},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const std::vector<Node> nodes = NodesOf(row.pods);
    EXPECT_EQ(FirstUnavailable(set, Arrange(set, nodes), nodes, kNow), row.want);
  }
}

struct UpdateRow {
  const char* name;
  const char* spec;
  std::vector<json> pods;
  std::set<size_t> deleted;
  std::optional<size_t> one;
  std::vector<size_t> two_at_once;
};

TEST(NextToUpdate, WalksFromTheTop) {
  const UpdateRow rows[] = {
      {"the highest outdated", "{}", {Pod("web-0"), Pod("web-1"), Pod("web-2")}, {}, 2, {2, 1}},
      {"waits for the new one",
       "{}",
       {Pod("web-0"), Pod("web-1"), Pod("web-2", "notready", "r2")},
       {},
       std::nullopt,
       {1}},
      {"an outdated one goes whatever its health",
       "{}",
       {Pod("web-0"), Pod("web-1", "notready"), Pod("web-2", "ready", "r2")},
       {},
       1,
       {1}},
      {"one is going",
       "{}",
       {Pod("web-0"), Pod("web-1"), Pod("web-2", "ready-")},
       {},
       std::nullopt,
       {1}},
      {"one was deleted just now",
       "{}",
       {Pod("web-0"), Pod("web-1"), Pod("web-2")},
       {2},
       std::nullopt,
       {1}},
      {"an empty slot", "{}", {Pod("web-0"), Pod("web-1")}, {}, std::nullopt, {1}},
      {"nothing below the partition",
       R"({"updateStrategy":{"rollingUpdate":{"partition":2}}})",
       {Pod("web-0"), Pod("web-1"), Pod("web-2", "ready", "r2")},
       {},
       std::nullopt,
       {}},
      {"all done",
       "{}",
       {Pod("web-0", "ready", "r2"), Pod("web-1", "ready", "r2"), Pod("web-2", "ready", "r2")},
       {},
       std::nullopt,
       {}},
  };
  for (const UpdateRow& row : rows) {
    SCOPED_TRACE(row.name);
    const json object = Set(row.spec);
    const Spec set = SpecOf(JsonNode(object));
    const std::vector<Node> nodes = NodesOf(row.pods);
    const Slots slots = Arrange(set, nodes);
    const UpdateView view{set, slots, nodes, row.deleted, "r2", kNow};
    EXPECT_EQ(NextToUpdate(view), row.one);
    EXPECT_EQ(NextToUpdate(view, 2), row.two_at_once);
  }
}

// Owners as "set pod foreign!" with ! for a controller, * for another uid.
json Claim(const std::string& owners) {
  json claim{{"metadata", {{"name", "data-web-2"}}}};
  size_t from = 0;
  while (from < owners.size()) {
    const size_t to = std::min(owners.find(' ', from), owners.size());
    std::string word = owners.substr(from, to - from);
    from = to + 1;
    json r;
    const bool stale = word.ends_with('*');
    if (stale) word.pop_back();
    const bool controller = word.ends_with('!');
    if (controller) word.pop_back();
    if (word == "set")
      r = {{"apiVersion", "apps/v1"}, {"kind", "StatefulSet"}, {"name", "web"}, {"uid", "us"}};
    else if (word == "pod")
      r = {{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", "web-2"}, {"uid", "up"}};
    else
      r = {{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"name", word}, {"uid", "uf"}};
    if (controller) r["controller"] = r["blockOwnerDeletion"] = true;
    if (stale) r["uid"] = "earlier";
    claim["metadata"]["ownerReferences"].push_back(r);
  }
  return claim;
}
std::string Owners(const json& claim) {
  std::string out;
  for (const json& r : claim["metadata"].value("ownerReferences", json::array())) {
    if (!out.empty()) out += " ";
    const std::string kind = r["kind"];
    out += kind == "StatefulSet" ? "set" : kind == "Pod" ? "pod" : r["name"].get<std::string>();
    if (r.value("controller", false)) out += "!";
  }
  return out;
}

TEST(ClaimOwners, FollowThePolicy) {
  const struct {
    const char* when_scaled;
    const char* when_deleted;
    bool condemned;
    const char* owners;
    bool match;
    const char* want;
  } rows[] = {
      {"Retain", "Retain", false, "", true, ""},
      {"Retain", "Retain", true, "", true, ""},
      {"Retain", "Retain", false, "set! foreign", false, "foreign"},
      {"Retain", "Retain", false, "foreign!", true, "foreign!"},
      {"Retain", "Delete", false, "", false, "set!"},
      {"Retain", "Delete", true, "set!", true, "set!"},
      {"Retain", "Delete", false, "set", false, "set!"},
      {"Retain", "Delete", false, "foreign pod!", false, "foreign set!"},
      {"Delete", "Retain", false, "", true, ""},
      {"Delete", "Retain", false, "pod!", false, ""},
      {"Delete", "Retain", true, "", false, "pod!"},
      {"Delete", "Retain", true, "pod!", true, "pod!"},
      {"Delete", "Delete", false, "pod!", false, "set!"},
      {"Delete", "Delete", true, "set!", false, "pod!"},
      {"Delete", "Delete", true, "foreign!", true, "foreign!"},
      {"Delete", "Delete", true, "foreign! set!", false, "foreign!"},
      {"Delete", "Delete", true, "pod!*", true, "pod!"},
      {"Retain", "Delete", false, "set!*", true, "set!"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(std::string(row.when_scaled) + " " + row.when_deleted + " " + row.owners +
                 (row.condemned ? " condemned" : ""));
    json object = Set();
    object["spec"]["persistentVolumeClaimRetentionPolicy"] = {{"whenScaled", row.when_scaled},
                                                              {"whenDeleted", row.when_deleted}};
    const Spec set = SpecOf(JsonNode(object));
    const ClaimUser pod{.name = "web-2", .uid = "up", .condemned = row.condemned};
    json claim = Claim(row.owners);
    EXPECT_EQ(ClaimOwnersMatch(set, JsonNode(claim), pod), row.match);
    if (!row.match) SetClaimOwners(set, claim, pod);
    EXPECT_EQ(Owners(claim), row.want);
    EXPECT_TRUE(ClaimOwnersMatch(set, JsonNode(claim), pod)) << "written once only";
  }
}

TEST(Status, CountsPodsAsTheyAre) {
  const json object = Set(R"({"minReadySeconds":10})");
  const Spec set = SpecOf(JsonNode(object));
  const std::vector<json> pods = {Pod("web-0"), Pod("web-1", "new", "r2"),
                                  Pod("web-2", "ready-", "r2"), Pod("web-3", "failed"),
                                  Pod("web-4", "pending", "r0")};
  SetStatus status{.current_revision = "r1", .update_revision = "r2"};
  CountPods(set, NodesOf(pods), kNow, status);
  EXPECT_EQ(status.replicas, 5);
  EXPECT_EQ(status.ready, 3);
  EXPECT_EQ(status.available, 2);
  EXPECT_EQ(status.current, 2);
  EXPECT_EQ(status.updated, 1);
}

TEST(Status, AnUpdateIsCompleteWhenAllAreUpdatedAndReady) {
  const SetStatus full{.replicas = 3,
                       .ready = 3,
                       .current = 0,
                       .updated = 3,
                       .current_revision = "r1",
                       .update_revision = "r2"};
  const json rolling = Set(), on_delete = Set(R"({"updateStrategy":{"type":"OnDelete"}})");
  SetStatus status = full;
  CompleteUpdate(SpecOf(JsonNode(rolling)), status);
  EXPECT_EQ(status.current_revision, "r2");
  EXPECT_EQ(status.current, 3);
  for (int64_t SetStatus::*lacking :
       {&SetStatus::replicas, &SetStatus::ready, &SetStatus::updated}) {
    status = full;
    --(status.*lacking);
    CompleteUpdate(SpecOf(JsonNode(rolling)), status);
    EXPECT_EQ(status.current_revision, "r1");
  }
  status = full;
  CompleteUpdate(SpecOf(JsonNode(on_delete)), status);
  EXPECT_EQ(status.current_revision, "r1");
}

TEST(Status, IsWrittenWhenItSaysSomethingElse) {
  const SetStatus stored{
      .observed_generation = 2, .replicas = 3, .current_revision = "r1", .update_revision = "r1"};
  SetStatus next = stored;
  EXPECT_FALSE(NeedsWrite(stored, next));
  next.collision_count = 1;
  EXPECT_FALSE(NeedsWrite(stored, next)) << "collisionCount alone";
  next.observed_generation = 1;
  EXPECT_FALSE(NeedsWrite(stored, next));
  next.observed_generation = 3;
  EXPECT_TRUE(NeedsWrite(stored, next));
  next = stored;
  next.available = 1;
  EXPECT_TRUE(NeedsWrite(stored, next));
  json object = Set();
  object["status"]["conditions"] = json::array({{{"type", "Foreign"}}});
  ApplyStatus(object, stored);
  EXPECT_EQ(object["status"], json::parse(R"({"observedGeneration":2,"replicas":3,
    "readyReplicas":0,"availableReplicas":0,"currentReplicas":0,"updatedReplicas":0,
    "currentRevision":"r1","updateRevision":"r1","collisionCount":0})"));
}

TEST(ChosenRevisions, KnowTheLastTemplate) {
  ChosenRevisions chosen;
  EXPECT_EQ(chosen.For("u", "data"), "");
  chosen.Remember("u", "r1", "data");
  EXPECT_EQ(chosen.For("u", "data"), "r1");
  EXPECT_EQ(chosen.For("u", "other"), "");
  EXPECT_EQ(chosen.For("v", "data"), "");
  chosen.Remember("u", "r2", "other");
  EXPECT_EQ(chosen.For("u", "data"), "");
  EXPECT_EQ(chosen.For("u", "other"), "r2");
  chosen.Forget("u");
  EXPECT_EQ(chosen.For("u", "other"), "");
}

TEST(IssuedDeletions, AreAwaitedUntilTheyAreShown) {
  IssuedDeletions issued;
  const IssuedDeletions::Instant start = std::chrono::seconds(7);
  EXPECT_FALSE(issued.IsAwaited("us", "uweb-0", start));
  for (const char* pod : {"uweb-0", "uweb-1", "uweb-2"}) issued.Issued("us", pod, start);
  EXPECT_TRUE(issued.IsAwaited("us", "uweb-0", start));
  EXPECT_FALSE(issued.IsAwaited("us", "another", start));
  EXPECT_FALSE(issued.IsAwaited("other", "uweb-0", start)) << "of another set";

  // web-2 is gone.
  const std::vector<json> pods = {Pod("web-0"), Pod("web-1", "ready-")};
  issued.Shown("other", {});
  issued.Shown("us", NodesOf(pods));
  EXPECT_TRUE(issued.IsAwaited("us", "uweb-0", start));
  EXPECT_FALSE(issued.IsAwaited("us", "uweb-1", start));
  EXPECT_FALSE(issued.IsAwaited("us", "uweb-2", start));

  const IssuedDeletions::Instant end = start + IssuedDeletions::kTimeout;
  EXPECT_TRUE(issued.IsAwaited("us", "uweb-0", end - std::chrono::nanoseconds(1)));
  EXPECT_FALSE(issued.IsAwaited("us", "uweb-0", end)) << "for five minutes";
  issued.Issued("us", "uweb-0", end);
  EXPECT_TRUE(issued.IsAwaited("us", "uweb-0", end));
  issued.Forget("us");
  EXPECT_FALSE(issued.IsAwaited("us", "uweb-0", end));
}

}  // namespace
}  // namespace kcm::pod::statefulset
