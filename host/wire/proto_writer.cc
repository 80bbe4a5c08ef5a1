// SPDX-License-Identifier: Apache-2.0
// Flat to protobuf, as the API server's own encoder writes it: fields by number, every field that
// is not a pointer present (also when zero), map entries by key.
#include "host/wire/proto_writer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "host/wire/codec.h"
#include "host/wire/scalar_text.h"
#include "host/wire/static_strings.h"
#include "kcm/rules/go_duration.h"

namespace kcm::host::wire {
namespace {

using rules::Kind;

constexpr size_t kMaxRows = 64;        // of one message; the widest has 44
constexpr int kMaxWrittenDepth = 400;  // decoders stop at 200

std::string_view KindName(Kind kind) {
  switch (kind) {
    case Kind::kAbsent:
      return "nothing";
    case Kind::kNull:
      return "null";
    case Kind::kBool:
      return "a bool";
    case Kind::kInt:
    case Kind::kDouble:
      return "a number";
    case Kind::kString:
      return "a string";
    case Kind::kArray:
      return "a list";
    case Kind::kObject:
      return "an object";
  }
  return "unknown";
}

bool Null(Value value) { return !value.Has(); }

}  // namespace

Status ProtoWriter::Write(MessageIndex message, Value value, std::string* out) {
  if (value.kind() != Kind::kObject) {
    return MakeError(Code::kInvalid, "can not encode " + std::string(KindName(value.kind())) +
                                         " as a protobuf message: pass an object");
  }
  if (!Message(message, value)) return MakeError(Code::kInvalid, error_);
  out->append(bytes_, at_, std::string::npos);
  return Ok();
}

bool ProtoWriter::Fail(std::string_view what) {
  if (!error_.empty()) return false;
  for (const std::string_view part : path_) {
    if (!error_.empty()) error_ += '.';
    error_ += part;
  }
  error_ += (error_.empty() ? "object " : " ") + std::string(what);
  return false;
}

void ProtoWriter::Put(std::string_view bytes) {
  if (bytes.size() > at_) {
    const size_t used = written();
    std::string larger(std::max<size_t>(512, (used + bytes.size()) * 2), '\0');
    std::memcpy(larger.data() + (larger.size() - used), bytes_.data() + at_, used);
    at_ = larger.size() - used;
    bytes_ = std::move(larger);
  }
  at_ -= bytes.size();
  if (!bytes.empty()) std::memcpy(bytes_.data() + at_, bytes.data(), bytes.size());
}

void ProtoWriter::PutVarint(uint64_t value) {
  char text[10];
  size_t n = 0;
  for (; value >= 0x80; value >>= 7) text[n++] = static_cast<char>(value | 0x80);
  text[n++] = static_cast<char>(value);
  Put({text, n});
}

void ProtoWriter::PutNumber(uint32_t num, uint64_t value) {
  PutVarint(value);
  PutVarint(uint64_t{num} << 3);
}

void ProtoWriter::PutHeader(uint32_t num, size_t size) {
  PutVarint(size);
  PutVarint(uint64_t{num} << 3 | 2);
}

void ProtoWriter::PutBytes(uint32_t num, std::string_view bytes) {
  Put(bytes);
  PutHeader(num, bytes.size());
}

// Fields of a message from an object's members; `consumed` counts the members that were understood.
bool ProtoWriter::Fields(MessageIndex index, Value value, size_t* consumed) {
  const MessageRow& message = MessageAt(index);
  const FieldRow* const rows = RowsOf(message);
  std::array<const FieldRow*, kMaxRows> order{};
  if (message.count > kMaxRows) return Fail("has more fields than this codec supports");
  for (size_t i = 0; i < message.count; ++i) order[i] = rows + i;
  std::sort(order.begin(), order.begin() + message.count,
            [](const FieldRow* x, const FieldRow* y) { return x->num > y->num; });
  for (size_t i = 0; i < message.count; ++i) {
    const FieldRow& row = *order[i];
    if (row.inlined()) {
      const size_t before = written();
      if (!Fields(row.message, value, consumed)) return false;
      PutHeader(row.num, written() - before);
      continue;
    }
    const Value member = value.Field(row.name);
    if (member.kind() != Kind::kAbsent) ++*consumed;
    path_.push_back(StaticString(row.name));
    if (!Field(row, member)) return false;
    path_.pop_back();
  }
  return true;
}

bool ProtoWriter::Field(const FieldRow& row, Value member) {
  if (Null(member) &&
      (row.pointer() || row.map() || row.repeated() || row.type() == FieldType::kBytes))
    return true;
  if (row.map()) return Map(row, member);
  if (row.repeated()) return List(row, member);
  if (row.type() == FieldType::kMessage) return Delimited(row.message, row.num, member);
  return Scalar(row, row.num, member);
}

bool ProtoWriter::Map(const FieldRow& row, Value map) {
  if (map.kind() != Kind::kObject)
    return Fail("must be an object, not " + std::string(KindName(map.kind())));
  for (size_t i = map.size(); i-- > 0;) {
    const auto [key, value] = map.Entry(i);
    const size_t before = written();
    path_.push_back(key);
    const bool done = row.type() == FieldType::kMessage ? Delimited(row.message, 2, value)
                                                        : Scalar(row, 2, value);
    if (!done) return false;
    path_.pop_back();
    PutBytes(1, key);
    PutHeader(row.num, written() - before);
  }
  return true;
}

bool ProtoWriter::List(const FieldRow& row, Value list) {
  if (list.kind() != Kind::kArray)
    return Fail("must be a list, not " + std::string(KindName(list.kind())));
  for (size_t i = list.size(); i-- > 0;) {
    const Value item = list.At(i);
    if (!(row.type() == FieldType::kMessage ? Delimited(row.message, row.num, item)
                                            : Scalar(row, row.num, item))) {
      return false;
    }
  }
  return true;
}

// A null where JSON has no pointer is the zero value, as the API server's decoder has it.
bool ProtoWriter::Scalar(const FieldRow& row, uint32_t num, Value value) {
  const Kind kind = value.kind();
  const bool null = Null(value);
  switch (row.type()) {
    case FieldType::kString:
      if (!null && kind != Kind::kString)
        return Fail("must be a string, not " + std::string(KindName(kind)));
      PutBytes(num, value.String());
      return true;
    case FieldType::kBytes: {
      if (!null && kind != Kind::kString)
        return Fail("must be base64 text, not " + std::string(KindName(kind)));
      std::string bytes;
      if (!ParseBase64(value.String(), &bytes))
        return Fail("is not base64: encode the bytes with the standard alphabet");
      PutBytes(num, bytes);
      return true;
    }
    case FieldType::kBool:
      if (!null && kind != Kind::kBool)
        return Fail("must be true or false, not " + std::string(KindName(kind)));
      PutNumber(num, value.Bool() ? 1 : 0);
      return true;
    case FieldType::kDouble: {
      if (!null && kind != Kind::kInt && kind != Kind::kDouble) {
        return Fail("must be a number, not " + std::string(KindName(kind)));
      }
      const double real = value.Real();
      char raw[8];
      std::memcpy(raw, &real, sizeof raw);
      Put({raw, sizeof raw});
      PutVarint(uint64_t{num} << 3 | 1);
      return true;
    }
    default:
      return Integer(row, num, value);
  }
}

bool ProtoWriter::Integer(const FieldRow& row, uint32_t num, Value value) {
  if (!Null(value) && value.kind() != Kind::kInt) {
    return Fail("must be a whole number, not " + (value.kind() == Kind::kDouble
                                                      ? "a fraction or one beyond 64 bits"
                                                      : std::string(KindName(value.kind()))));
  }
  const int64_t n = value.Int();
  if (row.type() == FieldType::kInt32 &&
      (n < std::numeric_limits<int32_t>::min() || n > std::numeric_limits<int32_t>::max())) {
    return Fail("is outside the range of a 32-bit number");
  }
  PutNumber(num, static_cast<uint64_t>(n));
  return true;
}

bool ProtoWriter::Delimited(MessageIndex message, uint32_t num, Value value) {
  const size_t before = written();
  if (!Message(message, value)) return false;
  PutHeader(num, written() - before);
  return true;
}

bool ProtoWriter::Message(MessageIndex index, Value value) {
  const MessageRow& message = MessageAt(index);
  switch (message.special) {
    case Special::kPlain:
      break;
    case Special::kTime:
      return Time(value, false);
    case Special::kMicroTime:
      return Time(value, true);
    case Special::kDuration:
      return Duration(value);
    case Special::kIntOrString:
      return IntOrString(value);
    case Special::kItems:
      return Items(*RowsOf(message), value);
    case Special::kSchemaOrBool:
    case Special::kSchemaOrArray:
    case Special::kSchemaOrStrings:
      return SchemaUnion(message, value);
    case Special::kRawJson:
      if (Null(value)) return true;
      text_.clear();
      EncodeJson(value, nullptr, &text_);
      PutBytes(1, text_);
      return true;
    case Special::kQuantity:
      if (value.kind() == Kind::kInt || value.kind() == Kind::kDouble) {
        text_.clear();
        EncodeJson(value, nullptr, &text_);
        PutBytes(1, text_);
        return true;
      }
      if (!Null(value) && value.kind() != Kind::kString) return Fail("must be a quantity");
      PutBytes(1, value.String().empty() ? "0" : value.String());
      return true;
  }
  if (!Null(value) && value.kind() != Kind::kObject) {
    return Fail("must be an object, not " + std::string(KindName(value.kind())));
  }
  if (depth_ == kMaxWrittenDepth) return Fail("is nested too deeply");
  ++depth_;
  size_t consumed = 0;
  if (!Fields(index, value, &consumed)) return false;
  --depth_;
  return consumed == value.size() || UnknownMember(index, value);
}

// REQUIRES: not every member was a field. kind and apiVersion of the object itself are in the
// envelope.
bool ProtoWriter::UnknownMember(MessageIndex message, Value value) {
  for (size_t i = 0; i < value.size(); ++i) {
    const auto [key, member] = value.Entry(i);
    const uint32_t id = FieldId(key);
    if (id != 0 && FindJsonField(message, id).row != nullptr) continue;
    const bool is_object = path_.empty() || FindJsonField(message, known::kMetadata).row != nullptr;
    if (is_object && (id == known::kKind || id == known::kApiVersion)) continue;
    path_.push_back(key);
    return Fail("is not a field that protobuf has: send this object as JSON");
  }
  return true;
}

bool ProtoWriter::SchemaUnion(const MessageRow& message, Value value) {
  const FieldRow* single = nullptr;
  const FieldRow* list = nullptr;
  const FieldRow* allows = nullptr;
  for (const FieldRow* row = RowsOf(message); row != RowsOf(message) + message.count; ++row) {
    (row->repeated() ? list : row->type() == FieldType::kMessage ? single : allows) = row;
  }
  switch (value.kind()) {
    case Kind::kAbsent:
    case Kind::kNull:
      break;
    case Kind::kObject:
      if (!Delimited(single->message, single->num, value)) return false;
      break;
    case Kind::kArray:
      if (list == nullptr || !List(*list, value))
        return Fail("must be an object or a bool, not a list");
      break;
    default:
      if (allows == nullptr || value.kind() != Kind::kBool) {
        return Fail("is " + std::string(KindName(value.kind())) +
                    ", which a schema can not hold here");
      }
  }
  if (allows != nullptr)
    PutNumber(allows->num, value.Bool() || value.kind() == Kind::kObject ? 1 : 0);
  return true;
}

bool ProtoWriter::Time(Value value, bool micro) {
  if (Null(value)) return true;
  int64_t seconds = 0;
  int32_t nanos = 0;
  if (value.kind() != Kind::kString || !ParseTime(value.String(), &seconds, &nanos)) {
    return Fail("is not an RFC 3339 time such as 2024-05-01T10:00:00Z");
  }
  PutNumber(2, micro ? static_cast<uint64_t>(nanos / 1000 * 1000) : 0);
  PutNumber(1, static_cast<uint64_t>(seconds));
  return true;
}

bool ProtoWriter::Duration(Value value) {
  int64_t ns = 0;
  if (!Null(value)) {
    const auto parsed = rules::ParseDuration(value.String());
    if (!parsed.ok()) return Fail("is not a duration such as 1m30s");
    ns = parsed->count();
  }
  PutNumber(1, static_cast<uint64_t>(ns));
  return true;
}

bool ProtoWriter::IntOrString(Value value) {
  const bool text = value.kind() == Kind::kString;
  if (!text && !Null(value) && value.kind() != Kind::kInt)
    return Fail("must be a number or a string");
  const int64_t n = value.Int();
  if (n < std::numeric_limits<int32_t>::min() || n > std::numeric_limits<int32_t>::max()) {
    return Fail("is outside the range of a 32-bit number");
  }
  PutBytes(3, value.String());
  PutNumber(2, static_cast<uint64_t>(n));
  PutNumber(1, text ? 1 : 0);
  return true;
}

bool ProtoWriter::Items(const FieldRow& row, Value value) {
  return Null(value) || List(row, value);
}

Status EncodeProtobuf(std::string_view message, Value value, std::string* out) {
  const MessageIndex index = FindMessage(message);
  if (index == kNoMessage) {
    return MakeError(Code::kInvalid, "no protobuf message \"" + std::string(message) +
                                         "\": send the object as JSON");
  }
  return ProtoWriter().Write(index, value, out);
}

}  // namespace kcm::host::wire
