// SPDX-License-Identifier: Apache-2.0
// Server: the embedded API server, as a library. Tests run it in process with a virtual clock;
// kcm-devcluster serves it.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/clock/clock.h"
#include "kcm/rules/result.h"

namespace kcm::devcluster {

struct ServerOptions {
  std::string address = "127.0.0.1";
  uint16_t port = 0;  // 0: any free port, see Server::port()
  bool tls = true;    // false: plain http (a request without a token is of user admin in
                      // system:masters, as a test convenience)
  // Keeps objects and keys over restarts (data_dir.h): a write is answered when it is on disk. Made
  // when absent; one server at a time. Empty: memory only.
  std::string data_dir;
  std::string server_version = "v1.36.2";
  host::clock::Clock* clock = nullptr;  // nullptr: the real clock. Must outlive the server.
  bool watch_list = true;  // false: behave as a 1.28 server (422 for sendInitialEvents)
};

// Thread-safe. Start/Stop from one thread. Stop closes every connection and joins every thread.
class Server {
 public:
  explicit Server(ServerOptions options);
  ~Server();
  Status Start();
  void Stop();
  uint16_t port() const;
  std::string url() const;
  // kubeconfig text with CA, client certificate and key of `user` in `groups` embedded. `admin` in
  // `system:masters` by default.
  std::string Kubeconfig(const std::string& user = "admin",
                         const std::string& group = "system:masters") const;
  std::string CaPem() const;
  // Highest resourceVersion of the store, and of one resource ("group/version/resource", core
  // group: "v1/pods"): the harness compares caches with it.
  uint64_t ResourceVersion() const;
  uint64_t ResourceVersion(const std::string& resource) const;
  // Requests being handled now (watches not counted).
  int RequestsInFlight() const;
  // Every request, for tests: method, path with query, user, user agent, code. Kept when enabled
  // (off by default).
  struct AuditEntry {
    std::string method, uri, user, user_agent, body;
    int code = 0;
  };
  void EnableAudit(bool on);
  std::vector<AuditEntry> TakeAudit();
  // Faults for tests: the next matching requests are answered by the fault instead (docs in
  // server/faults.h).
  struct Fault {
    std::string method;      // "" any
    std::string path_regex;  // of path and query
    int times = 1;           // -1: until ClearFaults
    enum class Kind {
      kStatus,
      kDropBefore,
      kDropAfter,
      kHang,
      kSlow,
      kWatchClose,
      kWatchGone,
      kWatchCut
    } kind = Kind::kStatus;
    int status = 500;  // kStatus
    std::string reason, message;
    int retry_after_seconds = -1;
    int64_t delay_ms = 0;  // kSlow, kHang (real time)
  };
  void AddFault(const Fault& fault);
  void ClearFaults();
  // Forgets watch history older than now: the next watch from an old revision gets 410.
  void Compact();
  // Closes all open watches (as a restart of the server would).
  void CloseWatches();
  // True: watches of a resource ("v1/pods", "apps/v1/replicasets") stay open and tell nothing of
  // what is written from now on. False: they tell all of it.
  void HoldWatches(const std::string& resource, bool hold);
  // False: as if the server's process were gone, every connection is closed and new ones are
  // refused. True: it is back with everything it held. From one thread, while started.
  void SetReachable(bool reachable);
  // Open connections that authenticated with a client certificate of this user.
  int Connections(const std::string& user) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kcm::devcluster
