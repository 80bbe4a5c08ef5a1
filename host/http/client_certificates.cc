// SPDX-License-Identifier: Apache-2.0
// Verification of client certificates.
#include "host/http/client_certificates.h"

#include <openssl/x509v3.h>

#include <array>

namespace kcm::host::http {
namespace {

std::vector<std::string> Attributes(X509* cert, int nid) {
  std::vector<std::string> values;
  X509_NAME* subject = X509_get_subject_name(cert);
  for (int at = X509_NAME_get_index_by_NID(subject, nid, -1); at >= 0;
       at = X509_NAME_get_index_by_NID(subject, nid, at)) {
    unsigned char* text = nullptr;
    const int size =
        ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    if (size >= 0) values.emplace_back(text, text + size);
    OPENSSL_free(text);
  }
  return values;
}

std::string HexDigest(X509* cert) {
  std::array<unsigned char, 32> digest{};
  unsigned int size = 0;
  if (X509_digest(cert, EVP_sha256(), digest.data(), &size) != 1) return "";
  std::string hex;
  for (const unsigned char byte : digest) {
    constexpr char kDigits[] = "0123456789abcdef";
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

}  // namespace

Result<std::shared_ptr<const CaBundle>> CaBundle::Parse(const std::string& pem,
                                                        const std::string& what) {
  std::shared_ptr<CaBundle> bundle(new CaBundle);
  bundle->store_.reset(X509_STORE_new());
  const std::vector<CertPtr> certs = ReadCertificates(pem);
  if (certs.empty())
    return MakeError(Code::kInvalid, what + ": data does not contain any valid certificates");
  for (const CertPtr& cert : certs) {
    if (X509_STORE_add_cert(bundle->store_.get(), cert.get()) != 1) {
      return MakeError(Code::kInvalid, what + ": " + OpenSslError());
    }
  }
  return std::shared_ptr<const CaBundle>(std::move(bundle));
}

Status CaBundle::Verify(const std::vector<CertPtr>& chain) const {
  if (chain.empty()) return MakeError(Code::kUnauthorized, "no client certificate");
  STACK_OF(X509)* others = sk_X509_new_null();
  for (size_t i = 1; i < chain.size(); ++i) sk_X509_push(others, chain[i].get());
  const StoreContextPtr context(X509_STORE_CTX_new());
  Status result = MakeError(Code::kInternal, "x509: out of memory");
  if (context &&
      X509_STORE_CTX_init(context.get(), store_.get(), chain.front().get(), others) == 1) {
    X509_STORE_CTX_set_purpose(context.get(), X509_PURPOSE_SSL_CLIENT);
    // An intermediate in the bundle is trusted by itself, as in Go.
    X509_STORE_CTX_set_flags(context.get(), X509_V_FLAG_PARTIAL_CHAIN);
    const bool good = X509_verify_cert(context.get()) == 1;
    const int reason = X509_STORE_CTX_get_error(context.get());
    result = good
                 ? Ok()
                 : Status(MakeError(Code::kUnauthorized,
                                    std::string("x509: ") + X509_verify_cert_error_string(reason)));
  }
  sk_X509_free(others);
  OpenSslError();
  return result;
}

std::string CommonNameOf(X509* cert) {
  const std::vector<std::string> names = Attributes(cert, NID_commonName);
  return names.empty() ? "" : names.back();
}

Result<User> UserOf(X509* leaf) {
  User user;
  user.name = CommonNameOf(leaf);
  if (user.name.empty())
    return MakeError(Code::kUnauthorized, "x509: client certificate without common name");
  user.groups = Attributes(leaf, NID_organizationName);
  user.extra["authentication.kubernetes.io/credential-id"] = {"X509SHA256=" + HexDigest(leaf)};
  return user;
}

}  // namespace kcm::host::http
