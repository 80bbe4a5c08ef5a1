// SPDX-License-Identifier: Apache-2.0
// The values of the event pipeline: what an event is about, and the Event object as it is written
// (spec/host.md 8.1).
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "host/clock/clock.h"

namespace kcm::host::event {

// The object as the controller saw it. Empty strings are left out of the Event.
struct ObjectReference {
  std::string kind;
  std::string api_version;
  std::string namespace_;  // empty: cluster-scoped
  std::string name;
  std::string uid;
  std::string resource_version;
  std::string field_path;
};

enum class EventType : uint8_t { kNormal, kWarning };

using Annotations = std::vector<std::pair<std::string, std::string>>;

// A core/v1 Event.
struct Event {
  std::string name;
  std::string namespace_;  // of the Event itself: never empty
  Annotations annotations;
  ObjectReference involved;
  std::string type;  // "Normal" or "Warning"
  std::string reason;
  std::string message;
  std::string component;            // source.component
  std::string reporting_component;  // = component, empty in combined events
  clock::WallTime first;
  clock::WallTime last;
  int64_t count = 1;
};

}  // namespace kcm::host::event
