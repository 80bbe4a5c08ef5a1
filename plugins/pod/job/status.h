// SPDX-License-Identifier: Apache-2.0
// Editing the status of a Job: counters, conditions, uncounted pods, the end (spec/pod-batch.md
// 1.4 steps 17 and 18, 1.10, 1.13). Pure; what a function says it returns is whether the status
// differs now.
#pragma once
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "kcm/rules/time.h"
#include "plugins/pod/job/features.h"
#include "plugins/pod/job/spec.h"
#include "plugins/pod/job/verdict.h"

namespace kcm::pod::job {

using Json = nlohmann::json;
using Uids = std::set<std::string, std::less<>>;

// ---- counters ---- zero and "" are left out where the API leaves them out
int64_t Counter(const Json& status, const char* name);
void SetCounter(Json& status, const char* name, int64_t value);

// What has been counted so far.
struct CountedPods {
  int64_t succeeded = 0;
  int64_t failed = 0;
  std::string completed_indexes = {};
  std::string failed_indexes = {};
};
CountedPods CountedIn(const Json& status);

struct PodCounts {
  int64_t active = 0;
  int64_t ready = 0;
  int64_t terminating = 0;
};
bool SetPodCounts(Json& status, const PodCounts& counts, const Features& features);

// completedIndexes and failedIndexes (nullopt: not per index), and succeeded, which follows.
bool SetIndexes(Json& status, const std::string& completed, int64_t succeeded,
                const std::optional<std::string>& failed);

// ---- conditions ----
// Replaces the first condition of this type when status, reason or message differ, times included.
// Never adds one that is False.
bool EnsureCondition(Json& status, std::string_view type, bool value, std::string_view reason,
                     std::string_view message, rules::WallTime now);
bool HasTrueCondition(const Json& status, std::string_view type);
void AppendTrueCondition(Json& status, std::string_view type, const Verdict& verdict,
                         rules::WallTime now);

// The condition Suspended, and startTime, which follows it.
enum class Suspension : uint8_t { kUnchanged, kSuspended, kResumed };
Suspension NoteSuspension(Json& status, bool suspended, const Features& features,
                          rules::WallTime now);

// ---- uncounted pods ----
// uncountedTerminatedPods becomes an object.
void PrepareUncounted(Json& status);
Uids Uncounted(const Json& status, const char* list);  // "succeeded", "failed"
void AddUncounted(Json& status, const char* list, std::string_view uid);
bool HasUncounted(const Json& status);
// Those that hold their finalizer no more are counted now.
bool CountReleased(Json& status, const Uids& holding);

// ---- the end ----
// What is to be recorded before pods are released is appended; `verdict` becomes the final one.
bool RecordTarget(Json& status, Verdict& verdict, rules::WallTime now);
// The final condition, when all pods have ended and are counted.
bool Finish(Json& status, const JobSpec& spec, const Features& features, const Verdict& verdict,
            int64_t terminating, rules::WallTime now);

}  // namespace kcm::pod::job
