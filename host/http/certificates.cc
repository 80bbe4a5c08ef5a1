// SPDX-License-Identifier: Apache-2.0
// Loads, chooses and reloads serving certificates.
#include "host/http/certificates.h"

#include <fcntl.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "host/file/regular_file.h"
#include "host/http/review_cache.h"

namespace kcm::host::http {
namespace {

// Written whole or not at all: a reader never sees half a key.
Status WriteFile(const std::string& path, const std::string& text, mode_t mode) {
  const std::string temporary = path + ".tmp";
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  if (fd < 0) return MakeError(Code::kInternal, "write " + temporary + ": " + std::strerror(errno));
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  const bool synced = fsync(fd) == 0;
  close(fd);
  if (done != text.size() || !synced || rename(temporary.c_str(), path.c_str()) != 0) {
    return MakeError(Code::kInternal, "write " + path + ": " + std::strerror(errno));
  }
  return Ok();
}

std::string LowerDnsName(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  while (out.ends_with('.')) out.pop_back();
  return out;
}

// DNS names of the leaf; its common name when it has none.
std::vector<std::string> NamesOf(X509* leaf) {
  std::vector<std::string> names;
  auto* alternatives =
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(leaf, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(alternatives); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(alternatives, i);
    if (name->type != GEN_DNS) continue;
    const unsigned char* data = ASN1_STRING_get0_data(name->d.dNSName);
    names.push_back(LowerDnsName(std::string(data, data + ASN1_STRING_length(name->d.dNSName))));
  }
  GENERAL_NAMES_free(alternatives);
  if (!names.empty()) return names;
  std::string common(256, '\0');
  const int length =
      X509_NAME_get_text_by_NID(X509_get_subject_name(leaf), NID_commonName, common.data(), 256);
  if (length > 0) names.push_back(LowerDnsName(common.substr(0, static_cast<size_t>(length))));
  return names;
}

// `*.example.com` for `a.example.com`; "" when there is no dot.
std::string WildcardOf(const std::string& name) {
  const size_t dot = name.find('.');
  return dot == name.npos ? "" : "*" + name.substr(dot);
}

std::string Fingerprint(const std::string& cert, const std::string& key) {
  const Digest digest = DigestOf(cert + '\0' + key);
  return {digest.begin(), digest.end()};
}

}  // namespace

Result<std::shared_ptr<const ServingPair>> ParsePair(const std::string& cert_pem,
                                                     const std::string& key_pem,
                                                     const std::string& what) {
  auto pair = std::make_shared<ServingPair>();
  pair->chain = ReadCertificates(cert_pem);
  if (pair->chain.empty()) {
    return MakeError(Code::kInvalid, what + ": failed to find any PEM data in certificate input");
  }
  const BioPtr bio(BIO_new_mem_buf(key_pem.data(), static_cast<int>(key_pem.size())));
  // An encrypted key is refused: nobody could be asked for the password.
  pem_password_cb* const no_password = [](char*, int, int, void*) { return -1; };
  pair->key.reset(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr));
  if (!pair->key)
    return MakeError(Code::kInvalid, what + ": failed to find any usable PEM data in key input");
  if (X509_check_private_key(pair->chain.front().get(), pair->key.get()) != 1) {
    OpenSslError();
    return MakeError(Code::kInvalid, what + ": private key does not match public key");
  }
  return std::shared_ptr<const ServingPair>(std::move(pair));
}

Result<CertificateStore::Entry> CertificateStore::LoadFiles(const std::string& cert_file,
                                                            const std::string& key_file) {
  const Result<std::string> cert = file::ReadRegularFile(cert_file);
  if (!cert.ok()) return cert.error();
  const Result<std::string> key = file::ReadRegularFile(key_file);
  if (!key.ok()) return key.error();
  Result<std::shared_ptr<const ServingPair>> pair =
      ParsePair(*cert, *key, "tls: " + cert_file + " and " + key_file);
  if (!pair.ok()) return pair.error();
  Entry entry;
  entry.cert_file = cert_file;
  entry.key_file = key_file;
  entry.fingerprint = Fingerprint(*cert, *key);
  entry.patterns = NamesOf((*pair)->chain.front().get());
  entry.pair = *std::move(pair);
  return entry;
}

// A pair in `dir` that is made when it is not there yet.
Status CertificateStore::GenerateInto(const std::string& dir, const std::string& cert_file,
                                      const std::string& key_file,
                                      const std::string& bind_address) const {
  const Result<PemPair> generated = GeneratePair(bind_address);
  if (!generated.ok()) return generated.error();
  std::error_code made;
  std::filesystem::create_directories(dir, made);  // a failure shows when the file is written
  if (Status wrote = WriteFile(cert_file, generated->cert, 0644); !wrote.ok()) return wrote;
  if (Status wrote = WriteFile(key_file, generated->key, 0600); !wrote.ok()) return wrote;
  log_.Info(0, "Generated self-signed cert", {{"certFile", cert_file}, {"keyFile", key_file}});
  return Ok();
}

// Files of the flags, else the pair in --cert-dir, else one in memory.
Result<CertificateStore::Entry> CertificateStore::DefaultEntry(
    const config::ServingOptions& options) const {
  if (!options.cert_file.empty()) return LoadFiles(options.cert_file, options.key_file);
  if (!options.cert_dir.empty()) {
    const std::string cert_file = options.cert_dir + "/kube-controller-manager.crt";
    const std::string key_file = options.cert_dir + "/kube-controller-manager.key";
    if (access(cert_file.c_str(), R_OK) != 0 || access(key_file.c_str(), R_OK) != 0) {
      const Status made = GenerateInto(options.cert_dir, cert_file, key_file, options.bind_address);
      if (!made.ok()) return made.error();
    }
    return LoadFiles(cert_file, key_file);
  }
  const Result<PemPair> generated = GeneratePair(options.bind_address);
  if (!generated.ok()) return generated.error();
  Result<std::shared_ptr<const ServingPair>> pair =
      ParsePair(generated->cert, generated->key, "generated pair");
  if (!pair.ok()) return pair.error();
  log_.Info(0, "Generated self-signed cert in-memory");
  Entry entry;
  entry.pair = *std::move(pair);
  return entry;
}

Result<std::unique_ptr<CertificateStore>> CertificateStore::Open(
    const config::ServingOptions& options, log::Logger log) {
  std::unique_ptr<CertificateStore> store(new CertificateStore(std::move(log)));
  Result<Entry> first = store->DefaultEntry(options);
  if (!first.ok()) return first.error();
  store->entries_.push_back(*std::move(first));
  for (const config::SniCertificate& sni : options.sni) {
    Result<Entry> entry = LoadFiles(sni.cert_file, sni.key_file);
    if (!entry.ok()) return entry.error();
    entry->patterns_given = !sni.patterns.empty();
    if (entry->patterns_given) entry->patterns.clear();
    for (const std::string& pattern : sni.patterns)
      entry->patterns.push_back(LowerDnsName(pattern));
    store->entries_.push_back(*std::move(entry));
  }
  return store;
}

std::shared_ptr<const ServingPair> CertificateStore::For(std::string_view server_name) const {
  const std::string name = LowerDnsName(server_name);
  const std::string wildcard = WildcardOf(name);
  const std::lock_guard lock(mutex_);
  for (const bool given : {true, false}) {
    for (const std::string& wanted : {name, wildcard}) {
      for (size_t i = 1; i < entries_.size() && !wanted.empty(); ++i) {
        const Entry& entry = entries_[i];
        const auto& patterns = entry.patterns;
        if (entry.patterns_given == given &&
            std::find(patterns.begin(), patterns.end(), wanted) != patterns.end()) {
          return entry.pair;
        }
      }
    }
  }
  return entries_.front().pair;
}

void CertificateStore::Reload() {
  std::vector<Entry> current;
  {
    const std::lock_guard lock(mutex_);
    current = entries_;
  }
  for (size_t i = 0; i < current.size(); ++i) {
    if (current[i].cert_file.empty()) continue;
    Result<Entry> fresh = LoadFiles(current[i].cert_file, current[i].key_file);
    if (!fresh.ok()) {
      log_.Error(fresh.error().message, "Failed to reload serving certificate, the old one stays",
                 {{"certFile", current[i].cert_file}});
      continue;
    }
    if (fresh->fingerprint == current[i].fingerprint) continue;
    if (current[i].patterns_given) fresh->patterns = current[i].patterns;
    fresh->patterns_given = current[i].patterns_given;
    log_.Info(2, "Reloaded serving certificate", {{"certFile", current[i].cert_file}});
    const std::lock_guard lock(mutex_);
    entries_[i] = *std::move(fresh);
  }
}

}  // namespace kcm::host::http
