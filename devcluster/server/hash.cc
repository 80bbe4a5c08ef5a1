// SPDX-License-Identifier: Apache-2.0
// Hashes (hash.h).
#include "devcluster/server/hash.h"

#include <openssl/sha.h>

namespace kcm::devcluster {

std::string Sha256(std::string_view text) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  const std::basic_string<unsigned char> in(text.begin(), text.end());
  SHA256(in.data(), in.size(), digest);
  return std::string(digest, digest + SHA256_DIGEST_LENGTH);
}

std::string UpperHex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : bytes) {
    const auto b = static_cast<unsigned char>(c);
    out += kDigits[b >> 4];
    out += kDigits[b & 15];
  }
  return out;
}

}  // namespace kcm::devcluster
