// SPDX-License-Identifier: Apache-2.0
// Serving certificates: generated or from files, with pairs for single host names, re-read on
// change (spec/host.md 9.7).
//
//   auto store = CertificateStore::Open(options.serving, log);     // Result
//   std::shared_ptr<const ServingPair> pair = (*store)->For("host.example");
//   (*store)->Reload();                                            // now and then
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "host/config/options.h"
#include "host/http/openssl_handles.h"
#include "host/log/log.h"
#include "kcm/rules/result.h"

namespace kcm::host::http {

struct ServingPair {
  std::vector<CertPtr> chain;  // leaf first; not empty
  KeyPtr key;
};

// Error: which file, and why.
Result<std::shared_ptr<const ServingPair>> ParsePair(const std::string& cert_pem,
                                                     const std::string& key_pem,
                                                     const std::string& what);

struct PemPair {
  std::string cert, key;
};
// A CA of its own and a leaf for localhost, 127.0.0.1 and `bind_address` when that is specific.
// Takes a moment (RSA 2048).
Result<PemPair> GeneratePair(const std::string& bind_address);

// Thread-safe.
class CertificateStore {
 public:
  // Reads or generates what the options ask for. Error: a file that can not be used.
  static Result<std::unique_ptr<CertificateStore>> Open(const config::ServingOptions& options,
                                                        log::Logger log);

  // The pair for a name the client asked for; "" when it asked for none. Explicit patterns beat
  // names from certificates, exact ones beat wildcards, else the default pair.
  std::shared_ptr<const ServingPair> For(std::string_view server_name) const;
  // Takes over files that changed. A pair that can not be used is logged and the old one stays.
  void Reload();

 private:
  struct Entry {
    std::string cert_file, key_file;    // empty: in memory
    std::vector<std::string> patterns;  // lower case; as given, or out of the certificate
    bool patterns_given = false;
    std::string fingerprint;  // of both files' content
    std::shared_ptr<const ServingPair> pair;
  };
  explicit CertificateStore(log::Logger log) : log_(std::move(log)) {}
  Status GenerateInto(const std::string& dir, const std::string& cert_file,
                      const std::string& key_file, const std::string& bind_address) const;
  Result<Entry> DefaultEntry(const config::ServingOptions& options) const;
  static Result<Entry> LoadFiles(const std::string& cert_file, const std::string& key_file);

  const log::Logger log_;
  mutable std::mutex mutex_;    // guards entries_; not held while files are read
  std::vector<Entry> entries_;  // the default first, then SNI pairs
};

}  // namespace kcm::host::http
