// SPDX-License-Identifier: Apache-2.0
// Files of the zone database for tests, made of what they hold.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace kcm::rules {

inline std::string BigEndian(int64_t value, int bytes) {
  std::string out;
  for (int i = bytes - 1; i >= 0; --i)
    out += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i) & 0xffu);
  return out;
}

// A version 2 file. `offsets`: seconds east of UTC, the first one holds before the first change.
// `changes`: seconds since 1970, place in offsets. `rule`: for the time after them.
inline std::string Tzif(const std::vector<int32_t>& offsets,
                        const std::vector<std::pair<int64_t, char>>& changes,
                        const std::string& rule) {
  const std::string start = "TZif2" + std::string(15, '\0');
  std::string out = start + std::string(24, '\0') + start + std::string(12, '\0');
  out += BigEndian(static_cast<int64_t>(changes.size()), 4);
  out += BigEndian(static_cast<int64_t>(offsets.size()), 4);
  out += BigEndian(0, 4);
  for (const auto& change : changes) out += BigEndian(change.first, 8);
  for (const auto& change : changes) out += change.second;
  for (const int32_t offset : offsets) out += BigEndian(offset, 4) + std::string(2, '\0');
  return out + "\n" + rule + "\n";
}

}  // namespace kcm::rules
