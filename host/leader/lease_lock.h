// SPDX-License-Identifier: Apache-2.0
// LeaseLock: one attempt to acquire or renew the lease, and what has been observed of it
// (spec/host.md 4.3, 4.4, 4.6).
#pragma once
#include <string>

#include "host/leader/elector.h"
#include "host/leader/lease_record.h"

namespace kcm::host::leader {

// One thread at a time.
class LeaseLock {
 public:
  explicit LeaseLock(const Options& options);

  // 4.3 steps 1..5; with the lease in hand the fast path of 4.4 first. True: we hold it, renewed
  // with requests sent no earlier than `*sent`.
  bool TryAcquireOrRenew(client::Cancellation* cancel, clock::MonoTime* sent);
  // 4.6. Ok also when the lease is not ours.
  Status Release(client::Cancellation* cancel);

  const std::string& holder() const { return observed_.holder; }
  // Another holds the lease and has not renewed it for half its duration, by our own clock.
  bool HolderSilent() const;

 private:
  client::Call MakeCall(client::Verb verb, client::Cancellation* cancel) const;
  Result<wire::ObjectPtr> Write(client::Verb verb, const LeaseRecord& record,
                                clock::Duration timeout, client::Cancellation* cancel);
  void Observe(const LeaseRecord& record);
  bool IsOurs() const { return observed_.holder == options_.identity; }
  // The observed record as it is was first seen less than so many quarters of its duration ago.
  bool SeenWithin(int quarters) const;
  bool IsValid() const { return SeenWithin(4); }
  bool FastRenew(client::Cancellation* cancel, clock::MonoTime* sent);
  LeaseRecord OwnRecord() const;

  const Options& options_;
  const clock::Duration timeout_;
  metric::Metric slow_path_metric_;
  wire::ObjectPtr lease_;  // as last read or written
  LeaseRecord observed_;
  clock::MonoTime observed_at_;  // when observed_ was first seen, by our own clock
};

}  // namespace kcm::host::leader
