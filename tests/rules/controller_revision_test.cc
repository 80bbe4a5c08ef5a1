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
