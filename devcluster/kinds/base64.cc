// SPDX-License-Identifier: Apache-2.0
// Base64, RFC 4648 section 4.
#include "devcluster/kinds/base64.h"

#include <cstdint>

namespace kcm::devcluster::kinds {

namespace {
constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
}

std::string EncodeBase64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t block = 0;
    const size_t n = bytes.size() - i < 3 ? bytes.size() - i : 3;
    for (size_t k = 0; k < 3; ++k)
      block = block << 8 | (k < n ? static_cast<uint8_t>(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k)
      out.push_back(k <= n ? kAlphabet[block >> (18 - 6 * k) & 63] : '=');
  }
  return out;
}

std::optional<std::string> DecodeBase64(std::string_view text) {
  std::string out;
  uint32_t block = 0;
  size_t have = 0, pad = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r') continue;
    const size_t digit = kAlphabet.find(c);
    if (c == '=' ? have < 2 : (digit == std::string_view::npos || pad > 0)) return std::nullopt;
    if (c == '=') ++pad;
    block = block << 6 | (c == '=' ? 0u : static_cast<uint32_t>(digit));
    if (++have < 4) continue;
    for (size_t k = 0; k < 3 - pad && pad < 3; ++k)
      out.push_back(static_cast<char>(block >> (16 - 8 * k) & 255));
    block = 0;
    have = 0;
  }
  if (have != 0) return std::nullopt;
  return out;
}

}  // namespace kcm::devcluster::kinds
