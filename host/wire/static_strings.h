// SPDX-License-Identifier: Apache-2.0
// Static strings: the member names of all built-in kinds (ids 1..kFieldCount, sorted: an id is the
// name's FieldId) and values that nearly every cluster repeats. Constant tables of
// schema_table.inc; nothing is computed at start.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace kcm::host::wire {

static_assert(std::endian::native == std::endian::little,
              "the tables and the flat form are little-endian");

// Of all texts, static or not; tools/gen-wire-schema.py computes the same.
inline uint64_t HashText(std::string_view text) {
  const size_t n = text.size();
  const char* p = text.data();
  uint64_t x = 0, y = 0;
  if (n >= 8) {
    std::memcpy(&x, p, 8);
    std::memcpy(&y, p + n - 8, 8);
  } else if (n >= 4) {
    uint32_t low = 0, high = 0;
    std::memcpy(&low, p, 4);
    std::memcpy(&high, p + n - 4, 4);
    x = low | (uint64_t{high} << ((n - 4) * 8));
  } else if (n > 0) {
    const auto byte = [p](size_t i) {
      return uint64_t{static_cast<unsigned char>(p[i])} << (i * 8);
    };
    x = byte(0) | byte(n / 2) | byte(n - 1);
  }
  uint64_t h = x * 0x9E3779B97F4A7C15u;
  h = (h ^ (h >> 29)) + y + n;
  h *= 0xBF58476D1CE4E5B9u;
  return h ^ (h >> 32);
}

// 0: not a static string.
uint32_t StaticStringId(std::string_view text, uint64_t hash);
// REQUIRES: an id given out by StaticStringId, or 0 (then "").
std::string_view StaticString(uint32_t id);
// True of ids that are names of members.
bool IsFieldId(uint32_t id);

}  // namespace kcm::host::wire
