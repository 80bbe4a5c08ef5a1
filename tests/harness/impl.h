// SPDX-License-Identifier: Apache-2.0
// The inside of a Cluster.
#pragma once
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "devcluster/nodes/simulated_nodes.h"
#include "harness/cluster.h"

namespace kcm::harness {

// Lines of the host; shared with its sink, which may outlive a host.
struct LogLines {
  std::mutex mutex;
  std::vector<std::string> lines;  // guarded by mutex
};

struct Cluster::Impl {
  Impl();
  ~Impl();
  // The test's own connection to the server.
  void Connect(devcluster::Server& server, host::clock::VirtualClock& clock);
  void Disconnect();
  Reply Send(const std::string& method, const std::string& path, const std::string& body,
             const std::string& content_type, const std::string& accept);
  Reply SendTo(const std::string& url_and_path);

  // Quiescence beyond what the clock counts: caches and nodes have seen what the store holds.
  bool Idle(const devcluster::Server& server) const;
  std::string WhyBusy(const devcluster::Server& server) const;

  std::unique_ptr<devcluster::nodes::SimulatedNodes> nodes;
  std::atomic<bool> nodes_running{false};
  std::atomic<host::main::Host*> host_running{nullptr};  // null once Run has returned
  std::atomic<bool> starting{false}, stopping{false}, lagging{false};
  // What a cache of `resource` ("v1/pods") must have seen.
  uint64_t Needed(const devcluster::Server& server, const std::string& resource) const;
  std::string held;  // such a resource, guarded by mutex; "": none
  std::thread host_thread;
  mutable std::mutex mutex;
  std::condition_variable ended;  // exit_code is there
  std::optional<int> exit_code;   // guarded by mutex
  std::shared_ptr<LogLines> log = std::make_shared<LogLines>();
  std::vector<std::string> log_copy;
  std::vector<devcluster::Server::AuditEntry>
      writes;  // taken from the server's audit, not yet asked for

  struct Http;
  std::unique_ptr<Http> http;
};

}  // namespace kcm::harness
