// SPDX-License-Identifier: Apache-2.0
// JSON to flat. The schema, where the kind is known, gives members their order; it does not refuse
// anything: what a built-in kind does not know is kept, for newer servers and custom resources.
#include "host/wire/json_reader.h"

#include <simdjson.h>

#include <string>
#include <utility>

#include "host/wire/builder.h"
#include "host/wire/flat.h"
#include "host/wire/limits.h"
#include "host/wire/schema.h"
#include "host/wire/static_strings.h"

namespace kcm::host::wire {
namespace {

namespace dom = simdjson::dom;

constexpr size_t kMaxDocument = size_t{1} << 29;  // keeps positions of the flat form in 31 bits
constexpr uint32_t kUnknownRank = 0xFFFF;

// What the schema says of a value.
struct Shape {
  MessageIndex message = kNoMessage;
  bool map = false;       // an object whose values are of `message`
  bool unshared = false;  // its text does not repeat across objects
};

// The shape behind the unions of apiextensions: a schema, or a list of schemas.
Shape ShapeOf(MessageIndex index) {
  if (index == kNoMessage) return {};
  const MessageRow& message = MessageAt(index);
  switch (message.special) {
    case Special::kPlain:
      return {index, false, false};
    case Special::kSchemaOrBool:
    case Special::kSchemaOrArray:
    case Special::kSchemaOrStrings:
      for (const FieldRow* row = RowsOf(message); row != RowsOf(message) + message.count; ++row) {
        if (row->type() == FieldType::kMessage) return {row->message, false, false};
      }
      return {};
    case Special::kTime:
    case Special::kMicroTime:
      return {kNoMessage, false, true};
    default:
      return {};
  }
}

Shape ShapeOf(const FieldRow& row) {
  Shape shape = row.type() == FieldType::kMessage ? ShapeOf(row.message) : Shape();
  shape.map = row.map();
  shape.unshared |= row.unshared() || row.type() == FieldType::kBytes;
  return shape;
}

Error Malformed(simdjson::error_code code, size_t size) {
  return MakeError(Code::kInvalid,
                   "JSON document of " + std::to_string(size) +
                       " bytes can not be parsed: " + simdjson::error_message(code));
}

Error TooDeep() {
  return MakeError(Code::kInvalid,
                   "JSON document is nested deeper than " + std::to_string(kMaxDepth) + " levels");
}

}  // namespace

class JsonReader::Impl {
 public:
  explicit Impl(const DecodeOptions& options) : options_(options), own_(options.interner) {}

  Result<dom::element> Parse(std::string_view json) {
    if (json.size() > kMaxDocument)
      return MakeError(Code::kInvalid, "JSON document is over 512 MiB");
    dom::element root;
    const simdjson::error_code error = parser_.parse(json.data(), json.size(), true).get(root);
    if (error != simdjson::SUCCESS) return Malformed(error, json.size());
    return root;
  }

  // Of an ERROR event: a mask for some other kind names nothing of it.
  Result<ObjectPtr> BuildStatus(const dom::element& element, TypeMeta* type) {
    const Mask* const mask = std::exchange(options_.mask, nullptr);
    Result<ObjectPtr> built = Build(element, nullptr, type);
    options_.mask = mask;
    return built;
  }

  Result<ObjectPtr> Build(const dom::element& element, const TypeMeta* assumed, TypeMeta* type) {
    dom::object root;
    if (element.get(root) != simdjson::SUCCESS) {
      return MakeError(Code::kInvalid, "JSON document is not an object: send one API object");
    }
    TypeMeta found = ReadTypeMeta(root);
    if (found.kind.empty() && assumed != nullptr) found = *assumed;
    whole_ = true;
    too_deep_ = false;
    builder_->Begin();
    const uint32_t pos = Root(root, found);
    if (type != nullptr) *type = std::move(found);
    if (too_deep_) {
      builder_->Abandon();
      return TooDeep();
    }
    return builder_->Finish(pos, whole_);
  }

  Result<uint32_t> Append(const dom::element& element, const Mask::Node* mask, int depth,
                          ObjectBuilder* builder, bool* whole) {
    whole_ = true;
    too_deep_ = false;
    builder_ = builder;
    const uint32_t pos = Element(element, {}, mask, depth);
    builder_ = &own_;
    if (!whole_) *whole = false;
    if (too_deep_) return TooDeep();
    return pos;
  }

 private:
  static TypeMeta ReadTypeMeta(const dom::object& root) {
    TypeMeta type;
    for (const auto& [key, value] : root) {
      std::string_view text;
      if (key == "kind" && value.get(text) == simdjson::SUCCESS) type.kind = std::string(text);
      if (key == "apiVersion" && value.get(text) == simdjson::SUCCESS)
        type.api_version = std::string(text);
    }
    return type;
  }

  static uint32_t Key(ObjectBuilder* b, std::string_view key, uint32_t id) {
    return id != 0 ? flat::kStatic + id : b->String(key);
  }

  uint32_t Root(const dom::object& root, const TypeMeta& type) {
    const MessageIndex message = FindMessage(MessageFor(type.api_version, type.kind));
    const Mask::Node* mask = options_.mask == nullptr ? nullptr : options_.mask->root();
    const size_t mark = builder_->Mark();
    if (options_.keep_type_meta) {
      if (!type.kind.empty())
        builder_->Push(flat::kStatic + known::kKind, builder_->String(type.kind), 0);
      if (!type.api_version.empty()) {
        builder_->Push(flat::kStatic + known::kApiVersion, builder_->String(type.api_version), 1);
      }
    }
    for (const auto& [key, value] : root) {
      const uint32_t id = FieldId(key);
      if ((id == known::kKind || id == known::kApiVersion) && value.is_string()) continue;
      if (id == known::kMetadata) {
        builder_->Push(flat::kStatic + id, Metadata(value, message), 2);
        continue;
      }
      Member(key, id, value, {message, false, false}, mask, 3, 1);
    }
    return builder_->Struct(mark);
  }

  // Metadata is kept whole, less managedFields.
  uint32_t Metadata(const dom::element& element, MessageIndex owner) {
    dom::object metadata;
    if (element.get(metadata) != simdjson::SUCCESS) return Element(element, {}, nullptr, 1);
    Shape shape{known::kObjectMeta, false, false};
    if (owner != kNoMessage) {
      const JsonField field = FindJsonField(owner, known::kMetadata);
      if (field.row != nullptr) shape = ShapeOf(*field.row);
    }
    const size_t mark = builder_->Mark();
    for (const auto& [key, value] : metadata) {
      const uint32_t id = FieldId(key);
      if (id == known::kManagedFields && !options_.keep_managed_fields) continue;
      Member(key, id, value, shape, nullptr, 0, 2);
    }
    return builder_->Struct(mark);
  }

  void Member(std::string_view key, uint32_t id, const dom::element& value, const Shape& owner,
              const Mask::Node* mask, uint32_t base_rank, int depth) {
    const Mask::Node* below = nullptr;
    if (mask != nullptr) {
      below = id != 0 ? mask->Field(id) : mask->Child(key);
      if (below == nullptr) {
        whole_ = false;
        return;
      }
      if (below->all()) below = nullptr;
    }
    Shape shape;
    uint32_t rank = 0;
    if (owner.map) {
      shape = ShapeOf(owner.message);
    } else if (owner.message != kNoMessage) {
      const JsonField field = id == 0 ? JsonField() : FindJsonField(owner.message, id);
      rank = kUnknownRank;
      if (field.row != nullptr) {
        shape = ShapeOf(*field.row);
        rank = base_rank + field.rank;
      }
    } else {
      rank = base_rank;
    }
    const uint32_t pos = Element(value, shape, below, depth);
    builder_->Push(Key(builder_, key, id), pos, rank);
  }

  uint32_t Element(const dom::element& element, const Shape& shape, const Mask::Node* mask,
                   int depth) {
    if (depth > kMaxDepth) {
      too_deep_ = true;
      return flat::kNull;
    }
    switch (element.type()) {
      case dom::element_type::OBJECT: {
        const size_t mark = builder_->Mark();
        for (const auto& [key, value] : dom::object(element.get_object().value_unsafe())) {
          Member(key, FieldId(key), value, shape, mask, 0, depth + 1);
        }
        return builder_->Struct(mark);
      }
      case dom::element_type::ARRAY: {
        const size_t mark = builder_->Mark();
        for (const dom::element item : dom::array(element.get_array().value_unsafe())) {
          builder_->PushItem(Element(item, shape, mask, depth + 1));
        }
        return builder_->Array(mark);
      }
      case dom::element_type::STRING:
        return builder_->String(element.get_string().value_unsafe(), !shape.unshared);
      case dom::element_type::INT64:
        return builder_->Int(element.get_int64().value_unsafe());
      case dom::element_type::UINT64:
        return builder_->Unsigned(element.get_uint64().value_unsafe());
      case dom::element_type::DOUBLE:
        return builder_->Double(element.get_double().value_unsafe());
      case dom::element_type::BOOL:
        return element.get_bool().value_unsafe() ? flat::kTrue : flat::kFalse;
      case dom::element_type::NULL_VALUE:
        break;
    }
    return flat::kNull;
  }

  DecodeOptions options_;
  dom::parser parser_;
  ObjectBuilder own_;
  ObjectBuilder* builder_ = &own_;
  bool whole_ = true;
  bool too_deep_ = false;
};

JsonReader::JsonReader(const DecodeOptions& options) : impl_(std::make_unique<Impl>(options)) {}
JsonReader::~JsonReader() = default;

Result<ObjectPtr> JsonReader::Read(std::string_view json, const TypeMeta* assumed, TypeMeta* type) {
  const Result<dom::element> root = impl_->Parse(json);
  if (!root.ok()) return root.error();
  return impl_->Build(*root, assumed, type);
}

Status JsonReader::ReadEvent(std::string_view json, WatchEvent* event) {
  const Result<dom::element> root = impl_->Parse(json);
  if (!root.ok()) return root.error();
  std::string_view type;
  dom::element object;
  if ((*root)["type"].get(type) != simdjson::SUCCESS ||
      (*root)["object"].get(object) != simdjson::SUCCESS) {
    return MakeError(Code::kInvalid, "watch event has no type or no object");
  }
  event->type = EventTypeOf(type);
  Result<ObjectPtr> built = event->type == EventType::kError
                                ? impl_->BuildStatus(object, &event->object_type)
                                : impl_->Build(object, nullptr, &event->object_type);
  if (!built.ok()) return built.error();
  event->object = std::move(*built);
  return Ok();
}

Result<uint32_t> JsonReader::Append(std::string_view json, const Mask::Node* mask, int depth,
                                    ObjectBuilder* builder, bool* whole) {
  const Result<dom::element> root = impl_->Parse(json);
  if (!root.ok()) return root.error();
  return impl_->Append(*root, mask, depth, builder, whole);
}

EventType EventTypeOf(std::string_view text) {
  if (text == "ADDED") return EventType::kAdded;
  if (text == "MODIFIED") return EventType::kModified;
  if (text == "DELETED") return EventType::kDeleted;
  if (text == "BOOKMARK") return EventType::kBookmark;
  return text == "ERROR" ? EventType::kError : EventType::kOther;
}

Result<ObjectPtr> DecodeJson(std::string_view json, const DecodeOptions& options, TypeMeta* type) {
  return JsonReader(options).Read(json, nullptr, type);
}

}  // namespace kcm::host::wire
