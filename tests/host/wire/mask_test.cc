// SPDX-License-Identifier: Apache-2.0
// Masks: their text form, union, comparison, and what they leave of an object, the same from
// protobuf and from JSON.
#include "host/wire/mask.h"

#include <gtest/gtest.h>

#include "host/wire/codec.h"

namespace kcm::host::wire {
namespace {

using Paths = std::vector<std::string>;

Mask Of(const Paths& paths) {
  Result<Mask> mask = Mask::Compile(paths);
  EXPECT_TRUE(mask.ok()) << mask.error().message;
  return mask.ok() ? *mask : Mask();
}

TEST(Mask, PathsAreCanonical) {
  const struct {
    const char* name;
    Paths in;
    Paths out;
  } rows[] = {
      {"everything", {"*"}, {"*"}},
      {"a star among others", {"spec", "*"}, {"*"}},
      {"nothing but metadata", {}, {"metadata"}},
      {"lists",
       {"spec.containers[].name", "spec.containers.image"},
       {"metadata", "spec.containers.image", "spec.containers.name"}},
      {"a list at the end", {"status.conditions[]"}, {"metadata", "status.conditions"}},
      {"item selectors count as []",
       {"status.conditions[type=Ready].status", "a[*].b"},
       {"a.b", "metadata", "status.conditions.status"}},
      {"below metadata is metadata", {"metadata.labels[a/b.c]"}, {"metadata"}},
      {"map keys",
       {"spec.selector[a.b/c]", "spec.selector[plain]"},
       {"metadata", "spec.selector.plain", "spec.selector[a.b/c]"}},
      {"the shorter path wins, first", {"spec", "spec.nodeName"}, {"metadata", "spec"}},
      {"the shorter path wins, last", {"spec.nodeName", "spec.a.b", "spec"}, {"metadata", "spec"}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const Mask mask = Of(row.in);
    EXPECT_EQ(mask.Paths(), row.out);
    EXPECT_EQ(Of(mask.Paths()).Paths(), row.out);
  }
}

TEST(Mask, BadPathsAreRefused) {
  for (const char* path : {"", ".", "spec.", ".spec", "a..b", "a[", "a[b", "[x]", "a[]b", "a[]."}) {
    SCOPED_TRACE(path);
    const Result<Mask> mask = Mask::Compile({path});
    ASSERT_FALSE(mask.ok());
    EXPECT_EQ(mask.code(), Code::kInvalid);
    EXPECT_NE(mask.error().message.find("field path"), std::string::npos);
  }
}

TEST(Mask, UnionKeepsWhatEitherKeepsAndCoversBoth) {
  const struct {
    const char* name;
    Paths x, y, united;
    bool x_covers_y;
  } rows[] = {
      {"apart", {"spec.a"}, {"status.b"}, {"metadata", "spec.a", "status.b"}, false},
      {"contained", {"spec"}, {"spec.a.b"}, {"metadata", "spec"}, true},
      {"deep",
       {"spec.a", "spec.b.c"},
       {"spec.b.d"},
       {"metadata", "spec.a", "spec.b.c", "spec.b.d"},
       false},
      {"equal", {"spec.a"}, {"spec.a"}, {"metadata", "spec.a"}, true},
      {"all", {"*"}, {"spec.a"}, {"*"}, true},
      {"metadata only", {"spec"}, {}, {"metadata", "spec"}, true},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const Mask x = Of(row.x), y = Of(row.y), both = Mask::Union(x, y);
    EXPECT_EQ(both.Paths(), row.united);
    EXPECT_EQ(Mask::Union(y, x).Paths(), row.united);
    EXPECT_TRUE(both.Covers(x));
    EXPECT_TRUE(both.Covers(y));
    EXPECT_EQ(x.Covers(y), row.x_covers_y);
  }
  EXPECT_FALSE(Of({"spec"}).Covers(Mask()));
}

constexpr char kPod[] =
    R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","annotations":{"a":"1"},"managedFields":[{"manager":"m"}]},)"
    R"("spec":{"volumes":[{"name":"v","emptyDir":{}}],"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"1","memory":"2Gi"}}},{"name":"d","resources":{}}],"nodeName":"n"},)"
    R"("status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastProbeTime":null,"lastTransitionTime":null}]}})";

TEST(Mask, DropsWhileDecodingTheSameFromBothForms) {
  const struct {
    const char* name;
    Paths paths;
    const char* kept;  // behind metadata
    bool whole;
  } rows[] = {
      {"metadata only", {}, "", false},
      {"one member", {"spec.nodeName"}, R"(,"spec":{"nodeName":"n"})", false},
      {"a member of every item",
       {"spec.containers[].name"},
       R"(,"spec":{"containers":[{"name":"c"},{"name":"d"}]})",
       false},
      {"one key of a map",
       {"spec.containers.resources.limits[memory]"},
       R"(,"spec":{"containers":[{"resources":{"limits":{"memory":"2Gi"}}},{"resources":{}}]})",
       false},
      {"through an inline message",
       {"spec.volumes.emptyDir"},
       R"(,"spec":{"volumes":[{"emptyDir":{}}]})",
       false},
      {"a whole list",
       {"status.conditions"},
       R"(,"status":{"conditions":[{"type":"Ready","status":"True","lastProbeTime":null,"lastTransitionTime":null}]})",
       false},
      {"every member there is",
       {"spec", "status"},
       R"(,"spec":{"volumes":[{"name":"v","emptyDir":{}}],"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"1","memory":"2Gi"}}},{"name":"d","resources":{}}],"nodeName":"n"},)"
       R"("status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastProbeTime":null,"lastTransitionTime":null}]})",
       true},
  };
  std::string raw;
  ASSERT_TRUE(EncodeProtobuf("core.v1.Pod", FromJsonOrDie(kPod)->Root(), &raw).ok());
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const Mask mask = Of(row.paths);
    DecodeOptions options;
    options.mask = &mask;
    const Result<ObjectPtr> json = DecodeJson(kPod, options, nullptr);
    const Result<ObjectPtr> protobuf = DecodeProtobuf("core.v1.Pod", raw, options);
    ASSERT_TRUE(json.ok() && protobuf.ok());
    const std::string want =
        R"({"metadata":{"name":"p","annotations":{"a":"1"}})" + std::string(row.kept) + "}";
    EXPECT_EQ(ToJson((*json)->Root()), want);
    EXPECT_EQ(ToJson((*protobuf)->Root()), want);
    EXPECT_EQ((*json)->whole(), row.whole);
    EXPECT_EQ((*protobuf)->whole(), row.whole);
  }
}

TEST(Mask, CustomResourcesAreMaskedByName) {
  const Mask mask = Of({"spec.my-size", "status.ready"});
  DecodeOptions options;
  options.mask = &mask;
  const auto object = DecodeJson(
      R"({"kind":"Widget","apiVersion":"gold.example.com/v1","metadata":{"name":"w"},"spec":{"my-size":3,"color":"red"},"extra":1})",
      options, nullptr);
  ASSERT_TRUE(object.ok());
  EXPECT_EQ(ToJson((*object)->Root()), R"({"metadata":{"name":"w"},"spec":{"my-size":3}})");
  EXPECT_FALSE((*object)->whole());
}

}  // namespace
}  // namespace kcm::host::wire
