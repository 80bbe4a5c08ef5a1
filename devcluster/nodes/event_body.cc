// SPDX-License-Identifier: Apache-2.0
// Builds events.
#include "devcluster/nodes/event_body.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "devcluster/nodes/json_text.h"

namespace kcm::devcluster::nodes {

using nlohmann::json;

std::string EventNamespace(const EventSubject& subject) {
  return subject.ns.empty() ? "default" : subject.ns;
}

std::string EventBody(const EventSubject& subject, const EventText& text, uint64_t number,
                      rules::WallTime now) {
  char hex[16];
  const uint64_t unique = static_cast<uint64_t>(now.time_since_epoch().count()) + number;
  const auto end = std::to_chars(hex, hex + sizeof hex, unique, 16).ptr;
  const std::string time = rules::FormatTime(now);
  json object = {{"apiVersion", subject.api_version},
                 {"kind", subject.kind},
                 {"name", subject.name},
                 {"uid", subject.uid},
                 {"resourceVersion", std::to_string(subject.resource_version)}};
  if (!subject.ns.empty()) object["namespace"] = subject.ns;
  const json event = {{"apiVersion", "v1"},
                      {"kind", "Event"},
                      {"metadata",
                       {{"name", subject.name + "." + std::string(hex, end)},
                        {"namespace", EventNamespace(subject)}}},
                      {"involvedObject", std::move(object)},
                      {"type", text.type},
                      {"reason", text.reason},
                      {"message", text.message},
                      {"source", {{"component", text.component}}},
                      {"reportingComponent", text.component},
                      {"count", 1},
                      {"firstTimestamp", time},
                      {"lastTimestamp", time}};
  return Dump(event);
}

}  // namespace kcm::devcluster::nodes
