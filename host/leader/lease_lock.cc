// SPDX-License-Identifier: Apache-2.0
// Attempts on the lease.
#include "host/leader/lease_lock.h"

#include <algorithm>

#include "kcm/rules/time.h"

namespace kcm::host::leader {
namespace {

using client::Verb;

std::string Name(const Options& o) { return o.lease_namespace + "/" + o.lease_name; }

}  // namespace

LeaseLock::LeaseLock(const Options& options)
    : options_(options),
      // A stuck request must leave time for another one within the renew deadline (T6).
      timeout_(std::max<clock::Duration>(std::chrono::seconds(1), options.renew_deadline / 2)) {
  if (options_.metrics == nullptr) return;
  slow_path_metric_ = options_.metrics->Counter(
      {.name = "leader_election_slowpath_total",
       .help = "Total number of slow path exercised in renewing leader leases. "
               "'name' is the string used to identify the lease. Please make "
               "sure to group by name.",
       .labels = {"name"},
       .buckets = {}});
}

client::Call LeaseLock::MakeCall(Verb verb, client::Cancellation* cancel) const {
  client::Call call;
  call.verb = verb;
  call.resource = {"coordination.k8s.io", "v1", "leases"};
  call.ns = options_.lease_namespace;
  if (verb != Verb::kCreate) call.name = options_.lease_name;
  call.timeout = timeout_;
  call.cancel = cancel;
  return call;
}

Result<wire::ObjectPtr> LeaseLock::Write(Verb verb, const LeaseRecord& record,
                                         clock::Duration timeout, client::Cancellation* cancel) {
  client::Call call = MakeCall(verb, cancel);
  call.timeout = timeout;
  call.body = LeaseBody(verb == Verb::kCreate ? nullptr : lease_.get(), options_.lease_namespace,
                        options_.lease_name, record);
  Result<client::Answer> answer = options_.client->Do(call);
  if (!answer.ok()) return answer.error();
  if (!answer->object)
    return MakeError(Code::kInternal,
                     "the server answered a write of " + Name(options_) + " without the lease");
  return answer->object;
}

void LeaseLock::Observe(const LeaseRecord& record) {
  if (observed_at_ != clock::MonoTime() && observed_ == record) return;
  observed_ = record;
  observed_at_ = options_.clock->Monotonic();
}

bool LeaseLock::SeenWithin(int quarters) const {
  const clock::Duration duration =
      std::chrono::seconds(std::clamp<int64_t>(observed_.duration_seconds, 0, 1'000'000'000));
  return observed_at_ + duration * quarters / 4 > options_.clock->Monotonic();
}

bool LeaseLock::HolderSilent() const {
  return !observed_.holder.empty() && !IsOurs() && !SeenWithin(2);
}

// A record of ours that begins now.
LeaseRecord LeaseLock::OwnRecord() const {
  LeaseRecord out;
  out.holder = options_.identity;
  out.duration_seconds =
      std::chrono::duration_cast<std::chrono::seconds>(options_.lease_duration).count();
  out.acquire_time = out.renew_time = rules::FormatMicroTime(options_.clock->Now());
  return out;
}

bool LeaseLock::FastRenew(client::Cancellation* cancel, clock::MonoTime* sent) {
  LeaseRecord record = OwnRecord();
  record.acquire_time = observed_.acquire_time;
  record.transitions = observed_.transitions;
  *sent = options_.clock->Monotonic();
  Result<wire::ObjectPtr> written = Write(Verb::kUpdate, record, timeout_, cancel);
  if (!written.ok()) {
    options_.log.Error(written.error().message,
                       "Failed to update lease optimistically, falling back to slow path",
                       {{"lock", Name(options_)}});
    return false;
  }
  lease_ = *written;
  Observe(RecordOf(*lease_));
  return true;
}

bool LeaseLock::TryAcquireOrRenew(client::Cancellation* cancel, clock::MonoTime* sent) {
  if (lease_ && IsOurs() && IsValid()) {
    if (FastRenew(cancel, sent)) return true;
    if (cancel->cancelled()) return false;
  }
  LeaseRecord record = OwnRecord();
  const bool was_ours = observed_at_ != clock::MonoTime() && IsOurs();
  Result<client::Answer> got = options_.client->Do(MakeCall(Verb::kGet, cancel));
  if (!got.ok() && !got.error().Is(Code::kNotFound)) {
    options_.log.Error(got.error().message, "Error retrieving lease lock",
                       {{"lock", Name(options_)}});
    return false;
  }
  if (!got.ok()) {
    // A leader whose lease was deleted goes on with its own times (4.3 step 1).
    if (was_ours) {
      record.acquire_time = observed_.acquire_time;
      record.transitions = observed_.transitions;
    }
    *sent = options_.clock->Monotonic();
    Result<wire::ObjectPtr> created = Write(Verb::kCreate, record, timeout_, cancel);
    if (!created.ok()) {
      options_.log.Error(created.error().message, "Error initially creating lease lock",
                         {{"lock", Name(options_)}});
      return false;
    }
    lease_ = *created;
    Observe(RecordOf(*lease_));
    return true;
  }
  if (!got->object) return false;
  lease_ = got->object;
  const LeaseRecord seen = RecordOf(*lease_);
  Observe(seen);
  if (!seen.holder.empty() && !IsOurs() && IsValid()) {
    options_.log.Info(4, "Lease is held by and has not yet expired",
                      {{"lock", Name(options_)}, {"holder", seen.holder}});
    return false;
  }
  if (IsOurs()) {
    record.acquire_time = seen.acquire_time;
    record.transitions = seen.transitions;
    slow_path_metric_.With({options_.lease_name}).Add();
  } else {
    record.transitions = seen.transitions + 1;
  }
  *sent = options_.clock->Monotonic();
  Result<wire::ObjectPtr> written = Write(Verb::kUpdate, record, timeout_, cancel);
  if (!written.ok()) {
    options_.log.Error(written.error().message, "Failed to update lease",
                       {{"lock", Name(options_)}});
    return false;
  }
  lease_ = *written;
  Observe(RecordOf(*lease_));
  return true;
}

Status LeaseLock::Release(client::Cancellation* cancel) {
  client::Call get = MakeCall(Verb::kGet, cancel);
  get.timeout = options_.renew_deadline;
  Result<client::Answer> got = options_.client->Do(get);
  if (!got.ok()) return got.error();
  if (!got->object) return MakeError(Code::kInternal, "the server sent no lease");
  lease_ = got->object;
  LeaseRecord record = RecordOf(*lease_);
  Observe(record);
  if (!IsOurs()) return Ok();
  record.holder.clear();
  record.duration_seconds = 1;
  record.acquire_time = record.renew_time = rules::FormatMicroTime(options_.clock->Now());
  Result<wire::ObjectPtr> written = Write(Verb::kUpdate, record, options_.renew_deadline, cancel);
  if (!written.ok()) return written.error();
  lease_ = *written;
  Observe(RecordOf(*lease_));
  return Ok();
}

}  // namespace kcm::host::leader
