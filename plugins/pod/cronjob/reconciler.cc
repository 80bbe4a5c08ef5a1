// SPDX-License-Identifier: Apache-2.0
// The steps of spec/pod-batch.md 2.4, in their order.
#include "plugins/pod/cronjob/reconciler.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "kcm/rules/error_class.h"
#include "kcm/rules/go_quote.h"
#include "kcm/rules/job.h"
#include "kcm/rules/json_node.h"
#include "kcm/rules/owner_reference.h"
#include "kcm/rules/pod.h"
#include "plugins/pod/cronjob/body.h"
#include "plugins/pod/cronjob/declaration.h"
#include "plugins/pod/cronjob/history.h"
#include "plugins/pod/cronjob/schedule.h"
#include "plugins/pod/resources.h"

namespace kcm::pod::cronjob {

using rules::Node;
using rules::WallTime;
using sdk::EventType;
using sdk::Outcome;

Reconciler::Reconciler(const sdk::Context& context, const sdk::Run& run, Zones& zones,
                       const sdk::Metric& creation_skew, sdk::WholeRef cron_job)
    : context_(context),
      run_(run),
      client_(run.client()),
      zones_(zones),
      creation_skew_(creation_skew),
      now_(context.clock().Now()),
      object_(std::move(cron_job)),
      edit_(object_) {}

Outcome Reconciler::Run() {
  FindJobs();
  CleanUpHistory();
  Next next = NoLook();
  Status tracked = FindActiveOfLive();
  if (tracked.ok()) {
    TakeFinished();
    tracked = DropMissing();
  }
  if (tracked.ok()) {
    next = Schedule();
  } else {
    next = tracked.error();
  }
  // What is known is written, also when a step failed: a Job that was started must be remembered.
  if (dirty_) {
    const Result<sdk::WholeRef> answer = client_.UpdateStatus(kCronJobs, edit_);
    if (!answer.ok()) return Outcome::Retry(answer.error());
  }
  if (!next.ok()) return Outcome::Retry(next.error());
  return *next ? Outcome::RequeueAfter(std::max(std::chrono::nanoseconds(0), **next))
               : Outcome::Done();
}

// By the owner's name alone: Jobs of a CronJob of the same name that is gone count.
void Reconciler::FindJobs() {
  sdk::ObjectList<sdk::ObjectRef> all =
      context_.cache().List(kJobWatch, {.ns = object_.Namespace()});
  for (sdk::ObjectRef& job : all.items()) {
    const Node owner = rules::ControllerOf(job.Root());
    if (owner.Has() && owner.Get("name").String() == object_.Name())
      jobs_.push_back(std::move(job));
  }
}

void Reconciler::CleanUpHistory() {
  std::vector<Node> roots;
  for (const sdk::ObjectRef& job : jobs_) roots.push_back(job.Root());
  for (const size_t place : BeyondHistory(Root(), roots)) {
    const sdk::ObjectRef& job = jobs_[place];
    const Status deleted = DeleteJob(job.Namespace(), job.Name(), job.Uid());
    if (deleted.ok()) {
      dirty_ = true;
    } else if (rules::IsShuttingDown(deleted.error())) {
      return;
    }
  }
}

// A Job that runs and that the cached status does not name: the cache may be behind.
Status Reconciler::FindActiveOfLive() {
  std::optional<sdk::WholeRef> live;
  for (const sdk::ObjectRef& job : jobs_) {
    if (rules::IsJobFinished(job.Root()) || IsActive(Root(), job.Uid())) continue;
    if (!live) {
      Result<sdk::WholeRef> read = client_.Get(kCronJobs, object_.Namespace(), object_.Name());
      if (!read.ok()) return read.error();
      if (read->Uid() != object_.Uid()) {
        return MakeError(Code::kConflict,
                         "CronJob " + object_.Key() + " was deleted and made anew");
      }
      live = std::move(*read);
    }
    if (IsActive(live->Root(), job.Uid())) {
      GoOnWith(live->Share());
      continue;
    }
    Tell(EventType::kWarning, "UnexpectedJob",
         "Saw a job that the controller did not create or forgot: " + std::string(job.Name()));
  }
  return Ok();
}

void Reconciler::GoOnWith(sdk::WholeRef live) {
  object_ = std::move(live);
  edit_ = sdk::Edit(object_);
  for (const std::string& uid : dropped_) (void)RemoveActive(edit_.json(), uid);
}

void Reconciler::TakeFinished() {
  for (const sdk::ObjectRef& job : jobs_) {
    const Node condition = rules::FinishedCondition(job.Root());
    if (!condition.Has()) continue;
    if (IsActive(Root(), job.Uid())) {
      Drop(job.Uid());
      dirty_ = true;
      Tell(EventType::kNormal, "SawCompletedJob",
           "Saw completed job: " + std::string(job.Name()) +
               ", condition: " + std::string(condition.Get("type").String()));
    }
    if (TakeSuccess(edit_.json(), job.Root())) dirty_ = true;
  }
}

Status Reconciler::DropMissing() {
  std::set<std::string_view> known;
  for (const sdk::ObjectRef& job : jobs_) known.insert(job.Uid());
  // A copy: entries are taken out meanwhile.
  const nlohmann::json active = sdk::ToJson(Root().Path("status.active"));
  for (const Node entry : rules::JsonNode(active).Items()) {
    const std::string_view name = entry.Get("name").String(), uid = entry.Get("uid").String();
    if (known.contains(uid)) continue;
    const Result<sdk::WholeRef> live =
        client_.Get(kJobs, entry.Get("namespace").String(), name, {.metadata_only = true});
    if (live.ok()) continue;
    if (!rules::IsNotFound(live.error())) return live.error();
    Tell(EventType::kNormal, "MissingJob", "Active job went missing: " + std::string(name));
    Drop(uid);
    dirty_ = true;
  }
  return Ok();
}

Reconciler::Next Reconciler::Schedule() {
  const Node root = Root(), spec = root.Get("spec");
  if (rules::HasDeletionTimestamp(root)) return NoLook();
  const std::string text(spec.Get("schedule").String());
  if (const Node zone = spec.Get("timeZone"); zone.Has()) {
    const auto found = zones_.Find(zone.String());
    if (!found.ok()) {
      Tell(EventType::kWarning, "UnknownTimeZone",
           "invalid timeZone: " + rules::GoQuote(zone.String()) + ": " + found.error().message);
      return NoLook();
    }
  }
  if (spec.Get("suspend").Bool()) return NoLook();
  if (NamesZone(text)) {
    Tell(EventType::kWarning, "UnsupportedSchedule",
         "CRON_TZ or TZ used in schedule " + rules::GoQuote(text) +
             " is not officially supported, see "
             "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more "
             "details");
  }
  const Result<rules::CronSchedule> schedule = ScheduleOf(root, zones_.Lookup());
  if (!schedule.ok()) {
    Tell(EventType::kWarning, "UnparseableSchedule",
         "unparseable schedule: " + rules::GoQuote(text) + " : " + schedule.error().message);
    return NoLook();
  }
  const Result<Missed> missed = MissedTimes(root, *schedule, now_, Deadline::kCounts);
  if (!missed.ok()) {
    Tell(EventType::kWarning, "InvalidSchedule",
         "invalid schedule: " + text + " : " + missed.error().message);
    return NoLook();
  }
  if (!missed->time) return LookAgain(*schedule);
  if (missed->number == Missed::Class::kMany) {
    Tell(EventType::kWarning, "TooManyMissedTimes",
         "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check "
         "clock skew");
  }
  const WallTime time = *missed->time;
  if (IsTooLate(root, time, now_)) {
    Tell(EventType::kWarning, "MissSchedule",
         "Missed scheduled time to start a job: " + MailTime(time));
    return LookAgain(*schedule);
  }
  if (IsActiveByName(root, object_.Namespace(), JobName(object_.Name(), time)) ||
      rules::TimeOf(root.Path("status.lastScheduleTime")) == time) {
    return LookAgain(*schedule);
  }
  return Start(*schedule, time);
}

Reconciler::Next Reconciler::Start(const rules::CronSchedule& schedule, WallTime time) {
  const std::string_view policy = Root().Path("spec.concurrencyPolicy").String();
  // The time stays due: it is served late when the running Job ends in time.
  if (policy == "Forbid" && !Root().Path("status.active").empty()) {
    Tell(EventType::kNormal, "JobAlreadyActive",
         "Not starting job because prior execution is running and concurrency policy is Forbid");
    return LookAgain(schedule);
  }
  if (policy == "Replace")
    if (const Status room = MakeRoom(); !room.ok()) return room.error();

  const auto zone = zones_.Find(Root().Path("spec.timeZone").String());
  if (!zone.ok()) return zone.error();
  const nlohmann::json body = JobBody(Root(), time, **zone);
  const Result<sdk::WholeRef> job = client_.Create(kJobs, object_.Namespace(), body);
  if (job.ok()) {
    if (const auto created = rules::TimeOf(job->Root().Path("metadata.creationTimestamp"))) {
      creation_skew_.Observe(std::chrono::duration<double>(rules::Elapsed(time, *created)).count());
    }
    Tell(EventType::kNormal, "SuccessfulCreate", "Created job " + std::string(job->Name()));
    return Started(schedule, time, job->Root());
  }
  if (rules::IsAlreadyExists(job.error())) return TakeExisting(schedule, time);
  if (!rules::IsNamespaceTerminating(job.error()) && !rules::IsShuttingDown(job.error()))
    Tell(EventType::kWarning, "FailedCreate", "Error creating job: " + job.error().message);
  return job.error();
}

// The policy Replace: what runs has to go first.
Status Reconciler::MakeRoom() {
  const nlohmann::json active = sdk::ToJson(Root().Path("status.active"));
  for (const Node entry : rules::JsonNode(active).Items()) {
    const std::string_view ns = entry.Get("namespace").String(), name = entry.Get("name").String();
    const Result<sdk::WholeRef> live = client_.Get(kJobs, ns, name, {.metadata_only = true});
    if (!live.ok()) {
      if (!rules::IsShuttingDown(live.error()))
        Tell(EventType::kWarning, "FailedGet", "Get job: " + live.error().message);
      return live.error();
    }
    const Status deleted = DeleteJob(ns, name, entry.Get("uid").String());
    if (!deleted.ok()) {
      Error error = deleted.error();
      error.message = "could not replace job " + std::string(ns) + "/" + std::string(name);
      return error;
    }
    dirty_ = true;
  }
  return Ok();
}

// A Job of this name is there: ours, from a reconcile whose status was not written, or a stranger.
Reconciler::Next Reconciler::TakeExisting(const rules::CronSchedule& schedule, WallTime time) {
  const Result<sdk::WholeRef> job =
      client_.Get(kJobs, object_.Namespace(), JobName(object_.Name(), time));
  if (!job.ok()) return job.error();
  if (!rules::IsControlledBy(job->Root(), object_.Uid()) || IsActive(Root(), job->Uid()))
    return LookAgain(schedule);
  return Started(schedule, time, job->Root());
}

Reconciler::Next Reconciler::Started(const rules::CronSchedule& schedule, WallTime time, Node job) {
  AddActive(edit_.json(), job);
  SetLastSchedule(edit_.json(), time);
  dirty_ = true;
  return LookAgain(schedule);
}

Reconciler::Next Reconciler::LookAgain(const rules::CronSchedule& schedule) const {
  return NextLook(Root(), schedule, now_);
}

Status Reconciler::DeleteJob(std::string_view ns, std::string_view name, std::string_view uid) {
  Status deleted = client_.Delete(kJobs, ns, name, {.propagation = sdk::Propagation::kBackground});
  if (deleted.ok()) {
    Drop(uid);
    Tell(EventType::kNormal, "SuccessfulDelete", "Deleted job " + std::string(name));
  } else if (!rules::IsShuttingDown(deleted.error())) {
    Tell(EventType::kWarning, "FailedDelete", "Deleted job: " + deleted.error().message);
  }
  return deleted;
}

void Reconciler::Drop(std::string_view uid) {
  (void)RemoveActive(edit_.json(), uid);
  dropped_.emplace(uid);
}

void Reconciler::Tell(EventType type, std::string_view reason, std::string_view message) const {
  context_.events().Record(object_, kCronJobs, type, reason, message);
}

Node Reconciler::Root() const { return rules::JsonNode(edit_.json()); }

}  // namespace kcm::pod::cronjob
