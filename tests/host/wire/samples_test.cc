// SPDX-License-Identifier: Apache-2.0
// The codec against recorded objects: protobuf and JSON of the same object are the same flat
// object, both ways.
#include "host/wire/samples.h"

#include <gtest/gtest.h>

#include "host/wire/codec.h"

namespace kcm::host::wire {
namespace {

using testing::Sample;

DecodeOptions Everything() {
  DecodeOptions options;
  options.keep_managed_fields = true;
  options.keep_type_meta = true;
  return options;
}

TEST(Samples, JsonComesBackEqual) {
  for (const Sample& sample : testing::LoadSamples()) {
    SCOPED_TRACE(sample.resource);
    TypeMeta type;
    const Result<ObjectPtr> object = DecodeJson(sample.json, Everything(), &type);
    ASSERT_TRUE(object.ok()) << object.error().message;
    EXPECT_TRUE((*object)->whole());
    std::string difference;
    EXPECT_TRUE(testing::SameJson(ToJson((*object)->Root()), sample.json, &difference))
        << difference;
  }
}

TEST(Samples, ProtobufIsTheRecordedJson) {
  for (const Sample& sample : testing::LoadSamples()) {
    SCOPED_TRACE(sample.resource);
    TypeMeta type;
    const Result<ObjectPtr> object = DecodeEnvelope(sample.protobuf, Everything(), &type);
    ASSERT_TRUE(object.ok()) << object.error().message;
    EXPECT_TRUE((*object)->whole());
    std::string difference;
    EXPECT_TRUE(testing::SameJson(ToJson((*object)->Root()), sample.json, &difference))
        << difference;
    const Result<ObjectPtr> from_json = DecodeJson(sample.json, Everything(), &type);
    ASSERT_TRUE(from_json.ok());
    EXPECT_TRUE(DeepEqual((*from_json)->Root(), (*object)->Root()));
    // Both ways in give the members the order of their declaration.
    EXPECT_EQ(ToJson((*from_json)->Root()), ToJson((*object)->Root()));
  }
}

TEST(Samples, EncodedJsonIsTheRecordedProtobuf) {
  for (const Sample& sample : testing::LoadSamples()) {
    SCOPED_TRACE(sample.resource);
    TypeMeta type;
    const Result<ObjectPtr> object = DecodeJson(sample.json, Everything(), &type);
    ASSERT_TRUE(object.ok()) << object.error().message;
    std::string raw;
    const Status encoded =
        EncodeProtobuf(MessageFor(type.api_version, type.kind), (*object)->Root(), &raw);
    ASSERT_TRUE(encoded.ok()) << encoded.error().message;
    std::string enveloped;
    WrapEnvelope(type, raw, &enveloped);
    EXPECT_TRUE(enveloped == sample.protobuf)
        << enveloped.size() << " vs " << sample.protobuf.size();
    const Result<ObjectPtr> again = DecodeEnvelope(enveloped, Everything(), &type);
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_TRUE(DeepEqual((*again)->Root(), (*object)->Root()));
  }
}

// What the server printed survives the way through protobuf: no rule of "Protobuf to JSON" is
// missing for any kind.
TEST(Recordings, JsonOfAllKindsSurvivesProtobuf) {
  for (const std::string& recorded : testing::LoadApiObjects()) {
    TypeMeta type;
    const Result<ObjectPtr> object = DecodeJson(recorded, {}, &type);
    ASSERT_TRUE(object.ok()) << object.error().message;
    SCOPED_TRACE(type.api_version + " " + type.kind + " " + (*object)->Key());
    const std::string_view message = MessageFor(type.api_version, type.kind);
    ASSERT_FALSE(message.empty());
    std::string raw;
    const Status encoded = EncodeProtobuf(message, (*object)->Root(), &raw);
    ASSERT_TRUE(encoded.ok()) << encoded.error().message;
    const Result<ObjectPtr> back = DecodeProtobuf(message, raw, {});
    ASSERT_TRUE(back.ok()) << back.error().message;
    std::string json, difference;
    EncodeJson((*back)->Root(), &type, &json);
    EXPECT_TRUE(testing::SameJson(json, testing::WithoutInnerTypes(recorded), &difference))
        << difference;
  }
}

TEST(Recordings, KubectlBodiesDecodeAndEncodeToTheSameBytes) {
  for (const testing::Body& body : testing::LoadKubectlBodies()) {
    SCOPED_TRACE(body.request);
    TypeMeta type;
    const Result<ObjectPtr> object = DecodeEnvelope(body.protobuf, {}, &type);
    ASSERT_TRUE(object.ok()) << object.error().message;
    std::string raw, enveloped;
    const Status encoded =
        EncodeProtobuf(MessageFor(type.api_version, type.kind), (*object)->Root(), &raw);
    ASSERT_TRUE(encoded.ok()) << encoded.error().message;
    WrapEnvelope(type, raw, &enveloped);
    EXPECT_TRUE(enveloped == body.protobuf) << ToJson((*object)->Root());
  }
}

}  // namespace
}  // namespace kcm::host::wire
