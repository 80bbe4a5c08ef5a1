// SPDX-License-Identifier: Apache-2.0
// The schema: field numbers, names and JSON rules of every built-in message (spec/wire.md,
// "schema.json"), as constant tables. Messages that are alike in several API versions are one
// entry.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kcm::host::wire {

// Messages whose JSON is not an object of their fields (spec/wire.md, rules 5 to 7).
enum class Special : uint8_t {
  kPlain,
  kTime,
  kMicroTime,
  kDuration,
  kRawJson,
  kQuantity,
  kIntOrString,
  kItems,
  kSchemaOrBool,
  kSchemaOrArray,
  kSchemaOrStrings,
};

enum class FieldType : uint8_t { kString, kInt32, kInt64, kBool, kBytes, kDouble, kMessage };

// One field. In a message's rows the order is that of the type's declaration, which is the order in
// JSON.
struct FieldRow {
  uint16_t name;     // static string id; 0 of messages that have no JSON names
  uint16_t message;  // of kMessage: index of the message
  uint8_t num;
  uint8_t type_code;
  uint8_t flags;

  FieldType type() const { return static_cast<FieldType>(type_code); }
  bool map() const { return (flags & 1) != 0; }  // keys are strings, values of type()
  bool repeated() const { return (flags & 2) != 0; }
  bool inlined() const { return (flags & 4) != 0; }
  bool omitempty() const { return (flags & 8) != 0; }
  bool omitzero() const { return (flags & 16) != 0; }
  bool pointer() const { return (flags & 32) != 0; }
  bool unshared() const { return (flags & 64) != 0; }  // its texts do not repeat across objects
};

struct MessageRow {
  uint16_t first;
  uint16_t count;
  Special special;
};

using MessageIndex = uint16_t;
constexpr MessageIndex kNoMessage = 0xFFFF;

MessageIndex FindMessage(std::string_view name);  // kNoMessage when unknown
const MessageRow& MessageAt(MessageIndex index);
const FieldRow* RowsOf(const MessageRow& message);

// A JSON member of a message, looked for through inline messages too.
struct JsonField {
  const FieldRow* row = nullptr;  // nullptr: the message has no such member
  uint32_t rank = 0;              // position in declaration order
};
JsonField FindJsonField(MessageIndex message, uint32_t name_id);

// Messages and names that the codec itself knows.
namespace known {
extern const MessageIndex kObjectMeta, kListMeta;
extern const uint16_t kMetadata, kManagedFields, kName, kNamespace, kUid, kResourceVersion, kKind,
    kApiVersion, kItems, kContinue, kRemainingItemCount, kType, kObject;
}  // namespace known

}  // namespace kcm::host::wire
