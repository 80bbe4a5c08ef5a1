// SPDX-License-Identifier: Apache-2.0
// WorkQueue: client-go's rate limited, delaying, de-duplicating queue of string keys (spec/host.md
// 6), with its metrics. The host owns queues; they survive a plugin swap with their keys, delays
// and failure counts.
//
// Guarantees: one key is with one worker at most; N adds while it waits or is processed give
// exactly one later run; FIFO otherwise; of two delays for one key the earlier wins; a plain Add
// does not cancel a delayed one; nothing is lost.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/clock/clock.h"
#include "host/metric/registry.h"

namespace kcm::host::queue {

// Delays of AddRateLimited (spec/host.md 6.4): base * 2^failures up to cap, and the bucket.
struct RateLimit {
  clock::Duration base = std::chrono::milliseconds(5);
  clock::Duration cap = std::chrono::seconds(1000);
  int fast_attempts = 0;  // > 0: not exponential, but `base` for so many attempts, then `cap`
  clock::Duration max_wait = clock::Duration::max();  // caps the result, the bucket's share too
  bool bucket = true;  // overall token bucket beside it (the longer delay counts)
  double bucket_qps = 10;
  int bucket_burst = 100;
};

struct Options {
  std::string name;  // metric label; empty: no metrics
  RateLimit limit;
  clock::Clock* clock = nullptr;        // REQUIRES: not null, outlives the queue
  metric::Registry* metrics = nullptr;  // may be null, else outlives the queue
};

// Thread-safe. O(1) per call, O(log n) for delayed keys.
//
// Virtual time: ready keys count as work (Clock::BeginWork), delayed ones do not. Get hands the key
// over to its thread: a worker holds one BusyScope around its loop (see host/clock/clock.h), so
// that a key being processed counts, except while its worker waits on the clock; ready keys behind
// it do not count then, since only a worker could take them. Without a BusyScope a key in
// processing does not count.
class WorkQueue {
 public:
  explicit WorkQueue(Options options);
  // REQUIRES: no thread is inside Get or WaitIdle.
  ~WorkQueue();

  void Add(std::string_view key);
  void AddAfter(std::string_view key, clock::Duration delay);  // delay <= 0: Add
  void AddRateLimited(std::string_view key);
  void Forget(std::string_view key);  // the failure count only
  // Delays from the next AddRateLimited on. Failure counts, delayed keys and what is reserved of
  // the bucket stay.
  void SetLimit(const RateLimit& limit);
  int NumRequeues(std::string_view key) const;
  size_t Length() const;   // ready keys
  size_t Waiting() const;  // delayed keys
  size_t Processing() const;

  // Blocks for a key. nullopt: shut down and empty, or interrupted (see Interrupt). Each key must
  // get its Done, else it is stuck for ever.
  std::optional<std::string> Get();
  void Done(std::string_view key);  // ignored when the key is not being processed

  // Pause: Get blocks although keys are ready (hot swap hand-over), and they hold virtual time
  // back. Park: the same for a controller that does not run (standby, quarantine): its ready keys
  // do not hold time back. Resume ends both.
  void Pause();
  void Park();
  void Resume();
  // Waits until no key is processed. False when `limit` passed first. Used between Pause and the
  // exchange of builds.
  bool WaitIdle(clock::Duration limit);
  // Makes every blocked Get return nullopt once, until Uninterrupt (workers of an old generation
  // leave).
  void Interrupt();
  void Uninterrupt();
  // No more adds; Get hands out what is ready, then nullopt. Delayed keys are dropped. Ends a
  // pause.
  void ShutDown();
  // Drops every key, delay and failure count that is not being processed (key version changed).
  void Clear();
  // Processing, then ready (first in line first), then delayed keys (earliest first), for kcmctl.
  // `state` is "processing", "ready" or "delayed", joined by "+" where several hold;
  // "processing+ready" runs again after Done.
  struct KeyState {
    std::string key;
    std::string state;
    clock::Duration due_in;
    int failures;
  };
  std::vector<KeyState> Keys(size_t limit) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kcm::host::queue
