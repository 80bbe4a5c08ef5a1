// SPDX-License-Identifier: Apache-2.0
// Look-ups in the generated tables.
#include "host/wire/schema.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "host/wire/codec.h"
#include "host/wire/object.h"
#include "host/wire/static_strings.h"

namespace kcm::host::wire {
namespace {

struct NamedMessage {
  std::string_view name;
  std::string_view api_version;
  uint16_t index;
};

#include "host/wire/schema_table.inc"

std::string_view TextOf(uint32_t id) {
  return {kStringText + kStringOffsets[id], size_t{kStringOffsets[id + 1]} - kStringOffsets[id]};
}

// Kinds of meta.v1 are used under other group versions: Status and lists under "v1", options under
// the kind's own.
bool IsMetaKind(std::string_view api_version, std::string_view kind) {
  return api_version == "v1" || api_version.starts_with("meta.k8s.io/") ||
         kind.ends_with("Options");
}

uint32_t CountRows(MessageIndex message) {
  const MessageRow& m = MessageAt(message);
  uint32_t count = 0;
  for (const FieldRow* row = RowsOf(m); row != RowsOf(m) + m.count; ++row) {
    count += row->inlined() ? CountRows(row->message) : 1;
  }
  return count;
}

}  // namespace

namespace known {
const MessageIndex kObjectMeta = kObjectMetaMessage, kListMeta = kListMetaMessage;
const uint16_t kMetadata = kMetadataId, kManagedFields = kManagedFieldsId, kName = kNameId,
               kNamespace = kNamespaceId, kUid = kUidId, kResourceVersion = kResourceVersionId,
               kKind = kKindId, kApiVersion = kApiVersionId, kItems = kItemsId,
               kContinue = kContinueId, kRemainingItemCount = kRemainingItemCountId,
               kType = kTypeId, kObject = kObjectId;
}  // namespace known

uint32_t StaticStringId(std::string_view text, uint64_t hash) {
  constexpr uint64_t kLast = std::size(kStringSlots) - 1;
  for (uint64_t i = hash & kLast; kStringSlots[i] != 0; i = (i + 1) & kLast) {
    if (TextOf(kStringSlots[i]) == text) return kStringSlots[i];
  }
  return 0;
}

std::string_view StaticString(uint32_t id) { return TextOf(id); }

bool IsFieldId(uint32_t id) { return id - 1 < kFieldCount; }

uint32_t FieldId(std::string_view name) {
  const uint32_t id = StaticStringId(name, HashText(name));
  return IsFieldId(id) ? id : 0;
}

std::string_view FieldName(uint32_t id) { return IsFieldId(id) ? TextOf(id) : std::string_view(); }

MessageIndex FindMessage(std::string_view name) {
  const auto* at =
      std::lower_bound(std::begin(kNamed), std::end(kNamed), name,
                       [](const NamedMessage& m, std::string_view n) { return m.name < n; });
  return at != std::end(kNamed) && at->name == name ? at->index : kNoMessage;
}

std::string_view MessageFor(std::string_view api_version, std::string_view kind) {
  if (kind.empty()) return {};
  const auto named = [kind](const NamedMessage& m) {
    return m.name.size() > kind.size() && m.name.ends_with(kind) &&
           m.name[m.name.size() - kind.size() - 1] == '.';
  };
  for (const NamedMessage& m : kNamed) {
    if (m.api_version == api_version && named(m)) return m.name;
  }
  if (!IsMetaKind(api_version, kind)) return {};
  for (const NamedMessage& m : kNamed) {
    if (m.api_version == "meta.k8s.io/v1" && named(m)) return m.name;
  }
  return {};
}

const MessageRow& MessageAt(MessageIndex index) { return kMessages[index]; }

const FieldRow* RowsOf(const MessageRow& message) { return kRows + message.first; }

JsonField FindJsonField(MessageIndex message, uint32_t name_id) {
  const MessageRow& m = MessageAt(message);
  uint32_t rank = 0;
  for (const FieldRow* row = RowsOf(m); row != RowsOf(m) + m.count; ++row) {
    if (!row->inlined()) {
      if (row->name == name_id) return {row, rank};
      ++rank;
      continue;
    }
    const JsonField inner = FindJsonField(row->message, name_id);
    if (inner.row != nullptr) return {inner.row, rank + inner.rank};
    rank += CountRows(row->message);
  }
  return {};
}

}  // namespace kcm::host::wire
