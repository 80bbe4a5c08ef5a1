// SPDX-License-Identifier: Apache-2.0
// The flat form: what goes in comes out, whatever its size and mix; identity, order, sharing,
// equality.
#include "host/wire/object.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "host/wire/codec.h"

namespace kcm::host::wire {
namespace {

using rules::Kind;

std::string RoundTrip(const std::string& json) { return ToJson(FromJsonOrDie(json)->Root()); }

TEST(FlatObject, JsonComesBackAsItWas) {
  const struct {
    const char* name;
    const char* json;
  } rows[] = {
      {"empty object", R"({})"},
      {"empty containers", R"({"a":{},"b":[],"c":[[],{}]})"},
      {"null is kept and is not absent", R"({"name":null,"x":null})"},
      {"small and large numbers",
       R"({"a":0,"b":-1,"c":-32,"d":-33,"e":8127,"f":8128,"g":2147483648,"h":-9223372036854775808,"i":9223372036854775807})"},
      {"above int64", R"({"a":18446744073709551615})"},
      {"fractions and exponents",
       R"({"a":0.5,"b":1e+21,"c":1e-7,"d":123456789.125,"e":-0.25,"f":1.5e-10})"},
      {"texts",
       R"({"a":"","b":"x","c":"True","d":"metadata","e":"\t\"\\\u0001\u003c\u003e\u0026\u2028é😀"})"},
      {"names in and out of the table", R"({"name":1,"no-such-name":{"other":3,"spec":2}})"},
      {"bools", R"({"a":true,"b":false,"c":[true,false,null]})"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(RoundTrip(row.json), row.json);
  }
}

TEST(FlatObject, MapsAreSortedByKeyAndTheLastOfTwoEqualNamesWins) {
  EXPECT_EQ(RoundTrip(R"({"z":1,"b":2,"a":3})"), R"({"a":3,"b":2,"z":1})");
  EXPECT_EQ(RoundTrip(R"({"name":1,"kind":2,"name":3})"), R"({"kind":2,"name":3})");
  EXPECT_EQ(RoundTrip(R"({"x":1,"x":{"y":1}})"), R"({"x":{"y":1}})");
}

TEST(FlatObject, MembersOfBuiltInKindsStandInDeclarationOrder) {
  const ObjectPtr pod = FromJsonOrDie(
      R"({"status":{},"metadata":{"uid":"u","name":"n"},"spec":{"nodeName":"x","containers":[]},"apiVersion":"v1","kind":"Pod"})");
  EXPECT_EQ(ToJson(pod->Root()),
            R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"n","uid":"u"},)"
            R"("spec":{"containers":[],"nodeName":"x"},"status":{}})");
}

TEST(FlatObject, LargeObjectsUseWideReferences) {
  std::string json = "{\"items\":[";
  for (int i = 0; i < 20000; ++i)
    json += (i == 0 ? "\"item-" : ",\"item-") + std::to_string(i) + "-of-many\"";
  json += "],\"text\":\"" + std::string(100000, 'x') + "\",\"map\":{";
  for (int i = 10000; i < 15000; ++i)
    json += (i == 10000 ? "\"key" : ",\"key") + std::to_string(i) + "\":" + std::to_string(i);
  json += "}}";
  const ObjectPtr object = FromJsonOrDie(json);
  EXPECT_EQ(object->Root().Member("items").size(), 20000u);
  EXPECT_EQ(object->Root().Member("items").At(0).String(), "item-0-of-many");
  EXPECT_EQ(object->Root().Member("items").At(19999).String(), "item-19999-of-many");
  EXPECT_EQ(object->Root().Member("text").String().size(), 100000u);
  for (int i = 10000; i < 15000; ++i)
    EXPECT_EQ(object->Root().Member("map").Member("key" + std::to_string(i)).Int(), i);
  EXPECT_EQ(object->Root().Member("map").Member("key9").kind(), Kind::kAbsent);
}

TEST(FlatObject, IdentityIsReadOnce) {
  const ObjectPtr pod = FromJsonOrDie(
      R"({"metadata":{"name":"web","namespace":"shop","uid":"123-456","resourceVersion":"18446744073709551615"}})");
  EXPECT_EQ(pod->Name(), "web");
  EXPECT_EQ(pod->Namespace(), "shop");
  EXPECT_EQ(pod->Uid(), "123-456");
  EXPECT_EQ(pod->ResourceVersionText(), "18446744073709551615");
  EXPECT_EQ(pod->ResourceVersion(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(pod->Key(), "shop/web");
  EXPECT_EQ(FromJsonOrDie(R"({"metadata":{"name":"node-1"}})")->Key(), "node-1");
  const ObjectPtr odd = FromJsonOrDie(R"({"metadata":{"name":7,"resourceVersion":"12x"}})");
  EXPECT_EQ(odd->Name(), "");
  EXPECT_EQ(odd->ResourceVersion(), 0u);
  EXPECT_EQ(FromJsonOrDie(R"({"metadata":null})")->Name(), "");
}

TEST(FlatObject, ReadingWhatIsNotThereGivesNothing) {
  const ObjectPtr object = FromJsonOrDie(R"({"name":"x","number":5,"list":[1]})");
  const Value root = object->Root();
  EXPECT_EQ(root.Member("absent").kind(), Kind::kAbsent);
  EXPECT_EQ(root.Member("absent").Member("deeper").String(), "");
  EXPECT_EQ(root.Member("name").Int(), 0);
  EXPECT_EQ(root.Member("name").size(), 0u);
  EXPECT_EQ(root.Member("number").String(), "");
  EXPECT_EQ(root.Member("list").At(1).kind(), Kind::kAbsent);
  EXPECT_EQ(root.Entry(9).first, "");
  EXPECT_EQ(Value().kind(), Kind::kAbsent);
  EXPECT_EQ(Value().Member("x").Real(), 0);
  EXPECT_FALSE(Value().AsNode());
}

TEST(FlatObject, NumbersAreReadAsAsked) {
  const ObjectPtr object = FromJsonOrDie(
      R"({"a":-7,"b":2.9,"c":1e300,"d":18446744073709551615,"e":-1e300,"f":123456789})");
  const Value root = object->Root();
  EXPECT_EQ(root.Member("a").Int(), -7);
  EXPECT_EQ(root.Member("a").Real(), -7.0);
  EXPECT_EQ(root.Member("b").Int(), 2);
  EXPECT_EQ(root.Member("c").Int(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(root.Member("d").Int(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(root.Member("d").Unsigned(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(root.Member("e").Int(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(root.Member("f").Int(), 123456789);
}

TEST(FlatObject, NodeReadsTheSame) {
  const ObjectPtr pod = FromJsonOrDie(
      R"({"status":{"phase":"Running","list":[{"a":1},{"a":2}],"ready":true,"x":1.5}})");
  const rules::Node status = pod->Node().Get("status");
  EXPECT_EQ(pod->Node().Path("status.phase").String(), "Running");
  int64_t sum = 0;
  for (const rules::Node item : status.Get("list").Items()) sum += item.Get("a").Int();
  EXPECT_EQ(sum, 3);
  EXPECT_TRUE(status.Get("ready").Bool());
  EXPECT_EQ(status.Get("x").Real(), 1.5);
  std::string names;
  for (const auto& [name, value] : status.Entries()) names += std::string(name) + " ";
  EXPECT_EQ(names, "list phase ready x ");
}

TEST(FieldIds, NamesAndIdsAreEachOthersInverse) {
  uint32_t known = 0;
  std::string previous;
  for (uint32_t id = 1; !FieldName(id).empty(); ++id) {
    EXPECT_EQ(FieldId(FieldName(id)), id);
    EXPECT_LT(previous, FieldName(id));
    previous = std::string(FieldName(id));
    ++known;
  }
  EXPECT_GT(known, 1000u);
  EXPECT_EQ(FieldId("no-such-member"), 0u);
  EXPECT_EQ(FieldId(""), 0u);
  EXPECT_EQ(FieldId("Running"), 0u);  // a static value, no member
  EXPECT_EQ(FieldName(0), "");
  const ObjectPtr mixed = FromJsonOrDie(R"({"spec":1,"no-such-member":2})");
  EXPECT_EQ(mixed->Root().Field(FieldId("spec")).Int(), 1);
}

TEST(FlatObject, EqualityIgnoresOrderAndTellsNullFromAbsent) {
  const struct {
    const char* name;
    const char* x;
    const char* y;
    bool equal;
  } rows[] = {
      {"order", R"({"a":1,"name":{"x":1,"y":2}})", R"({"name":{"y":2,"x":1},"a":1})", true},
      {"null and absent", R"({"a":null})", R"({})", false},
      {"null and other name", R"({"a":null})", R"({"b":null})", false},
      {"empty list and object", R"({"a":[]})", R"({"a":{}})", false},
      {"number forms", R"({"a":1})", R"({"a":1.0})", true},
      {"numbers", R"({"a":1})", R"({"a":2})", false},
      {"list order", R"({"a":[1,2]})", R"({"a":[2,1]})", false},
      {"text and number", R"({"a":"1"})", R"({"a":1})", false},
      {"bools", R"({"a":true})", R"({"a":false})", false},
      {"longer list", R"({"a":[1]})", R"({"a":[1,1]})", false},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(DeepEqual(FromJsonOrDie(row.x)->Root(), FromJsonOrDie(row.y)->Root()), row.equal);
    EXPECT_EQ(DeepEqual(FromJsonOrDie(row.y)->Root(), FromJsonOrDie(row.x)->Root()), row.equal);
  }
}

TEST(FlatObject, ManagedFieldsAndTypeAreKeptOnRequest) {
  const std::string json =
      R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"x","managedFields":[{"manager":"m"}]}})";
  TypeMeta type;
  const auto plain = DecodeJson(json, {}, &type);
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(ToJson((*plain)->Root()), R"({"metadata":{"name":"x"}})");
  EXPECT_TRUE((*plain)->whole()) << "managedFields never make an object less than whole";
  EXPECT_EQ(type.kind, "Pod");
  EXPECT_EQ(type.api_version, "v1");
  EXPECT_EQ(ToJson(FromJsonOrDie(json)->Root()), json);
}

TEST(FlatObject, MetadataOnlyHasNothingElse) {
  const ObjectPtr pod = FromJsonOrDie(
      R"({"kind":"Pod","metadata":{"name":"x","labels":{"a":"b"}},"spec":{"nodeName":"n"}})");
  const ObjectPtr partial = MetadataOnly(*pod);
  EXPECT_EQ(ToJson(partial->Root()), R"({"metadata":{"name":"x","labels":{"a":"b"}}})");
  EXPECT_EQ(partial->Name(), "x");
  EXPECT_FALSE(partial->whole());
}

TEST(Interner, RepeatedTextsAreStoredOnceAndOutliveIt) {
  std::vector<ObjectPtr> objects;
  size_t alone = 0;
  {
    Interner interner;
    DecodeOptions options;
    options.interner = &interner;
    for (int i = 0; i < 100; ++i) {
      const std::string json =
          R"({"metadata":{"name":"pod-)" + std::to_string(i) +
          R"(","labels":{"example.com/component-name":"a-rather-long-label-value"}}})";
      alone += FromJsonOrDie(json)->bytes();
      auto object = DecodeJson(json, options, nullptr);
      ASSERT_TRUE(object.ok());
      objects.push_back(std::move(*object));
    }
    EXPECT_EQ(interner.stats().texts, 2u) << "names are not taken in";
  }
  size_t together = 0;
  for (size_t i = 0; i < objects.size(); ++i) {
    together += objects[i]->bytes();
    EXPECT_EQ(objects[i]
                  ->Root()
                  .Member("metadata")
                  .Member("labels")
                  .Member("example.com/component-name")
                  .String(),
              "a-rather-long-label-value");
    EXPECT_EQ(objects[i]->Name(), "pod-" + std::to_string(i));
  }
  EXPECT_LT(together, alone * 7 / 10);
}

TEST(Interner, AFullDictionaryIsReplaced) {
  Interner interner;
  DecodeOptions options;
  options.interner = &interner;
  ObjectPtr first;
  for (int i = 0; i < 20000; ++i) {
    for (int twice = 0; twice < 2; ++twice) {
      auto object =
          DecodeJson("{\"x\":\"value-number-" + std::to_string(i) + "\"}", options, nullptr);
      ASSERT_TRUE(object.ok());
      ASSERT_EQ((*object)->Root().Member("x").String(), "value-number-" + std::to_string(i));
      if (i == 5) first = *object;
    }
  }
  EXPECT_EQ(interner.stats().dictionaries, 2u);
  EXPECT_EQ(first->Root().Member("x").String(), "value-number-5");
}

TEST(Interner, ReadersNeedNoLockWhileItGrows) {
  Interner interner;
  DecodeOptions options;
  options.interner = &interner;
  ObjectPtr shared;
  for (int i = 0; i < 2; ++i) shared = *DecodeJson(R"({"x":"some shared text"})", options, nullptr);
  std::thread writer([&options] {
    for (int i = 0; i < 2000; ++i) {
      (void)DecodeJson("{\"x\":\"other text " + std::to_string(i / 2) + "\"}", options, nullptr)
          .ok();
    }
  });
  size_t good = 0;
  for (int i = 0; i < 2000; ++i) {
    const ObjectPtr copy = shared;
    good += copy->Root().Member("x").String() == "some shared text" ? 1 : 0;
  }
  writer.join();
  EXPECT_EQ(good, 2000u);
}

}  // namespace
}  // namespace kcm::host::wire
