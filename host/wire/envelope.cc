// SPDX-License-Identifier: Apache-2.0
// Envelopes, list bodies and watch frames: the protobuf around messages.
#include "host/wire/envelope.h"

#include "host/wire/builder.h"
#include "host/wire/flat.h"
#include "host/wire/proto_reader.h"
#include "host/wire/proto_wire.h"
#include "host/wire/schema.h"

namespace kcm::host::wire {
namespace {

void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) *out += static_cast<char>(value | 0x80);
  *out += static_cast<char>(value);
}

void AppendBytes(uint32_t num, std::string_view bytes, std::string* out) {
  AppendVarint(uint64_t{num} << 3 | 2, out);
  AppendVarint(bytes.size(), out);
  out->append(bytes);
}

std::string TypeMetaBytes(const TypeMeta& type) {
  std::string bytes;
  AppendBytes(1, type.api_version, &bytes);
  AppendBytes(2, type.kind, &bytes);
  return bytes;
}

size_t VarintSize(uint64_t value) {
  size_t n = 1;
  for (; value >= 0x80; value >>= 7) ++n;
  return n;
}

size_t FieldSize(size_t bytes) { return 1 + VarintSize(bytes) + bytes; }

Result<ObjectPtr> DecodeMessage(MessageIndex index, std::string_view name, std::string_view raw,
                                const DecodeOptions& options, const TypeMeta* type) {
  if (index == kNoMessage) {
    return MakeError(Code::kInvalid,
                     "no protobuf message for \"" + std::string(name) + "\": ask for JSON");
  }
  return ProtoReader(options).Read(index, raw, type);
}

}  // namespace

Status ReadTypeMeta(std::string_view bytes, TypeMeta* type) {
  const char* p = bytes.data();
  for (WireField field;;) {
    const ReadResult read = ReadField(&p, bytes.data() + bytes.size(), &field);
    if (read == ReadResult::kEnd) return Ok();
    if (read == ReadResult::kBad)
      return MakeError(Code::kInvalid, "protobuf envelope: malformed type");
    if (field.num == 1) type->api_version = std::string(field.bytes);
    if (field.num == 2) type->kind = std::string(field.bytes);
  }
}

Status OpenEnvelope(std::string_view bytes, TypeMeta* type, std::string_view* raw) {
  if (!bytes.starts_with(kMagic)) {
    return MakeError(
        Code::kInvalid,
        "protobuf body does not begin with the k8s envelope: the answer is not protobuf");
  }
  const char* p = bytes.data() + kMagic.size();
  const char* const end = bytes.data() + bytes.size();
  *raw = {};
  for (WireField field;;) {
    const ReadResult read = ReadField(&p, end, &field);
    if (read == ReadResult::kEnd) return Ok();
    if (read == ReadResult::kBad) {
      return MakeError(Code::kInvalid, "protobuf envelope: malformed field at byte " +
                                           std::to_string(p - bytes.data()));
    }
    if (field.type != WireType::kBytes) continue;
    if (field.num == 1) {
      if (Status read_type = ReadTypeMeta(field.bytes, type); !read_type.ok()) return read_type;
    }
    if (field.num == 2) *raw = field.bytes;
  }
}

Result<ObjectPtr> DecodeProtobuf(std::string_view message, std::string_view raw,
                                 const DecodeOptions& options) {
  return DecodeMessage(FindMessage(message), message, raw, options, nullptr);
}

Result<ObjectPtr> DecodeEnvelope(std::string_view bytes, const DecodeOptions& options,
                                 TypeMeta* type) {
  TypeMeta found;
  std::string_view raw;
  if (Status opened = OpenEnvelope(bytes, &found, &raw); !opened.ok()) return opened.error();
  const MessageIndex index = FindMessage(MessageFor(found.api_version, found.kind));
  Result<ObjectPtr> object =
      DecodeMessage(index, found.api_version + " " + found.kind, raw, options, &found);
  if (type != nullptr) *type = std::move(found);
  return object;
}

void BeginEnvelope(const TypeMeta& type, size_t raw_size, std::string* out) {
  out->append(kMagic);
  AppendBytes(1, TypeMetaBytes(type), out);
  AppendVarint(2 << 3 | 2, out);
  AppendVarint(raw_size, out);
}

void EndEnvelope(std::string* out) {
  AppendBytes(3, "", out);
  AppendBytes(4, "", out);
}

void WrapEnvelope(const TypeMeta& type, std::string_view raw, std::string* out) {
  BeginEnvelope(type, raw.size(), out);
  out->append(raw);
  EndEnvelope(out);
}

void BeginProtobufList(std::string_view resource_version, std::string_view continue_token,
                       int64_t remaining, std::string* list) {
  std::string metadata;
  AppendBytes(1, "", &metadata);
  AppendBytes(2, resource_version, &metadata);
  AppendBytes(3, continue_token, &metadata);
  if (remaining > 0) {
    AppendVarint(4 << 3, &metadata);
    AppendVarint(static_cast<uint64_t>(remaining), &metadata);
  }
  AppendBytes(1, metadata, list);
}

size_t ProtobufListItemSize(size_t item) { return FieldSize(item); }

void AppendProtobufListItem(std::string_view item, std::string* list) {
  AppendBytes(2, item, list);
}

void EncodeProtobufWatchFrame(std::string_view event_type, const TypeMeta& type,
                              std::string_view raw, std::string* out) {
  const std::string type_meta = TypeMetaBytes(type);
  // Unknown.contentEncoding and contentType are always there: two bytes each.
  const size_t envelope = kMagic.size() + FieldSize(type_meta.size()) + FieldSize(raw.size()) + 4;
  const size_t frame = FieldSize(event_type.size()) + FieldSize(FieldSize(envelope));
  for (int shift = 24; shift >= 0; shift -= 8) *out += static_cast<char>(frame >> shift & 0xFF);
  AppendBytes(1, event_type, out);
  AppendVarint(2 << 3 | 2, out);
  AppendVarint(FieldSize(envelope), out);
  AppendVarint(1 << 3 | 2, out);
  AppendVarint(envelope, out);
  WrapEnvelope(type, raw, out);
}

ObjectPtr MetadataOnly(const Object& object) {
  ObjectBuilder builder(nullptr);
  builder.Begin();
  const size_t mark = builder.Mark();
  const Value metadata = object.Root().Field(known::kMetadata);
  if (metadata.Has()) builder.Push(flat::kStatic + known::kMetadata, builder.Copy(metadata), 0);
  return builder.Finish(builder.Struct(mark), false);
}

ObjectPtr WithResourceVersion(const Object& object, uint64_t revision) {
  ObjectBuilder builder(nullptr);
  builder.Begin();
  // Copies the members of `from`; the one named `name` is made by `replace`.
  const auto copy = [&builder](Value from, std::string_view name, const auto& replace) {
    const size_t mark = builder.Mark();
    for (size_t i = 0; i < from.size(); ++i) {
      const auto [key, member] = from.Entry(i);
      const uint32_t value = key == name ? replace(member) : builder.Copy(member);
      builder.Push(builder.String(key), value, static_cast<uint32_t>(i));
    }
    return builder.Struct(mark);
  };
  const uint32_t root = copy(object.Root(), "metadata", [&](Value metadata) {
    return copy(metadata, "resourceVersion",
                [&](Value) { return builder.String(std::to_string(revision), false); });
  });
  return builder.Finish(root, object.whole());
}

}  // namespace kcm::host::wire
