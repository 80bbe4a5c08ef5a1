// SPDX-License-Identifier: Apache-2.0
// WriteBarrier: read your own writes. A controller that has written waits until its caches show it
// (spec/pod-workloads.md 1.7).
//
//   barrier.Wrote(key, rs_uid, "pods", created_resource_version);
//   if (auto stale = barrier.Stale(key, [&](std::string_view r) { return
//   cache(r).ResourceVersion(); }))
//     return Outcome::Retry(...);   // and count <controller>_stale_sync_skips_total for *stale
#pragma once
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace kcm::rules {

// Thread-safe.
class WriteBarrier {
 public:
  // The last resourceVersion that the cache of `resource` has seen; empty when unknown.
  using Seen = std::function<std::string(std::string_view resource)>;

  // Remembers the highest resourceVersion written for (owner, resource). A record of another uid of
  // the same key is replaced. A resourceVersion that can not be compared is not remembered.
  void Wrote(std::string_view owner, std::string_view owner_uid, std::string_view resource,
             std::string_view resource_version);

  // The first remembered resource (by name) whose cache is behind, nullopt when all have caught up;
  // then the record is dropped. What can not be compared counts as caught up. `seen` is called
  // without a lock held.
  std::optional<std::string> Stale(std::string_view owner, const Seen& seen);

  // The owner is gone. With a uid only the record of that uid is dropped; empty: whichever there
  // is.
  void Forget(std::string_view owner, std::string_view owner_uid);

 private:
  struct Record {
    std::string uid;
    std::map<std::string, std::string, std::less<>> written;  // resource -> resourceVersion
  };

  std::mutex mutex_;
  std::map<std::string, Record, std::less<>> records_;  // guarded by mutex_
};

}  // namespace kcm::rules
