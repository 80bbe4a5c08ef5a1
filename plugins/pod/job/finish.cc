// SPDX-License-Identifier: Apache-2.0
// Counting finished pods and ending the Job (spec/pod-batch.md 1.10).
//
// First the uids of finished pods are written into the status, then their finalizers are removed,
// then they are counted: ended anywhere in between, the next reconcile goes on from there.
#include <mutex>
#include <nlohmann/json.hpp>

#include "kcm/rules/error_class.h"
#include "plugins/pod/job/finalizer.h"
#include "plugins/pod/job/reconciler.h"
#include "plugins/pod/job/status.h"
#include "plugins/pod/resources.h"

namespace kcm::pod::job {

Status Reconciler::TrackAndFinish() {
  Tracking tracking = TrackFinishedPods(
      edit_.json()["status"],
      {.spec = spec_, .pods = pods_, .indexes = indexes(), .deleting = deleting_}, verdict_);
  write_pending_ |= tracking.changed;
  if (indexes_) {
    std::optional<std::string> failed;
    if (indexes_->failed) failed = indexes_->failed->Text();
    write_pending_ |= SetIndexes(edit_.json()["status"], indexes_->succeeded.Text(),
                                 indexes_->succeeded.size(), failed);
  }
  write_pending_ |= RecordTarget(edit_.json()["status"], verdict_, now_);
  if (write_pending_) {
    if (Status written = PutStatus("adding uncounted pods to status"); !written.ok())
      return written;
  }
  tools_.metrics.FailuresHandled(tracking.handled);
  tools_.memory.SetBackOff(uid_, back_off_);

  Memory::Uids asked;
  for (const JobPod* pod : tracking.release) asked.emplace(pod->uid);
  tools_.memory.ExpectRelease(uid_, asked);
  std::mutex mutex;
  const std::optional<Error> error =
      Release(tracking.release, [&](const JobPod& pod, const Error& failure) {
        tools_.memory.ReleaseObserved(uid_, pod.uid);
        if (rules::IsNotFound(failure)) return;
        const std::lock_guard lock(mutex);
        asked.erase(std::string(pod.uid));
      });
  for (const std::string& released : asked) tracking.holding.erase(released);
  write_pending_ = CountReleased(edit_.json()["status"], tracking.holding);
  if (error) {
    // As far as it went.
    if (write_pending_ && !rules::IsShuttingDown(*error)) {
      if (Status written = PutStatus("removing uncounted pods from status"); !written.ok())
        return written;
    }
    return *error;
  }
  const bool finished =
      !tracking.limit_reached &&
      Finish(edit_.json()["status"], spec_, tools_.features, verdict_, terminating_, now_);
  if (!finished && !write_pending_) return Ok();
  if (Status written = PutStatus("adding uncounted pods to status"); !written.ok()) return written;
  if (finished) {
    tools_.memory.MarkFinished(uid_);
    AnnounceEnd();
  }
  return Ok();
}

Status Reconciler::PutStatus(const char* purpose) {
  Result<sdk::WholeRef> answer = client_.UpdateStatus(kJobs, edit_);
  if (!answer.ok()) {
    Error error = answer.error();
    error.message = std::string(purpose) + ": " + error.message;
    return error;
  }
  Wrote(kJobs, answer->ResourceVersion());
  sdk::Edit next(*answer);
  Json& status = next.json()["status"];
  if (!status.is_object()) status = Json::object();
  PrepareUncounted(status);
  CountedPods counted = CountedIn(status);
  tools_.metrics.Counted(spec_, counted_, counted);
  counted_ = std::move(counted);
  edit_ = std::move(next);
  write_pending_ = false;
  return Ok();
}

std::optional<Error> Reconciler::Release(
    const std::vector<const JobPod*>& pods,
    const std::function<void(const JobPod&, const Error&)>& failed) {
  std::mutex mutex;
  std::optional<Error> first;
  sdk::Client::Batch batch(client_);
  for (const JobPod* pod : pods) {
    batch.PatchObject(kPods, job_.Namespace(), pod->name, sdk::Patch::kStrategic,
                      kRemoveTrackingFinalizer, [&, pod](Result<sdk::WholeRef> answer) {
                        if (answer.ok()) return Wrote(kPods, answer->ResourceVersion());
                        failed(*pod, answer.error());
                        if (rules::IsNotFound(answer.error())) return;
                        const std::lock_guard lock(mutex);
                        if (!first) first = answer.error();
                      });
  }
  batch.Wait();
  return first;
}

void Reconciler::AnnounceEnd() const {
  if (verdict_.IsFailure()) {
    Tell(sdk::EventType::kWarning, verdict_.reason, verdict_.message);
  } else {
    if (spec_.completions && Counter(edit_.json()["status"], "succeeded") > *spec_.completions) {
      Tell(sdk::EventType::kWarning, "TooManySucceededPods",
           "Too many succeeded pods running after completion count reached");
    }
    Tell(sdk::EventType::kNormal, "Completed", "Job completed");
  }
  tools_.metrics.Finished(spec_, verdict_);
}

}  // namespace kcm::pod::job
