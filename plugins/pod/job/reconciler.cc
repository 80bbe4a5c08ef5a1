// SPDX-License-Identifier: Apache-2.0
// The order of a Job's reconcile: claim, count, decide, act, report.
#include "plugins/pod/job/reconciler.h"

#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "kcm/rules/error_class.h"
#include "kcm/rules/job.h"
#include "kcm/rules/label_selector.h"
#include "kcm/rules/pod.h"
#include "plugins/pod/job/declaration.h"
#include "plugins/pod/job/status.h"
#include "plugins/pod/ownership/claim.h"
#include "plugins/pod/resources.h"

namespace kcm::pod::job {

using rules::Node;
using rules::WallTime;

Reconciler::Reconciler(const Tools& tools, const sdk::Run& run, sdk::WholeRef job)
    : tools_(tools),
      run_(run),
      client_(run.client()),
      now_(tools.context.clock().Now()),
      job_(std::move(job)),
      uid_(job_.Uid()),
      deleting_(rules::HasDeletionTimestamp(job_.Root())),
      spec_(SpecOf(job_.Root(), tools.features)),
      edit_(job_) {}

Status Reconciler::Run() {
  // Before anything is read: what an event shows later is then looked at in the next reconcile.
  satisfied_ = tools_.memory.expectations().Satisfied(uid_, tools_.context.clock().Monotonic());
  if (const Status read = ReadPods(); !read.ok()) return read;
  CountPods();
  NoteStart();
  Decide();
  const std::optional<Error> failure = verdict_.IsSet() ? StopPods() : LookAfterPods();
  if (failure && rules::IsShuttingDown(*failure)) return *failure;
  write_pending_ |=
      SetPodCounts(edit_.json()["status"], {active_, ready_, terminating_}, tools_.features);
  if (Status tracked = TrackAndFinish(); !tracked.ok()) {
    Error error = tracked.error();
    error.message = "tracking status: " + error.message;
    return error;
  }
  return failure ? Status(*failure) : Ok();
}

Status Reconciler::ReadPods() {
  const Result<rules::LabelSelector> selector =
      rules::LabelSelector::FromObject(job_.Root().Path("spec.selector"));
  if (!selector.ok()) {
    Error error = selector.error();
    error.message = "couldn't convert Job selector: " + error.message;
    return error;
  }
  Claimer claimer(
      run_, kJobs, kPods, job_.Root(),
      [this](const sdk::WholeRef& pod) { Wrote(kPods, pod.ResourceVersion()); },
      rules::kJobTrackingFinalizer);
  // An adopted one has its finalizer in the answer only, which is what is taken.
  claimer.ClaimAll(tools_.context.cache(), kPodWatch, kByController, *selector, refs_);
  if (const Status claimed = claimer.result(); !claimed.ok()) return claimed;
  const Memory::Uids releasing = tools_.memory.Releasing(uid_);
  pods_.reserve(refs_.size());
  for (const sdk::ObjectRef& ref : refs_)
    pods_.push_back(PodOf(ref.Root(), spec_, releasing.contains(ref.Uid())));
  return Ok();
}

void Reconciler::CountPods() {
  Json& status = edit_.json()["status"];
  if (!status.is_object()) status = Json::object();
  PrepareUncounted(status);
  counted_ = CountedIn(status);
  const Uids uncounted_succeeded = Uncounted(status, "succeeded");
  const Uids uncounted_failed = Uncounted(status, "failed");
  succeeded_ = Counter(status, "succeeded") + static_cast<int64_t>(uncounted_succeeded.size());
  failed_ = Counter(status, "failed") + static_cast<int64_t>(uncounted_failed.size());
  std::vector<WallTime> successes, failures;
  for (const JobPod& pod : pods_) {
    active_ += pod.active;
    ready_ += pod.active && pod.ready;
    terminating_ += pod.terminating;
    if (!pod.tracked || !pod.countable) continue;
    if (pod.succeeded && !uncounted_succeeded.contains(pod.uid)) {
      ++succeeded_;
      successes.push_back(FinishTime(pod.root));
    }
    if (pod.failed && !uncounted_failed.contains(pod.uid)) {
      failed_ += MatchFailurePolicy(spec_, pod.root).Counts();
      failures.push_back(FinishTime(pod.root));
    }
  }
  back_off_ = AfterFinished(tools_.memory.BackOff(uid_), successes, failures);
  if (!spec_.indexed) return;
  indexes_ = IndexesOf(spec_, job_.Root().Get("status"), pods_);
}

void Reconciler::NoteStart() {
  Json& status = edit_.json()["status"];
  if (!spec_.suspended && !status.contains("startTime"))
    status["startTime"] = rules::FormatTime(now_);
}

void Reconciler::Decide() {
  const Evidence evidence{
      .spec = spec_,
      .features = tools_.features,
      .status = job_.Root().Get("status"),
      .pods = pods_,
      .failed = failed_,
      .indexes = indexes(),
      .start_time = rules::ParseTime(edit_.json()["status"].value("startTime", "")),
      .now = now_};
  verdict_ = Judge(evidence);
  // An Indexed Job has as many successes as succeeded indexes.
  if (indexes_) succeeded_ = indexes_->succeeded.size();
  if (verdict_.IsSet()) return;
  if (const auto left = UntilDeadline(evidence)) LookAgainAfter(*left);
}

// The finalizers stay: pods that the end of the Job cuts short are still to be counted.
std::optional<Error> Reconciler::StopPods() {
  const std::vector<const JobPod*> pods = ActivePods();
  std::vector<std::string> names;
  std::map<std::string, std::string, std::less<>> uids;
  for (const JobPod* pod : pods) {
    names.emplace_back(pod->name);
    uids.emplace(pod->name, pod->uid);
  }
  std::mutex mutex;
  Memory::Uids failed;
  std::optional<Error> error = DeletePods(client_, {job_, kJobs, tools_.context.events()}, names,
                                          [&](std::string_view name) {
                                            const std::lock_guard lock(mutex);
                                            failed.insert(uids.find(name)->second);
                                          });
  // Without an error the others were gone already.
  if (!error) failed.clear();
  NoteRemoved(pods, failed);
  // Not the end yet while a pod is left, or one may not be in the cache yet.
  if (!failed.empty() || !satisfied_) verdict_ = {};
  return error;
}

std::optional<Error> Reconciler::LookAfterPods() {
  const bool managed = satisfied_ && !deleting_;
  std::optional<Error> failure;
  if (managed) failure = ManagePods();
  if (IsComplete(spec_, succeeded_, active_)) {
    verdict_ = CompletionsReached(tools_.features);
  } else if (managed) {
    NoteSuspension();
  }
  return failure;
}

void Reconciler::NoteSuspension() {
  switch (job::NoteSuspension(edit_.json()["status"], spec_.suspended, tools_.features, now_)) {
    case Suspension::kUnchanged:
      return;
    case Suspension::kSuspended:
      Tell(sdk::EventType::kNormal, "Suspended", "Job suspended");
      break;
    case Suspension::kResumed:
      Tell(sdk::EventType::kNormal, "Resumed", "Job resumed");
      break;
  }
  write_pending_ = true;
}

void Reconciler::Tell(sdk::EventType type, std::string_view reason,
                      std::string_view message) const {
  tools_.context.events().Record(job_, kJobs, type, reason, message);
}

void Reconciler::Wrote(const sdk::Resource& resource, std::string_view version) const {
  if (tools_.features.reads_own_writes)
    tools_.own_writes.Wrote(run_.key(), uid_, resource, version);
}

}  // namespace kcm::pod::job
