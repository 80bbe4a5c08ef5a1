// SPDX-License-Identifier: Apache-2.0
// Correlation of events: see the header.
#include "host/event/correlator.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace kcm::host::event {
namespace {

constexpr std::string_view kCombined = "(combined from similar events): ";

// Parts can not run into each other: the separator occurs in no API name.
std::string Key(std::initializer_list<std::string_view> parts) {
  std::string key;
  for (const std::string_view part : parts) {
    key += part;
    key += '\x1f';
  }
  return key;
}

// source.host and reportingInstance are always empty (8.1) and left out of the keys.
std::string GroupKey(const Event& e) {
  const ObjectReference& o = e.involved;
  return Key({"group", e.component, o.kind, o.namespace_, o.name, o.uid, o.api_version, e.type,
              e.reason, e.reporting_component});
}

std::string EventKey(const Event& e) {
  const ObjectReference& o = e.involved;
  return Key({"event", e.component, o.kind, o.namespace_, o.name, o.field_path, o.uid,
              o.api_version, e.type, e.reason, e.message});
}

std::string SpamKey(const Event& e) {
  const ObjectReference& o = e.involved;
  return Key({e.component, o.kind, o.namespace_, o.name, o.uid, o.api_version, e.type});
}

Event Combined(const Event& e, std::string name) {
  Event combined = e;
  combined.name = std::move(name);
  combined.message = std::string(kCombined) + e.message;
  combined.annotations.clear();
  combined.reporting_component.clear();  // 8.1
  return combined;
}

}  // namespace

Correlator::Correlator(const CorrelatorLimits& limits)
    : limits_(limits), groups_(limits.keys), observations_(limits.keys), buckets_(limits.keys) {}

Decision Correlator::Correlate(Event event, clock::MonoTime now,
                               const std::function<std::string()>& fresh_name) {
  std::lock_guard lock(mutex_);
  std::string key = GroupKey(event);
  if (IsSimilar(event, key, now)) {
    event = Combined(event, fresh_name());
  } else {
    key = EventKey(event);
  }
  Decision decision;
  Observation& earlier = observations_.Use(key);
  if (earlier.count == 0) {
    earlier = {1, event.name, event.first};
  } else {
    ++earlier.count;  // also when the spam filter then keeps the write back (8.4, trap T18)
  }
  event.count = earlier.count;
  event.name = earlier.name;
  event.first = earlier.first;
  if (TakeToken(event, now)) {
    decision.write = earlier.count == 1 ? Decision::Write::kPost : Decision::Write::kPatch;
  }
  decision.event = std::move(event);
  return decision;
}

// The tenth distinct message is the first combined one, and from then on all events of the group
// are, until it was quiet for the window. No message beyond the tenth is remembered.
bool Correlator::IsSimilar(const Event& event, const std::string& group_key, clock::MonoTime now) {
  Group& group = groups_.Use(group_key);
  if (now - group.last > limits_.similar_window) group.messages.clear();
  group.last = now;
  if (group.messages.size() < limits_.similar) group.messages.insert(event.message);
  return group.messages.size() >= limits_.similar;
}

bool Correlator::TakeToken(const Event& event, clock::MonoTime now) {
  Bucket& bucket = buckets_.Use(SpamKey(event));
  if (!bucket.used) bucket = {true, limits_.burst, now};
  const double elapsed =
      std::chrono::duration<double>(std::max(now, bucket.last) - bucket.last).count();
  const double refill = std::chrono::duration<double>(limits_.refill).count();
  bucket.tokens = std::min(limits_.burst, bucket.tokens + elapsed / refill);
  bucket.last = std::max(now, bucket.last);
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

}  // namespace kcm::host::event
