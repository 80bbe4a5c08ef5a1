// SPDX-License-Identifier: Apache-2.0
// Patch documents as pure functions (spec/apiserver F2 to F4).
#include "devcluster/server/patch_document.h"

#include <gtest/gtest.h>

#include "devcluster/server/failure.h"
#include "devcluster/server/objects.h"

namespace kcm::devcluster {
namespace {

using test::J;

KindRegistry::ListKey Keys(std::string_view path) {
  if (path == "items") return {"name", false};
  if (path == "set") return {"$set", false};
  return {};
}

int CodeOf(const std::function<void()>& run) {
  try {
    run();
  } catch (const Failure& f) {
    return f.error.code;
  }
  return 200;
}

TEST(JsonPatch, EditsAsTheReferenceDoes) {
  const struct {
    const char *name, *document, *patch, *want;
  } rows[] = {
      {"add to a list", R"({"l":[1,2]})", R"([{"op":"add","path":"/l/1","value":9}])",
       R"({"l":[1,9,2]})"},
      {"append", R"({"l":[1]})", R"([{"op":"add","path":"/l/-","value":2}])", R"({"l":[1,2]})"},
      {"replace adds what is missing", R"({"a":{}})",
       R"([{"op":"replace","path":"/a/b","value":1}])", R"({"a":{"b":1}})"},
      {"escapes", R"({"a/b":1})", R"([{"op":"remove","path":"/a~1b"}])", R"({})"},
      {"move", R"({"a":1})", R"([{"op":"move","from":"/a","path":"/b"}])", R"({"b":1})"},
      {"copy", R"({"a":1})", R"([{"op":"copy","from":"/a","path":"/b"}])", R"({"a":1,"b":1})"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(ApplyJsonPatch(J(row.document), J(row.patch)), J(row.want));
  }
}

TEST(JsonPatch, RefusesWithOneAnswer) {
  const char* const patches[] = {
      R"([{"op":"test","path":"/a","value":2}])",
      R"([{"op":"remove","path":"/x"}])",
      R"([{"op":"add","path":"/x/y","value":1}])",
      R"([{"op":"add","path":"/l/7","value":1}])",
      R"([{"op":"frob","path":"/a"}])",
  };
  for (const char* patch : patches) {
    SCOPED_TRACE(patch);
    EXPECT_EQ(CodeOf([&] { ApplyJsonPatch(J(R"({"a":1,"l":[]})"), J(patch)); }), 422);
  }
  EXPECT_EQ(CodeOf([] { ApplyJsonPatch(Json::object(), Json::object()); }), 400);
}

TEST(MergePatch, MergesMapsAndReplacesTheRest) {
  EXPECT_EQ(
      ApplyMergePatch(J(R"({"a":{"b":1,"c":2},"l":[1]})"), J(R"({"a":{"b":null,"d":3},"l":[]})")),
      J(R"({"a":{"c":2,"d":3},"l":[]})"));
  EXPECT_EQ(CodeOf([] { ApplyMergePatch(Json::object(), Json::array()); }), 400);
}

TEST(StrategicPatch, TreatsListsByTheirKey) {
  const struct {
    const char *name, *document, *patch, *want;
  } rows[] = {
      {"merges by key", R"({"items":[{"name":"a","v":1},{"name":"b"}]})",
       R"({"items":[{"name":"a","w":2}]})", R"({"items":[{"name":"a","v":1,"w":2},{"name":"b"}]})"},
      {"new items come first", R"({"items":[{"name":"a"}]})", R"({"items":[{"name":"z"}]})",
       R"({"items":[{"name":"z"},{"name":"a"}]})"},
      {"a given order wins", R"({"items":[{"name":"a"},{"name":"b"}]})",
       R"({"$setElementOrder/items":[{"name":"b"},{"name":"a"},{"name":"c"}],"items":[{"name":"c"}]})",
       R"({"items":[{"name":"b"},{"name":"a"},{"name":"c"}]})"},
      {"delete by key", R"({"items":[{"name":"a"},{"name":"b"}]})",
       R"({"items":[{"$patch":"delete","name":"a"}]})", R"({"items":[{"name":"b"}]})"},
      {"replace the list", R"({"items":[{"name":"a"}]})",
       R"({"items":[{"$patch":"replace"},{"name":"b"}]})", R"({"items":[{"name":"b"}]})"},
      {"sets are united", R"({"set":["a"]})", R"({"set":["b","a"]})", R"({"set":["b","a"]})"},
      {"delete from a set", R"({"set":["a","b"]})", R"({"$deleteFromPrimitiveList/set":["a"]})",
       R"({"set":["b"]})"},
      {"retained keys", R"({"m":{"type":"R","old":1}})",
       R"({"m":{"$retainKeys":["type"],"type":"S"}})", R"({"m":{"type":"S"}})"},
      {"other lists are replaced", R"({"atomic":[1,2]})", R"({"atomic":[3]})", R"({"atomic":[3]})"},
      {"null removes", R"({"a":1})", R"({"a":null})", R"({})"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(ApplyStrategicPatch(J(row.document), J(row.patch), Keys), J(row.want));
  }
  EXPECT_EQ(CodeOf([] { ApplyStrategicPatch(Json::object(), J(R"({"items":[{"v":1}]})"), Keys); }),
            500);
  EXPECT_EQ(
      CodeOf([] { ApplyStrategicPatch(Json::object(), J(R"({"m":{"$patch":"bogus"}})"), Keys); }),
      500);
}

}  // namespace
}  // namespace kcm::devcluster
