// SPDX-License-Identifier: Apache-2.0
// Bodies of core/v1 Events that the simulator reports, each once.
#pragma once
#include <cstdint>
#include <string>

#include "kcm/rules/time.h"

namespace kcm::devcluster::nodes {

// What an event is about.
struct EventSubject {
  std::string api_version, kind, ns, name, uid;
  uint64_t resource_version = 0;
};

struct EventText {
  const char* type;  // "Normal", "Warning"
  const char* reason;
  std::string message;
  const char* component;
};

// The namespace that the event goes to: of its subject, "default" for one without.
std::string EventNamespace(const EventSubject& subject);
// `number`: makes the name unique among the events of one moment.
std::string EventBody(const EventSubject& subject, const EventText& text, uint64_t number,
                      rules::WallTime now);

}  // namespace kcm::devcluster::nodes
