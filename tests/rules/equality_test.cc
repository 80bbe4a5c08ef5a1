// SPDX-License-Identifier: Apache-2.0
#include "kcm/rules/equality.h"

#include <gtest/gtest.h>

#include "rules/parsed.h"

namespace kcm::rules {
namespace {

TEST(DeepEqual, ComparesAsJson) {
  const struct {
    const char* x;
    const char* y;
    bool want;
    bool want_null_is_absent;
  } rows[] = {
      {R"({"a":1,"b":[1,2]})", R"({"b":[1,2],"a":1})", true, true},
      {"[1,2]", "[2,1]", false, false},
      {"1", "1.0", true, true},
      {"1", "\"1\"", false, false},
      {"true", "1", false, false},
      {R"({"a":null})", "{}", false, true},
      {"{}", R"({"a":null})", false, true},
      {R"({"a":null})", R"({"a":0})", false, false},
      {"{}", "[]", false, false},
      {"{}", "null", false, false},
      {R"({"a":{}})", "{}", false, false},
      {R"({"a":{"b":{"c":null}}})", R"({"a":{"b":{}}})", false, true},
      {"9007199254740993", "9007199254740992", false, false},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(std::string(row.x) + " " + row.y);
    const Parsed x(row.x);
    const Parsed y(row.y);
    EXPECT_EQ(DeepEqual(x, y), row.want);
    EXPECT_EQ(DeepEqual(y, x), row.want);
    EXPECT_EQ(DeepEqual(x, y, NullRule::kNullIsAbsent), row.want_null_is_absent);
  }
  EXPECT_TRUE(DeepEqual(Node(), Node()));
  EXPECT_FALSE(DeepEqual(Node(), Parsed("null")));
}

TEST(PodTemplatesEqual, FollowsTheApisMeaning) {
  const struct {
    const char* name;
    const char* x;
    const char* y;
    bool want;
  } rows[] = {
      {"hash label ignored", R"({"metadata":{"labels":{"a":"1","pod-template-hash":"x"}}})",
       R"({"metadata":{"labels":{"a":"1","pod-template-hash":"y"}}})", true},
      {"hash label alone is no label", R"({"metadata":{"labels":{"pod-template-hash":"x"}}})",
       R"({"metadata":{}})", true},
      {"other label counts", R"({"metadata":{"labels":{"a":"1"}}})",
       R"({"metadata":{"labels":{"a":"2"}}})", false},
      {"other label removed", R"({"metadata":{"labels":{"a":"1"}}})", R"({"metadata":{}})", false},
      {"null creationTimestamp", R"({"metadata":{"creationTimestamp":null,"labels":{"a":"1"}}})",
       R"({"metadata":{"labels":{"a":"1"}}})", true},
      {"metadata with nothing in it", R"({"metadata":{"creationTimestamp":null},"spec":{}})",
       R"({"spec":{}})", true},
      {"empty list", R"({"spec":{"volumes":[]}})", R"({"spec":{}})", true},
      {"null list", R"({"spec":{"volumes":null}})", R"({"spec":{"volumes":[]}})", true},
      {"empty map", R"({"spec":{"nodeSelector":{}}})", R"({"spec":{}})", true},
      {"empty object is something", R"({"spec":{"securityContext":{}}})", R"({"spec":{}})", false},
      {"empty objects", R"({"spec":{"securityContext":{}}})", R"({"spec":{"securityContext":{}}})",
       true},
      {"emptyDir is something", R"({"spec":{"volumes":[{"name":"v","emptyDir":{}}]}})",
       R"({"spec":{"volumes":[{"name":"v"}]}})", false},
      {"quantities by value",
       R"({"spec":{"containers":[{"resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]}})",
       R"({"spec":{"containers":[{"resources":{"limits":{"memory":"1073741824","cpu":"1000m"}}}]}})",
       true},
      {"other quantity", R"({"spec":{"containers":[{"resources":{"limits":{"cpu":"1"}}}]}})",
       R"({"spec":{"containers":[{"resources":{"limits":{"cpu":"1001m"}}}]}})", false},
      {"requests of init containers",
       R"({"spec":{"initContainers":[{"resources":{"requests":{"cpu":"1"}}}]}})",
       R"({"spec":{"initContainers":[{"resources":{"requests":{"cpu":"1000m"}}}]}})", true},
      {"empty limits", R"({"spec":{"containers":[{"resources":{"limits":{}}}]}})",
       R"({"spec":{"containers":[{"resources":{}}]}})", true},
      {"pod level resources", R"({"spec":{"resources":{"limits":{"cpu":"1"}}}})",
       R"({"spec":{"resources":{"limits":{"cpu":"1000m"}}}})", true},
      {"overhead", R"({"spec":{"overhead":{"cpu":"1"}}})",
       R"({"spec":{"overhead":{"cpu":"1000m"}}})", true},
      {"sizeLimit", R"({"spec":{"volumes":[{"emptyDir":{"sizeLimit":"1Ki"}}]}})",
       R"({"spec":{"volumes":[{"emptyDir":{"sizeLimit":"1024"}}]}})", true},
      {"divisor", R"({"env":[{"valueFrom":{"resourceFieldRef":{"divisor":"1"}}}]})",
       R"({"env":[{"valueFrom":{"resourceFieldRef":{"divisor":"1000m"}}}]})", true},
      {"claim template",
       R"({"spec":{"volumes":[{"ephemeral":{"volumeClaimTemplate":{"spec":{"resources":{"requests":{"storage":"1Gi"}}}}}}]}})",
       R"({"spec":{"volumes":[{"ephemeral":{"volumeClaimTemplate":{"spec":{"resources":{"requests":{"storage":"1024Mi"}}}}}}]}})",
       true},
      {"texts elsewhere are texts", R"({"spec":{"hostname":"1"}})",
       R"({"spec":{"hostname":"1000m"}})", false},
      {"a label named like a resource list", R"({"metadata":{"labels":{"limits":"1"}}})",
       R"({"metadata":{"labels":{"limits":"1000m"}}})", false},
      {"int or string kind", R"({"port":80})", R"({"port":"80"})", false},
      {"list order", R"({"args":["a","b"]})", R"({"args":["b","a"]})", false},
      {"unknown field", R"({"spec":{"brandNew":1}})", R"({"spec":{}})", false},
      {"unknown field differs", R"({"spec":{"brandNew":{"x":1}}})",
       R"({"spec":{"brandNew":{"x":2}}})", false},
      {"empty label value is a value", R"({"metadata":{"labels":{"a":""}}})",
       R"({"metadata":{"labels":{}}})", false},
      {"false is not absent", R"({"spec":{"hostNetwork":false}})", R"({"spec":{}})", false},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const Parsed x(row.x);
    const Parsed y(row.y);
    EXPECT_EQ(PodTemplatesEqual(x, y), row.want);
    EXPECT_EQ(PodTemplatesEqual(y, x), row.want);
    EXPECT_TRUE(PodTemplatesEqual(x, x));
  }
}

TEST(SemanticEqual, KeepsTheHashLabel) {
  EXPECT_FALSE(SemanticEqual(Parsed(R"({"metadata":{"labels":{"pod-template-hash":"x"}}})"),
                             Parsed(R"({"metadata":{"labels":{}}})")));
}

}  // namespace
}  // namespace kcm::rules
