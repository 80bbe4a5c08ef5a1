// SPDX-License-Identifier: Apache-2.0
// Ed25519 verification by OpenSSL.
#include "host/plugin/signature.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <cstdio>
#include <memory>
#include <vector>

namespace kcm::host::plugin {
namespace {

constexpr size_t kSignatureBytes = 64;

struct Free {
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
  void operator()(EVP_MD_CTX* p) const { EVP_MD_CTX_free(p); }
  void operator()(std::FILE* p) const { std::fclose(p); }
};
using Key = std::unique_ptr<EVP_PKEY, Free>;

const unsigned char* Bytes(std::string_view s) {
  return reinterpret_cast<const unsigned char*>(s.data());
}

std::vector<Key> ReadKeys(const std::string& path) {
  std::vector<Key> keys;
  const std::unique_ptr<std::FILE, Free> f(std::fopen(path.c_str(), "re"));
  if (!f) return keys;
  while (EVP_PKEY* k = PEM_read_PUBKEY(f.get(), nullptr, nullptr, nullptr)) keys.emplace_back(k);
  return keys;
}

// Raw 64 bytes as they are; text is decoded.
std::string Raw(std::string_view signature) {
  if (signature.size() == kSignatureBytes) return std::string(signature);
  std::string text;
  for (char c : signature)
    if (c != '\n' && c != '\r' && c != ' ') text += c;
  if (text.empty() || text.size() % 4 != 0 || text.size() > 128) return {};
  std::string out(text.size(), '\0');
  const int n = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()), Bytes(text),
                                static_cast<int>(text.size()));
  if (n < static_cast<int>(kSignatureBytes)) return {};
  out.resize(kSignatureBytes);
  return out;
}

}  // namespace

Status VerifySignature(std::string_view bytes, std::string_view signature,
                       const std::string& trust_key, const std::string& file) {
  const std::vector<Key> keys = ReadKeys(trust_key);
  if (keys.empty())
    return MakeError(
        Code::kInvalid,
        trust_key + ": holds no PEM public key: --plugin-trust-key needs Ed25519 public keys");
  const std::string raw = Raw(signature);
  if (raw.empty())
    return MakeError(
        Code::kForbidden,
        file +
            ".sig: not an Ed25519 signature (64 bytes, or their base64 text): sign the file again");
  for (const Key& key : keys) {
    if (EVP_PKEY_id(key.get()) != EVP_PKEY_ED25519) continue;
    const std::unique_ptr<EVP_MD_CTX, Free> ctx(EVP_MD_CTX_new());
    if (ctx && EVP_DigestVerifyInit(ctx.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
        EVP_DigestVerify(ctx.get(), Bytes(raw), raw.size(), Bytes(bytes), bytes.size()) == 1)
      return Ok();
  }
  return MakeError(Code::kForbidden, file + ": its signature does not verify with any key of " +
                                         trust_key + ": use the signed build or add its key");
}

std::string Sha256Hex(std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  EVP_Digest(bytes.data(), bytes.size(), digest, &length, EVP_sha256(), nullptr);
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (unsigned int i = 0; i < length; ++i) {
    out += kHex[digest[i] >> 4];
    out += kHex[digest[i] & 15u];
  }
  return out;
}

}  // namespace kcm::host::plugin
