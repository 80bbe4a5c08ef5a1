// SPDX-License-Identifier: Apache-2.0
// The cluster's own certificate authority: server certificate, client certificates, service account
// key. ECDSA P-256, because a key is made in less than a millisecond. The authority's key and the
// service account key are texts that the caller may keep over restarts; the server's own
// certificate is new at every start. TLS validity is real time by design.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kcm/rules/result.h"

using SSL_CTX = struct ssl_ctx_st;
using EVP_PKEY = struct evp_pkey_st;
using X509 = struct x509_st;

namespace kcm::devcluster {

struct OpensslFree {
  void operator()(SSL_CTX* p) const;
  void operator()(EVP_PKEY* p) const;
  void operator()(X509* p) const;
};
using PrivateKey = std::unique_ptr<EVP_PKEY, OpensslFree>;
using Certificate = std::unique_ptr<X509, OpensslFree>;

struct KeyPair {
  std::string certificate_pem, key_pem;
};

PrivateKey NewEcKey();    // nullptr when OpenSSL fails
std::string NewKeyPem();  // "" when OpenSSL fails
// nullptr when the text holds no private key on P-256.
PrivateKey ReadKeyPem(const std::string& pem);

// Immutable after Init; thread-safe.
class CertificateAuthority {
 public:
  // Key and certificate of a new authority, one text; "" when OpenSSL fails.
  static std::string NewAuthorityPem();
  // Takes the authority of NewAuthorityPem and makes a server context for `address` (besides
  // 127.0.0.1, localhost and the in-cluster names).
  Status Init(const std::string& authority_pem, const std::string& address);
  SSL_CTX* server_context() const { return context_.get(); }
  const std::string& ca_pem() const { return ca_pem_; }
  // A client certificate: CN = user, O = each group.
  Result<KeyPair> IssueClient(const std::string& user,
                              const std::vector<std::string>& groups) const;

 private:
  Certificate Sign(EVP_PKEY* key, const std::string& common_name,
                   const std::vector<std::string>& organizations,
                   const std::string& alternative_names, bool server) const;

  PrivateKey ca_key_;
  Certificate ca_;
  std::string ca_pem_;
  std::unique_ptr<SSL_CTX, OpensslFree> context_;
};

std::string Base64(std::string_view bytes);
std::string Base64Url(std::string_view bytes);  // without padding
bool DecodeBase64Url(std::string_view text, std::string* bytes);

}  // namespace kcm::devcluster
