// SPDX-License-Identifier: Apache-2.0
// Names, rules of single types, and hostile bytes.
#include "host/wire/codec.h"

#include <gtest/gtest.h>

#include <string>

namespace kcm::host::wire {
namespace {

using namespace std::string_literals;

TEST(MessageNames, FollowGroupVersionAndKind) {
  const struct {
    const char* api_version;
    const char* kind;
    const char* message;
  } rows[] = {
      {"v1", "Pod", "core.v1.Pod"},
      {"v1", "PodList", "core.v1.PodList"},
      {"apps/v1", "Deployment", "apps.v1.Deployment"},
      {"rbac.authorization.k8s.io/v1", "ClusterRole", "rbac.v1.ClusterRole"},
      {"flowcontrol.apiserver.k8s.io/v1", "FlowSchema", "flowcontrol.v1.FlowSchema"},
      {"apiextensions.k8s.io/v1", "CustomResourceDefinition",
       "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"},
      {"apiregistration.k8s.io/v1", "APIService",
       "k8s.io.kube_aggregator.pkg.apis.apiregistration.v1.APIService"},
      {"events.k8s.io/v1", "Event", "events.v1.Event"},
      {"v1", "Event", "core.v1.Event"},
      {"meta.k8s.io/v1", "PartialObjectMetadata", "meta.v1.PartialObjectMetadata"},
      {"v1", "Status", "meta.v1.Status"},
      {"v1", "DeleteOptions", "meta.v1.DeleteOptions"},
      {"apps/v1", "DeleteOptions", "meta.v1.DeleteOptions"},
      {"v1", "APIResourceList", "meta.v1.APIResourceList"},
      {"gold.example.com/v1", "Widget", ""},
      {"v1", "od", ""},
      {"v1", "", ""},
      {"", "Pod", ""},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(MessageFor(row.api_version, row.kind), row.message)
        << row.api_version << " " << row.kind;
  }
}

std::string Through(std::string_view message, const std::string& json) {
  std::string raw;
  const Status encoded = EncodeProtobuf(message, FromJsonOrDie(json)->Root(), &raw);
  if (!encoded.ok()) return encoded.error().message;
  const Result<ObjectPtr> back = DecodeProtobuf(message, raw, {});
  return back.ok() ? ToJson((*back)->Root()) : back.error().message;
}

TEST(ProtobufRules, SpecialTypesHaveTheirJsonForm) {
  const struct {
    const char* name;
    const char* message;
    const char* in;
    const char* out;  // nullptr: as it went in
  } rows[] = {
      {"times are whole seconds in UTC", "core.v1.Namespace",
       R"({"metadata":{"name":"x","deletionTimestamp":"2024-05-01T12:00:00.9+02:00"},"spec":{},"status":{}})",
       R"({"metadata":{"name":"x","deletionTimestamp":"2024-05-01T10:00:00Z"},"spec":{},"status":{}})"},
      {"years far away", "core.v1.Namespace",
       R"({"metadata":{"creationTimestamp":"0001-01-01T00:00:00Z","deletionTimestamp":"9999-12-31T23:59:59Z"},"spec":{},"status":{}})",
       nullptr},
      {"a leap day before 1970", "core.v1.Namespace",
       R"({"metadata":{"deletionTimestamp":"1968-02-29T23:59:59Z"},"spec":{},"status":{}})",
       nullptr},
      {"micro times", "coordination.v1.Lease",
       R"({"metadata":{},"spec":{"renewTime":"2024-05-01T10:00:00.000123Z"}})", nullptr},
      {"micro times are padded", "coordination.v1.Lease",
       R"({"metadata":{},"spec":{"renewTime":"2024-05-01T10:00:00Z"}})",
       R"({"metadata":{},"spec":{"renewTime":"2024-05-01T10:00:00.000000Z"}})"},
      {"numbers and names of ports", "core.v1.Service",
       R"({"metadata":{},"spec":{"ports":[{"port":80,"targetPort":"web"},{"port":81,"targetPort":8081}]},"status":{"loadBalancer":{}}})",
       nullptr},
      {"quantities may be numbers", "core.v1.ResourceQuota",
       R"({"metadata":{},"spec":{"hard":{"cpu":2,"pods":"10"}},"status":{}})",
       R"({"metadata":{},"spec":{"hard":{"cpu":"2","pods":"10"}},"status":{}})"},
      {"bytes", "core.v1.Secret",
       R"({"metadata":{},"data":{"a":"","b":"AA==","c":"AAE=","d":"AAEC/w=="}})", nullptr},
      {"zero behind a pointer is printed", "apps.v1.Deployment",
       R"({"metadata":{},"spec":{"replicas":0,"selector":{},"template":{"metadata":{},"spec":{"containers":null}},"strategy":{}},"status":{}})",
       nullptr},
      {"embedded JSON", "apps.v1.ControllerRevision",
       R"({"metadata":{},"data":{"spec":{"$patch":"replace","z":[1,null]}},"revision":3})",
       nullptr},
      {"negative numbers", "apps.v1.ControllerRevision",
       R"({"metadata":{},"data":null,"revision":-3})", nullptr},
      {"durations", "meta.v1.PartialObjectMetadata", R"({"metadata":{"name":"x"}})", nullptr},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(Through(row.message, row.in), row.out == nullptr ? row.in : row.out);
  }
}

TEST(ProtobufRules, WhatProtobufCanNotHoldIsNamed) {
  const struct {
    const char* name;
    const char* json;
    const char* message;
  } rows[] = {
      {"unknown member", R"({"metadata":{},"spec":{"containers":[{"name":"c","newField":1}]}})",
       "spec.containers.newField is not a field that protobuf has: send this object as JSON"},
      {"unknown member at the top", R"({"extra":{}})",
       "extra is not a field that protobuf has: send this object as JSON"},
      {"type", R"({"spec":{"nodeName":7}})", "spec.nodeName must be a string, not a number"},
      {"list", R"({"spec":{"containers":{}}})", "spec.containers must be a list, not an object"},
      {"map", R"({"metadata":{"labels":[]}})", "metadata.labels must be an object, not a list"},
      {"map value", R"({"metadata":{"labels":{"a":1}}})",
       "metadata.labels.a must be a string, not a number"},
      {"range", R"({"spec":{"priority":3000000000}})",
       "spec.priority is outside the range of a 32-bit number"},
      {"fraction", R"({"spec":{"priority":1.5}})",
       "spec.priority must be a whole number, not a fraction or one beyond 64 bits"},
      {"time", R"({"metadata":{"creationTimestamp":"2024-02-30T00:00:00Z"}})",
       "metadata.creationTimestamp is not an RFC 3339 time such as 2024-05-01T10:00:00Z"},
      {"bool", R"({"spec":{"hostNetwork":"true"}})",
       "spec.hostNetwork must be true or false, not a string"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    std::string raw = "untouched";
    const Status encoded = EncodeProtobuf("core.v1.Pod", FromJsonOrDie(row.json)->Root(), &raw);
    ASSERT_FALSE(encoded.ok());
    EXPECT_EQ(encoded.code(), Code::kInvalid);
    EXPECT_EQ(encoded.error().message, row.message);
    EXPECT_EQ(raw, "untouched");
  }
  std::string raw;
  EXPECT_EQ(EncodeProtobuf("core.v1.Nothing", FromJsonOrDie("{}")->Root(), &raw).code(),
            Code::kInvalid);
}

TEST(ProtobufRules, AnUnknownNumberIsSkippedAndRemembered) {
  // ConfigMap {metadata {name "x"}, field 99 varint, field 98 bytes, field 97 fixed64, field 96
  // fixed32}
  const std::string raw =
      "\x0A\x03\x0A\x01x\x98\x06\x05\x92\x06\x02hi\x89\x06"s + "12345678" + "\x85\x06" + "1234";
  const auto object = DecodeProtobuf("core.v1.ConfigMap", raw, {});
  ASSERT_TRUE(object.ok()) << object.error().message;
  EXPECT_EQ((*object)->Name(), "x");
  EXPECT_FALSE((*object)->whole());
}

TEST(ProtobufRules, PackedAndSplitFieldsAreRead) {
  // PodSecurityContext {4: supplementalGroups}: packed and single, with another field between; the
  // last nodeName wins.
  const std::string context = "\x22\x02\x01\x02\x10\x05\x20\x03"s;
  const std::string spec =
      "\x52\x01"s + "a" + "\x72" + static_cast<char>(context.size()) + context + "\x52\x01" + "b";
  const auto pod =
      DecodeProtobuf("core.v1.Pod", "\x12"s + static_cast<char>(spec.size()) + spec, {});
  ASSERT_TRUE(pod.ok()) << pod.error().message;
  const Value got = (*pod)->Root().Member("spec");
  EXPECT_EQ(got.Member("nodeName").String(), "b");
  EXPECT_EQ(ToJson(got.Member("securityContext").Member("supplementalGroups")), "[1,2,3]");
}

TEST(ProtobufRules, ATimeWithoutTextDoesNotMakeTheObjectUnreadable) {
  // ConfigMap {metadata {creationTimestamp {seconds max}}}
  const std::string time = "\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F"s;
  const std::string meta = "\x42"s + static_cast<char>(time.size()) + time;
  const auto object =
      DecodeProtobuf("core.v1.ConfigMap", "\x0A"s + static_cast<char>(meta.size()) + meta, {});
  ASSERT_TRUE(object.ok());
  EXPECT_EQ((*object)->Root().Member("metadata").Member("creationTimestamp").String(),
            "9999-12-31T23:59:59Z");
  EXPECT_FALSE((*object)->whole());
}

TEST(HostileProtobuf, IsInvalidAndNamesThePlace) {
  std::string deep;  // JSONSchemaProps {not {not {...}}}: field 28 of the CRD's schema
  for (int i = 0; i < 3000; ++i) {
    std::string length;
    for (size_t n = deep.size();; n >>= 7) {
      length += static_cast<char>(n >= 0x80 ? (n | 0x80) : n);
      if (n < 0x80) break;
    }
    deep = "\xE2\x01" + length + deep;
  }
  const auto wrap = [](const std::string& tag, const std::string& body) {
    std::string out = tag;
    for (size_t n = body.size();; n >>= 7) {
      out += static_cast<char>(n >= 0x80 ? (n | 0x80) : n);
      if (n < 0x80) return out + body;
    }
  };
  const std::string crd =
      wrap("\x12",
           wrap("\x3A", wrap("\x22", wrap("\x0A", deep))));  // spec.versions.schema.openAPIV3Schema
  const struct {
    const char* name;
    const char* message;
    std::string raw;
  } rows[] = {
      {"cut tag", "core.v1.Pod", "\x80"},
      {"cut length", "core.v1.Pod", "\x0A\x80"},
      {"cut bytes", "core.v1.Pod", "\x0A\x05\x0A"},
      {"cut inside", "core.v1.Pod", "\x0A\x03\x0A\x05x"},
      {"huge length", "core.v1.Pod", "\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"},
      {"overlong varint", "core.v1.Pod", "\x0A\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"},
      {"varint beyond 64 bits", "core.v1.Pod", "\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F"},
      {"field number 0", "core.v1.Pod", "\x02\x01x"},
      {"field number beyond 29 bits", "core.v1.Pod", "\xFA\xFF\xFF\xFF\xFF\xFF\x01\x01x"},
      {"group", "core.v1.Pod", "\x0B\x0C"},
      {"wire type 7", "core.v1.Pod", "\x0F"},
      {"number where a message belongs", "core.v1.Pod", "\x08\x01"},
      {"message where a number belongs", "core.v1.Pod", "\x12\x03\x22\x01x"},
      {"fixed where text belongs", "core.v1.Pod",
       "\x12\x09\x51"
       "12345678"},
      {"cut map entry", "core.v1.ConfigMap", "\x12\x02\x0A\x09"},
      {"map value of a wrong type", "core.v1.ConfigMap", "\x12\x02\x10\x01"},
      {"cut packed number", "core.v1.Pod", "\x12\x05\x72\x03\x22\x01\x80"},
      {"cut time", "core.v1.ConfigMap", "\x0A\x03\x42\x01\x08"},
      {"embedded text that is not JSON", "apps.v1.ControllerRevision", "\x12\x04\x0A\x02{x"},
      {"too deep",
       "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition", crd},
      {"no such message", "core.v1.Nothing", ""},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const auto object = DecodeProtobuf(row.message, row.raw, {});
    ASSERT_FALSE(object.ok());
    EXPECT_EQ(object.code(), Code::kInvalid);
    EXPECT_FALSE(object.error().message.empty());
  }
}

TEST(HostileProtobuf, EnvelopesAreChecked) {
  for (const std::string& bytes :
       {""s, "k8s"s, "{\"kind\":\"Pod\"}"s, "k8s\0\x0A"s, "k8s\0\x0A\x02\x0A\x09"s,
        "k8s\0\x12\x7F"s, "k8s\0"s /* no type */, "k8s\0\x0A\x09\x0A\x02v1\x12\x03Foo"s}) {
    TypeMeta type;
    EXPECT_EQ(DecodeEnvelope(bytes, {}, &type).code(), Code::kInvalid);
  }
}

TEST(HostileJson, IsInvalid) {
  std::string deep;
  for (int i = 0; i < 300; ++i) deep += "{\"a\":";
  deep += "1" + std::string(300, '}');
  std::string very_deep(100000, '[');
  for (const std::string& json :
       {""s, "{"s, "[]"s, "7"s, "null"s, "{\"a\":}"s, "{\"a\":1}x"s, "{\"a\":\"\xFF\"}"s,
        "{\"a\":99999999999999999999999}"s, "{\"a\":\"\\ud800\"}"s, deep, very_deep}) {
    EXPECT_EQ(DecodeJson(json, {}, nullptr).code(), Code::kInvalid) << json.substr(0, 40);
  }
}

TEST(Json, BrokenTextFromProtobufIsPrintedAsReplacement) {
  const auto object = DecodeProtobuf("core.v1.ConfigMap",
                                     "\x0A\x06\x0A\x04"
                                     "a\xFF\xC3z"s,
                                     {});
  ASSERT_TRUE(object.ok());
  EXPECT_EQ(ToJson((*object)->Root()), R"({"metadata":{"name":"a\ufffd\ufffdz"}})");
}

TEST(Json, TypeIsWrittenFirstAndOnce) {
  const ObjectPtr pod =
      FromJsonOrDie(R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"x"}})");
  const TypeMeta type{"v2", "Other"};
  std::string out;
  EncodeJson(pod->Root(), &type, &out);
  EXPECT_EQ(out, R"({"kind":"Other","apiVersion":"v2","metadata":{"name":"x"}})");
}

}  // namespace
}  // namespace kcm::host::wire
