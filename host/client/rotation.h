// SPDX-License-Identifier: Apache-2.0
// Rotation: re-reads certificate, key and CA files by the rules of spec/host.md 2.3 and reports
// changes.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "host/client/kubeconfig.h"
#include "host/clock/clock.h"
#include "host/log/log.h"
#include "host/metric/registry.h"

namespace kcm::host::client {

// What the TLS contexts of one server are made from.
struct TlsFiles {
  std::string ca_pem, cert_pem, key_pem;
};

struct RotationOptions {
  Material ca, cert, key;
  clock::Clock* clock = nullptr;
  log::Logger log;
  metric::Registry* metrics = nullptr;
  // Returns an error when the pair can not be used; it is tried again later then.
  std::function<Status(const TlsFiles&)> on_pair;
  std::function<Status(const TlsFiles&)> on_ca;
};

// Thread-safe. No callback runs after the destructor.
class Rotation {
 public:
  explicit Rotation(RotationOptions options);
  ~Rotation();

  // The first load; an error is final. Starts the 5 min poll when the pair comes from files.
  Result<TlsFiles> Load();
  // Before a handshake: reads the pair again when the copy is older than 1 s.
  void BeforeHandshake();
  // With a request: reads the CA again when the last look is 5 min ago.
  void BeforeRequest();

 private:
  Status CheckPair();
  void CheckCa();
  void Arm(clock::Duration delay);
  void Poll();
  void CountCa(const char* result, const char* reason) const;

  const RotationOptions options_;
  metric::Metric ca_reloads_;
  std::mutex check_mutex_;  // one check at a time, held over file reads and callbacks
  std::mutex mutex_;
  TlsFiles files_;             // guarded by mutex_
  clock::MonoTime pair_read_;  // guarded by mutex_
  clock::MonoTime ca_read_;    // guarded by mutex_
  clock::TimerId timer_ = 0;   // guarded by mutex_
  bool stopped_ = false;       // guarded by mutex_
  int failures_ = 0;           // in a row, of the poll. Guarded by mutex_
};

}  // namespace kcm::host::client
