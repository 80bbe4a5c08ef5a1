// SPDX-License-Identifier: Apache-2.0
// Elector: leader election compatible with client-go's lease lock (spec/host.md 4), and the fence
// that rests on it.
//
// Guarantee (design 7): Held() is true only until the SEND time of the last successful renewal +
// renew_deadline by the local boot-time clock; so a request let through by the fence is out of the
// process before another holder can exist.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "host/client/client.h"

namespace kcm::host::leader {

struct Options {
  std::string lease_namespace = "kube-system";
  std::string lease_name = "kube-controller-manager";
  std::string identity{};  // <hostname>_<uuid>
  clock::Duration lease_duration = std::chrono::seconds(15);
  clock::Duration renew_deadline = std::chrono::seconds(10);
  clock::Duration retry_period = std::chrono::seconds(2);
  std::shared_ptr<client::Client> client{};  // own rate limiter, unfenced
  clock::Clock* clock = nullptr;
  log::Logger log{};
  metric::Registry* metrics = nullptr;
  std::function<void(const std::string& message)>
      event{};  // "<identity> became leader": the host writes the Event
  // Another's lease has not been renewed for half its duration: it may soon be ours to take. Once
  // per silence, on the elector's thread: must not block. For what a start of work can have ready.
  std::function<void()> on_holder_silent{};
  std::function<double()> random{};  // [0,1): jitter; tests inject
};

// Empty when legal, else the error text of 4.2.
std::string ValidateTimings(const Options& options);

// Run once. Thread-safe.
class Elector {
 public:
  explicit Elector(Options options);
  ~Elector();
  enum class End { kLost, kStopped };
  // Blocks: acquires, calls `on_started` on a thread of its own (joined by the destructor, so it
  // must end once the host stops), renews until lost or Stop. Returns at the renew deadline even if
  // a request or `on_started` hangs (T5).
  End Run(const std::function<void()>& on_started);
  void Stop();            // ends Run; does not release
  Status Release();       // after Run ended and all writers are quiet (4.6)
  bool IsLeader() const;  // acquired and not lost, stopped or released; Check() is the strict form
  // Fence: kFenced unless the lease is held; deadline as described above.
  Status Check(clock::MonoTime* deadline) const;
  // 4.7: empty = healthy.
  std::string HealthError() const;
  std::string holder() const;  // last observed

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kcm::host::leader
