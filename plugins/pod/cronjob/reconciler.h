// SPDX-License-Identifier: Apache-2.0
// Reconciler: one reconcile of one CronJob (spec/pod-batch.md 2.4). One thread; used once.
#pragma once
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kcm/rules/cron.h"
#include "kcm/rules/node.h"
#include "kcm/rules/result.h"
#include "kcm/sdk/context.h"
#include "plugins/pod/cronjob/zones.h"

namespace kcm::pod::cronjob {

class Reconciler {
 public:
  Reconciler(const sdk::Context& context, const sdk::Run& run, Zones& zones,
             const sdk::Metric& creation_skew, sdk::WholeRef cron_job);
  sdk::Outcome Run();

 private:
  // Until the next look; nullopt: an event will tell. An error is tried again.
  using Next = Result<std::optional<std::chrono::nanoseconds>>;
  static Next NoLook() { return std::optional<std::chrono::nanoseconds>(); }

  void FindJobs();
  void CleanUpHistory();
  Status FindActiveOfLive();
  // Edits `live` instead, with what was taken from status.active so far.
  void GoOnWith(sdk::WholeRef live);
  void TakeFinished();
  Status DropMissing();
  Next Schedule();
  Next Start(const rules::CronSchedule& schedule, rules::WallTime time);
  Status MakeRoom();
  Next TakeExisting(const rules::CronSchedule& schedule, rules::WallTime time);
  Next Started(const rules::CronSchedule& schedule, rules::WallTime time, rules::Node job);
  Next LookAgain(const rules::CronSchedule& schedule) const;

  // Deletes the Job, with its Event. Success takes it from status.active.
  Status DeleteJob(std::string_view ns, std::string_view name, std::string_view uid);
  void Drop(std::string_view uid);
  void Tell(sdk::EventType type, std::string_view reason, std::string_view message) const;

  // The CronJob as it is to become.
  rules::Node Root() const;

  const sdk::Context& context_;
  const sdk::Run& run_;
  sdk::Client client_;
  Zones& zones_;
  const sdk::Metric& creation_skew_;
  const rules::WallTime now_;
  sdk::WholeRef object_;  // cached, or live when the cache is behind
  sdk::Edit edit_;        // of object_
  bool dirty_ = false;
  std::set<std::string, std::less<>> dropped_;  // uids taken from status.active
  std::vector<sdk::ObjectRef> jobs_;
};

}  // namespace kcm::pod::cronjob
