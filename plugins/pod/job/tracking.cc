// SPDX-License-Identifier: Apache-2.0
// Recording finished pods.
#include "plugins/pod/job/tracking.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace kcm::pod::job {
namespace {

std::vector<const JobPod*> InOrder(const Tracked& job) {
  std::vector<const JobPod*> out;
  out.reserve(job.pods.size());
  for (const JobPod& pod : job.pods) out.push_back(&pod);
  if (job.spec.indexed) {
    std::stable_sort(out.begin(), out.end(),
                     [](const JobPod* x, const JobPod* y) { return x->index < y->index; });
  }
  return out;
}

bool MayRelease(const Tracked& job, const JobPod& pod, const Verdict& verdict) {
  if (job.deleting || verdict.IsSet() || pod.succeeded) return true;
  return pod.failed && (job.indexes == nullptr || !IsDelayed(*job.indexes, pod));
}

// One run over the pods. The uids recorded before it and in it are kept beside the status, whose
// lists are searched once.
class Recorder {
 public:
  Recorder(Json& status, const Tracked& job, const Verdict& verdict, Tracking& out)
      : status_(status),
        job_(job),
        out_(out),
        unfinished_fail_(verdict.IsSet() && verdict.type != Verdict::Type::kSuccessCriteriaMet),
        succeeded_(Uncounted(status, "succeeded")),
        failed_(Uncounted(status, "failed")) {}

  void Record(const JobPod& pod) {
    // What was recorded as a failure stays one.
    if (pod.succeeded && !failed_.contains(pod.uid)) {
      RecordSuccess(pod);
    } else if (pod.failed || unfinished_fail_) {
      RecordFailure(pod);
    }
  }

  bool LimitReached() const {
    return new_indexes_ + static_cast<int64_t>(succeeded_.size() + failed_.size()) >= kMaxUncounted;
  }

 private:
  void RecordSuccess(const JobPod& pod) {
    if (job_.spec.indexed) {
      // The index is enough to count a success once.
      if (!pod.countable || job_.indexes->previous.Has(pod.index)) return;
      ++new_indexes_;
    } else {
      if (!succeeded_.emplace(pod.uid).second) return;
      AddUncounted(status_, "succeeded", pod.uid);
    }
    out_.changed = true;
  }

  void RecordFailure(const JobPod& pod) {
    if (!pod.countable || failed_.contains(pod.uid)) return;
    const FailureMatch match = MatchFailurePolicy(job_.spec, pod.root);
    if (match.action != FailureAction::kNone) ++out_.handled[match.action];
    if (!match.Counts()) return;
    failed_.emplace(pod.uid);
    AddUncounted(status_, "failed", pod.uid);
    out_.changed = true;
  }

  Json& status_;
  const Tracked& job_;
  Tracking& out_;
  // Pods that the end of the Job cuts short have failed, unless it is a success.
  const bool unfinished_fail_;
  Uids succeeded_, failed_;
  int64_t new_indexes_ = 0;
};

}  // namespace

Tracking TrackFinishedPods(Json& status, const Tracked& job, const Verdict& verdict) {
  Tracking out;
  for (const JobPod& pod : job.pods)
    if (pod.tracked) out.holding.emplace(pod.uid);
  out.changed = CountReleased(status, out.holding);

  Recorder recorder(status, job, verdict, out);
  for (const JobPod* pod : InOrder(job)) {
    if (!pod->tracked || !MayRelease(job, *pod, verdict)) continue;
    out.release.push_back(pod);
    recorder.Record(*pod);
    if (recorder.LimitReached()) {
      out.limit_reached = true;
      break;
    }
  }
  return out;
}

}  // namespace kcm::pod::job
