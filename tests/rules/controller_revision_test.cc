// SPDX-License-Identifier: Apache-2.0
// Vectors: spec/pod-workloads.md 1.15.4.
#include "kcm/rules/controller_revision.h"

#include <gtest/gtest.h>

#include "kcm/rules/hash.h"
#include "rules/parsed.h"

namespace kcm::rules {
namespace {

constexpr char kData[] =
    R"({"spec":{"template":{"$patch":"replace","metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"image":"nginx:1","name":"c"}]}}}})";

TEST(ControllerRevision, BytesAreCanonical) {
  const Parsed web(
      R"({"spec":{"containers":[{"name":"c","image":"nginx:1"}]},"metadata":{"labels":{"app":"web"}}})");
  EXPECT_EQ(RevisionData(web), kData);
  EXPECT_EQ(RevisionData(web).size(), 133u);
  const Parsed odd(
      R"({"spec":{"securityContext":{},"x":1234567890123456789,"z":"<a>&\u2028\u00e4\u0007"},"metadata":{"creationTimestamp":null}})");
  EXPECT_EQ(RevisionData(odd),
            "{\"spec\":{\"template\":{\"$patch\":\"replace\",\"metadata\":{\"creationTimestamp\":"
            "null},\"spec\":{"
            "\"securityContext\":{},\"x\":1234567890123456800,\"z\":"
            "\"\\u003ca\\u003e\\u0026\\u2028\xC3\xA4\\u0007\"}}}}");
}

TEST(ControllerRevision, HashesTheDataThenTheCollisionCount) {
  EXPECT_EQ(Fnv1(kData), 4039523944u);
  EXPECT_EQ(RevisionHash(kData, std::nullopt), "847f967f88");
  EXPECT_EQ(Fnv1(std::string(kData) + "0"), 1880374664u);
  EXPECT_EQ(RevisionHash(kData, 0), "5dd47c8bb8");
  EXPECT_EQ(RevisionHash(kData, 1), "5dd47c8bb9");
  EXPECT_EQ(RevisionHash(kData, 2), "5dd47c8bbb");
}

TEST(ControllerRevision, EqualityAllowsForOtherServers) {
  const Parsed now(
      R"({"spec":{"template":{"$patch":"replace","metadata":{"labels":{"a":"1"}},"spec":{"containers":[{"resources":{"limits":{"cpu":"1"}}}]}}}})");
  const Parsed old(
      R"({"spec":{"template":{"$patch":"replace","metadata":{"creationTimestamp":null,"labels":{"a":"1"}},"spec":{"containers":[{"resources":{"limits":{"cpu":"1000m"}}}]}}}})");
  const Parsed other(
      R"({"spec":{"template":{"$patch":"replace","metadata":{"labels":{"a":"1"}},"spec":{"containers":[{"resources":{}}]}}}})");
  EXPECT_TRUE(RevisionDataEqual(now, old));
  EXPECT_FALSE(RevisionDataEqual(now, other));
}

TEST(ControllerRevision, DefaultsOfNewerServersRestoreTheSame) {
  const struct {
    const char* name;
    const char* older;
    const char* newer;
    bool want;
  } rows[] = {
      {"of a container", R"({"spec":{"containers":[{"image":"a:1"}]}})",
       R"({"spec":{"containers":[{"image":"a:1","imagePullPolicy":"IfNotPresent",
          "terminationMessagePolicy":"File","resources":{}}]}})",
       true},
      {"of the latest image", R"({"spec":{"containers":[{"image":"h:5000/a"}]}})",
       R"({"spec":{"containers":[{"image":"h:5000/a","imagePullPolicy":"Always"}]}})", true},
      {"of a digest", R"({"spec":{"containers":[{"image":"a@sha256:0"}]}})",
       R"({"spec":{"containers":[{"image":"a@sha256:0","imagePullPolicy":"Always"}]}})", false},
      {"another value", R"({"spec":{"containers":[{}]}})",
       R"({"spec":{"containers":[{"terminationMessagePolicy":"FallbackToLogsOnError"}]}})", false},
      {"of the pod", R"({"spec":{}})",
       R"({"spec":{"dnsPolicy":"ClusterFirst","securityContext":{},
          "terminationGracePeriodSeconds":30}})",
       true},
      {"what is no default of the pod", R"({"spec":{}})", R"({"spec":{"hostNetwork":true}})",
       false},
      {"of a probe", R"({"spec":{"containers":[{"livenessProbe":{"httpGet":{"port":80}}}]}})",
       R"({"spec":{"containers":[{"livenessProbe":{"periodSeconds":10,
          "httpGet":{"port":80,"scheme":"HTTP","path":"/"}}}]}})",
       true},
      {"at another place", R"({"metadata":{"labels":{"a":"b"}}})",
       R"({"metadata":{"labels":{"a":"b","protocol":"TCP"}}})", false},
      {"only one way", R"({"spec":{"dnsPolicy":"ClusterFirst"}})", R"({"spec":{}})", false},
      {"a change is a change", R"({"spec":{"dnsPolicy":"Default"}})",
       R"({"spec":{"dnsPolicy":"ClusterFirst"}})", false},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(RevisionRestores(Parsed(row.older), Parsed(row.newer)), row.want);
  }
}

TEST(ControllerRevision, NameAndBody) {
  EXPECT_EQ(RevisionName("web", "5dd47c8bb8"), "web-5dd47c8bb8");
  EXPECT_EQ(RevisionName(std::string(250, 'a'), "x"), std::string(223, 'a') + "-x");
  const Parsed labels(R"({"app":"web"})");
  const std::string body = RevisionBody({.name = "web-x",
                                         .ns = "ns",
                                         .labels = labels,
                                         .hash_label = kRevisionHashLabel,
                                         .hash = "x",
                                         .owner = {"apps/v1", "StatefulSet", "web", "u"},
                                         .data = "{\"a\":1}",
                                         .revision = 7});
  EXPECT_EQ(body,
            R"({"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"web-x",)"
            R"("namespace":"ns","labels":{"app":"web","controller.kubernetes.io/hash":"x"},)"
            R"("ownerReferences":[{"apiVersion":"apps/v1","kind":"StatefulSet","name":"web",)"
            R"("uid":"u","controller":true,"blockOwnerDeletion":true}]},"data":{"a":1},)"
            R"("revision":7})");
}

// A revision by number, age and data.
Parsed Revision(const char* name, int number, const char* created, const char* data = "1") {
  return Parsed(std::string(R"({"metadata":{"name":")") + name + R"(","creationTimestamp":")" +
                created + R"("},"revision":)" + std::to_string(number) + R"(,"data":{"x":)" + data +
                "}}");
}

TEST(ControllerRevision, AHistoryHasAnOrder) {
  const Parsed r1 = Revision("b", 1, "2024-05-01T10:00:00Z");
  const Parsed r2 = Revision("a", 2, "2024-05-01T09:00:00Z");
  const Parsed r2_younger = Revision("a", 2, "2024-05-01T10:00:00Z");
  const Parsed r2_twin = Revision("b", 2, "2024-05-01T10:00:00Z");
  EXPECT_TRUE(RevisionBefore(r1, r2));
  EXPECT_FALSE(RevisionBefore(r2, r1));
  EXPECT_TRUE(RevisionBefore(r2, r2_younger));
  EXPECT_TRUE(RevisionBefore(r2_younger, r2_twin));
  EXPECT_FALSE(RevisionBefore(r2_twin, r2_twin));
  EXPECT_EQ(NextRevision({}), 1);
  const std::vector<Node> history = {r1, r2};
  EXPECT_EQ(NextRevision(history), 3);
}

TEST(ControllerRevision, TheLastEqualOneIsChosen) {
  using Type = RevisionChoice::Type;
  const char* at = "2024-05-01T10:00:00Z";
  const Parsed a = Revision("a", 1, at, "1"), b = Revision("b", 2, at, "2"),
               a_again = Revision("c", 3, at, "1"), d = Revision("d", 4, at, "4");
  const std::vector<Node> history = {a, b, a_again, d};
  const struct {
    const char* data;
    Type type;
    size_t place;
  } rows[] = {{R"({"x":4})", Type::kKeep, 3},
              {R"({"x":1})", Type::kRenumber, 2},
              {R"({"x":2})", Type::kRenumber, 1},
              {R"({"x":9})", Type::kCreate, 0}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.data);
    const RevisionChoice choice = ChooseRevision(history, Parsed(row.data), true);
    EXPECT_EQ(choice.type, row.type);
    EXPECT_EQ(choice.place, row.place);
  }
  EXPECT_EQ(ChooseRevision({}, Parsed("{}"), true).type, Type::kCreate);
  // By defaults: the highest one only, and only when asked for.
  const Parsed lacking(R"({"data":{"spec":{}}})");
  const std::vector<Node> old = {lacking};
  const Parsed served(R"({"spec":{"restartPolicy":"Always"}})");
  EXPECT_EQ(ChooseRevision(old, served, true).type, Type::kKeep);
  EXPECT_EQ(ChooseRevision(old, served, false).type, Type::kCreate);
  const std::vector<Node> older = {lacking, d};
  EXPECT_EQ(ChooseRevision(older, served, true).type, Type::kCreate);
}

TEST(ControllerRevision, WhatIsNotLiveGoesBeyondTheLimit) {
  const char* at = "2024-05-01T10:00:00Z";
  const Parsed a = Revision("a", 1, at), b = Revision("b", 2, at), c = Revision("c", 3, at),
               d = Revision("d", 4, at);
  const std::vector<Node> history = {a, b, c, d};
  const auto live = [](std::string_view name) { return name == "a" || name == "d"; };
  EXPECT_EQ(RevisionsToDelete(history, live, 0), (std::vector<size_t>{1, 2}));
  EXPECT_EQ(RevisionsToDelete(history, live, 1), (std::vector<size_t>{1}));
  EXPECT_TRUE(RevisionsToDelete(history, live, 2).empty());
  EXPECT_TRUE(RevisionsToDelete(history, live, -1).empty());
}

TEST(Hash, FnvAndItsText) {
  EXPECT_EQ(Fnv1(""), 2166136261u);
  EXPECT_EQ(Fnv1a(""), 2166136261u);
  // Published vectors of the two functions for "foobar".
  EXPECT_EQ(Fnv1("foobar"), 0x31f0b262u);
  EXPECT_EQ(Fnv1a("foobar"), 0xbf9cf968u);
  EXPECT_EQ(Fnv1a("bar", Fnv1a("foo")), Fnv1a("foobar"));
  EXPECT_EQ(EncodeHash(0), "4");
  EXPECT_EQ(EncodeHash(1234567890), "56789bcdf4");
}

}  // namespace
}  // namespace kcm::rules
