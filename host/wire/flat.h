// SPDX-License-Identifier: Apache-2.0
// The flat format: how an object's bytes are laid out (docs/decisions/0002). Private to host/wire.
//
// A position names a value: the offset of its tag behind the Object header, or, with kImmediate
// set, the value itself in 15 bits. Containers are written after their children and refer to them
// by distance backwards, so a value is never moved and equal strings of one object are one.
//
//   tag 0x00..0xBF   string of that many bytes          kLongString  varint length, bytes
//   kInt  varint (zigzag)     kUnsigned  varint         kDouble  8 bytes
//   kArray   varint n, n slots
//   kFields  varint n, n field ids (2 bytes), n slots   all names are FieldIds; in canonical order
//   kMap     varint n, n (key slot, value slot)         sorted by key, bytewise
// The three containers have a second tag (+1) with slots of 4 bytes; normal ones are 2 bytes. A
// slot with its top bit set is an immediate, otherwise the distance.
#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>

namespace kcm::host::wire::flat {

constexpr uint32_t kImmediate = 0x80000000u;
constexpr uint32_t kNull = kImmediate | 0, kFalse = kImmediate | 1, kTrue = kImmediate | 2;
constexpr uint32_t kEmptyArray = kImmediate | 3, kEmptyObject = kImmediate | 4;
constexpr uint32_t kIntZero = kImmediate | 0x40;  // small integers lie around it
constexpr int64_t kMinSmall = -0x20, kMaxSmall = 0x1FBF;
constexpr uint32_t kStatic = kImmediate | 0x2000;      // + static string id
constexpr uint32_t kDictionary = kImmediate | 0x4000;  // + id of the object's dictionary
constexpr uint32_t kDictionarySize = 0x4000;

constexpr uint8_t kMaxShort = 0xBF, kLongString = 0xC0, kInt = 0xC1, kDouble = 0xC2,
                  kUnsigned = 0xC3;
constexpr uint8_t kArray = 0xC4, kFields = 0xC6, kMap = 0xC8, kWide = 1;

constexpr uint32_t kFlagWhole = 1;

inline uint32_t Load16(const uint8_t* p) {
  uint16_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

inline uint32_t Load32(const uint8_t* p) {
  uint32_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// Reads a varint that our builder wrote; moves *p behind it.
inline uint64_t Varint(const uint8_t** p) {
  uint64_t v = 0;
  for (unsigned shift = 0;; shift += 7) {
    const uint8_t b = *(*p)++;
    v |= uint64_t{b & 0x7Fu} << shift;
    if (b < 0x80) return v;
  }
}

// A container's parts.
struct Container {
  uint8_t shape = 0;  // kArray, kFields, kMap; 0: not a container
  bool wide = false;
  uint32_t count = 0;
  uint32_t pos = 0;
  const uint8_t* ids = nullptr;    // of kFields
  const uint8_t* slots = nullptr;  // of kMap: pairs

  uint32_t Slot(size_t i) const {
    if (wide) {
      const uint32_t s = Load32(slots + i * 4);
      return (s & kImmediate) != 0 ? s : pos - s;
    }
    const uint32_t s = Load16(slots + i * 2);
    return (s & 0x8000u) != 0 ? (kImmediate | (s & 0x7FFFu)) : pos - s;
  }
};

inline Container ContainerAt(const uint8_t* base, uint32_t pos) {
  Container c;
  const uint8_t* p = base + pos;
  const uint8_t tag = *p++;
  if (tag < kArray) return c;
  c.shape = tag & 0xFE;
  c.wide = (tag & kWide) != 0;
  c.pos = pos;
  c.count = static_cast<uint32_t>(Varint(&p));
  if (c.shape == kFields) {
    c.ids = p;
    p += size_t{c.count} * 2;
  }
  c.slots = p;
  return c;
}

inline std::string_view StringAt(const uint8_t* base, uint32_t pos) {
  const uint8_t* p = base + pos;
  const uint8_t tag = *p++;
  size_t size = tag;
  if (tag == kLongString) {
    size = Varint(&p);
  } else if (tag > kMaxShort) {
    return {};
  }
  return {reinterpret_cast<const char*>(p), size};
}

}  // namespace kcm::host::wire::flat
