// SPDX-License-Identifier: Apache-2.0
// OwnWrites: a controller that has written waits until its caches show it, and counts how often it
// had to wait (spec/pod-workloads.md 1.7, pod-batch.md 1.3.5).
//
//   constexpr OwnWrites::Shown kShown[] = {{kPods, kPodWatch.number}, {kJobs, kJobWatch.number}};
//   OwnWrites own_writes(context, {.name = "job_controller_stale_sync_skips_total", ...}, kShown);
//
//   if (const auto stale = own_writes.NotShownYet(run.key())) return Outcome::Retry(*stale);
//   ...                                                     // only now the caches are read
//   own_writes.Wrote(run.key(), uid, kPods, version);       // after each write that succeeded
//
// Asked by key, before the owner itself is read: an owner read first could be older than what its
// cache shows when it is asked. The uid tells whose a record is, so that one made anew under the
// same name does not wait for the one before. Not needed after a restart: then the caches are
// fresh.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "kcm/rules/result.h"
#include "kcm/rules/write_barrier.h"
#include "kcm/sdk/context.h"

namespace kcm::pod {

// Thread-safe.
class OwnWrites {
 public:
  // What the controller writes, and the place of the watch that shows it.
  struct Shown {
    sdk::Resource resource;
    uint32_t watch = 0;
  };
  // The counter of reconciles put off; its labels are group and resource.
  struct Skips {
    std::string_view name, help;
  };

  // Registers the counter; throws what DefineMetric throws. `shown`: a constant.
  OwnWrites(const sdk::Context& context, const Skips& skips, std::span<const Shown> shown);

  // `version`: of the server's answer to a create, patch or update; deletes are not remembered.
  // REQUIRES: `resource` is one of those shown.
  void Wrote(std::string_view key, std::string_view uid, const sdk::Resource& resource,
             std::string_view version);

  // Why the owner can not be reconciled yet: a cache is behind. Then it is counted. nullopt: all
  // have caught up, and the record is dropped.
  std::optional<Error> NotShownYet(std::string_view key);

  // The owner is gone; the record of another with the same key stays.
  void Forget(std::string_view key, std::string_view uid);

 private:
  const Shown* Find(std::string_view resource) const;

  const sdk::Cache cache_;
  const std::span<const Shown> shown_;
  const sdk::Metric skips_;
  rules::WriteBarrier barrier_;
};

}  // namespace kcm::pod
