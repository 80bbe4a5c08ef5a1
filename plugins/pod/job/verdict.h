// SPDX-License-Identifier: Apache-2.0
// Verdict: whether and how a Job ends (spec/pod-batch.md 1.4 steps 14 and 17). Pure.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "kcm/rules/node.h"
#include "kcm/rules/time.h"
#include "plugins/pod/job/features.h"
#include "plugins/pod/job/indexes.h"
#include "plugins/pod/job/pods.h"
#include "plugins/pod/job/spec.h"

namespace kcm::pod::job {

// The condition that the Job gets next.
struct Verdict {
  enum class Type : uint8_t {
    kNone,                // it goes on
    kFailureTarget,       // to be recorded before pods are released; then Failed
    kFailed,              // recorded already, or a server that knows no target
    kSuccessCriteriaMet,  // recorded or not; then Complete
    kComplete,            // a server that knows no criteria
  };
  Type type = Type::kNone;
  std::string reason = {};
  std::string message = {};

  bool IsSet() const { return type != Type::kNone; }
  bool IsFailure() const { return type == Type::kFailureTarget || type == Type::kFailed; }
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

struct Evidence {
  const JobSpec& spec;
  const Features& features;
  rules::Node status;  // of the Job as it was read
  std::span<const JobPod> pods;
  int64_t failed = 0;                // with those not counted in the status yet
  const Indexes* indexes = nullptr;  // of an Indexed Job
  std::optional<rules::WallTime> start_time = {};
  rules::WallTime now = {};
};

// Failure before success; what the status says already is final.
Verdict Judge(const Evidence& evidence);

// Time until `seconds` after `start`, negative once that has passed. Numbers and times may be any;
// all is left as long as `start` is in the future.
std::chrono::nanoseconds LeftOfDeadline(rules::WallTime start, int64_t seconds,
                                        rules::WallTime now);

// Time until the deadline, when there is one that has not passed.
std::optional<std::chrono::nanoseconds> UntilDeadline(const Evidence& evidence);

// Enough pods have succeeded and none is active.
bool IsComplete(const JobSpec& spec, int64_t succeeded, int64_t active);
Verdict CompletionsReached(const Features& features);

}  // namespace kcm::pod::job
