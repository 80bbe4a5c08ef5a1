// SPDX-License-Identifier: Apache-2.0
// Structural schemas of custom resources, and the paths of their columns.
#include "devcluster/kinds/custom_schema.h"

#include <gtest/gtest.h>

#include "devcluster/kinds/json_path.h"

namespace kcm::devcluster::kinds {
namespace {

Json Schema(const char* spec) {
  return {{"type", "object"},
          {"properties",
           {{"spec", Json::parse(spec)},
            {"status", {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}}}}}};
}

TEST(CustomSchema, PrunesWhatItDoesNotName) {
  const CustomSchema schema(Schema(R"({"type":"object","properties":{
      "a":{"type":"string"},
      "list":{"type":"array","items":{"type":"object","properties":{"x":{"type":"integer"}}}},
      "map":{"type":"object","additionalProperties":{"type":"object","properties":{"x":{"type":"integer"}}}},
      "free":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"known":{"type":"object","properties":{}}}},
      "template":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"spec":{"type":"object"}}}}})"));
  Json object = Json::parse(
      R"({"apiVersion":"e/v1","kind":"W","metadata":{"name":"w","labels":{"l":"1"}},"extra":1,
      "spec":{"a":"1","zzz":2,"list":[{"x":1,"y":2}],"map":{"k":{"x":1,"y":2}},"free":{"any":1,"known":{"drop":1}},
              "template":{"kind":"Pod","metadata":{"name":"p"},"spec":{"drop":1},"other":1}},
      "status":{"any":1}})");
  std::vector<std::string> unknown;
  schema.Prune(object, &unknown);
  EXPECT_EQ(
      object,
      Json::parse(R"({"apiVersion":"e/v1","kind":"W","metadata":{"name":"w","labels":{"l":"1"}},
      "spec":{"a":"1","list":[{"x":1}],"map":{"k":{"x":1}},"free":{"any":1,"known":{}},
              "template":{"kind":"Pod","metadata":{"name":"p"},"spec":{}}},
      "status":{"any":1}})"));
  std::sort(unknown.begin(), unknown.end());
  EXPECT_EQ(unknown, (std::vector<std::string>{"extra", "spec.free.known.drop", "spec.list[0].y",
                                               "spec.map.k.y", "spec.template.other",
                                               "spec.template.spec.drop", "spec.zzz"}));
}

TEST(CustomSchema, FillsDefaultsInWhereTheParentIs) {
  const CustomSchema schema(Schema(R"({"type":"object","properties":{
      "n":{"type":"integer","default":3},
      "inner":{"type":"object","properties":{"m":{"type":"string","default":"x"}}},
      "made":{"type":"object","default":{},"properties":{"m":{"type":"string","default":"y"}}},
      "list":{"type":"array","items":{"type":"object","properties":{"p":{"type":"string","default":"TCP"}}}}}})"));
  Json object = Json::parse(R"({"spec":{"n":null,"list":[{},{"p":"UDP"}]}})");
  schema.SetDefaults(object);
  EXPECT_EQ(object,
            Json::parse(R"({"spec":{"n":3,"made":{"m":"y"},"list":[{"p":"TCP"},{"p":"UDP"}]}})"));
}

TEST(CustomSchema, RefusesInTheApiServersWords) {
  const CustomSchema schema(Schema(R"({"type":"object","required":["size"],"properties":{
      "size":{"type":"string","enum":["small","large"]},
      "n":{"type":"integer","minimum":1,"maximum":9},
      "name":{"type":"string","pattern":"^[a-z]+$","maxLength":5,"minLength":2},
      "list":{"type":"array","maxItems":2,"items":{"type":"string"},"x-kubernetes-list-type":"set"},
      "ports":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["p"],"items":{"type":"object","properties":{"p":{"type":"integer"}}}},
      "any":{"x-kubernetes-int-or-string":true},
      "at":{"type":"string","format":"date-time"},
      "one":{"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}],"properties":{"a":{"type":"string"},"b":{"type":"string"}}},
      "pair":{"type":"object","properties":{"lo":{"type":"integer"},"hi":{"type":"integer"}},
              "x-kubernetes-validations":[{"rule":"self.lo <= self.hi","message":"lo must not exceed hi"},{"rule":"self.hi >= oldSelf.hi"}]}}})"));
  const auto errors = [&](const char* spec, const char* old = nullptr) {
    const Json before = old == nullptr ? Json() : Json{{"spec", Json::parse(old)}};
    std::string out;
    for (const FieldError& e :
         schema.Validate({{"spec", Json::parse(spec)}}, old == nullptr ? nullptr : &before))
      out += (out.empty() ? "" : " | ") + e.field + ": " + e.message;
    return out;
  };
  EXPECT_EQ(
      errors(
          R"({"size":"small","n":5,"name":"abc","list":["a"],"any":1,"at":"2026-01-01T00:00:00Z","one":{"a":"x"},"pair":{"lo":1,"hi":2}})"),
      "");
  EXPECT_EQ(errors("{}"), "spec.size: Required value");
  EXPECT_EQ(errors(R"({"size":"huge"})"),
            "spec.size: Unsupported value: \"huge\": supported values: \"small\", \"large\"");
  EXPECT_EQ(
      errors(R"({"size":"small","n":"x"})"),
      "spec.n: Invalid value: \"string\": spec.n in body must be of type integer: \"string\"");
  EXPECT_EQ(errors(R"({"size":"small","n":0})"),
            "spec.n: Invalid value: 0: spec.n in body should be greater than or equal to 1");
  EXPECT_EQ(errors(R"({"size":"small","n":10})"),
            "spec.n: Invalid value: 10: spec.n in body should be less than or equal to 9");
  EXPECT_EQ(errors(R"({"size":"small","name":"A1"})"),
            "spec.name: Invalid value: \"A1\": spec.name in body should match '^[a-z]+$'");
  EXPECT_EQ(errors(R"({"size":"small","name":"abcdef"})"),
            "spec.name: Too long: may not be more than 5 bytes");
  EXPECT_EQ(errors(R"({"size":"small","name":"a"})"),
            "spec.name: Invalid value: \"a\": spec.name in body should be at least 2 chars long");
  EXPECT_EQ(errors(R"({"size":"small","list":["a","b","c"]})"),
            "spec.list: Too many: 3: must have at most 2 items");
  EXPECT_EQ(errors(R"({"size":"small","list":["a","a"]})"), "spec.list[1]: Duplicate value: \"a\"");
  EXPECT_EQ(errors(R"({"size":"small","ports":[{"p":1},{"p":1}]})"),
            "spec.ports[1]: Duplicate value: {\"p\":1}");
  EXPECT_EQ(errors(R"({"size":"small","any":true})"),
            "spec.any: Invalid value: \"boolean\": spec.any in body must be of type "
            "integer,string: \"boolean\"");
  EXPECT_EQ(
      errors(R"({"size":"small","at":"noon"})"),
      "spec.at: Invalid value: \"noon\": spec.at in body must be of type date-time: \"noon\"");
  EXPECT_EQ(errors(R"({"size":"small","one":{}})"),
            "spec.one: Invalid value: \"\": spec.one in body must validate one and only one schema "
            "(oneOf)");
  EXPECT_EQ(errors(R"({"size":"small","pair":{"lo":3,"hi":2}})"),
            "spec.pair: Invalid value: \"object\": lo must not exceed hi");
  EXPECT_EQ(errors(R"({"size":"small","pair":{"lo":1,"hi":2}})",
                   R"({"size":"small","pair":{"lo":1,"hi":3}})"),
            "spec.pair: Invalid value: \"object\": failed rule: self.hi >= oldSelf.hi");
  // What was wrong before and does not change is left alone.
  EXPECT_EQ(errors(R"({"size":"huge","n":2})", R"({"size":"huge","n":1})"), "");
}

TEST(CustomSchema, IsCheckedItself) {
  const auto first = [](const char* schema) {
    const std::vector<FieldError> errors = CustomSchema::Check(Json::parse(schema), "s");
    return errors.empty() ? std::string() : errors[0].field + ": " + errors[0].message;
  };
  EXPECT_EQ(first(R"({"type":"object","properties":{"a":{"type":"string"}}})"), "");
  EXPECT_EQ(first(R"({"type":"object","properties":{"a":{}}})"),
            "s.properties[a].type: Required value: must not be empty for specified object fields");
  EXPECT_EQ(first(R"({"type":"object","properties":{"a":{"type":"text"}}})").substr(0, 58),
            "s.properties[a].type: Unsupported value: \"text\": supported");
  EXPECT_NE(first(R"({"type":"object","x-kubernetes-validations":[{"rule":"self.a +"}]})")
                .find("compilation failed"),
            std::string::npos);
  EXPECT_NE(first(R"({"type":"object","properties":{"a":{"type":"string","pattern":"("}}})")
                .find("error parsing regexp"),
            std::string::npos);
}

TEST(JsonPath, NamesWhatColumnsShow) {
  const Json object = Json::parse(R"({"spec":{"replicas":3,"a.b":"dotted"},"list":[{"n":1},{"n":2}],
      "status":{"conditions":[{"type":"Ready","status":"True"},{"type":"Other","status":"False"}]}})");
  const auto found = [&](const char* path) {
    const std::optional<JsonPath> p = JsonPath::Parse(path);
    if (!p) return std::string("no path");
    std::string out;
    for (const Json* j : p->Find(object)) out += j->dump() + ";";
    return out;
  };
  EXPECT_EQ(found(".spec.replicas"), "3;");
  EXPECT_EQ(found(".spec['a.b']"), "\"dotted\";");
  EXPECT_EQ(found(".spec.a\\.b"), "\"dotted\";");
  EXPECT_EQ(found(".list[1].n"), "2;");
  EXPECT_EQ(found(".list[-1].n"), "2;");
  EXPECT_EQ(found(".list[*].n"), "1;2;");
  EXPECT_EQ(found(".status.conditions[?(@.type==\"Ready\")].status"), "\"True\";");
  EXPECT_EQ(found(".nothing.here"), "");
  for (const char* bad : {"", "x", ".a[", ".a[?(x)]", ".", ".a[1"})
    EXPECT_EQ(found(bad), "no path") << bad;
}

}  // namespace
}  // namespace kcm::devcluster::kinds
