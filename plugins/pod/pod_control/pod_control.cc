// SPDX-License-Identifier: Apache-2.0
// Slow-start creation and concurrent deletion of pods.
#include "plugins/pod/pod_control/pod_control.h"

#include <mutex>

#include "kcm/rules/error_class.h"
#include "kcm/rules/slow_start.h"
#include "plugins/pod/resources.h"

namespace kcm::pod {
namespace {

// Collects the answers of a batch; they arrive on several threads.
class Tally {
 public:
  void Count(int64_t succeeded, int64_t terminating) {
    const std::lock_guard lock(mutex_);
    succeeded_ += succeeded;
    terminating_ += terminating;
  }
  void Fail(const Error& error) {
    const std::lock_guard lock(mutex_);
    ++failed_;
    if (!error_) error_ = error;
  }
  Created Take() {
    const std::lock_guard lock(mutex_);
    return {succeeded_, terminating_, failed_, error_};
  }

 private:
  std::mutex mutex_;
  int64_t succeeded_ = 0, terminating_ = 0, failed_ = 0;  // guarded by mutex_
  std::optional<Error> error_;                            // guarded by mutex_
};

void TellCreated(const PodOwner& owner, const Result<sdk::WholeRef>& pod) {
  if (pod.ok()) {
    owner.events.Record(owner.object, owner.resource, sdk::EventType::kNormal, "SuccessfulCreate",
                        "Created pod: " + std::string(pod->Name()));
  } else if (!rules::IsNamespaceTerminating(pod.error()) && !rules::IsShuttingDown(pod.error())) {
    owner.events.Record(owner.object, owner.resource, sdk::EventType::kWarning, "FailedCreate",
                        "Error creating: " + pod.error().message);
  }
}

void TellDeleted(const PodOwner& owner, const std::string& name, const Status& status) {
  if (status.ok()) {
    owner.events.Record(owner.object, owner.resource, sdk::EventType::kNormal, "SuccessfulDelete",
                        "Deleted pod: " + name);
  } else if (!rules::IsNotFound(status.error()) && !rules::IsShuttingDown(status.error())) {
    owner.events.Record(owner.object, owner.resource, sdk::EventType::kWarning, "FailedDelete",
                        "Error deleting: " + status.error().message);
  }
}

}  // namespace

Created CreatePods(const sdk::Client& client, const PodOwner& owner, const std::string& body,
                   int64_t count, const std::function<void(std::string_view)>& created) {
  return CreatePods(
      client, owner, [&body](int64_t) { return body; }, count, created);
}

Created CreatePods(const sdk::Client& client, const PodOwner& owner, const PodBody& body,
                   int64_t count, const std::function<void(std::string_view)>& created) {
  Tally tally;
  int64_t number = 0;
  const std::string_view ns = owner.object.Namespace();
  rules::SlowStart batches(count);
  while (const int64_t size = batches.Next()) {
    sdk::Client::Batch batch(client);
    for (int64_t i = 0; i < size; ++i) {
      batch.CreateText(kPods, ns, body(number++), [&](Result<sdk::WholeRef> pod) {
        TellCreated(owner, pod);
        if (pod.ok()) {
          created(pod->ResourceVersion());
          tally.Count(1, 0);
        } else if (rules::IsNamespaceTerminating(pod.error())) {
          tally.Count(1, 1);
        } else {
          tally.Fail(pod.error());
        }
      });
    }
    batch.Wait();
    if (tally.Take().error) break;
  }
  return tally.Take();
}

std::optional<Error> DeletePods(const sdk::Client& client, const PodOwner& owner,
                                const std::vector<std::string>& names,
                                const std::function<void(std::string_view)>& failed) {
  Tally tally;
  {
    sdk::Client::Batch batch(client);
    for (const std::string& name : names) {
      batch.Delete(kPods, owner.object.Namespace(), name, {}, [&, name](Status status) {
        TellDeleted(owner, name, status);
        if (status.ok()) return;
        failed(name);
        if (rules::IsNotFound(status.error())) return;
        Error error = status.error();
        error.message = "unable to delete pods: " + error.message;
        tally.Fail(error);
      });
    }
    batch.Wait();
  }
  return tally.Take().error;
}

}  // namespace kcm::pod
