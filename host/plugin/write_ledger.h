// SPDX-License-Identifier: Apache-2.0
// WriteLedger: what one controller wrote for which key, so that a new build (which has none of the
// old one's bookkeeping) does not act on caches that are older than the old build's writes (design
// 9).
//
// Per key: the highest resourceVersion written of each watched resource, uids deleted, and whether
// a create's outcome is unknown. A key is ready when the caches show all of it. Entries of the
// running generation cost nothing at reconcile time; they count from the moment the generation
// changes.
#pragma once
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "host/client/client.h"

namespace kcm::host::plugin {

// Thread-safe.
class WriteLedger {
 public:
  // What the caches show; given by the caller so that the ledger knows no cache.
  class Caches {
   public:
    virtual ~Caches() = default;
    // Highest resourceVersion seen of a watched resource; UINT64_MAX when nobody watches it.
    virtual uint64_t Seen(const client::Gvr& gvr) const = 0;
    // Whether the cache still shows an object with this uid that is not marked for deletion.
    virtual bool Holds(const client::Gvr& gvr, std::string_view ns, std::string_view name,
                       std::string_view uid) const = 0;
  };

  void Wrote(std::string_view key, const client::Gvr& gvr, uint64_t resource_version);
  void Deleted(std::string_view key, const client::Gvr& gvr, std::string_view ns,
               std::string_view name, std::string_view uid);
  // A create ended without an answer: it may or may not exist. Its key waits until the cache has
  // moved past `seen`, the version at the time of the failure, by any event or relist.
  void Unknown(std::string_view key, const client::Gvr& gvr, uint64_t seen);

  // Ends a generation: what was recorded so far must be visible before its keys run again.
  void Seal();
  // True when nothing sealed is outstanding for the key. Forgets what is satisfied.
  bool Ready(std::string_view key, const Caches& caches);
  // Drops records of the present generation that the caches show by now; called now and then to
  // bound memory.
  void Trim(const Caches& caches);
  size_t size() const;

 private:
  struct Gone {
    client::Gvr gvr;
    std::string ns, name, uid;
  };
  struct Record {
    std::vector<std::pair<client::Gvr, uint64_t>> versions;
    std::vector<Gone> deleted;
    bool sealed = false;
    int looks = 0;  // how often a sealed record held its key back
  };
  static bool Satisfied(Record& r, const Caches& caches);
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Record> records_;  // guarded by mutex_
  size_t sealed_ = 0;                                // number of sealed records, guarded by mutex_
};

}  // namespace kcm::host::plugin
