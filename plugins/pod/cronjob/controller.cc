// SPDX-License-Identifier: Apache-2.0
// What wakes cronjob-controller.
#include "plugins/pod/cronjob/controller.h"

#include <optional>
#include <string>
#include <utility>

#include "kcm/rules/equality.h"
#include "plugins/pod/cronjob/declaration.h"
#include "plugins/pod/cronjob/reconciler.h"
#include "plugins/pod/cronjob/schedule.h"
#include "plugins/pod/ownership/wakes.h"
#include "plugins/pod/resources.h"

namespace kcm::pod::cronjob {

using rules::Node;

Controller::Controller(sdk::Context& context)
    : context_(context),
      cron_jobs_(context.cache(), kCronJobs, kCronJobWatch),
      creation_skew_(context.DefineMetric(
          {.type = KCM_METRIC_HISTOGRAM,
           .name = "cronjob_controller_job_creation_skew_duration_seconds",
           .help = "Time between when a cronjob is scheduled to be run, and when the corresponding "
                   "job is created",
           .stability = "STABLE",
           .labels = {},
           .buckets = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512}})) {}

void Controller::OnChange(const sdk::Change& change) {
  if (change.watch() == kCronJobWatch.number) {
    OnCronJobChange(change);
  } else {
    OnJobChange(change);
  }
}

void Controller::OnCronJobChange(const sdk::Change& change) {
  const Node now = change.object(), was = change.old_object();
  const auto differs = [&](std::string_view field) {
    return !rules::DeepEqual(was.Path(field), now.Path(field), rules::NullRule::kNullIsAbsent);
  };
  if (change.type() != sdk::Change::Type::kUpdate ||
      !(differs("spec.schedule") || differs("spec.timeZone"))) {
    context_.queue().Add(change.Key());
    return;
  }
  // A new schedule counts from its next time on.
  const Result<rules::CronSchedule> schedule = ScheduleOf(now, zones_.Lookup());
  if (!schedule.ok()) {
    context_.events().Record(
        change.Share(), kCronJobs, sdk::EventType::kWarning, "UnParseableCronJobSchedule",
        "unparseable schedule for cronjob: " + std::string(now.Path("spec.schedule").String()));
    return;
  }
  const auto next = NextLook(now, *schedule, context_.clock().Now());
  context_.queue().AddAfter(change.Key(), next.value_or(std::chrono::nanoseconds(0)));
}

// Whatever happens to a Job, its CronJob looks; Jobs without one are nobody's.
void Controller::OnJobChange(const sdk::Change& change) const {
  const Wakes wakes =
      WakesOf(change.type(), change.old_object(), change.object(), DeletingUpdate::kIsUpdate);
  for (size_t i = 0; i < wakes.count; ++i) {
    if (const auto owner = cron_jobs_.Resolve(change.ns(), wakes.owners[i].reference))
      context_.queue().Add(owner->Key());
  }
}

sdk::Outcome Controller::Reconcile(sdk::Run& run) {
  std::optional<sdk::WholeRef> cron_job = context_.cache().Get(kCronJobWatch, run.key());
  if (!cron_job) return sdk::Outcome::Done();
  return Reconciler(context_, run, zones_, creation_skew_, std::move(*cron_job)).Run();
}

}  // namespace kcm::pod::cronjob
