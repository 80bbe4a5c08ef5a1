// SPDX-License-Identifier: Apache-2.0
// Ownership of fields (spec/apiserver F5).
#include "devcluster/server/managed_fields.h"

#include <gtest/gtest.h>

#include "devcluster/server/objects.h"

namespace kcm::devcluster {
namespace {

using test::J;

FieldShape Shape(std::string_view path) {
  if (path == "spec.items") return {FieldShape::List::kKeyed, {"name"}, false};
  if (path == "metadata.finalizers") return {FieldShape::List::kSet, {}, false};
  FieldShape s;
  s.atomic_map = path == "spec.selector";
  return s;
}

FieldManager Manager(const char* name, const char* now = "2030-01-01T00:00:00Z") {
  return {name, "v1", "", now};
}

Json Entries(const Json& object) {
  return object["metadata"].value("managedFields", Json::array());
}

Applied Apply(const Json& live, const char* configuration, const char* manager,
              bool force = false) {
  return ApplyConfiguration(live, J(configuration), J(R"({"metadata":{}})"), force,
                            Manager(manager), Shape, [](Json*) {});
}

Json Created(const char* configuration, const char* manager) {
  Json object = J(configuration);
  object["metadata"]["managedFields"] = FirstApply(J(configuration), Manager(manager), Shape);
  return object;
}

TEST(ManagedFields, NewObjectBelongsToItsCreator) {
  Json object = J(
      R"({"metadata":{"name":"a","labels":{"x":"y"}},"spec":{"selector":{"a":"b"},"items":[{"name":"c","v":1}]}})");
  TrackWrite(J(R"({"metadata":{},"spec":{"items":null}})"), true, false, Manager("m"), Shape,
             &object);
  ASSERT_EQ(Entries(object).size(), 1U);
  EXPECT_EQ(Entries(object)[0]["operation"], "Update");
  EXPECT_EQ(Entries(object)[0]["fieldsV1"], J(R"({"f:metadata":{"f:labels":{".":{},"f:x":{}}},
                  "f:spec":{"f:items":{"k:{\"name\":\"c\"}":{".":{},"f:name":{},"f:v":{}}},"f:selector":{}}})"));
}

TEST(ManagedFields, ChangedFieldMovesToWhoChangedIt) {
  const Json before = Created(R"({"metadata":{"name":"a"},"data":{"x":"1","y":"1"}})", "owner");
  Json after = before;
  after["data"]["x"] = "2";
  TrackWrite(before, false, false, Manager("other"), Shape, &after);
  ASSERT_EQ(Entries(after).size(), 2U);
  EXPECT_EQ(Entries(after)[0]["fieldsV1"], J(R"({"f:data":{"f:y":{}}})"));
  EXPECT_EQ(Entries(after)[1]["manager"], "other");
  EXPECT_EQ(Entries(after)[1]["fieldsV1"], J(R"({"f:data":{"f:x":{}}})"));
}

TEST(ManagedFields, ApplyOfAnotherValueConflictsUntilForced) {
  const Json live = Created(R"({"metadata":{"name":"a"},"data":{"x":"1"}})", "owner");
  const Applied refused = Apply(live, R"({"metadata":{"name":"a"},"data":{"x":"2"}})", "other");
  ASSERT_EQ(refused.conflicts.size(), 1U);
  EXPECT_EQ(refused.conflicts[0].owner, "\"owner\"");
  EXPECT_EQ(refused.conflicts[0].field, ".data.x");
  const Applied forced =
      Apply(live, R"({"metadata":{"name":"a"},"data":{"x":"2"}})", "other", true);
  EXPECT_TRUE(forced.conflicts.empty());
  EXPECT_EQ(forced.object["data"]["x"], "2");
  ASSERT_EQ(Entries(forced.object).size(), 1U) << "nothing is left to the former owner";
  EXPECT_EQ(Entries(forced.object)[0]["manager"], "other");
}

TEST(ManagedFields, EqualValueIsShared) {
  const Json live = Created(R"({"metadata":{"name":"a"},"data":{"x":"1"}})", "owner");
  const Applied shared = Apply(live, R"({"metadata":{"name":"a"},"data":{"x":"1"}})", "other");
  EXPECT_TRUE(shared.conflicts.empty());
  EXPECT_EQ(Entries(shared.object).size(), 2U);
}

TEST(ManagedFields, WhatAnApplierDropsGoesUnlessOthersOwnIt) {
  const Json live =
      Created(R"({"metadata":{"name":"a"},"spec":{"items":[{"name":"p"},{"name":"q"}]}})", "owner");
  const Json dropped =
      Apply(live, R"({"metadata":{"name":"a"},"spec":{"items":[{"name":"p"}]}})", "owner").object;
  EXPECT_EQ(dropped["spec"]["items"], J(R"([{"name":"p"}])"));
  const Json both =
      Apply(live, R"({"metadata":{"name":"a"},"spec":{"items":[{"name":"q"}]}})", "other").object;
  const Json kept =
      Apply(both, R"({"metadata":{"name":"a"},"spec":{"items":[{"name":"p"}]}})", "owner").object;
  EXPECT_EQ(kept["spec"]["items"], J(R"([{"name":"p"},{"name":"q"}])"))
      << "another manager's item went";
}

TEST(ManagedFields, ContainerGoesOnlyWithAllThatIsBelow) {
  Json live = J(R"({"metadata":{"name":"a"},"data":{"x":"1","y":"1"}})");
  live["metadata"]["managedFields"] =
      J(R"([{"manager":"owner","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1",
      "fieldsV1":{"f:data":{".":{},"f:x":{},"f:y":{}}}}])");
  const Json next = Apply(live, R"({"metadata":{"name":"a"},"data":{"y":"1"}})", "owner").object;
  EXPECT_EQ(next["data"], J(R"({"y":"1"})"));
}

TEST(ManagedFields, ResetForgetsEveryOwner) {
  const Json live = Created(R"({"metadata":{"name":"a"},"data":{"x":"1"}})", "owner");
  Json next = live;
  next["metadata"]["managedFields"] = J("[{}]");
  TrackWrite(live, false, false, Manager("m"), Shape, &next);
  EXPECT_FALSE(next["metadata"].contains("managedFields"));
}

}  // namespace
}  // namespace kcm::devcluster
