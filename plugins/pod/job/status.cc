// SPDX-License-Identifier: Apache-2.0
// Editing the status of a Job.
#include "plugins/pod/job/status.h"

#include <nlohmann/json.hpp>

namespace kcm::pod::job {
namespace {

using rules::WallTime;

constexpr char kUncounted[] = "uncountedTerminatedPods";

std::string Text(const Json& object, const char* name) {
  const auto it = object.find(name);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

Json& Conditions(Json& status) {
  Json& conditions = status["conditions"];
  if (!conditions.is_array()) conditions = Json::array();
  return conditions;
}

Json NewCondition(std::string_view type, bool value, std::string_view reason,
                  std::string_view message, WallTime now) {
  const std::string time = rules::FormatTime(now);
  Json out{{"type", type},
           {"status", value ? "True" : "False"},
           {"lastProbeTime", time},
           {"lastTransitionTime", time}};
  if (!reason.empty()) out["reason"] = reason;
  if (!message.empty()) out["message"] = message;
  return out;
}

bool SetMember(Json& status, const char* name, const Json& value) {
  const auto it = status.find(name);
  if (it != status.end() && *it == value) return false;
  status[name] = value;
  return true;
}

bool RemoveMember(Json& status, const char* name) {
  const auto it = status.find(name);
  if (it == status.end()) return false;
  const bool had = !it->is_null();
  status.erase(it);
  return had;
}

}  // namespace

int64_t Counter(const Json& status, const char* name) {
  const auto it = status.find(name);
  return it != status.end() && it->is_number() ? it->get<int64_t>() : 0;
}

void SetCounter(Json& status, const char* name, int64_t value) {
  if (value == 0) {
    status.erase(name);
  } else {
    status[name] = value;
  }
}

CountedPods CountedIn(const Json& status) {
  return {.succeeded = Counter(status, "succeeded"),
          .failed = Counter(status, "failed"),
          .completed_indexes = Text(status, "completedIndexes"),
          .failed_indexes = Text(status, "failedIndexes")};
}

bool SetPodCounts(Json& status, const PodCounts& counts, const Features& features) {
  bool changed = Counter(status, "active") != counts.active;
  SetCounter(status, "active", counts.active);
  changed |= SetMember(status, "ready", counts.ready);
  changed |= features.pod_replacement_policy ? SetMember(status, "terminating", counts.terminating)
                                             : RemoveMember(status, "terminating");
  return changed;
}

bool SetIndexes(Json& status, const std::string& completed, int64_t succeeded,
                const std::optional<std::string>& failed) {
  bool changed = Counter(status, "succeeded") != succeeded;
  SetCounter(status, "succeeded", succeeded);
  changed |= completed.empty() ? RemoveMember(status, "completedIndexes")
                               : SetMember(status, "completedIndexes", completed);
  changed |=
      failed ? SetMember(status, "failedIndexes", *failed) : RemoveMember(status, "failedIndexes");
  return changed;
}

bool EnsureCondition(Json& status, std::string_view type, bool value, std::string_view reason,
                     std::string_view message, WallTime now) {
  const Json fresh = NewCondition(type, value, reason, message, now);
  for (Json& condition : Conditions(status)) {
    if (!condition.is_object() || Text(condition, "type") != type) continue;
    bool same = true;
    for (const char* member : {"status", "reason", "message"})
      same &= Text(condition, member) == Text(fresh, member);
    if (!same) condition = fresh;
    return !same;
  }
  if (value) Conditions(status).push_back(fresh);
  if (Conditions(status).empty()) status.erase("conditions");
  return value;
}

bool HasTrueCondition(const Json& status, std::string_view type) {
  const auto conditions = status.find("conditions");
  if (conditions == status.end()) return false;
  for (const Json& condition : *conditions) {
    if (condition.is_object() && Text(condition, "type") == type &&
        Text(condition, "status") == "True")
      return true;
  }
  return false;
}

void AppendTrueCondition(Json& status, std::string_view type, const Verdict& verdict,
                         WallTime now) {
  Conditions(status).push_back(NewCondition(type, true, verdict.reason, verdict.message, now));
}

Suspension NoteSuspension(Json& status, bool suspended, const Features& features, WallTime now) {
  if (suspended) {
    if (!EnsureCondition(status, "Suspended", true, "JobSuspended", "Job suspended", now))
      return Suspension::kUnchanged;
    if (features.clears_start_time) status.erase("startTime");
    return Suspension::kSuspended;
  }
  if (!EnsureCondition(status, "Suspended", false, "JobResumed", "Job resumed", now))
    return Suspension::kUnchanged;
  status["startTime"] = rules::FormatTime(now);
  return Suspension::kResumed;
}

void PrepareUncounted(Json& status) {
  Json& uncounted = status[kUncounted];
  if (!uncounted.is_object()) uncounted = Json::object();
}

Uids Uncounted(const Json& status, const char* list) {
  Uids out;
  const auto uncounted = status.find(kUncounted);
  if (uncounted == status.end() || !uncounted->is_object()) return out;
  const auto uids = uncounted->find(list);
  if (uids == uncounted->end()) return out;
  for (const Json& uid : *uids)
    if (uid.is_string()) out.insert(uid.get<std::string>());
  return out;
}

void AddUncounted(Json& status, const char* list, std::string_view uid) {
  status[kUncounted][list].push_back(uid);
}

bool HasUncounted(const Json& status) {
  return !Uncounted(status, "succeeded").empty() || !Uncounted(status, "failed").empty();
}

bool CountReleased(Json& status, const Uids& holding) {
  bool changed = false;
  for (const char* list : {"succeeded", "failed"}) {
    Json left = Json::array();
    int64_t released = 0;
    for (const std::string& uid : Uncounted(status, list)) {
      if (holding.contains(uid)) {
        left.push_back(uid);
      } else {
        ++released;
      }
    }
    if (released == 0) continue;
    changed = true;
    SetCounter(status, list, Counter(status, list) + released);
    if (left.empty()) {
      status[kUncounted].erase(list);
    } else {
      status[kUncounted][list] = std::move(left);
    }
  }
  return changed;
}

bool RecordTarget(Json& status, Verdict& verdict, WallTime now) {
  if (verdict.type == Verdict::Type::kFailureTarget) {
    AppendTrueCondition(status, "FailureTarget", verdict, now);
    verdict.type = Verdict::Type::kFailed;
    return true;
  }
  if (verdict.type != Verdict::Type::kSuccessCriteriaMet) return false;
  const bool recorded = HasTrueCondition(status, "SuccessCriteriaMet");
  if (!recorded) AppendTrueCondition(status, "SuccessCriteriaMet", verdict, now);
  verdict.type = Verdict::Type::kComplete;
  return !recorded;
}

bool Finish(Json& status, const JobSpec& spec, const Features& features, const Verdict& verdict,
            int64_t terminating, WallTime now) {
  if (!verdict.IsSet() || HasUncounted(status)) return false;
  if (features.delayed_terminal_condition && terminating > 0) return false;
  const bool complete = verdict.type == Verdict::Type::kComplete;
  (void)EnsureCondition(status, complete ? "Complete" : "Failed", true, verdict.reason,
                        verdict.message, now);
  const std::string time = rules::FormatTime(now);
  if (complete) status["completionTime"] = time;
  // The server takes no finished Job without it but one that was suspended and had nothing to do.
  const bool had_nothing_to_do = spec.suspended && spec.completions == 0;
  if (!status.contains("startTime") && !had_nothing_to_do) status["startTime"] = time;
  return true;
}

}  // namespace kcm::pod::job
