// SPDX-License-Identifier: Apache-2.0
// What a Job's reconcile may rely on: feature gates, and what the API server keeps
// (spec/pod-batch.md 1.13).
//
// A gate that is off always wins. A field that the server drops would differ from the cache for
// ever, so what came with a later server is left out for an earlier one unless the flag
// --feature-gates names the gate.
#pragma once
#include <functional>
#include <string_view>

#include "kcm/sdk/context.h"

namespace kcm::pod::job {

struct Features {
  bool backoff_limit_per_index = true;
  bool pod_replacement_policy = true;  // spec.podReplacementPolicy and status.terminating
  bool managed_by = true;
  bool success_policy = true;
  // FailureTarget or SuccessCriteriaMet first; Failed or Complete when the last pod has ended.
  bool delayed_terminal_condition = true;
  bool clears_start_time = true;  // at suspension
  bool reads_own_writes = true;
};

// `gate`: whether a gate is on here; `feature_gates`: the flag's text, "A=true,B=false".
Features FeaturesOf(const std::function<bool(std::string_view)>& gate,
                    std::string_view feature_gates, int server_minor);

// The same for the server and the flags at hand. An error when the server's version can not be
// read.
Result<Features> FeaturesOf(const sdk::Context& context);

}  // namespace kcm::pod::job
