// SPDX-License-Identifier: Apache-2.0
// Writes the flat format.
#include "host/wire/builder.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "host/wire/flat.h"
#include "host/wire/schema.h"
#include "host/wire/static_strings.h"

namespace kcm::host::wire {
namespace {
constexpr size_t kReusedText = 3;          // shorter ones cost no more than a reference
constexpr uint32_t kReuseWithin = 0x6000;  // farther references would make containers wide
}  // namespace

void ObjectBuilder::Begin() {
  bytes_.clear();
  bytes_.push_back(
      0);  // no value has position 0: a distance is never 0 and an identity of 0 is absent
  entries_.clear();
  known_.fill({});
  used_dictionary_ = false;
  if (interner_ != nullptr && !lock_.owns_lock()) lock_ = std::unique_lock(interner_->mutex_);
  dictionary_ = interner_ == nullptr ? nullptr : interner_->Current();
}

void ObjectBuilder::Abandon() {
  if (lock_.owns_lock()) lock_.unlock();
}

void ObjectBuilder::PutVarint(uint64_t v) {
  while (v >= 0x80) {
    bytes_.push_back(static_cast<uint8_t>(v | 0x80));
    v >>= 7;
  }
  bytes_.push_back(static_cast<uint8_t>(v));
}

uint32_t ObjectBuilder::Int(int64_t value) {
  if (value >= flat::kMinSmall && value <= flat::kMaxSmall) {
    return static_cast<uint32_t>(static_cast<int64_t>(flat::kIntZero) + value);
  }
  const uint32_t pos = Here();
  bytes_.push_back(flat::kInt);
  PutVarint((static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
  return pos;
}

uint32_t ObjectBuilder::Unsigned(uint64_t value) {
  if (value <= INT64_MAX) return Int(static_cast<int64_t>(value));
  const uint32_t pos = Here();
  bytes_.push_back(flat::kUnsigned);
  PutVarint(value);
  return pos;
}

uint32_t ObjectBuilder::Double(double value) {
  const uint32_t pos = Here();
  uint8_t raw[8];
  std::memcpy(raw, &value, 8);
  bytes_.push_back(flat::kDouble);
  bytes_.insert(bytes_.end(), raw, raw + 8);
  return pos;
}

uint32_t ObjectBuilder::String(std::string_view text, bool shared) {
  if (text.empty()) return flat::kStatic;
  const uint64_t hash = HashText(text);
  if (const uint32_t id = StaticStringId(text, hash); id != 0) return flat::kStatic + id;
  Known* known = nullptr;
  if (text.size() >= kReusedText) {
    known = &known_[hash % known_.size()];
    if (known->pos != 0 && known->hash == static_cast<uint32_t>(hash >> 16) &&
        Here() - known->pos < kReuseWithin && flat::StringAt(bytes_.data(), known->pos) == text) {
      return known->pos;
    }
    uint32_t id = 0;
    if (shared && dictionary_ != nullptr && interner_->Find(text, hash, &id)) {
      used_dictionary_ = true;
      return flat::kDictionary + id;
    }
  }
  const uint32_t pos = Here();
  if (text.size() <= flat::kMaxShort) {
    bytes_.push_back(static_cast<uint8_t>(text.size()));
  } else {
    bytes_.push_back(flat::kLongString);
    PutVarint(text.size());
  }
  bytes_.insert(bytes_.end(), text.begin(), text.end());
  if (known != nullptr) *known = {static_cast<uint32_t>(hash >> 16), pos};
  return pos;
}

std::string_view ObjectBuilder::Text(uint32_t pos) const {
  if ((pos & flat::kImmediate) == 0) return flat::StringAt(bytes_.data(), pos);
  if (pos >= flat::kDictionary) return dictionary_->At(pos - flat::kDictionary);
  return StaticString(pos - flat::kStatic);
}

void ObjectBuilder::SortMembers(size_t mark) {
  const auto less = [this](const Entry& x, const Entry& y) {
    if (x.rank != y.rank) return x.rank < y.rank;
    return x.key != y.key && Text(x.key) < Text(y.key);
  };
  const auto first = entries_.begin() + static_cast<std::ptrdiff_t>(mark);
  if (!std::is_sorted(first, entries_.end(), less)) std::stable_sort(first, entries_.end(), less);
}

// REQUIRES: sorted, so that equal keys are neighbours, the later one behind.
void ObjectBuilder::DropDuplicates(size_t mark) {
  size_t kept = mark;
  for (size_t i = mark; i < entries_.size(); ++i) {
    const bool last = i + 1 == entries_.size() || entries_[i].rank != entries_[i + 1].rank ||
                      (entries_[i].key != entries_[i + 1].key &&
                       Text(entries_[i].key) != Text(entries_[i + 1].key));
    if (last) entries_[kept++] = entries_[i];
  }
  entries_.resize(kept);
}

// True when 15 bits of distance reach all children of a container at `container`.
bool ObjectBuilder::Reaches(size_t mark, uint32_t container) const {
  for (size_t i = mark; i < entries_.size(); ++i) {
    const auto far = [container](uint32_t pos) {
      return (pos & flat::kImmediate) == 0 && container - pos > 0x7FFF;
    };
    if (far(entries_[i].value) || far(entries_[i].key)) return false;
  }
  return true;
}

void ObjectBuilder::PutSlot(uint32_t value, uint32_t container, bool wide) {
  const bool immediate = (value & flat::kImmediate) != 0;
  uint32_t slot = immediate ? value : container - value;
  if (!wide && immediate) slot = 0x8000u | (value & 0x7FFFu);
  uint8_t raw[4];
  std::memcpy(raw, &slot, sizeof raw);  // little-endian, as flat.h reads it
  bytes_.insert(bytes_.end(), raw, raw + (wide ? 4 : 2));
}

uint32_t ObjectBuilder::Close(size_t mark, uint8_t shape) {
  const uint32_t pos = Here();
  const bool wide = !Reaches(mark, pos);
  bytes_.push_back(static_cast<uint8_t>(shape | (wide ? flat::kWide : 0)));
  PutVarint(entries_.size() - mark);
  if (shape == flat::kFields) {
    for (size_t i = mark; i < entries_.size(); ++i) {
      const uint16_t id = static_cast<uint16_t>(entries_[i].key - flat::kStatic);
      bytes_.push_back(static_cast<uint8_t>(id & 0xFF));
      bytes_.push_back(static_cast<uint8_t>(id >> 8));
    }
  }
  for (size_t i = mark; i < entries_.size(); ++i) {
    if (shape == flat::kMap) PutSlot(entries_[i].key, pos, wide);
    PutSlot(entries_[i].value, pos, wide);
  }
  entries_.resize(mark);
  return pos;
}

uint32_t ObjectBuilder::Array(size_t mark) {
  if (entries_.size() == mark) return flat::kEmptyArray;
  for (size_t i = mark; i < entries_.size(); ++i) entries_[i].key = flat::kNull;
  return Close(mark, flat::kArray);
}

uint32_t ObjectBuilder::Struct(size_t mark) {
  if (entries_.size() == mark) return flat::kEmptyObject;
  bool fields = true;
  for (size_t i = mark; i < entries_.size() && fields; ++i) {
    const uint32_t key = entries_[i].key;
    fields = key > flat::kStatic && key < flat::kDictionary && IsFieldId(key - flat::kStatic);
  }
  if (!fields) {
    // A map is looked up by binary search: no order but the keys'.
    for (size_t i = mark; i < entries_.size(); ++i) entries_[i].rank = 0;
  }
  SortMembers(mark);
  DropDuplicates(mark);
  return Close(mark, fields ? flat::kFields : flat::kMap);
}

uint32_t ObjectBuilder::Copy(Value value) {
  switch (value.kind()) {
    case rules::Kind::kBool:
      return value.Bool() ? flat::kTrue : flat::kFalse;
    case rules::Kind::kInt:
      return Int(value.Int());
    case rules::Kind::kDouble:
      return value.IsUnsigned() ? Unsigned(value.Unsigned()) : Double(value.Real());
    case rules::Kind::kString:
      return String(value.String());
    case rules::Kind::kArray: {
      const size_t mark = Mark();
      for (size_t i = 0; i < value.size(); ++i) PushItem(Copy(value.At(i)));
      return Array(mark);
    }
    case rules::Kind::kObject: {
      const size_t mark = Mark();
      for (size_t i = 0; i < value.size(); ++i) {
        const auto [key, member] = value.Entry(i);
        const uint32_t copy = Copy(member);
        Push(String(key), copy, static_cast<uint32_t>(i));
      }
      return Struct(mark);
    }
    case rules::Kind::kAbsent:
    case rules::Kind::kNull:
      break;
  }
  return flat::kNull;
}

ObjectPtr ObjectBuilder::Finish(uint32_t root, bool whole) {
  void* memory = ::operator new(sizeof(Object) + bytes_.size());
  Object* object = new (memory) Object;
  std::memcpy(static_cast<char*>(memory) + sizeof(Object), bytes_.data(), bytes_.size());
  object->size_ = Here();
  object->root_ = root;
  object->flags_ = whole ? flat::kFlagWhole : 0;
  if (used_dictionary_) {
    object->dictionary_ = dictionary_;
    dictionary_->Ref();
  }
  Abandon();
  const Value metadata = object->Root().Field(known::kMetadata);
  const auto text = [&metadata](uint32_t id) {
    const Value v = metadata.Field(id);
    return v.kind() == rules::Kind::kString ? v.pos() : 0;
  };
  object->namespace_ = text(known::kNamespace);
  object->name_ = text(known::kName);
  object->uid_ = text(known::kUid);
  object->resource_version_ = text(known::kResourceVersion);
  return ObjectPtr::Adopt(object);
}

}  // namespace kcm::host::wire
