// SPDX-License-Identifier: Apache-2.0
// Generates the self-signed serving pair.
#include <arpa/inet.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <ctime>
#include <thread>

#include "host/clock/thread.h"
#include "host/http/certificates.h"

namespace kcm::host::http {
namespace {

constexpr long kHour = 3600;
constexpr long kYear = 365 * 24 * kHour;

EVP_PKEY* NewKey() { return EVP_RSA_gen(2048); }

bool AddExtension(X509* cert, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, cert, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  if (extension == nullptr) return false;
  const bool added = X509_add_ext(cert, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

bool SetCommonName(X509_NAME* name, const std::string& common_name) {
  std::vector<unsigned char> bytes(common_name.begin(), common_name.end());
  return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, bytes.data(),
                                    static_cast<int>(bytes.size()), -1, 0) == 1;
}

// Serial, validity, subject and key; unsigned.
CertPtr NewCertificate(EVP_PKEY* key, const std::string& common_name) {
  CertPtr cert(X509_new());
  std::vector<unsigned char> serial(16);
  if (!cert || RAND_bytes(serial.data(), static_cast<int>(serial.size())) != 1) return nullptr;
  serial[0] &= 0x7F;
  BIGNUM* number = BN_bin2bn(serial.data(), static_cast<int>(serial.size()), nullptr);
  const bool ok = number != nullptr && X509_set_version(cert.get(), 2) == 1 &&
                  BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert.get())) != nullptr &&
                  X509_gmtime_adj(X509_getm_notBefore(cert.get()), -kHour) != nullptr &&
                  X509_gmtime_adj(X509_getm_notAfter(cert.get()), kYear) != nullptr &&
                  X509_set_pubkey(cert.get(), key) == 1 &&
                  SetCommonName(X509_get_subject_name(cert.get()), common_name);
  BN_free(number);
  return ok ? std::move(cert) : nullptr;
}

std::string AlternativeNames(const std::string& bind_address) {
  std::string names = "DNS:localhost,IP:127.0.0.1";
  const bool specific = !bind_address.empty() && bind_address != "0.0.0.0" &&
                        bind_address != "::" && bind_address != "127.0.0.1";
  return specific ? names + ",IP:" + bind_address : names;
}

bool WritePem(BIO* out, X509* cert, EVP_PKEY* key) {
  if (cert != nullptr) return PEM_write_bio_X509(out, cert) == 1;
  return PEM_write_bio_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr) == 1;
}

std::string TextOf(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<size_t>(size)};
}

}  // namespace

Result<PemPair> GeneratePair(const std::string& bind_address) {
  const auto fail = [] {
    return MakeError(Code::kInternal, "error creating self-signed certificates: " + OpenSslError());
  };
  const std::string now = std::to_string(std::time(nullptr));  // TLS validity is on real time
  KeyPtr ca_key;
  std::thread other = clock::StartThread(
      "the key of a CA", [&] { ca_key.reset(NewKey()); });  // most of the time goes here
  const KeyPtr key(NewKey());
  other.join();
  if (!ca_key || !key) return fail();
  const CertPtr ca = NewCertificate(ca_key.get(), "localhost-ca@" + now);
  const CertPtr leaf = NewCertificate(key.get(), "localhost@" + now);
  if (!ca || !leaf) return fail();
  const bool signed_both =
      X509_set_issuer_name(ca.get(), X509_get_subject_name(ca.get())) == 1 &&
      AddExtension(ca.get(), ca.get(), NID_basic_constraints, "critical,CA:TRUE") &&
      AddExtension(ca.get(), ca.get(), NID_key_usage,
                   "critical,digitalSignature,keyEncipherment,keyCertSign") &&
      AddExtension(ca.get(), ca.get(), NID_subject_key_identifier, "hash") &&
      X509_sign(ca.get(), ca_key.get(), EVP_sha256()) != 0 &&
      X509_set_issuer_name(leaf.get(), X509_get_subject_name(ca.get())) == 1 &&
      AddExtension(leaf.get(), ca.get(), NID_basic_constraints, "critical,CA:FALSE") &&
      AddExtension(leaf.get(), ca.get(), NID_key_usage,
                   "critical,digitalSignature,keyEncipherment") &&
      AddExtension(leaf.get(), ca.get(), NID_ext_key_usage, "serverAuth") &&
      AddExtension(leaf.get(), ca.get(), NID_authority_key_identifier, "keyid") &&
      AddExtension(leaf.get(), ca.get(), NID_subject_alt_name, AlternativeNames(bind_address)) &&
      X509_sign(leaf.get(), ca_key.get(), EVP_sha256()) != 0;
  const BioPtr certs(BIO_new(BIO_s_mem()));
  const BioPtr keys(BIO_new(BIO_s_mem()));
  if (!signed_both || !WritePem(certs.get(), leaf.get(), nullptr) ||
      !WritePem(certs.get(), ca.get(), nullptr) || !WritePem(keys.get(), nullptr, key.get())) {
    return fail();
  }
  return PemPair{TextOf(certs.get()), TextOf(keys.get())};
}

}  // namespace kcm::host::http
