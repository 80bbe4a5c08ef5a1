// SPDX-License-Identifier: Apache-2.0
// ProtoReader: one protobuf message into the flat form, with the mask applied while reading.
// Private to host/wire.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/wire/builder.h"
#include "host/wire/codec.h"
#include "host/wire/json_reader.h"
#include "host/wire/proto_wire.h"
#include "host/wire/schema.h"

namespace kcm::host::wire {

// Keeps its memory for the next message. Not thread-safe.
class ProtoReader {
 public:
  explicit ProtoReader(const DecodeOptions& options);
  // `type` (may be nullptr) is stored with the object when the options say so.
  Result<ObjectPtr> Read(MessageIndex message, std::string_view raw, const TypeMeta* type);

 private:
  // One occurrence of a known field.
  struct Record {
    const FieldRow* row;
    uint64_t value;
    std::string_view bytes;
    bool packed;  // numbers as a run of bytes
  };
  struct Range {
    size_t begin;
    size_t end;
  };

  void Fields(MessageIndex message, std::string_view bytes, const Mask::Node* mask, int depth,
              uint32_t* rank);
  bool Scan(const MessageRow& message, std::string_view bytes, const Mask::Node* mask, int depth);
  bool Keep(const FieldRow& row, const WireField& field, const Mask::Node* mask, int depth);
  // 0: hidden in JSON.
  uint32_t FieldValue(const FieldRow& row, Range records, const Mask::Node* mask, int depth);
  uint32_t MapValue(const FieldRow& row, Range records, const Mask::Node* mask, int depth);
  void MapEntry(const FieldRow& row, std::string_view entry, const Mask::Node* mask, int depth);
  uint32_t ListValue(const FieldRow& row, Range records, const Mask::Node* mask, int depth);
  uint32_t Scalar(const FieldRow& row, uint64_t value, std::string_view bytes);
  uint32_t SingleScalar(const FieldRow& row, Range records);
  uint32_t Message(MessageIndex message, std::string_view bytes, const Mask::Node* mask, int depth);
  uint32_t Items(const FieldRow& row, std::string_view bytes);
  uint32_t SchemaUnion(const MessageRow& message, std::string_view bytes, const Mask::Node* mask,
                       int depth);
  uint32_t RawJson(std::string_view json, const Mask::Node* mask, int depth);
  uint32_t Time(std::string_view bytes, bool micro);
  uint32_t IntOrString(std::string_view bytes);
  // The last occurrence of each field 1..3 of a small message.
  bool Small(std::string_view bytes, WireField (&fields)[4]);
  void Fail(std::string_view what, const char* at);

  DecodeOptions options_;
  ObjectBuilder builder_;
  std::unique_ptr<JsonReader> json_;  // for embedded JSON, made when first met
  std::vector<Record> records_;       // a stack: of the messages being read
  std::string text_;
  std::string_view raw_;
  std::string error_;  // the first one; empty: none
  bool whole_ = true;
};

}  // namespace kcm::host::wire
