// SPDX-License-Identifier: Apache-2.0
// Base64 over OpenSSL.
#include "host/client/base64.h"

#include <openssl/evp.h>

namespace kcm::host::client {
namespace {
constexpr size_t kMax = 1 << 30;  // OpenSSL counts in int
}  // namespace

std::string EncodeBase64(std::string_view bytes) {
  if (bytes.size() > kMax / 2) return "";
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');  // OpenSSL writes a NUL
  const int n = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                reinterpret_cast<const unsigned char*>(bytes.data()),
                                static_cast<int>(bytes.size()));
  out.resize(static_cast<size_t>(n));
  return out;
}

std::optional<std::string> DecodeBase64(std::string_view text) {
  std::string in;
  in.reserve(text.size());
  for (const char c : text) {
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') in.push_back(c);
  }
  if (in.size() % 4 != 0 || in.size() > kMax) return std::nullopt;
  if (in.empty()) return std::string();
  size_t padding = 0;
  while (padding < 2 && in[in.size() - 1 - padding] == '=') ++padding;
  std::string out(in.size() / 4 * 3, '\0');
  const int n = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                reinterpret_cast<const unsigned char*>(in.data()),
                                static_cast<int>(in.size()));
  if (n < 0) return std::nullopt;
  out.resize(static_cast<size_t>(n) - padding);
  return out;
}

}  // namespace kcm::host::client
