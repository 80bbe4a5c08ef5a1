// SPDX-License-Identifier: Apache-2.0
// Names and JSON of Events: see the header.
#include "host/event/event_body.h"

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <random>

#include "kcm/rules/name_validation.h"
#include "kcm/rules/time.h"

namespace kcm::host::event {
namespace {

using Json = nlohmann::json;

std::string Hex(uint64_t value) {
  std::array<char, 16> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, 16);
  return std::string(buffer.data(), end.ptr);
}

// Version 4, variant 1.
std::string RandomUuid() {
  std::random_device random;
  std::string uuid;
  for (int i = 0; i < 32; ++i) {
    if (i == 8 || i == 12 || i == 16 || i == 20) uuid += '-';
    unsigned digit = random() & 0xFU;
    if (i == 12) digit = 4;
    if (i == 16) digit = 8 | (digit & 3U);
    uuid += "0123456789abcdef"[digit];
  }
  return uuid;
}

void PutIfSet(Json& object, const char* key, const std::string& value) {
  if (!value.empty()) object[key] = value;
}

Json Involved(const ObjectReference& o) {
  Json object = Json::object();
  PutIfSet(object, "kind", o.kind);
  PutIfSet(object, "apiVersion", o.api_version);
  PutIfSet(object, "namespace", o.namespace_);
  PutIfSet(object, "name", o.name);
  PutIfSet(object, "uid", o.uid);
  PutIfSet(object, "resourceVersion", o.resource_version);
  PutIfSet(object, "fieldPath", o.field_path);
  return object;
}

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string EventName(std::string_view involved, int64_t unix_nanos) {
  std::string name = std::string(involved) + "." + Hex(static_cast<uint64_t>(unix_nanos));
  return rules::ValidateDns1123Subdomain(name).empty() ? name : RandomUuid();
}

std::string PostBody(const Event& event) {
  Json metadata = {{"name", event.name}, {"namespace", event.namespace_}};
  for (const auto& [key, value] : event.annotations) metadata["annotations"][key] = value;
  Json source = Json::object();
  PutIfSet(source, "component", event.component);
  return Dump({{"apiVersion", "v1"},
               {"kind", "Event"},
               {"metadata", std::move(metadata)},
               {"involvedObject", Involved(event.involved)},
               {"type", event.type},
               {"reason", event.reason},
               {"message", event.message},
               {"source", std::move(source)},
               {"firstTimestamp", rules::FormatTime(event.first)},
               {"lastTimestamp", rules::FormatTime(event.last)},
               {"count", event.count},
               {"reportingComponent", event.reporting_component},
               {"reportingInstance", ""}});
}

std::string PatchBody(const Event& event) {
  return Dump({{"count", event.count},
               {"lastTimestamp", rules::FormatTime(event.last)},
               {"message", event.message}});
}

}  // namespace kcm::host::event
