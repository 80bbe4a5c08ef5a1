// SPDX-License-Identifier: Apache-2.0
// Certificates of the embedded server (tls.h).
#include "devcluster/server/tls.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace kcm::devcluster {
namespace {

constexpr long kBackdateSeconds = 3600;  // clocks of clients may lag
constexpr long kValiditySeconds = 10L * 365 * 24 * 3600;

struct FreeBio {
  void operator()(BIO* b) const { BIO_free(b); }
};

template <class Write>
std::string ToPem(Write write) {
  const std::unique_ptr<BIO, FreeBio> bio(BIO_new(BIO_s_mem()));
  write(bio.get());
  char* data = nullptr;
  const long n = BIO_get_mem_data(bio.get(), &data);
  return n > 0 ? std::string(data, static_cast<size_t>(n)) : std::string();
}

std::string CertificatePem(X509* cert) {
  return ToPem([&](BIO* b) { PEM_write_bio_X509(b, cert); });
}

std::string KeyPem(EVP_PKEY* key) {
  return ToPem(
      [&](BIO* b) { PEM_write_bio_PrivateKey(b, key, nullptr, nullptr, 0, nullptr, nullptr); });
}

bool AddExtension(X509* cert, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, cert, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  if (extension == nullptr) return false;
  const bool ok = X509_add_ext(cert, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return ok;
}

void AddName(X509_NAME* name, const char* field, const std::string& value) {
  std::basic_string<unsigned char> bytes(value.begin(), value.end());
  X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, bytes.data(),
                             static_cast<int>(bytes.size()), -1, 0);
}

Certificate NewCertificate(EVP_PKEY* key) {
  Certificate cert(X509_new());
  if (!cert) return cert;
  X509_set_version(cert.get(), 2);
  unsigned char random[8];
  RAND_bytes(random, sizeof random);
  uint64_t serial = 0;
  for (const unsigned char c : random) serial = serial << 8 | c;
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(cert.get()), serial >> 1);
  X509_gmtime_adj(X509_getm_notBefore(cert.get()), -kBackdateSeconds);
  X509_gmtime_adj(X509_getm_notAfter(cert.get()), kValiditySeconds);
  X509_set_pubkey(cert.get(), key);
  return cert;
}

}  // namespace

void OpensslFree::operator()(SSL_CTX* p) const { SSL_CTX_free(p); }
void OpensslFree::operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
void OpensslFree::operator()(X509* p) const { X509_free(p); }

PrivateKey NewEcKey() { return PrivateKey(EVP_EC_gen("P-256")); }

std::string NewKeyPem() {
  const PrivateKey key = NewEcKey();
  return key ? KeyPem(key.get()) : std::string();
}

PrivateKey ReadKeyPem(const std::string& pem) {
  const std::unique_ptr<BIO, FreeBio> bio(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  // The empty password keeps OpenSSL from asking the terminal for one.
  std::string no_password;
  PrivateKey key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, no_password.data()));
  char group[32] = "";
  size_t size = 0;
  if (key && (EVP_PKEY_get_group_name(key.get(), group, sizeof group, &size) != 1 ||
              std::string_view(group, size) != SN_X9_62_prime256v1)) {
    key.reset();
  }
  if (!key) ERR_clear_error();
  return key;
}

std::string CertificateAuthority::NewAuthorityPem() {
  const PrivateKey key = NewEcKey();
  const Certificate ca = key ? NewCertificate(key.get()) : Certificate();
  if (!ca) return "";
  X509_NAME* subject = X509_get_subject_name(ca.get());
  AddName(subject, "CN", "kubernetes");
  X509_set_issuer_name(ca.get(), subject);
  if (!AddExtension(ca.get(), ca.get(), NID_basic_constraints, "critical,CA:TRUE") ||
      !AddExtension(ca.get(), ca.get(), NID_key_usage,
                    "critical,digitalSignature,keyEncipherment,keyCertSign") ||
      !AddExtension(ca.get(), ca.get(), NID_subject_key_identifier, "hash") ||
      X509_sign(ca.get(), key.get(), EVP_sha256()) == 0) {
    return "";
  }
  return KeyPem(key.get()) + CertificatePem(ca.get());
}

Status CertificateAuthority::Init(const std::string& authority_pem, const std::string& address) {
  const auto fail = [](const char* what) {
    return MakeError(Code::kInternal,
                     std::string("cannot make the cluster's certificates: OpenSSL: ") + what);
  };
  ca_key_ = ReadKeyPem(authority_pem);
  const std::unique_ptr<BIO, FreeBio> bio(
      BIO_new_mem_buf(authority_pem.data(), static_cast<int>(authority_pem.size())));
  ca_.reset(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  if (!ca_key_ || !ca_ || X509_check_private_key(ca_.get(), ca_key_.get()) != 1) {
    ERR_clear_error();
    return MakeError(Code::kInvalid,
                     "the cluster's certificate authority is not a private key and its "
                     "certificate in PEM");
  }
  ca_pem_ = CertificatePem(ca_.get());

  std::string names =
      "IP:127.0.0.1,IP:10.96.0.1,DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:"
      "kubernetes.default.svc,"
      "DNS:kubernetes.default.svc.cluster.local";
  if (address != "127.0.0.1" && address != "0.0.0.0" && !address.empty()) names += ",IP:" + address;
  const PrivateKey key = NewEcKey();
  if (!key) return fail("key");
  const Certificate cert = Sign(key.get(), "kube-apiserver", {}, names, true);
  if (!cert) return fail("server certificate");
  context_.reset(SSL_CTX_new(TLS_server_method()));
  SSL_CTX* c = context_.get();
  if (c == nullptr || SSL_CTX_use_certificate(c, cert.get()) != 1 ||
      SSL_CTX_use_PrivateKey(c, key.get()) != 1) {
    return fail("context");
  }
  SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION);
  X509_STORE_add_cert(SSL_CTX_get_cert_store(c), ca_.get());
  SSL_CTX_add_client_CA(c, ca_.get());
  SSL_CTX_set_verify(c, SSL_VERIFY_PEER,
                     nullptr);  // a client certificate is optional, a wrong one is refused
  // Hundreds of idle watches: give their buffers back. No session tickets: each would be kept for
  // nothing.
  SSL_CTX_set_mode(c, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY);
  // A record's head and body in one read.
  SSL_CTX_set_read_ahead(c, 1);
  SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(c, 0);
  SSL_CTX_set_options(c, SSL_OP_NO_TICKET);
  SSL_CTX_set_options(c, SSL_OP_IGNORE_UNEXPECTED_EOF);
  return Ok();
}

Certificate CertificateAuthority::Sign(EVP_PKEY* key, const std::string& common_name,
                                       const std::vector<std::string>& organizations,
                                       const std::string& alternative_names, bool server) const {
  Certificate cert = NewCertificate(key);
  if (!cert) return cert;
  X509_NAME* subject = X509_get_subject_name(cert.get());
  for (const std::string& o : organizations) AddName(subject, "O", o);
  AddName(subject, "CN", common_name);
  X509_set_issuer_name(cert.get(), X509_get_subject_name(ca_.get()));
  bool ok = AddExtension(cert.get(), ca_.get(), NID_basic_constraints, "critical,CA:FALSE") &&
            AddExtension(cert.get(), ca_.get(), NID_key_usage,
                         "critical,digitalSignature,keyEncipherment") &&
            AddExtension(cert.get(), ca_.get(), NID_ext_key_usage,
                         server ? "serverAuth" : "clientAuth") &&
            AddExtension(cert.get(), ca_.get(), NID_authority_key_identifier, "keyid");
  if (ok && !alternative_names.empty()) {
    ok = AddExtension(cert.get(), ca_.get(), NID_subject_alt_name, alternative_names);
  }
  if (!ok || X509_sign(cert.get(), ca_key_.get(), EVP_sha256()) == 0) cert.reset();
  return cert;
}

Result<KeyPair> CertificateAuthority::IssueClient(const std::string& user,
                                                  const std::vector<std::string>& groups) const {
  const PrivateKey key = NewEcKey();
  const Certificate cert = key && ca_ ? Sign(key.get(), user, groups, "", false) : Certificate();
  if (!cert) {
    return MakeError(Code::kInternal,
                     "cannot issue a client certificate for \"" + user +
                         "\": the server is not started, or the name is longer than 64 characters");
  }
  return KeyPair{CertificatePem(cert.get()), KeyPem(key.get())};
}

std::string Base64(std::string_view bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  std::basic_string<unsigned char> in(bytes.begin(), bytes.end());
  std::basic_string<unsigned char> text(out.size(), 0);
  const int n = EVP_EncodeBlock(text.data(), in.data(), static_cast<int>(in.size()));
  return std::string(text.begin(), text.begin() + n);
}

std::string Base64Url(std::string_view bytes) {
  std::string out = Base64(bytes);
  while (!out.empty() && out.back() == '=') out.pop_back();
  for (char& c : out) {
    if (c == '+') c = '-';
    if (c == '/') c = '_';
  }
  return out;
}

bool DecodeBase64Url(std::string_view text, std::string* bytes) {
  std::basic_string<unsigned char> in;
  for (const char c : text) {
    in.push_back(static_cast<unsigned char>(c == '-' ? '+' : c == '_' ? '/' : c));
    if (c == '+' || c == '/' || c == '=') return false;
  }
  const size_t padding = (4 - in.size() % 4) % 4;
  if (padding == 3) return false;
  in.append(padding, '=');
  std::basic_string<unsigned char> out(in.size() / 4 * 3 + 1, 0);
  const int n = EVP_DecodeBlock(out.data(), in.data(), static_cast<int>(in.size()));
  if (n < 0) return false;
  bytes->assign(out.begin(), out.begin() + n - static_cast<long>(padding));
  return true;
}

}  // namespace kcm::devcluster
