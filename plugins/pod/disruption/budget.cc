// SPDX-License-Identifier: Apache-2.0
// Counting pods and writing down what may go.
#include "plugins/pod/disruption/budget.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "kcm/rules/condition.h"
#include "kcm/rules/int_or_percent.h"
#include "kcm/rules/pod.h"

namespace kcm::pod::disruption {

using nlohmann::json;
using rules::Node;
using rules::WallTime;

namespace {

constexpr std::chrono::minutes kDeletionTimeout{2};
constexpr std::string_view kDisruptionAllowed = "DisruptionAllowed";

struct Verdict {
  std::string_view status, reason, message;
};
Verdict VerdictOf(int64_t allowed) {
  return allowed > 0 ? Verdict{"True", "SufficientPods", ""}
                     : Verdict{"False", "InsufficientPods", ""};
}

json& Object(json& parent, const char* name) {
  json& member = parent[name];
  if (!member.is_object()) member = json::object();
  return member;
}

// The condition in place of the old one, or at the end.
void SetCondition(json& status, const Verdict& verdict, WallTime now) {
  json& conditions = status["conditions"];
  if (!conditions.is_array()) conditions = json::array();
  const int64_t observed = status.value("observedGeneration", int64_t{0});
  json fresh{{"type", kDisruptionAllowed},
             {"status", verdict.status},
             {"lastTransitionTime", rules::FormatTime(now)},
             {"reason", verdict.reason},
             {"message", verdict.message}};
  if (observed != 0) fresh["observedGeneration"] = observed;
  for (json& c : conditions) {
    if (!c.is_object() || c.value("type", "") != kDisruptionAllowed) continue;
    if (c.value("status", "") == verdict.status && c.contains("lastTransitionTime"))
      fresh["lastTransitionTime"] = c["lastTransitionTime"];
    c = std::move(fresh);
    return;
  }
  conditions.push_back(std::move(fresh));
}

}  // namespace

bool CountsControllers(Node budget) {
  const Node spec = budget.Get("spec");
  return spec.Get("maxUnavailable").Has() || spec.Get("minAvailable").IsString();
}

Result<Expected> ExpectedOf(Node budget, int64_t count) {
  const Node spec = budget.Get("spec"), most = spec.Get("maxUnavailable");
  if (most.Has()) {
    const Result<int64_t> unavailable = rules::IntOrPercent(most, count, rules::Rounding::kUp);
    if (!unavailable.ok()) return unavailable.error();
    return Expected{count, std::max<int64_t>(0, count - *unavailable)};
  }
  const Node least = spec.Get("minAvailable");
  if (!least.Has()) return Expected{};
  const Result<int64_t> available = rules::IntOrPercent(least, count, rules::Rounding::kUp);
  if (!available.ok()) return available.error();
  return Expected{count, *available};
}

DisruptedPods DisruptedPodsOf(Node budget, std::span<const Node> pods, WallTime now) {
  DisruptedPods out;
  const Node recorded = budget.Path("status.disruptedPods");
  if (recorded.empty()) return out;
  for (size_t i = 0; i < pods.size(); ++i) {
    if (rules::HasDeletionTimestamp(pods[i])) continue;
    const std::string_view name = pods[i].Path("metadata.name").String();
    const Node since = recorded.Get(name);
    if (!since.Has()) continue;
    const std::optional<WallTime> evicted = rules::TimeOf(since);
    const WallTime deadline = rules::Plus(evicted.value_or(WallTime::min()), kDeletionTimeout);
    if (deadline < now) {
      out.not_deleted.push_back(i);
      continue;
    }
    out.kept.emplace(std::string(name),
                     DisruptedPods::Entry{std::string(since.String()), deadline});
    if (!out.recheck || deadline < *out.recheck) out.recheck = deadline;
  }
  return out;
}

int64_t CountHealthy(std::span<const Node> pods, const DisruptedPods& disrupted, WallTime now) {
  return std::count_if(pods.begin(), pods.end(), [&](Node pod) {
    if (rules::HasDeletionTimestamp(pod) || !rules::IsPodReady(pod)) return false;
    const auto entry = disrupted.kept.find(pod.Path("metadata.name").String());
    return entry == disrupted.kept.end() || entry->second.deadline <= now;
  });
}

int64_t BudgetStatus::Allowed() const {
  // With no pod expected nothing is allowed: the first pods to come must not go at once.
  return expected.pods <= 0 ? 0 : std::max<int64_t>(0, healthy - expected.healthy);
}

bool IsUpToDate(Node budget, const BudgetStatus& wanted) {
  const Node s = budget.Get("status");
  const Verdict verdict = VerdictOf(wanted.Allowed());
  const Node condition = rules::FindCondition(budget, kDisruptionAllowed);
  // What is kept comes from the status: equal in number is equal.
  return s.Get("currentHealthy").Int() == wanted.healthy &&
         s.Get("desiredHealthy").Int() == wanted.expected.healthy &&
         s.Get("expectedPods").Int() == wanted.expected.pods &&
         s.Get("disruptionsAllowed").Int() == wanted.Allowed() &&
         s.Get("disruptedPods").size() == wanted.disrupted.kept.size() &&
         s.Get("observedGeneration").Int() == budget.Path("metadata.generation").Int() &&
         condition.Get("status").String() == verdict.status &&
         condition.Get("reason").String() == verdict.reason;
}

void ApplyStatus(json& budget, const BudgetStatus& wanted, WallTime now) {
  const int64_t generation = Object(budget, "metadata").value("generation", int64_t{0});
  json& status = Object(budget, "status");
  status["currentHealthy"] = wanted.healthy;
  status["desiredHealthy"] = wanted.expected.healthy;
  status["expectedPods"] = wanted.expected.pods;
  status["disruptionsAllowed"] = wanted.Allowed();
  status["observedGeneration"] = generation;
  status.erase("disruptedPods");
  for (const auto& [pod, entry] : wanted.disrupted.kept) status["disruptedPods"][pod] = entry.since;
  SetCondition(status, VerdictOf(wanted.Allowed()), now);
}

bool ApplyFailure(json& budget, std::string_view error, WallTime now) {
  json& status = Object(budget, "status");
  const json before = status;
  status["disruptionsAllowed"] = 0;
  SetCondition(status, {"False", "SyncFailed", error}, now);
  return status != before;
}

}  // namespace kcm::pod::disruption
