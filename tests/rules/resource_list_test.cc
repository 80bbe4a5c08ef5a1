// SPDX-License-Identifier: Apache-2.0
#include "kcm/rules/resource_list.h"

#include <gtest/gtest.h>

#include "rules/parsed.h"

namespace kcm::rules {
namespace {

ResourceList L(const char* json) {
  const Parsed parsed(json);
  return ResourceListOf(parsed);
}

TEST(ResourceList, AddsPerKey) {
  EXPECT_EQ(ResourceListJson(AddResources(L(R"({"cpu":"1.500","memory":"1Gi"})"),
                                          L(R"({"memory":"1G","pods":"+5"})"))),
            R"({"cpu":"1.500","memory":"2073741824","pods":"+5"})")
      << "a key of one list keeps its text";
  EXPECT_EQ(AddResources(L(R"({"m":"1G"})"), L(R"({"m":"1Gi"})")).at("m").format(),
            QuantityFormat::kDecimalSI)
      << "x is on the left";
}

TEST(ResourceList, TakesTheGreater) {
  EXPECT_EQ(ResourceListJson(
                MaxResources(L(R"({"a":"1","b":"2"})"), L(R"({"a":"1000m","b":"3","c":"0"})"))),
            R"({"a":"1","b":"3","c":"0"})");
}

TEST(ResourceList, MasksAndCompares) {
  const ResourceList x = L(R"({"a":"1","b":"2"})");
  EXPECT_EQ(ResourceListJson(MaskResources(x, {"b", "z"})), R"({"b":"2"})");
  EXPECT_TRUE(SameResources(x, L(R"({"b":"2000m","a":"1"})")));
  EXPECT_FALSE(SameResources(x, L(R"({"a":"1"})")));
  EXPECT_FALSE(SameResources(x, L(R"({"a":"1","b":"3"})")));
  EXPECT_TRUE(SameResources(L("null"), L("{}")));
}

TEST(ResourceList, NamesAreSets) {
  EXPECT_EQ(NamesOf(L(R"({"b":"1","a":"1"})")), (ResourceNames{"a", "b"}));
  EXPECT_EQ(IntersectNames({"c", "a", "a", "b"}, {"a", "c"}), (ResourceNames{"a", "c"}));
  EXPECT_EQ(SubtractNames({"c", "a", "B", "c"}, {"a"}), (ResourceNames{"B", "c"}));
}

}  // namespace
}  // namespace kcm::rules
