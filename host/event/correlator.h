// SPDX-License-Identifier: Apache-2.0
// Correlator: what becomes of an event (spec/host.md 8.3 to 8.5): combined with similar ones,
// counted on an earlier one, or kept from the server. Time and names come in as arguments; nothing
// is written here.
//
//   Decision d = correlator.Correlate(event, now, fresh_name);
//   if (d.write == Decision::Write::kPatch) ...  // d.event: name of the earlier Event, raised
//   count, its first time
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>

#include "host/clock/clock.h"
#include "host/event/event.h"
#include "host/event/lru.h"

namespace kcm::host::event {

struct CorrelatorLimits {
  size_t keys = 4096;   // of each cache
  size_t similar = 10;  // distinct messages, the last of which is combined
  clock::Duration similar_window = std::chrono::seconds(600);  // since the group's last event
  double burst = 25;                                           // writes per object and type
  clock::Duration refill = std::chrono::seconds(300);          // for one more write
};

struct Decision {
  enum class Write : uint8_t { kSkip, kPost, kPatch };
  Write write = Write::kSkip;
  Event event;  // also filled in when skipped
};

// Thread-safe. Lives in memory only: after a restart events start anew.
class Correlator {
 public:
  explicit Correlator(const CorrelatorLimits& limits = {});

  // `fresh_name` names a combined event.
  Decision Correlate(Event event, clock::MonoTime now,
                     const std::function<std::string()>& fresh_name);

 private:
  struct Group {
    std::set<std::string> messages;
    clock::MonoTime last;
  };
  struct Observation {
    int64_t count = 0;
    std::string name;
    clock::WallTime first;
  };
  struct Bucket {
    bool used = false;
    double tokens = 0;
    clock::MonoTime last;
  };

  bool IsSimilar(const Event& event, const std::string& group_key, clock::MonoTime now);
  bool TakeToken(const Event& event, clock::MonoTime now);

  const CorrelatorLimits limits_;
  std::mutex mutex_;
  Lru<Group> groups_;
  Lru<Observation> observations_;
  Lru<Bucket> buckets_;
};

}  // namespace kcm::host::event
