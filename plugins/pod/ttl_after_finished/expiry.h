// SPDX-License-Identifier: Apache-2.0
// When a finished Job is to be deleted (spec/pod-batch.md section 3). Pure.
#pragma once
#include <chrono>

#include "kcm/rules/node.h"
#include "kcm/rules/time.h"

namespace kcm::pod::ttl_after_finished {

struct Expiry {
  enum class State {
    kNever,    // not finished, no TTL, or being deleted already
    kUnknown,  // finished, but nobody says when
    kWaiting,  // in `time`
    kPassed,   // `time` ago
  };
  State state = State::kNever;
  std::chrono::nanoseconds time{0};  // not negative
  friend bool operator==(const Expiry&, const Expiry&) = default;
};

// True when the Job has something to wait for or to be deleted for.
bool HasExpiry(rules::Node job);
Expiry ExpiryOf(rules::Node job, rules::WallTime now);

}  // namespace kcm::pod::ttl_after_finished
