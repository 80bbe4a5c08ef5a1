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

}  // namespace
}  // namespace kcm::host::wire
