// SPDX-License-Identifier: Apache-2.0
// Validation of events (spec C7): of the core group, and of events.k8s.io, which demands more.
#include "devcluster/api/api_error.h"
#include "devcluster/kinds/fields.h"
#include "devcluster/kinds/validate.h"
#include "kcm/rules/name_validation.h"

namespace kcm::devcluster::kinds {

namespace {

constexpr size_t kMaxEventWord = 128, kMaxEventMessage = 1024;

void LimitEventText(FieldErrors& out, std::string_view text, const std::string& path,
                    size_t limit) {
  if (text.size() > limit) {
    out.push_back(
        InvalidValue(path, "\"\"", "can have at most " + std::to_string(limit) + " characters"));
  }
}

// What an event with an eventTime, the form of all new clients, must say.
void ValidateTimedEvent(FieldErrors& out, const Json& o, const std::string& reporter) {
  const std::string_view component = Text(o, "reportingComponent");
  if (component.empty()) out.push_back(Required(reporter, ""));
  for (const std::string& fault : rules::ValidateQualifiedName(component))
    out.push_back(InvalidValue(reporter, GoQuote(component), fault));
  for (const char* member : {"reportingInstance", "action", "reason"}) {
    RequiredText(out, o, member);
    LimitEventText(out, Text(o, member), member, kMaxEventWord);
  }
  LimitEventText(out, Text(o, "message"), "message", kMaxEventMessage);
}

}  // namespace

FieldErrors ValidateEvent(const Json& o, const std::string& reporter) {
  FieldErrors out;
  const std::string_view ns = Text(o, "metadata.namespace"),
                         subject = Text(o, "involvedObject.namespace");
  const bool timed = Find(o, "eventTime") != nullptr;
  // Events of cluster-scoped objects are kept in default; timed ones in kube-system too.
  const bool home = ns.empty() || ns == "default" || (timed && ns == "kube-system");
  if (subject.empty() ? !home : !timed && subject != ns) {
    out.push_back(InvalidValue("involvedObject.namespace", GoQuote(subject),
                               "does not match event.namespace"));
  }
  if (timed) ValidateTimedEvent(out, o, reporter);
  return out;
}

FieldErrors ValidateGroupEvent(const Json& o) {
  Json core = o;
  for (const auto& [from, to] :
       {std::pair("regarding", "involvedObject"), std::pair("note", "message"),
        std::pair("reportingController", "reportingComponent")}) {
    const auto it = o.find(from);
    if (it != o.end()) core[to] = *it;
  }
  FieldErrors out = ValidateEvent(core, "reportingController");
  if (Find(o, "eventTime") == nullptr) out.push_back(Required("eventTime", ""));
  const std::string type(Text(o, "type"));
  if (type != "Normal" && type != "Warning")
    out.push_back(InvalidValue("type", "\"\"", "has invalid value: " + type));
  const std::pair<const char*, const char*> unset[] = {
      {"deprecatedFirstTimestamp", "firstTimestamp"},
      {"deprecatedLastTimestamp", "lastTimestamp"},
      {"deprecatedCount", "count"},
      {"deprecatedSource", "source"}};
  for (const auto& [member, shown] : unset) {
    const Json* value = Find(o, member);
    if (value != nullptr && !value->empty() && *value != 0)
      out.push_back(InvalidValue(shown, "\"\"", "needs to be unset"));
  }
  return out;
}

}  // namespace kcm::devcluster::kinds
