// SPDX-License-Identifier: Apache-2.0
// Reading a Job's pods.
#include "plugins/pod/job/pods.h"

#include <algorithm>
#include <optional>

#include "kcm/rules/decimal_int64.h"
#include "kcm/rules/job.h"
#include "kcm/rules/pod.h"
#include "plugins/pod/bounded_seconds.h"

namespace kcm::pod::job {
namespace {

using rules::Node;
using rules::WallTime;

bool IsSidecar(Node pod, std::string_view container) {
  for (const Node c : pod.Get("spec").Get("initContainers").Items()) {
    if (c.Get("name").String() == container) return c.Get("restartPolicy").String() == "Always";
  }
  return false;
}

// Nothing when a container still runs, or its end is not known.
std::optional<WallTime> EndOfContainers(Node pod) {
  std::optional<WallTime> latest;
  const auto look_at = [&latest](Node status) {
    const auto end = rules::TimeOf(status.Path("state.terminated.finishedAt"));
    if (end) latest = latest ? std::max(*latest, *end) : *end;
    return end.has_value();
  };
  const Node status = pod.Get("status");
  for (const Node container : status.Get("containerStatuses").Items())
    if (!look_at(container)) return std::nullopt;
  for (const Node container : status.Get("initContainerStatuses").Items()) {
    if (IsSidecar(pod, container.Get("name").String()) && !look_at(container)) return std::nullopt;
  }
  return latest;
}

std::optional<WallTime> NotReadySince(Node pod) {
  if (rules::PodReadyCondition(pod).Get("status").String() != "False") return std::nullopt;
  return rules::PodReadySince(pod);
}

std::optional<WallTime> DeletionAsked(Node pod) {
  const Node metadata = pod.Get("metadata");
  const auto deadline = rules::TimeOf(metadata.Get("deletionTimestamp"));
  if (!deadline) return std::nullopt;
  return rules::Plus(*deadline, -BoundedSeconds(metadata.Get("deletionGracePeriodSeconds").Int()));
}

}  // namespace

bool HasTrackingFinalizer(Node pod) {
  for (const Node f : pod.Get("metadata").Get("finalizers").Items())
    if (f.String() == rules::kJobTrackingFinalizer) return true;
  return false;
}

bool IsTrackedTerminalPod(Node pod) {
  return rules::IsPodTerminal(pod) && HasTrackingFinalizer(pod);
}

int64_t CompletionIndex(Node pod) {
  const Node text = pod.Get("metadata").Get("annotations").Get(rules::kJobCompletionIndex);
  const std::optional<int64_t> index = rules::ParseInt64(text.String());
  return index && *index >= 0 ? *index : kNoIndex;
}

WallTime FinishTime(Node pod) {
  for (const auto& way : {EndOfContainers, NotReadySince, DeletionAsked})
    if (const std::optional<WallTime> end = way(pod)) return *end;
  return rules::TimeOf(pod.Get("metadata").Get("creationTimestamp")).value_or(WallTime());
}

JobPod PodOf(Node pod, const JobSpec& spec, bool removal_asked) {
  const std::string_view phase = rules::PodPhase(pod);
  JobPod out{.root = pod,
             .name = pod.Get("metadata").Get("name").String(),
             .uid = pod.Get("metadata").Get("uid").String(),
             .index = CompletionIndex(pod),
             .has_finalizer = HasTrackingFinalizer(pod),
             .succeeded = phase == "Succeeded",
             .active = rules::IsPodActive(pod),
             .terminating = rules::IsPodTerminating(pod),
             .ready = rules::IsPodReady(pod)};
  out.countable = !spec.indexed || (out.index != kNoIndex && out.index < spec.IndexBound());
  out.tracked = out.has_finalizer && !removal_asked;
  out.failed = phase == "Failed" || (out.terminating && !spec.only_replace_failed);
  return out;
}

}  // namespace kcm::pod::job
