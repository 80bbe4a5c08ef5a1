// SPDX-License-Identifier: Apache-2.0
// Builds TLS contexts from PEM text.
#include "host/client/tls_context.h"

#include <Poco/Exception.h>
#include <Poco/Net/IPAddress.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>
#include <utility>

namespace kcm::host::client {
namespace {

constexpr int kMaxCertificates = 10000;  // of one bundle

struct FreeBio {
  void operator()(BIO* p) const { BIO_free(p); }
};
struct FreeX509 {
  void operator()(X509* p) const { X509_free(p); }
};
struct FreeKey {
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
};
using BioPtr = std::unique_ptr<BIO, FreeBio>;
using X509Ptr = std::unique_ptr<X509, FreeX509>;
using KeyPtr = std::unique_ptr<EVP_PKEY, FreeKey>;

// An encrypted key must fail, not ask the terminal.
int NoPassphrase(char*, int, int, void*) { return 0; }

BioPtr Open(const std::string& pem) {
  return BioPtr(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

Error TlsError(std::string message) {
  ERR_clear_error();
  return MakeError(Code::kInvalid, std::move(message));
}

// Calls `take` for each certificate; returns how many there were. `take` returns false to stop.
template <class Take>
int ForEachCertificate(const std::string& pem, Take take) {
  const BioPtr bio = Open(pem);
  int count = 0;
  while (bio && count < kMaxCertificates) {
    X509Ptr certificate(PEM_read_bio_X509(bio.get(), nullptr, NoPassphrase, nullptr));
    if (!certificate || !take(std::move(certificate))) break;
    ++count;
  }
  ERR_clear_error();  // the end of the text is an error to OpenSSL
  return count;
}

// Poco does not show its SSL objects, which would know. A plain number: needs no destructor.
thread_local int verify_error = X509_V_OK;

int Verify(X509_STORE_CTX* store, void*) {
  const int verified = X509_verify_cert(store);
  verify_error = verified == 1 ? X509_V_OK : X509_STORE_CTX_get_error(store);
  return verified;
}

std::string_view FixFor(int error) {
  switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "renew the server's certificate, or correct this machine's clock";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return "use a server address that the certificate names, or set tls-server-name";
    default:
      return "certificate-authority of the kubeconfig must be the one that signed the server's "
             "certificate";
  }
}

std::string TimeText(const ASN1_TIME* time) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  if (!bio || ASN1_TIME_print(bio.get(), time) != 1) return "an unreadable time";
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return std::string(text, static_cast<size_t>(size));
}

Status Trust(SSL_CTX* ctx, const TlsMaterial& material) {
  if (material.insecure) {
    SSL_CTX_set_verify(ctx, SSL_VERIFY_NONE, nullptr);
    return Ok();
  }
  // No verify callback: Poco's would ask its SSLManager.
  SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_cert_verify_callback(ctx, Verify, nullptr);
  if (material.ca_pem.empty()) {
    SSL_CTX_set_default_verify_paths(ctx);
  } else {
    X509_STORE* store = SSL_CTX_get_cert_store(ctx);
    const int count = ForEachCertificate(material.ca_pem, [store](X509Ptr c) {
      X509_STORE_add_cert(store, c.get());
      return true;
    });
    if (count == 0)
      return TlsError("unable to load root certificates: no PEM certificate in the CA bundle");
    // Go trusts every certificate of the bundle as it is, not only self-signed roots.
    X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  }
  X509_VERIFY_PARAM* param = SSL_CTX_get0_param(ctx);
  Poco::Net::IPAddress address;
  if (Poco::Net::IPAddress::tryParse(material.server_name, address)) {
    if (X509_VERIFY_PARAM_set1_ip_asc(param, material.server_name.c_str()) != 1) {
      return TlsError("server address \"" + material.server_name + "\" can not be verified");
    }
    return Ok();
  }
  X509_VERIFY_PARAM_set_hostflags(
      param, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  if (X509_VERIFY_PARAM_set1_host(param, material.server_name.c_str(), 0) != 1) {
    return TlsError("server name \"" + material.server_name + "\" can not be verified");
  }
  return Ok();
}

Status UsePair(SSL_CTX* ctx, const TlsMaterial& material) {
  if (material.cert_pem.empty()) return Ok();
  bool first = true;
  const int count = ForEachCertificate(material.cert_pem, [&](X509Ptr c) {
    if (std::exchange(first, false)) return SSL_CTX_use_certificate(ctx, c.get()) == 1;
    return SSL_CTX_add1_chain_cert(ctx, c.get()) == 1;
  });
  if (count == 0) return TlsError("tls: failed to find any PEM data in certificate input");
  const BioPtr bio = Open(material.key_pem);
  const KeyPtr key(bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassphrase, nullptr)
                       : nullptr);
  if (!key)
    return TlsError(
        "tls: failed to find any PEM data in key input (an encrypted key can not be used)");
  if (SSL_CTX_use_PrivateKey(ctx, key.get()) != 1 || SSL_CTX_check_private_key(ctx) != 1) {
    return TlsError("tls: private key does not match public key");
  }
  return Ok();
}

}  // namespace

std::string TakeVerifyProblem() {
  const int error = std::exchange(verify_error, X509_V_OK);
  if (error == X509_V_OK) return "";
  return std::string("failed to verify certificate: ") + X509_verify_cert_error_string(error) +
         ": " + std::string(FixFor(error));
}

std::string ValidityProblem(const std::string& pem) {
  std::string problem;
  ForEachCertificate(pem, [&](X509Ptr c) {
    const ASN1_TIME* from = X509_get0_notBefore(c.get());
    const ASN1_TIME* to = X509_get0_notAfter(c.get());
    if (X509_cmp_current_time(to) < 0) problem = "expired at " + TimeText(to);
    if (X509_cmp_current_time(from) > 0) problem = "not valid before " + TimeText(from);
    return false;
  });
  return problem;
}

std::string CheckCaBundle(const std::string& pem) {
  const int count = ForEachCertificate(pem, [](X509Ptr) { return true; });
  return count > 0 ? "" : "no PEM certificate in the CA bundle";
}

Result<Poco::Net::Context::Ptr> MakeTlsContext(const TlsMaterial& material) {
  try {
    Poco::Net::Context::Params params;
    params.verificationMode = Poco::Net::Context::VERIFY_RELAXED;
    params.loadDefaultCAs = false;
    Poco::Net::Context::Ptr context(
        new Poco::Net::Context(Poco::Net::Context::TLS_CLIENT_USE, params));
    SSL_CTX* ctx = context->sslContext();
    SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
    SSL_CTX_set_default_passwd_cb(ctx, NoPassphrase);
    // Idle watches give their buffers back; a non-blocking write may go on from another address.
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                              SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    const Status trust = Trust(ctx, material);
    if (!trust.ok()) return trust.error();
    const Status pair = UsePair(ctx, material);
    if (!pair.ok()) return pair.error();
    return context;
  } catch (const Poco::Exception& e) {
    return TlsError("TLS context: " + e.displayText());
  }
}

}  // namespace kcm::host::client
