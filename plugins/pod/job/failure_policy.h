// SPDX-License-Identifier: Apache-2.0
// Pod failure policy: what the failure of one pod means (spec/pod-batch.md 1.8). Pure.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "kcm/rules/node.h"
#include "plugins/pod/job/spec.h"

namespace kcm::pod::job {

enum class FailureAction : uint8_t {
  kNone,  // no rule matches: counted
  kIgnore,
  kCount,
  kFailIndex,
  kFailJob,
};

struct FailureMatch {
  FailureAction action = FailureAction::kNone;
  std::string message = {};  // of kFailJob
  bool Counts() const { return action != FailureAction::kIgnore; }
};

// The first rule that the failed pod matches. Without a policy: counted.
FailureMatch MatchFailurePolicy(const JobSpec& spec, rules::Node pod);

// As in the API; empty for kNone.
std::string_view ActionName(FailureAction action);

}  // namespace kcm::pod::job
