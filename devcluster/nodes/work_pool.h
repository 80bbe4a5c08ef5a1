// SPDX-License-Identifier: Apache-2.0
// WorkPool: a few worker threads, each with one connection, that make all requests of the simulated
// nodes; and timers that hand work to them. A thousand nodes need no thread of their own.
#pragma once
#include <functional>
#include <memory>

#include "devcluster/nodes/api_connection.h"
#include "host/clock/clock.h"

namespace kcm::devcluster::nodes {

// Thread-safe. Counts queued and running work as busy on the clock, so that virtual time waits for
// it.
class WorkPool {
 public:
  // What a worker offers to the work that it runs.
  class Worker {
   public:
    virtual ~Worker() = default;
    // As ApiConnection::Call, tried three times with a pause while the failure is a passing one (no
    // answer, 429, 5xx).
    virtual Answer Call(const std::string& method, const std::string& path,
                        const std::string& body = {}, const char* content_type = kJson) = 0;
  };
  using Work = std::function<void(Worker&)>;
  // Heartbeats overtake: a node must not be taken for dead because ten thousand pods start.
  enum class Lane { kNormal, kHeartbeat };

  WorkPool(host::clock::Clock& clock, std::shared_ptr<ApiServer> server, int workers);
  ~WorkPool();  // Stop()

  void Start();
  // Aborts requests, joins the workers and drops what is queued or timed. Later submissions are
  // ignored.
  void Stop();

  void Submit(Work work, Lane lane = Lane::kNormal);
  // Submits `work` after `delay`.
  void SubmitAfter(host::clock::Duration delay, Work work, Lane lane = Lane::kNormal);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kcm::devcluster::nodes
