// SPDX-License-Identifier: Apache-2.0
// The codec: protobuf and JSON of the API to the flat form and back (spec/wire.md). One table (made
// from the published field tables, kept compact in schema_table.*) drives both directions. Every
// function is pure and thread-safe. Foreign bytes: depth (<= 200), counts and sizes are bounded;
// bad input is Code::kInvalid with the offset, never a crash.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/wire/interner.h"
#include "host/wire/mask.h"
#include "host/wire/object.h"
#include "kcm/rules/result.h"

namespace kcm::host::wire {

struct TypeMeta {
  std::string api_version;  // "apps/v1", "v1"
  std::string kind;
};

// Message names are those of the table: "core.v1.Pod", "apps.v1.Deployment",
// "meta.v1.PartialObjectMetadata". Returns "" when the table has no such kind (a custom resource:
// JSON only).
std::string_view MessageFor(std::string_view api_version, std::string_view kind);

struct DecodeOptions {
  const Mask* mask = nullptr;        // nullptr: keep everything
  bool keep_managed_fields = false;  // devcluster
  bool keep_type_meta = false;  // store kind and apiVersion as members (devcluster, client answers)
  Interner* interner =
      nullptr;  // shares repeated texts between objects; outlives the call or decoder
};

// ---- decoding one object. ----
// `raw` is the message's own bytes, without envelope. An unknown field number is skipped; the
// object is then !whole().
Result<ObjectPtr> DecodeProtobuf(std::string_view message, std::string_view raw,
                                 const DecodeOptions& options);
// With the k8s\0 envelope: fills `type`.
Result<ObjectPtr> DecodeEnvelope(std::string_view bytes, const DecodeOptions& options,
                                 TypeMeta* type);
Result<ObjectPtr> DecodeJson(std::string_view json, const DecodeOptions& options, TypeMeta* type);

// ---- decoding a list, item by item, as a stream: bytes may arrive in any portions. ----
class ListDecoder {
 public:
  virtual ~ListDecoder() = default;
  // Feeds the next bytes of the body. Items are delivered to the sink as soon as they are complete.
  virtual Status Feed(std::string_view bytes) = 0;
  // REQUIRES: all bytes fed. Then the fields below are valid.
  virtual Status Finish() = 0;
  TypeMeta type;                 // of the list; filled at the latest by Finish
  std::string resource_version;  // list metadata
  std::string continue_token;
  int64_t remaining_item_count = -1;
};
using ItemSink = std::function<void(ObjectPtr)>;
// `message` is the item's message (unused by json). `options` and the mask must outlive the
// decoder.
std::unique_ptr<ListDecoder> NewProtobufListDecoder(std::string_view message, DecodeOptions options,
                                                    ItemSink sink);
std::unique_ptr<ListDecoder> NewJsonListDecoder(DecodeOptions options, ItemSink sink);

// ---- decoding a watch stream. ----
enum class EventType : uint8_t { kAdded, kModified, kDeleted, kBookmark, kError, kOther };
struct WatchEvent {
  EventType type = EventType::kOther;
  TypeMeta object_type;
  ObjectPtr object;  // of kError: the Status, of kBookmark: metadata only
};
class WatchDecoder {
 public:
  virtual ~WatchDecoder() = default;
  // Appends complete events to `out`. An error (bad frame, frame over 64 MiB) ends the stream for
  // good.
  virtual Status Feed(std::string_view bytes, std::vector<WatchEvent>* out) = 0;
  virtual bool AtFrameBoundary() const = 0;
};
std::unique_ptr<WatchDecoder> NewProtobufWatchDecoder(DecodeOptions options);
std::unique_ptr<WatchDecoder> NewJsonWatchDecoder(DecodeOptions options);

// ---- encoding. ----
// JSON text as the API server writes it: declaration order for built-in kinds, map keys sorted,
// Go's escaping of < > & U+2028/9. REQUIRES nothing of whole(): the caller decides. `type` (may be
// nullptr) is written first as kind, apiVersion.
void EncodeJson(Value value, const TypeMeta* type, std::string* out);
// The message's bytes of a flat object (built-in kinds). Unknown members are an error (kInvalid,
// names the member).
Status EncodeProtobuf(std::string_view message, Value value, std::string* out);
// The k8s\0 envelope around an encoded message.
void WrapEnvelope(const TypeMeta& type, std::string_view raw, std::string* out);
// The same around a message that leaves in portions: begin, exactly `raw_size` bytes, end.
void BeginEnvelope(const TypeMeta& type, size_t raw_size, std::string* out);
void EndEnvelope(std::string* out);
// A list from already encoded items (devcluster: each object is encoded once for all watchers):
// begin, append each item, then WrapEnvelope with the list's type. `remaining` <= 0: none or
// unknown, left out.
void BeginProtobufList(std::string_view resource_version, std::string_view continue_token,
                       int64_t remaining, std::string* list);
void AppendProtobufListItem(std::string_view item, std::string* list);
// Bytes that AppendProtobufListItem appends for an item of that size.
size_t ProtobufListItemSize(size_t item);
// One frame of a watch stream, length included.
void EncodeProtobufWatchFrame(std::string_view event_type, const TypeMeta& type,
                              std::string_view raw, std::string* out);

// ---- building flat objects by hand (tests, bookmarks, tombstones). ----
// Parses trusted JSON; dies on bad input. For tests.
ObjectPtr FromJsonOrDie(std::string_view json);
std::string ToJson(Value value);

// Only metadata, as PartialObjectMetadata has it (without kind and apiVersion).
ObjectPtr MetadataOnly(const Object& object);
// The same object with another metadata.resourceVersion. REQUIRES: it has one.
ObjectPtr WithResourceVersion(const Object& object, uint64_t revision);

}  // namespace kcm::host::wire
