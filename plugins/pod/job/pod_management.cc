// SPDX-License-Identifier: Apache-2.0
// Creating and removing the pods of a Job that goes on (spec/pod-batch.md 1.5).
#include <algorithm>
#include <map>
#include <mutex>

#include "kcm/rules/error_class.h"
#include "kcm/rules/pod_template.h"
#include "plugins/pod/job/declaration.h"
#include "plugins/pod/job/pod_body.h"
#include "plugins/pod/job/reconciler.h"
#include "plugins/pod/job/removal.h"
#include "plugins/pod/resources.h"

namespace kcm::pod::job {

std::optional<Error> Reconciler::ManagePods() {
  std::vector<const JobPod*> active = ActivePods();
  if (spec_.suspended) {
    action_ = kPodsDeleted;
    return Remove(active);
  }
  const int64_t wanted = WantedActive(spec_, active_, succeeded_);
  const std::vector<const JobPod*> removal = PodsToRemove(spec_, std::move(active), wanted);
  if (!removal.empty()) {
    action_ = kPodsDeleted;
    return Remove(removal);  // no creation in the same reconcile
  }
  const int64_t missing = wanted - active_ - (spec_.only_replace_failed ? terminating_ : 0);
  if (missing > 0) {
    action_ = kPodsCreated;
    return Create(missing);
  }
  action_ = kTracking;
  return std::nullopt;
}

std::vector<const JobPod*> Reconciler::ActivePods() const {
  std::vector<const JobPod*> out;
  for (const JobPod& pod : pods_)
    if (pod.active) out.push_back(&pod);
  return out;
}

// Without its finalizer first: a pod that is removed never counts as a failure.
std::optional<Error> Reconciler::Remove(const std::vector<const JobPod*>& pods) {
  if (pods.empty()) return std::nullopt;
  rules::Expectations& expectations = tools_.memory.expectations();
  expectations.Expect(uid_, {.deletions = static_cast<int64_t>(pods.size())},
                      tools_.context.clock().Monotonic());
  std::mutex mutex;
  Memory::Uids left_out, still_there;
  std::vector<const JobPod*> with_finalizer;
  for (const JobPod* pod : pods)
    if (pod->has_finalizer) with_finalizer.push_back(pod);
  std::optional<Error> error =
      Release(with_finalizer, [&](const JobPod& pod, const Error& failure) {
        const std::lock_guard lock(mutex);
        left_out.emplace(pod.uid);
        if (!rules::IsNotFound(failure)) still_there.emplace(pod.uid);
        expectations.DeletionObserved(uid_);
      });

  // What has lost its finalizer is not counted any more, whatever becomes of the Job.
  for (const JobPod* released : with_finalizer) {
    if (!still_there.contains(released->uid))
      pods_[static_cast<size_t>(released - pods_.data())].tracked = false;
  }

  std::vector<std::string> names;
  std::map<std::string, std::string, std::less<>> uids;
  for (const JobPod* pod : pods) {
    if (left_out.contains(pod->uid)) continue;
    names.emplace_back(pod->name);
    uids.emplace(pod->name, pod->uid);
  }
  Memory::Uids not_deleted;
  const std::optional<Error> delete_error = DeletePods(
      client_, {job_, kJobs, tools_.context.events()}, names, [&](std::string_view name) {
        const std::lock_guard lock(mutex);
        not_deleted.insert(uids.find(name)->second);
        expectations.DeletionObserved(uid_);
      });
  // Without an error they were gone already.
  if (delete_error) still_there.merge(not_deleted);
  NoteRemoved(pods, still_there);
  return error ? error : delete_error;
}

void Reconciler::NoteRemoved(const std::vector<const JobPod*>& pods,
                             const Memory::Uids& still_there) {
  for (const JobPod* pod : pods) {
    if (still_there.contains(pod->uid)) continue;
    --active_;
    ++terminating_;
    ready_ -= pod->ready;
  }
}

// While creation is put off, the active pods are reported as they are.
std::optional<Error> Reconciler::Create(int64_t count) {
  if (!spec_.PerIndex()) {
    const auto wait = RemainingBackOff(back_off_.failures, back_off_.last_failure, now_);
    if (wait.count() > 0) {
      LookAgainAfter(std::max<sdk::Duration>(wait, kBatchPeriod));
      return std::nullopt;
    }
  }
  count = std::min(count, kBurst);
  IndexPlan plan;
  if (indexes_) {
    plan = PlanIndexes(spec_, *indexes_, pods_, count, now_);
    count = static_cast<int64_t>(plan.create.size());
    if (count == 0) {
      if (plan.wait.count() > 0) LookAgainAfter(plan.wait);
      return std::nullopt;
    }
  }
  if (!rules::TemplateHasLabels(spec_.pod_template))
    return MakeError(Code::kInvalid, std::string(rules::kNoPodLabels));
  run_.log().Info(2, "Too few pods running",
                  {{"active", active_}, {"succeeded", succeeded_}, {"creating", count}});
  rules::Expectations& expectations = tools_.memory.expectations();
  expectations.Expect(uid_, {.creations = count}, tools_.context.clock().Monotonic());
  const std::string_view reason = CreationReason(spec_, failed_, terminating_);
  const Created created = Post(plan.create, count);
  // The failed ones and those that slow start left out will never be seen. Those refused because
  // the namespace is going stay expected: that puts off the next attempt.
  if (const int64_t unseen = count - created.succeeded; unseen > 0)
    expectations.CreationObserved(uid_, unseen);
  const int64_t made = created.succeeded - created.terminating;
  active_ += made;
  tools_.metrics.Created(reason, made, created.failed);
  return created.error;
}

// `indexes`: one for each pod, empty when the Job is not indexed.
Created Reconciler::Post(const std::vector<int64_t>& indexes, int64_t count) {
  const PodBodies bodies(job_.Root(), spec_);
  const std::string plain = indexes.empty() ? bodies.Plain() : std::string();
  const auto body = [&](int64_t number) {
    if (indexes.empty()) return plain;
    const int64_t index = indexes[static_cast<size_t>(number)];
    std::optional<IndexFailures> failures;
    if (spec_.PerIndex()) {
      const auto it = indexes_->delayed.find(index);
      failures = FailuresAfter(spec_, it == indexes_->delayed.end() ? nullptr : it->second);
    }
    return bodies.OfIndex(index, failures);
  };
  return CreatePods(client_, {job_, kJobs, tools_.context.events()}, PodBody(body), count,
                    [this](std::string_view version) { Wrote(kPods, version); });
}

void Reconciler::LookAgainAfter(sdk::Duration delay) const {
  tools_.context.queue().AddAfter(run_.key(), delay, kJobQueue);
}

}  // namespace kcm::pod::job
