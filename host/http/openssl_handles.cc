// SPDX-License-Identifier: Apache-2.0
// Small OpenSSL chores.
#include "host/http/openssl_handles.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/sha.h>

#include <array>
#include <climits>

#include "host/http/review_cache.h"

namespace kcm::host::http {

std::string OpenSslError() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return "unknown error";
  std::array<char, 256> text{};
  ERR_error_string_n(code, text.data(), text.size());
  return text.data();
}

std::vector<CertPtr> ReadCertificates(const std::string& pem) {
  std::vector<CertPtr> certs;
  if (pem.size() > INT_MAX) return certs;
  const BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  while (X509* cert = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr))
    certs.emplace_back(cert);
  ERR_clear_error();  // "no start line" at the end
  return certs;
}

Digest DigestOf(std::string_view text) {
  Digest digest{};
  const std::string copy(text);
  std::vector<unsigned char> bytes(copy.begin(), copy.end());
  SHA256(bytes.data(), bytes.size(), digest.data());
  OPENSSL_cleanse(bytes.data(), bytes.size());
  return digest;
}

}  // namespace kcm::host::http
