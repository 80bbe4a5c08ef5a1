// SPDX-License-Identifier: Apache-2.0
// OpenSSL's objects for tests: owned handles, and PEM made usable. Plain OpenSSL, so that it shares
// nothing with what is tested.
#pragma once
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "host/http/tls_client.h"

namespace kcm::test {

template <class T, void (*Free)(T*)>
struct Deleter {
  void operator()(T* p) const { Free(p); }
};
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY, EVP_PKEY_free>>;
using Cert = std::unique_ptr<X509, Deleter<X509, X509_free>>;
using Bio = std::unique_ptr<BIO, Deleter<BIO, BIO_free_all>>;
using Ctx = std::unique_ptr<SSL_CTX, Deleter<SSL_CTX, SSL_CTX_free>>;
using Ssl = std::unique_ptr<SSL, Deleter<SSL, SSL_free>>;

// What reads `pem`, which must outlive it.
inline Bio Reader(const std::string& pem) {
  return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}
// The first certificate in `pem`; null when there is none.
inline Cert CertOf(const std::string& pem) {
  return Cert(PEM_read_bio_X509(Reader(pem).get(), nullptr, nullptr, nullptr));
}
// The private key in `pem`; null when there is none.
inline Key KeyOf(const std::string& pem) {
  return Key(PEM_read_bio_PrivateKey(Reader(pem).get(), nullptr, nullptr, nullptr));
}
// What `context` shows to the other side. False when the pair can not be used.
inline bool UsePair(SSL_CTX* context, const CertAndKey& pair) {
  return SSL_CTX_use_certificate(context, CertOf(pair.cert).get()) == 1 &&
         SSL_CTX_use_PrivateKey(context, KeyOf(pair.key).get()) == 1;
}

}  // namespace kcm::test
