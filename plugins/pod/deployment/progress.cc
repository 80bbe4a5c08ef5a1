// SPDX-License-Identifier: Apache-2.0
// Conditions of a rollout.
#include "plugins/pod/deployment/progress.h"

#include <algorithm>
#include <string>

#include "kcm/rules/condition.h"

namespace kcm::pod::deployment {
namespace {

using rules::Node;
using rules::WallTime;

constexpr std::string_view kNewReplicaSetAvailable = "NewReplicaSetAvailable";
constexpr std::string_view kReplicaSetUpdated = "ReplicaSetUpdated";
constexpr std::string_view kDeadlineExceeded = "ProgressDeadlineExceeded";
constexpr std::string_view kPaused = "DeploymentPaused";
constexpr std::string_view kResumed = "DeploymentResumed";

// `ReplicaSet "<name>" <what>`, the Deployment while there is no new ReplicaSet.
std::string About(const Rollout& rollout, std::string_view what) {
  std::string text = rollout.New() != nullptr ? "ReplicaSet \"" : "Deployment \"";
  text += rollout.New() != nullptr ? rollout.New()->name : rollout.deployment.name;
  text += "\" ";
  return text += what;
}

bool IsProgressing(const DeploymentStatus& before, const DeploymentStatus& now) {
  return now.updated > before.updated ||
         now.replicas - now.updated < before.replicas - before.updated ||
         now.ready > before.ready || now.available > before.available;
}

std::optional<WallTime> DeadlineOf(const Deployment& d, const Condition& progressing) {
  const std::optional<WallTime> since = rules::ParseTime(progressing.last_update);
  if (!since) return std::nullopt;
  return *since + std::chrono::seconds(*d.deadline_seconds);
}

bool HasTimedOut(const Deployment& d, const DeploymentStatus& status, WallTime now) {
  const Condition* progressing = status.Find(kProgressing);
  if (progressing == nullptr || progressing->reason == kNewReplicaSetAvailable) return false;
  if (progressing->reason == kDeadlineExceeded) return true;
  const std::optional<WallTime> deadline = DeadlineOf(d, *progressing);
  return deadline && *deadline < now;
}

void NoteProgress(const Rollout& rollout, const DeploymentStatus& current, DeploymentStatus& next,
                  WallTime now) {
  const Deployment& d = rollout.deployment;
  const Condition* before = current.Find(kProgressing);
  // Said before and still so.
  if (next.replicas == next.updated && before != nullptr &&
      before->reason == kNewReplicaSetAvailable) {
    return;
  }
  if (IsComplete(d, next)) {
    next.Set(MakeCondition(kProgressing, "True", kNewReplicaSetAvailable,
                           About(rollout, "has successfully progressed."), now));
  } else if (IsProgressing(current, next)) {
    // Each step restarts the clock, also when nothing but the time changes.
    Condition c = MakeCondition(kProgressing, "True", kReplicaSetUpdated,
                                About(rollout, "is progressing."), now);
    if (before != nullptr && before->status == "True") c.last_transition = before->last_transition;
    next.Remove(kProgressing);
    next.Set(std::move(c));
  } else if (HasTimedOut(d, next, now)) {
    next.Set(MakeCondition(kProgressing, "False", kDeadlineExceeded,
                           About(rollout, "has timed out progressing."), now));
  }
}

// The failure of the new ReplicaSet, else of the first one that has any.
Node FailureOf(const Rollout& rollout) {
  if (const ReplicaSet* fresh = rollout.New()) {
    if (const Node c = rules::FindCondition(fresh->root, kReplicaFailure); c.Has()) return c;
  }
  for (const ReplicaSet& s : rollout.sets) {
    if (const Node c = rules::FindCondition(s.root, kReplicaFailure); c.Has()) return c;
  }
  return Node();
}

}  // namespace

bool IsComplete(const Deployment& d, const DeploymentStatus& s) {
  return s.updated == d.replicas && s.replicas == d.replicas && s.available == d.replicas &&
         s.observed_generation >= d.root.Path("metadata.generation").Int();
}

DeploymentStatus RolloutStatus(const Rollout& rollout, const DeploymentStatus& current,
                               bool with_terminating, WallTime now) {
  DeploymentStatus next = PlainStatus(rollout, current, with_terminating, now);
  if (rollout.deployment.deadline_seconds) {
    NoteProgress(rollout, current, next, now);
  } else {
    next.Remove(kProgressing);
  }
  if (const Node failure = FailureOf(rollout); failure.Has()) {
    const std::string since(failure.Get("lastTransitionTime").String());
    next.Set({.type = std::string(kReplicaFailure),
              .status = std::string(failure.Get("status").String()),
              .reason = std::string(failure.Get("reason").String()),
              .message = std::string(failure.Get("message").String()),
              .last_update = since,
              .last_transition = since});
  } else {
    next.Remove(kReplicaFailure);
  }
  return next;
}

std::optional<std::chrono::nanoseconds> NextProgressCheck(const Deployment& d,
                                                          const DeploymentStatus& status,
                                                          WallTime now) {
  const Condition* progressing = status.Find(kProgressing);
  if (!d.deadline_seconds || progressing == nullptr || IsComplete(d, status)) return std::nullopt;
  // From neither does anything time out: looking again would show the same.
  if (progressing->reason == kDeadlineExceeded || progressing->reason == kNewReplicaSetAvailable)
    return std::nullopt;
  const std::optional<WallTime> deadline = DeadlineOf(d, *progressing);
  if (!deadline) return std::nullopt;
  // A second more: it times out only after the deadline, and the times have whole seconds.
  return std::max(rules::Elapsed(now, *deadline), std::chrono::nanoseconds(0)) +
         std::chrono::seconds(1);
}

std::optional<Condition> PauseCondition(const Deployment& d, const DeploymentStatus& status,
                                        WallTime now) {
  if (!d.deadline_seconds) return std::nullopt;
  const Condition* current = status.Find(kProgressing);
  const std::string_view reason = current == nullptr ? std::string_view() : current->reason;
  if (reason == kDeadlineExceeded) return std::nullopt;
  if (d.paused && reason != kPaused)
    return MakeCondition(kProgressing, "Unknown", kPaused, "Deployment is paused", now);
  if (!d.paused && reason == kPaused)
    return MakeCondition(kProgressing, "Unknown", kResumed, "Deployment is resumed", now);
  return std::nullopt;
}

}  // namespace kcm::pod::deployment
