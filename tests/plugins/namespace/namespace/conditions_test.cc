// SPDX-License-Identifier: Apache-2.0
// Texts and life of the five conditions (spec/namespace.md, "Conditions").
#include "plugins/namespace/namespace/conditions.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace kcm::ns::namespaces {
namespace {

using sdk::Json;

rules::WallTime At(int64_t seconds) { return rules::WallTime(std::chrono::seconds(seconds)); }

Json ConditionOf(const Json& namespace_object, const std::string& type) {
  for (const Json& c : namespace_object["status"]["conditions"]) {
    if (c["type"] == type) return c;
  }
  return nullptr;
}

TEST(NamespaceConditions, GoodTexts) {
  Json ns{{"status", {{"phase", "Terminating"}}}};
  EXPECT_TRUE(SetConditions({}, At(0), ns));
  const Json want = Json::parse(R"([
    {"type":"NamespaceDeletionDiscoveryFailure","status":"False","reason":"ResourcesDiscovered",
     "message":"All resources successfully discovered","lastTransitionTime":"1970-01-01T00:00:00Z"},
    {"type":"NamespaceDeletionGroupVersionParsingFailure","status":"False",
     "reason":"ParsedGroupVersions","message":"All legacy kube types successfully parsed",
     "lastTransitionTime":"1970-01-01T00:00:00Z"},
    {"type":"NamespaceDeletionContentFailure","status":"False","reason":"ContentDeleted",
     "message":"All content successfully deleted, may be waiting on finalization",
     "lastTransitionTime":"1970-01-01T00:00:00Z"},
    {"type":"NamespaceContentRemaining","status":"False","reason":"ContentRemoved",
     "message":"All content successfully removed","lastTransitionTime":"1970-01-01T00:00:00Z"},
    {"type":"NamespaceFinalizersRemaining","status":"False","reason":"ContentHasNoFinalizers",
     "message":"All content-preserving finalizers finished",
     "lastTransitionTime":"1970-01-01T00:00:00Z"}])");
  EXPECT_EQ(ns["status"]["conditions"], want);
  EXPECT_EQ(ns["status"]["phase"], "Terminating");
}

TEST(NamespaceConditions, BadTexts) {
  Progress p;
  p.discovery_failure = "d";
  p.parsing_failure = "g";
  p.content_failures = {"z failed", "a failed", "a failed"};
  p.remaining = {{"secrets.", 1}, {"configmaps.", 2}, {"deployments.apps", 10}};
  p.finalizers = {{"b.io/x", 3}, {"a.io/y", 1}};
  const std::array<Condition, 5> c = ConditionsOf(p);
  const struct {
    const char *type, *reason, *message;
  } want[] = {
      {"NamespaceDeletionDiscoveryFailure", "DiscoveryFailed", "d"},
      {"NamespaceDeletionGroupVersionParsingFailure", "GroupVersionParsingFailed", "g"},
      {"NamespaceDeletionContentFailure", "ContentDeletionFailed",
       "Failed to delete all resource types, 3 remaining: a failed, a failed, z failed"},
      {"NamespaceContentRemaining", "SomeResourcesRemain",
       "Some resources are remaining: configmaps. has 2 resource instances, deployments.apps has "
       "10 resource instances, secrets. has 1 resource instances"},
      {"NamespaceFinalizersRemaining", "SomeFinalizersRemain",
       "Some content in the namespace has finalizers remaining: a.io/y in 1 resource instances, "
       "b.io/x in 3 resource instances"},
  };
  for (size_t i = 0; i < c.size(); ++i) {
    SCOPED_TRACE(want[i].type);
    EXPECT_EQ(c[i].type, want[i].type);
    EXPECT_TRUE(c[i].bad);
    EXPECT_EQ(c[i].reason, want[i].reason);
    EXPECT_EQ(c[i].message, want[i].message);
  }
}

TEST(NamespaceConditions, ItemsAreSortedAsTexts) {
  Progress p;
  p.remaining = {{"pods.", 1}, {"pods.metrics", 1}, {"podtemplates.", 1}};
  EXPECT_EQ(ConditionsOf(p)[3].message,
            "Some resources are remaining: pods. has 1 resource instances, pods.metrics has 1 "
            "resource instances, podtemplates. has 1 resource instances");
}

TEST(NamespaceConditions, SameProgressChangesNothing) {
  Json ns = Json::object();
  Progress p;
  p.remaining = {{"pods.", 1}};
  ASSERT_TRUE(SetConditions(p, At(0), ns));
  const Json before = ns;
  EXPECT_FALSE(SetConditions(p, At(60), ns));
  EXPECT_EQ(ns, before);
}

TEST(NamespaceConditions, TransitionTimeMovesWithTheStatusOnly) {
  Json ns = Json::object();
  Progress p;
  p.remaining = {{"pods.", 5}};
  ASSERT_TRUE(SetConditions(p, At(0), ns));
  p.remaining = {{"pods.", 3}};
  EXPECT_TRUE(SetConditions(p, At(60), ns));
  Json c = ConditionOf(ns, "NamespaceContentRemaining");
  EXPECT_EQ(c["message"], "Some resources are remaining: pods. has 3 resource instances");
  EXPECT_EQ(c["lastTransitionTime"], "1970-01-01T00:00:00Z");
  EXPECT_TRUE(SetConditions({}, At(90), ns));
  c = ConditionOf(ns, "NamespaceContentRemaining");
  EXPECT_EQ(c["status"], "False");
  EXPECT_EQ(c["lastTransitionTime"], "1970-01-01T00:01:30Z");
}

TEST(NamespaceConditions, ForeignOnesStayWhereTheyAre) {
  const Json foreign{{"type", "E2E"}, {"status", "Unknown"}, {"x", 1}};
  const Json own{{"type", "NamespaceContentRemaining"}, {"status", "True"}};
  Json ns{{"status", {{"conditions", {foreign, own}}}}};
  ASSERT_TRUE(SetConditions({}, At(0), ns));
  const Json& all = ns["status"]["conditions"];
  ASSERT_EQ(all.size(), 6u);
  EXPECT_EQ(all[0], foreign);
  EXPECT_EQ(all[1]["type"], "NamespaceContentRemaining");
  EXPECT_EQ(all[1]["reason"], "ContentRemoved");
  EXPECT_EQ(all[2]["type"], "NamespaceDeletionDiscoveryFailure");
}

TEST(NamespaceConditions, BrokenListsAreReplacedOrSkipped) {
  Json text{{"status", {{"conditions", "x"}}}};
  EXPECT_TRUE(SetConditions({}, At(0), text));
  EXPECT_EQ(text["status"]["conditions"].size(), 5u);
  Json mixed{{"status", {{"conditions", {1, nullptr, {{"type", 7}}}}}}};
  EXPECT_TRUE(SetConditions({}, At(0), mixed));
  EXPECT_EQ(mixed["status"]["conditions"].size(), 8u);
}

}  // namespace
}  // namespace kcm::ns::namespaces
