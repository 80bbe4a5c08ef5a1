// SPDX-License-Identifier: Apache-2.0
// Fuzzing of the decoders: a bounded, repeatable run over mutated recordings in every test run;
// long ones in tests/fuzz.
#include "host/wire/fuzz_decode.h"

#include <algorithm>

#include "host/wire/codec.h"

namespace kcm::host::wire::testing {
namespace {

// What was decoded can be read to the end, and encoding is stable from the first time on.
std::string CheckObject(const Object& object, std::string_view message) {
  (void)ToJson(object.Root());
  (void)object.Key();
  if (!DeepEqual(object.Root(), object.Root())) return "an object differs from itself";
  std::string raw, again;
  if (message.empty() || !EncodeProtobuf(message, object.Root(), &raw).ok()) return "";
  const Result<ObjectPtr> back = DecodeProtobuf(message, raw, {});
  if (!back.ok()) return "own encoding is refused: " + back.error().message;
  if (!EncodeProtobuf(message, (*back)->Root(), &again).ok()) return "second encoding fails";
  return raw == again ? "" : "second encoding differs";
}

std::string FuzzObject(std::string_view input, bool json) {
  static const Result<Mask> mask =
      Mask::Compile({"spec.containers[].name", "status.phase", "data[a]", "spec.versions.schema"});
  TypeMeta type;
  Interner interner;
  DecodeOptions options;
  options.interner = &interner;
  for (const Mask* use : {static_cast<const Mask*>(nullptr), &*mask}) {
    options.mask = use;
    const Result<ObjectPtr> object =
        json ? DecodeJson(input, options, &type) : DecodeEnvelope(input, options, &type);
    if (!object.ok()) {
      if (object.code() != Code::kInvalid) return "wrong code for bad input";
      continue;
    }
    if (std::string wrong = CheckObject(**object, MessageFor(type.api_version, type.kind));
        !wrong.empty())
      return wrong;
  }
  return "";
}

std::string FuzzList(std::string_view input, bool json, size_t portion) {
  std::string wrong;
  const ItemSink sink = [&wrong](ObjectPtr object) { wrong += CheckObject(*object, ""); };
  const auto decoder =
      json ? NewJsonListDecoder({}, sink) : NewProtobufListDecoder("core.v1.Pod", {}, sink);
  for (size_t i = 0; i < input.size(); i += portion) {
    if (!decoder->Feed(input.substr(i, portion)).ok()) break;
  }
  (void)decoder->Finish().ok();
  return wrong;
}

std::string FuzzWatch(std::string_view input, bool json, size_t portion) {
  const auto decoder = json ? NewJsonWatchDecoder({}) : NewProtobufWatchDecoder({});
  std::vector<WatchEvent> events;
  for (size_t i = 0; i < input.size(); i += portion) {
    if (!decoder->Feed(input.substr(i, portion), &events).ok()) break;
  }
  for (const WatchEvent& event : events) {
    if (event.object.get() == nullptr) return "an event without an object";
    if (std::string wrong = CheckObject(*event.object, ""); !wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace

std::string FuzzDecode(std::string_view input) {
  if (input.empty()) return "";
  const unsigned choice = static_cast<unsigned char>(input.front());
  input.remove_prefix(1);
  const bool json = (choice & 1) != 0;
  const size_t portion = std::max<size_t>(1, (choice >> 3) * 37);
  switch (choice >> 1 & 3) {
    case 0:
      return FuzzObject(input, json);
    case 1:
      return FuzzList(input, json, portion);
    case 2:
      return FuzzWatch(input, json, portion);
    default: {
      // A bare message under the kind with the deepest schema.
      std::string enveloped;
      WrapEnvelope({"apiextensions.k8s.io/v1", "CustomResourceDefinition"}, input, &enveloped);
      return FuzzObject(enveloped, false);
    }
  }
}

}  // namespace kcm::host::wire::testing
