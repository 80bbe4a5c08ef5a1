// SPDX-License-Identifier: Apache-2.0
// The status of an autoscaler: conditions, what was measured, counts (spec/pod-batch.md 4.4, 4.8).
// Pure.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "kcm/rules/node.h"
#include "kcm/rules/time.h"
#include "plugins/pod/hpa/replica_count.h"

namespace kcm::pod::hpa {

// `status` is the JSON of the status in each of these.

// Adds or changes a condition; its place and, while its status stays, its transition time stay.
void SetCondition(nlohmann::json& status, std::string_view type, bool holds,
                  std::string_view reason, std::string_view message, rules::WallTime now);
void RemoveCondition(nlohmann::json& status, std::string_view type);
bool HasTrueCondition(const nlohmann::json& status, std::string_view type);

// Counts and measured values; conditions stay. An observedGeneration goes: nobody keeps it up.
// `metrics`: null when none were computed.
void SetCounts(nlohmann::json& status, int64_t current, int64_t desired, nlohmann::json metrics);

// The same but for null and empty values and for how quantities are written.
bool SameStatus(const nlohmann::json& before, const nlohmann::json& after);

// ---- entries of currentMetrics ----

nlohmann::json FailedMetricStatus();
// `metric`: an entry of spec.metrics of type Resource or ContainerResource. `utilization`: shown
// beside the average.
nlohmann::json ResourceMetricStatus(rules::Node metric, const Usage& usage, bool utilization);
// Of type Pods, Object or External. `member` says which of value and averageValue `milli` is.
nlohmann::json ValueMetricStatus(rules::Node metric, std::string_view member, int64_t milli);

// The member of a metric's spec and status that its type stands for: "containerResource"; empty for
// an unknown type.
std::string_view MemberOfType(std::string_view type);

}  // namespace kcm::pod::hpa
