// SPDX-License-Identifier: Apache-2.0
// Protobuf's encoding: varints and fields, read with every bound checked. Private to host/wire.
#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>

namespace kcm::host::wire {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// Reads a varint of at most ten bytes; false when it is cut off or longer. Moves *p behind it.
inline bool ReadVarint(const char** p, const char* end, uint64_t* value) {
  uint64_t v = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (*p == end) return false;
    const uint8_t b = static_cast<uint8_t>(*(*p)++);
    if (shift == 63 && b > 1) return false;  // beyond 64 bits
    v |= uint64_t{b & 0x7Fu} << shift;
    if (b < 0x80) {
      *value = v;
      return true;
    }
  }
  return false;
}

struct WireField {
  uint32_t num = 0;
  WireType type = WireType::kVarint;
  uint64_t value = 0;      // of numbers
  std::string_view bytes;  // of kBytes
};

enum class ReadResult : uint8_t { kField, kEnd, kBad };

// Reads the next field of a message. On kBad *p stands where the bad field began.
inline ReadResult ReadField(const char** p, const char* end, WireField* field) {
  if (*p == end) return ReadResult::kEnd;
  const char* at = *p;
  uint64_t tag = 0;
  if (!ReadVarint(&at, end, &tag) || tag >> 3 == 0 || tag >> 3 > 0x1FFFFFFF)
    return ReadResult::kBad;
  field->num = static_cast<uint32_t>(tag >> 3);
  const uint64_t left = static_cast<uint64_t>(end - at);
  switch (tag & 7) {
    case 0:
      field->type = WireType::kVarint;
      if (!ReadVarint(&at, end, &field->value)) return ReadResult::kBad;
      break;
    case 1:
      if (left < 8) return ReadResult::kBad;
      field->type = WireType::kFixed64;
      std::memcpy(&field->value, at, 8);
      at += 8;
      break;
    case 2: {
      uint64_t size = 0;
      if (!ReadVarint(&at, end, &size) || size > static_cast<uint64_t>(end - at))
        return ReadResult::kBad;
      field->type = WireType::kBytes;
      field->bytes = {at, static_cast<size_t>(size)};
      at += size;
      break;
    }
    case 5: {
      if (left < 4) return ReadResult::kBad;
      uint32_t v = 0;
      std::memcpy(&v, at, 4);
      field->type = WireType::kFixed32;
      field->value = v;
      at += 4;
      break;
    }
    default:
      return ReadResult::kBad;  // groups do not exist in this API
  }
  *p = at;
  return ReadResult::kField;
}

}  // namespace kcm::host::wire
