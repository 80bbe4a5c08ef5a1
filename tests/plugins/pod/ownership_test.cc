// SPDX-License-Identifier: Apache-2.0
// Which owners a change of a dependant wakes, which owner a change says is gone, and which status
// fields a server keeps.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kcm/rules/json_node.h"
#include "plugins/pod/ownership/gone_owner.h"
#include "plugins/pod/ownership/wakes.h"
#include "plugins/pod/server_features.h"

namespace kcm::pod {
namespace {

using nlohmann::json;
using Type = sdk::Change::Type;

constexpr const char* kOwnerA =
    R"([{"kind":"ReplicaSet","name":"a","uid":"ua","controller":true}])";
constexpr const char* kOwnerB =
    R"([{"kind":"ReplicaSet","name":"b","uid":"ub","controller":true}])";

// `version`, labels `app=<app>` (none when empty), owners, being deleted, Ready.
struct Pod {
  const char* version = "1";
  const char* app = "x";
  const char* owners = "[]";
  bool deleting = false;
  bool ready = false;
  json Json() const {
    json p{{"metadata", {{"resourceVersion", version}, {"ownerReferences", json::parse(owners)}}}};
    if (*app != '\0') p["metadata"]["labels"]["app"] = app;
    if (deleting) p["metadata"]["deletionTimestamp"] = "2024-05-01T10:00:00Z";
    p["status"]["conditions"] = {{{"type", "Ready"}, {"status", ready ? "True" : "False"}}};
    return p;
  }
};

// "a+creation b-deletion a!ready orphan" in the order given.
std::string Text(const Wakes& wakes) {
  std::string out;
  for (size_t i = 0; i < wakes.count; ++i) {
    const OwnerWake& w = wakes.owners[i];
    if (!out.empty()) out += " ";
    out += w.reference.Get("name").String();
    if (w.created) out += "+";
    if (w.deleted) out += "-";
    if (w.became_ready) out += "!";
  }
  if (wakes.orphan) out += out.empty() ? "orphan" : " orphan";
  return out;
}

TEST(Wakes, OfAddedAndDeletedPods) {
  const struct {
    const char* name;
    Type type;
    Pod pod;
    const char* want;
  } rows[] = {
      {"created", Type::kAdd, {.owners = kOwnerA}, "a+"},
      {"first seen while being deleted", Type::kAdd, {.owners = kOwnerA, .deleting = true}, "a-"},
      {"orphan", Type::kAdd, {}, "orphan"},
      {"orphan without labels", Type::kAdd, {.app = ""}, ""},
      {"orphan being deleted", Type::kAdd, {.deleting = true}, ""},
      {"deleted", Type::kDelete, {.owners = kOwnerA}, "a-"},
      {"orphan deleted", Type::kDelete, {}, ""},
      {"an owner that is no controller",
       Type::kAdd,
       {.owners = R"([{"kind":"ReplicaSet","name":"a","uid":"ua"}])"},
       "orphan"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const json pod = row.pod.Json();
    EXPECT_EQ(
        Text(WakesOf(row.type, rules::Node(), rules::JsonNode(pod), DeletingUpdate::kIsDeletion)),
        row.want);
  }
}

TEST(Wakes, OfUpdatedPods) {
  const struct {
    const char* name;
    Pod was, now;
    const char* want;          // with expectations
    const char* want_without;  // for those that keep none
  } rows[] = {
      {"resync", {.owners = kOwnerA}, {.owners = kOwnerA, .ready = true}, "", ""},
      {"any change of an owned one",
       {.owners = kOwnerA},
       {.version = "2", .owners = kOwnerA},
       "a",
       "a"},
      {"became ready",
       {.owners = kOwnerA},
       {.version = "2", .owners = kOwnerA, .ready = true},
       "a!",
       "a!"},
      {"stays ready",
       {.owners = kOwnerA, .ready = true},
       {.version = "2", .owners = kOwnerA, .ready = true},
       "a",
       "a"},
      {"deleted gracefully",
       {.owners = kOwnerA},
       {.version = "2", .owners = kOwnerA, .deleting = true},
       "a-",
       "a"},
      {"deleted and relabelled: its old owner too",
       {.owners = kOwnerA},
       {.version = "2", .app = "y", .owners = kOwnerB, .deleting = true},
       "b- a-",
       "a b"},
      {"owner changed", {.owners = kOwnerA}, {.version = "2", .owners = kOwnerB}, "a b", "a b"},
      {"released", {.owners = kOwnerA}, {.version = "2"}, "a orphan", "a orphan"},
      {"orphan relabelled", {}, {.version = "2", .app = "y"}, "orphan", "orphan"},
      {"orphan with another change", {}, {.version = "2", .ready = true}, "", ""},
      {"orphan that lost its labels", {}, {.version = "2", .app = ""}, "", ""},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const json was = row.was.Json(), now = row.now.Json();
    EXPECT_EQ(Text(WakesOf(Type::kUpdate, rules::JsonNode(was), rules::JsonNode(now),
                           DeletingUpdate::kIsDeletion)),
              row.want);
    EXPECT_EQ(Text(WakesOf(Type::kUpdate, rules::JsonNode(was), rules::JsonNode(now),
                           DeletingUpdate::kIsUpdate)),
              row.want_without);
  }
}

TEST(GoneOwner, IsTheDeletedOneOrTheOneBeforeOfTheSameName) {
  const json a{{"metadata", {{"name", "x"}, {"uid", "ua"}}}};
  const json b{{"metadata", {{"name", "x"}, {"uid", "ub"}}}};
  const rules::Node none, was = rules::JsonNode(a), now = rules::JsonNode(b);
  EXPECT_FALSE(GoneOwnerOf(Type::kAdd, none, now));
  EXPECT_FALSE(GoneOwnerOf(Type::kUpdate, now, now));
  const auto replaced = GoneOwnerOf(Type::kUpdate, was, now);
  ASSERT_TRUE(replaced);
  EXPECT_EQ(replaced->uid, "ua");
  EXPECT_EQ(replaced->last.Path("metadata.uid").String(), "ua");
  const auto deleted = GoneOwnerOf(Type::kDelete, none, now);
  ASSERT_TRUE(deleted);
  EXPECT_EQ(deleted->uid, "ub");
  EXPECT_EQ(deleted->last.Path("metadata.uid").String(), "ub");
}

TEST(ServerFeatures, TheLastOfAGatesEntriesDecides) {
  EXPECT_FALSE(IsTurnedOn(":A=true,kube:A=false", "A"));
  EXPECT_TRUE(IsTurnedOn(":A=false,:B=false,A=True", "A"));
  EXPECT_FALSE(IsTurnedOn("", "A"));
}

TEST(ServerFeatures, TerminatingReplicasNeedServerOrGate) {
  const struct {
    bool gate;
    const char* flag;
    int minor;
    bool want;
  } rows[] = {
      {true, "", 35, true},
      {true, "", 34, false},
      {true, "", 28, false},
      {true, "Other=true,DeploymentReplicaSetTerminatingReplicas=true", 33, true},
      {true, ":DeploymentReplicaSetTerminatingReplicas=true,:Other=false", 33, true},
      {true, "kube:DeploymentReplicaSetTerminatingReplicas=true", 33, true},
      {true, ":DeploymentReplicaSetTerminatingReplicas=T", 33, true},
      {true, ":DeploymentReplicaSetTerminatingReplicas=1", 33, true},
      {true, ":DeploymentReplicaSetTerminatingReplicas=F", 33, false},
      {true, ":DeploymentReplicaSetTerminatingReplicas=yes", 33, false},
      {true, ":DeploymentReplicaSetTerminatingReplicas", 33, false},
      {true, "DeploymentReplicaSetTerminatingReplicasX=true", 33, false},
      {true, ":XDeploymentReplicaSetTerminatingReplicas=true", 33, false},
      {true, "true:Other=DeploymentReplicaSetTerminatingReplicas", 33, false},
      {false, "DeploymentReplicaSetTerminatingReplicas=false", 36, false},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(std::string(row.flag) + " " + std::to_string(row.minor));
    EXPECT_EQ(TerminatingReplicasServed(row.gate, row.flag, row.minor), row.want);
  }
}

}  // namespace
}  // namespace kcm::pod
