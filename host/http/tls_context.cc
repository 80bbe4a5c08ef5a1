// SPDX-License-Identifier: Apache-2.0
// SSL_CTX out of the serving flags.
#include <string>

#include "host/config/tls_names.h"
#include "host/http/tls_server.h"

namespace kcm::host::http {
namespace {

constexpr uint16_t kTls13 = 0x0304;

// What Go offers by default up to TLS 1.2.
constexpr const char* kDefaultCiphers =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
    "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305:"
    "ECDHE-ECDSA-AES128-SHA:ECDHE-RSA-AES128-SHA:ECDHE-ECDSA-AES256-SHA:ECDHE-RSA-AES256-SHA";

const char* GroupName(int64_t id) {
  switch (id) {
    case 23:
      return "P-256";
    case 24:
      return "P-384";
    case 25:
      return "P-521";
    case 29:
      return "X25519";
    case 30:
      return "X448";
    default:
      return nullptr;  // not offered by this library (post-quantum hybrids)
  }
}

std::string Groups(const std::vector<int64_t>& ids) {
  std::string list;
  for (const int64_t id : ids) {
    if (const char* name = GroupName(id); name != nullptr)
      list += (list.empty() ? "" : ":") + std::string(name);
  }
  return list;
}

int ChooseProtocol(SSL*, const unsigned char** out, unsigned char* out_length,
                   const unsigned char* in, unsigned int in_length, void*) {
  constexpr std::string_view kHttp11 = "http/1.1";
  for (unsigned int i = 0; i < in_length && i + 1 + in[i] <= in_length; i += 1u + in[i]) {
    const std::string offered(in + i + 1, in + i + 1 + in[i]);
    if (offered != kHttp11) continue;
    *out = in + i + 1;
    *out_length = in[i];
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_NOACK;
}

// Whoever presents a certificate is let in; who that makes him is decided per request
// (spec/host.md 9.3).
int AcceptAnyCertificate(X509_STORE_CTX*, void*) { return 1; }

Status SetVersionsAndCiphers(SSL_CTX* context, const config::ServingOptions& options) {
  uint16_t least = config::TlsVersionNumber(options.min_tls_version).value_or(0x0303);
  std::string ciphers;
  for (const std::string& name : options.cipher_suites) {
    const config::CipherSuite* suite = config::FindCipherSuite(name);
    if (suite == nullptr)
      return MakeError(Code::kInvalid, "Cipher suite " + name + " not supported or doesn't exist");
    if (suite->openssl.empty() || suite->tls13) continue;
    ciphers += (ciphers.empty() ? "" : ":") + std::string(suite->openssl);
  }
  if (options.cipher_suites.empty()) ciphers = kDefaultCiphers;
  if (ciphers.empty()) least = kTls13;  // nothing left to talk in older versions
  // The library allows TLS 1.0 and 1.1 only at its lowest level.
  if (least < 0x0303) ciphers += ":@SECLEVEL=0";
  const bool set = SSL_CTX_set_min_proto_version(context, least) == 1 &&
                   (ciphers.empty() || SSL_CTX_set_cipher_list(context, ciphers.c_str()) == 1);
  if (!set)
    return MakeError(Code::kInvalid, "tls: cannot use the given cipher suites: " + OpenSslError());
  const std::string groups = Groups(options.curve_preferences);
  if (!groups.empty() && SSL_CTX_set1_groups_list(context, groups.c_str()) != 1) {
    return MakeError(Code::kInvalid, "tls: cannot use the given curves: " + OpenSslError());
  }
  return Ok();
}

}  // namespace

Result<std::shared_ptr<TlsContext>> TlsContext::Make(
    const config::ServingOptions& options, const CertificateStore* certificates,
    std::function<bool()> wants_client_certificates) {
  std::shared_ptr<TlsContext> made(new TlsContext);
  made->context_.reset(SSL_CTX_new(TLS_server_method()));
  SSL_CTX* context = made->context_.get();
  if (context == nullptr) return MakeError(Code::kInternal, "tls: " + OpenSslError());
  made->certificates_ = certificates;
  made->wants_client_certificates_ = std::move(wants_client_certificates);
  if (Status set = SetVersionsAndCiphers(context, options); !set.ok()) return set.error();
  SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
  // A resumed session would carry a client certificate past a change of our CAs' files.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_cert_cb(context, &TlsContext::ChooseCertificate, made.get());
  SSL_CTX_set_cert_verify_callback(context, &AcceptAnyCertificate, nullptr);
  SSL_CTX_set_alpn_select_cb(context, &ChooseProtocol, nullptr);
  return made;
}

int TlsContext::ChooseCertificate(SSL* ssl, void* self) {
  const auto* context = static_cast<const TlsContext*>(self);
  const char* name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  const std::shared_ptr<const ServingPair> pair =
      context->certificates_->For(name == nullptr ? "" : name);
  if (SSL_use_certificate(ssl, pair->chain.front().get()) != 1 ||
      SSL_use_PrivateKey(ssl, pair->key.get()) != 1)
    return 0;
  for (size_t i = 1; i < pair->chain.size(); ++i) {
    if (SSL_add1_chain_cert(ssl, pair->chain[i].get()) != 1) return 0;
  }
  if (context->wants_client_certificates_()) {
    SSL_set_verify(ssl, SSL_VERIFY_PEER | SSL_VERIFY_CLIENT_ONCE, nullptr);
  }
  return 1;
}

}  // namespace kcm::host::http
