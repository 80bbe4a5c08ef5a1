// SPDX-License-Identifier: Apache-2.0
// Owning handles for the OpenSSL objects used in this folder, and its last error as text.
#pragma once
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>
#include <vector>

namespace kcm::host::http {

template <auto Free>
struct Freer {
  template <class T>
  void operator()(T* p) const {
    Free(p);
  }
};
using BioPtr = std::unique_ptr<BIO, Freer<BIO_free_all>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;
using CertPtr = std::unique_ptr<X509, Freer<X509_free>>;
using StorePtr = std::unique_ptr<X509_STORE, Freer<X509_STORE_free>>;
using StoreContextPtr = std::unique_ptr<X509_STORE_CTX, Freer<X509_STORE_CTX_free>>;
using SslPtr = std::unique_ptr<SSL, Freer<SSL_free>>;
using SslContextPtr = std::unique_ptr<SSL_CTX, Freer<SSL_CTX_free>>;

// The oldest error of this thread's queue, which is emptied. "unknown error" when there is none.
std::string OpenSslError();
// All certificates of a PEM text, in order.
std::vector<CertPtr> ReadCertificates(const std::string& pem);

}  // namespace kcm::host::http
