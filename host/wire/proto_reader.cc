// SPDX-License-Identifier: Apache-2.0
// Protobuf to flat. What comes out is the tree that the API server prints as JSON (spec/wire.md,
// "Protobuf to JSON"): members in declaration order, zero values present where JSON has them.
#include "host/wire/proto_reader.h"

#include <algorithm>
#include <chrono>

#include "host/wire/flat.h"
#include "host/wire/limits.h"
#include "host/wire/proto_wire.h"
#include "host/wire/scalar_text.h"
#include "host/wire/static_strings.h"
#include "kcm/rules/go_duration.h"

namespace kcm::host::wire {
namespace {

constexpr uint32_t kHidden = 0;  // no value has this position
// Two bytes of input can stand for a whole struct of zero values: bounds what hostile bytes can
// make of that.
constexpr size_t kMaxFields = size_t{1} << 22;
constexpr size_t kMaxObjectBytes = size_t{1} << 28;

bool IsNumber(FieldType type) {
  return type == FieldType::kInt32 || type == FieldType::kInt64 || type == FieldType::kBool;
}

bool Fits(const FieldRow& row, WireType wire) {
  switch (row.type()) {
    case FieldType::kInt32:
    case FieldType::kInt64:
    case FieldType::kBool:
      return wire == WireType::kVarint || (wire == WireType::kBytes && row.repeated());
    case FieldType::kDouble:
      return wire == WireType::kFixed64;
    default:
      return wire == WireType::kBytes;
  }
}

const Mask::Node* Below(const Mask::Node* mask) {
  return mask == nullptr || mask->all() ? nullptr : mask;
}

}  // namespace

ProtoReader::ProtoReader(const DecodeOptions& options)
    : options_(options), builder_(options.interner) {}

Result<ObjectPtr> ProtoReader::Read(MessageIndex message, std::string_view raw,
                                    const TypeMeta* type) {
  raw_ = raw;
  error_.clear();
  records_.clear();
  whole_ = true;
  builder_.Begin();
  const size_t mark = builder_.Mark();
  uint32_t rank = 0;
  if (type != nullptr && options_.keep_type_meta) {
    builder_.Push(flat::kStatic + known::kKind, builder_.String(type->kind), rank++);
    builder_.Push(flat::kStatic + known::kApiVersion, builder_.String(type->api_version), rank++);
  }
  const Mask::Node* mask = options_.mask == nullptr ? nullptr : options_.mask->root();
  Fields(message, raw, mask, 1, &rank);
  if (!error_.empty()) {
    builder_.Abandon();
    return MakeError(Code::kInvalid, error_);
  }
  return builder_.Finish(builder_.Struct(mark), whole_);
}

void ProtoReader::Fail(std::string_view what, const char* at) {
  if (!error_.empty()) return;
  error_ = "protobuf message of " + std::to_string(raw_.size()) + " bytes: " + std::string(what);
  if (at >= raw_.data() && at <= raw_.data() + raw_.size()) {
    error_ += " at byte " + std::to_string(at - raw_.data());
  }
}

// Decides on one field, before anything below it is looked at.
bool ProtoReader::Keep(const FieldRow& row, const WireField& field, const Mask::Node* mask,
                       int depth) {
  if (!Fits(row, field.type)) {
    Fail("wrong wire type for field " + std::to_string(field.num), field.bytes.data());
    return false;
  }
  if (row.name == known::kManagedFields && depth == 2 && !options_.keep_managed_fields)
    return false;
  if (mask != nullptr && !row.inlined() && mask->Field(row.name) == nullptr) {
    whole_ = false;
    return false;
  }
  return true;
}

// Puts the message's fields on the stack, in the order of the rows. What the mask drops costs its
// header only.
bool ProtoReader::Scan(const MessageRow& message, std::string_view bytes, const Mask::Node* mask,
                       int depth) {
  const FieldRow* const rows = RowsOf(message);
  const size_t begin = records_.size();
  const char* p = bytes.data();
  const char* const end = p + bytes.size();
  size_t next = 0;  // fields mostly come in order: try the row behind the last one first
  bool sorted = true;
  for (;;) {
    WireField field;
    const ReadResult read = ReadField(&p, end, &field);
    if (read == ReadResult::kEnd) break;
    if (read == ReadResult::kBad) {
      Fail("malformed field", p);
      return false;
    }
    size_t i = next;
    size_t tried = 0;
    for (; tried < message.count; ++tried, ++i) {
      if (i >= message.count) i = 0;
      if (rows[i].num == field.num) break;
    }
    if (tried == message.count) {
      whole_ = false;  // a newer server's field
      continue;
    }
    next = i;
    if (!Keep(rows[i], field, mask, depth)) {
      if (!error_.empty()) return false;
      continue;
    }
    if (records_.size() == kMaxFields) {
      Fail("has too many fields", p);
      return false;
    }
    sorted = sorted && (records_.size() == begin || records_.back().row <= rows + i);
    const bool packed = field.type == WireType::kBytes && IsNumber(rows[i].type());
    records_.push_back({rows + i, field.value, field.bytes, packed});
  }
  if (!sorted) {
    std::stable_sort(records_.begin() + static_cast<std::ptrdiff_t>(begin), records_.end(),
                     [](const Record& x, const Record& y) { return x.row < y.row; });
  }
  return true;
}

// Pushes the members of a message; an inline message's stand among its parent's.
void ProtoReader::Fields(MessageIndex index, std::string_view bytes, const Mask::Node* mask,
                         int depth, uint32_t* rank) {
  if (depth > kMaxDepth) {
    Fail("nested deeper than " + std::to_string(kMaxDepth) + " levels", bytes.data());
    return;
  }
  const MessageRow& message = MessageAt(index);
  const size_t begin = records_.size();
  if (builder_.bytes() > kMaxObjectBytes) {
    Fail("is too large", bytes.data());
    return;
  }
  if (!Scan(message, bytes, mask, depth)) return;
  const size_t end = records_.size();
  size_t at = begin;
  for (const FieldRow* row = RowsOf(message); row != RowsOf(message) + message.count; ++row) {
    const size_t first = at;
    while (at < end && records_[at].row == row) ++at;
    if (row->inlined()) {
      Fields(row->message, first == at ? std::string_view() : records_[at - 1].bytes, mask,
             depth + 1, rank);
      continue;
    }
    const Mask::Node* below = nullptr;
    if (mask != nullptr) {
      below = mask->Field(row->name);
      // Metadata is kept whole at any mask; masks contain it.
      if (below == nullptr) continue;
    }
    const uint32_t value = FieldValue(*row, {first, at}, Below(below), depth);
    if (!error_.empty()) return;
    if (value != kHidden) builder_.Push(flat::kStatic + row->name, value, (*rank)++);
  }
  records_.resize(begin);
}

uint32_t ProtoReader::FieldValue(const FieldRow& row, Range records, const Mask::Node* mask,
                                 int depth) {
  const bool absent = records.begin == records.end;
  if (row.map() || row.repeated()) {
    // A list's items are never null: the server always makes the list.
    if (absent && depth == 1 && row.name == known::kItems) return flat::kEmptyArray;
    if (absent) return row.omitempty() ? kHidden : flat::kNull;
    return row.map() ? MapValue(row, records, mask, depth) : ListValue(row, records, mask, depth);
  }
  if (absent && row.pointer()) return row.omitempty() ? kHidden : flat::kNull;
  if (row.type() != FieldType::kMessage) return SingleScalar(row, records);
  const std::string_view bytes = absent ? std::string_view() : records_[records.end - 1].bytes;
  if (row.omitzero() && bytes.empty()) return kHidden;
  return Message(row.message, bytes, mask, depth + 1);
}

uint32_t ProtoReader::SingleScalar(const FieldRow& row, Range records) {
  const bool absent = records.begin == records.end;
  const bool hides_zero = row.omitempty() && !row.pointer();
  if (absent) {
    if (hides_zero) return kHidden;
    return row.type() == FieldType::kBytes ? flat::kNull : Scalar(row, 0, {});
  }
  const Record record = records_[records.end - 1];
  if (hides_zero && record.bytes.empty() && record.value == 0) return kHidden;
  return Scalar(row, record.value, record.bytes);
}

uint32_t ProtoReader::Scalar(const FieldRow& row, uint64_t value, std::string_view bytes) {
  switch (row.type()) {
    case FieldType::kString:
      return builder_.String(bytes, !row.unshared());
    case FieldType::kInt32:
      return builder_.Int(static_cast<int32_t>(static_cast<uint32_t>(value)));
    case FieldType::kInt64:
      return builder_.Int(static_cast<int64_t>(value));
    case FieldType::kBool:
      return value != 0 ? flat::kTrue : flat::kFalse;
    case FieldType::kDouble: {
      double d = 0;
      std::memcpy(&d, &value, sizeof d);
      return builder_.Double(d);
    }
    case FieldType::kBytes:
      text_.clear();
      AppendBase64(bytes, &text_);
      return builder_.String(text_, false);
    case FieldType::kMessage:
      break;
  }
  return flat::kNull;
}

uint32_t ProtoReader::MapValue(const FieldRow& row, Range records, const Mask::Node* mask,
                               int depth) {
  const size_t mark = builder_.Mark();
  for (size_t i = records.begin; i < records.end && error_.empty(); ++i) {
    MapEntry(row, records_[i].bytes, mask, depth);
  }
  // All entries dropped by the mask: as if there were none.
  if (builder_.Mark() == mark && row.omitempty()) return kHidden;
  return builder_.Struct(mark);
}

void ProtoReader::MapEntry(const FieldRow& row, std::string_view entry, const Mask::Node* mask,
                           int depth) {
  WireField fields[4];
  if (!Small(entry, fields)) return;
  const std::string_view key = fields[1].bytes;
  const Mask::Node* below = nullptr;
  if (mask != nullptr) {
    below = mask->Child(key);
    if (below == nullptr) {
      whole_ = false;
      return;
    }
  }
  if (fields[2].num != 0 && !Fits(row, fields[2].type)) {
    Fail("wrong wire type for a map's value", entry.data());
    return;
  }
  const uint32_t value = row.type() == FieldType::kMessage
                             ? Message(row.message, fields[2].bytes, Below(below), depth + 1)
                             : Scalar(row, fields[2].value, fields[2].bytes);
  builder_.Push(builder_.String(key), value, 0);
}

uint32_t ProtoReader::ListValue(const FieldRow& row, Range records, const Mask::Node* mask,
                                int depth) {
  const size_t mark = builder_.Mark();
  for (size_t i = records.begin; i < records.end && error_.empty(); ++i) {
    const Record record = records_[i];
    if (row.type() == FieldType::kMessage) {
      builder_.PushItem(Message(row.message, record.bytes, mask, depth + 1));
      continue;
    }
    if (!record.packed) {
      builder_.PushItem(Scalar(row, record.value, record.bytes));
      continue;
    }
    const char* p = record.bytes.data();
    const char* const end = p + record.bytes.size();
    for (uint64_t value = 0; p != end;) {
      if (!ReadVarint(&p, end, &value)) {
        Fail("malformed packed number", record.bytes.data());
        break;
      }
      builder_.PushItem(Scalar(row, value, {}));
    }
  }
  return builder_.Array(mark);
}

uint32_t ProtoReader::Message(MessageIndex index, std::string_view bytes, const Mask::Node* mask,
                              int depth) {
  const MessageRow& message = MessageAt(index);
  WireField fields[4];
  switch (message.special) {
    case Special::kPlain:
      break;
    case Special::kTime:
      return Time(bytes, false);
    case Special::kMicroTime:
      return Time(bytes, true);
    case Special::kIntOrString:
      return IntOrString(bytes);
    case Special::kItems:
      return Items(*RowsOf(message), bytes);
    case Special::kRawJson:
      return Small(bytes, fields) ? RawJson(fields[1].bytes, mask, depth) : flat::kNull;
    case Special::kQuantity:
      if (!Small(bytes, fields)) return flat::kNull;
      return builder_.String(fields[1].bytes.empty() ? "0" : fields[1].bytes);
    case Special::kDuration:
      if (!Small(bytes, fields)) return flat::kNull;
      return builder_.String(
          rules::FormatDuration(std::chrono::nanoseconds(static_cast<int64_t>(fields[1].value))));
    case Special::kSchemaOrBool:
    case Special::kSchemaOrArray:
    case Special::kSchemaOrStrings:
      return SchemaUnion(message, bytes, mask, depth);
  }
  const size_t mark = builder_.Mark();
  uint32_t rank = 0;
  Fields(index, bytes, mask, depth, &rank);
  return builder_.Struct(mark);
}

bool ProtoReader::Small(std::string_view bytes, WireField (&fields)[4]) {
  const char* p = bytes.data();
  const char* const end = p + bytes.size();
  for (;;) {
    WireField field;
    const ReadResult read = ReadField(&p, end, &field);
    if (read == ReadResult::kEnd) return true;
    if (read == ReadResult::kBad) {
      Fail("malformed field", p);
      return false;
    }
    if (field.num < 4) fields[field.num] = field;
  }
}

uint32_t ProtoReader::Time(std::string_view bytes, bool micro) {
  if (bytes.empty()) return flat::kNull;
  WireField fields[4];
  if (!Small(bytes, fields)) return flat::kNull;
  const int32_t nanos = static_cast<int32_t>(static_cast<uint32_t>(fields[2].value));
  const int64_t seconds = static_cast<int64_t>(fields[1].value);
  const int64_t kept = std::clamp(seconds, kFirstSecond, kLastSecond);
  // A time that has no text must not make its object unreadable; the object is just not whole.
  if (kept != seconds) whole_ = false;
  char buffer[kTimeTextSize];
  const int32_t micros = std::clamp(nanos, 0, 999999999) / 1000;
  const std::string_view text = FormatTime(kept, micro ? micros : -1, buffer);
  return builder_.String(text, false);
}

uint32_t ProtoReader::IntOrString(std::string_view bytes) {
  WireField fields[4];
  if (!Small(bytes, fields)) return flat::kNull;
  if (fields[1].value == 1) return builder_.String(fields[3].bytes);
  return builder_.Int(static_cast<int32_t>(static_cast<uint32_t>(fields[2].value)));
}

// A message whose only field is a list of texts: the list itself.
uint32_t ProtoReader::Items(const FieldRow& row, std::string_view bytes) {
  const size_t mark = builder_.Mark();
  const char* p = bytes.data();
  const char* const end = p + bytes.size();
  for (WireField field;;) {
    const ReadResult read = ReadField(&p, end, &field);
    if (read == ReadResult::kEnd) break;
    if (read == ReadResult::kBad || (field.num == row.num && field.type != WireType::kBytes)) {
      Fail("malformed list", p);
      break;
    }
    if (field.num == row.num) builder_.PushItem(builder_.String(field.bytes));
  }
  return builder_.Mark() == mark ? flat::kNull : builder_.Array(mark);
}

// The unions of apiextensions: a schema, or a bool, a list of schemas, a list of names.
uint32_t ProtoReader::SchemaUnion(const MessageRow& message, std::string_view bytes,
                                  const Mask::Node* mask, int depth) {
  const size_t begin = records_.size();
  if (depth > kMaxDepth)
    Fail("nested deeper than " + std::to_string(kMaxDepth) + " levels", bytes.data());
  if (!error_.empty() || !Scan(message, bytes, nullptr, depth)) return flat::kNull;
  Range lists{begin, begin};
  Range single{begin, begin};
  bool allows = false;
  for (size_t i = begin; i < records_.size(); ++i) {
    const Record& record = records_[i];
    if (record.row->repeated()) {
      if (lists.begin == lists.end) lists.begin = i;
      lists.end = i + 1;
    } else if (record.row->type() == FieldType::kMessage) {
      single = {i, i + 1};
    } else {
      allows = record.value != 0;
    }
  }
  uint32_t value = message.special == Special::kSchemaOrBool ? (allows ? flat::kTrue : flat::kFalse)
                                                             : flat::kNull;
  if (lists.begin != lists.end) {
    value = ListValue(*records_[lists.begin].row, lists, mask, depth);
  } else if (single.begin != single.end) {
    const Record record = records_[single.begin];
    value = Message(record.row->message, record.bytes, mask, depth + 1);
  }
  records_.resize(begin);
  return value;
}

uint32_t ProtoReader::RawJson(std::string_view json, const Mask::Node* mask, int depth) {
  if (json.empty()) return flat::kNull;
  if (json_ == nullptr) json_ = std::make_unique<JsonReader>(options_);
  const Result<uint32_t> value = json_->Append(json, mask, depth, &builder_, &whole_);
  if (value.ok()) return *value;
  Fail("embedded " + value.error().message, json.data());
  return flat::kNull;
}

}  // namespace kcm::host::wire
