// SPDX-License-Identifier: Apache-2.0
// WriteLedger: what one controller wrote for which key, so that a new build (which has none of the
// old one's bookkeeping) does not act on caches that are older than the old build's writes (design
// 9).
//
// Per key: the highest resourceVersion written of each watched resource, uids deleted, and where a
// create ended without an answer. A key is ready when the caches show all of it. Entries of the
// running generation cost nothing at reconcile time; they count from the moment the generation
// changes.
//
// A create without an answer may have been done. What the cache showed at its failure says nothing
// about it (other objects' events move the cache, too), so its place is read from the server itself
// once the generation has changed: the key waits until the cache has reached what was read.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
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
    virtual clock::MonoTime Now() const = 0;
    // Highest resourceVersion seen of a watched resource; UINT64_MAX when nobody watches it.
    virtual uint64_t Seen(const client::Gvr& gvr) const = 0;
    // Whether the cache still shows an object with this uid that is not marked for deletion.
    virtual bool Holds(const client::Gvr& gvr, std::string_view ns, std::string_view name,
                       std::string_view uid) const = 0;
  };

  // Where a create went.
  struct Place {
    client::Gvr gvr;
    std::string ns;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  // No key is held for longer: a cache that never shows a write must not stop it for ever.
  static constexpr clock::Duration kLongestHold = std::chrono::seconds(60);

  void Wrote(std::string_view key, const client::Gvr& gvr, uint64_t resource_version);
  void Deleted(std::string_view key, const client::Gvr& gvr, std::string_view ns,
               std::string_view name, std::string_view uid);
  // A create ended without an answer: it may or may not exist.
  void Unknown(std::string_view key, const Place& place, clock::MonoTime now);

  // Ends a generation: what was recorded so far must be visible before its keys run again.
  void Seal();
  // True when nothing sealed is outstanding for the key, or it was held for kLongestHold since the
  // first time that it was asked for: `given_up` then says what is not shown. Forgets the rest.
  bool Ready(std::string_view key, const Caches& caches, std::string* given_up = nullptr);
  // Places that have to be read now for a key that is not ready. One caller gets each; it owes a
  // Read. What was read counts for every key that was sealed with it.
  std::vector<Place> ToRead(std::string_view key, clock::MonoTime now);
  // The cache must have reached `version` to show what the server holds at the place; nullopt: it
  // could not be read, and is due again later, each time later.
  void Read(const Place& place, std::optional<uint64_t> version, clock::MonoTime now);
  // Drops records of the present generation that the caches show by now, and creates without an
  // answer older than kLongestHold; called now and then to bound memory.
  void Trim(const Caches& caches);
  size_t size() const;

 private:
  struct Gone {
    client::Gvr gvr;
    std::string ns, name, uid;
  };
  struct Lost {
    Place place;
    clock::MonoTime since;
  };
  struct Record {
    std::vector<std::pair<client::Gvr, uint64_t>> versions;
    std::vector<Gone> deleted;
    std::vector<Lost> lost;  // creates without an answer; a place once
    bool sealed = false;
    std::optional<clock::MonoTime> held_since;  // a sealed record held its key back
  };
  // A place that is read for what was sealed last.
  struct Reading {
    std::optional<uint64_t> version;
    bool under_way = false;
    int failures = 0;
    clock::MonoTime due;
  };
  bool Satisfied(Record& r, const Caches& caches) const;
  static std::string Missing(const Record& r);
  mutable std::mutex mutex_;
  std::map<Place, Reading> readings_;                // since the last Seal; guarded by mutex_
  std::unordered_map<std::string, Record> records_;  // guarded by mutex_
  size_t sealed_ = 0;                                // number of sealed records, guarded by mutex_
};

}  // namespace kcm::host::plugin
