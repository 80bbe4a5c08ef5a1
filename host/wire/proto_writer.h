// SPDX-License-Identifier: Apache-2.0
// ProtoWriter: flat to protobuf. Writes from the end to the front, so that a length is known when
// it is written. Private to host/wire.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/wire/object.h"
#include "host/wire/schema.h"
#include "kcm/rules/result.h"

namespace kcm::host::wire {

// For one message. Not thread-safe.
class ProtoWriter {
 public:
  // Appends the message's bytes to `out`. On error `out` is unchanged.
  Status Write(MessageIndex message, Value value, std::string* out);

 private:
  bool Fields(MessageIndex message, Value value, size_t* consumed);
  bool Field(const FieldRow& row, Value member);
  bool Map(const FieldRow& row, Value map);
  bool List(const FieldRow& row, Value list);
  bool Scalar(const FieldRow& row, uint32_t num, Value value);
  bool Integer(const FieldRow& row, uint32_t num, Value value);
  bool Delimited(MessageIndex message, uint32_t num, Value value);
  bool Message(MessageIndex message, Value value);
  bool SchemaUnion(const MessageRow& message, Value value);
  bool Time(Value value, bool micro);
  bool Duration(Value value);
  bool IntOrString(Value value);
  bool Items(const FieldRow& row, Value value);
  bool UnknownMember(MessageIndex message, Value value);
  bool Fail(std::string_view what);

  void Put(std::string_view bytes);
  void PutVarint(uint64_t value);
  void PutNumber(uint32_t num, uint64_t value);
  void PutBytes(uint32_t num, std::string_view bytes);
  void PutHeader(uint32_t num, size_t size);
  size_t written() const { return bytes_.size() - at_; }

  std::string bytes_;  // filled from the end
  size_t at_ = 0;      // first byte written
  std::vector<std::string_view> path_;
  std::string text_;
  std::string error_;
  int depth_ = 0;
};

}  // namespace kcm::host::wire
