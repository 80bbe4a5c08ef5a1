// SPDX-License-Identifier: Apache-2.0
// Conditions of a namespace that is being deleted.
#include "plugins/namespace/namespace/conditions.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace kcm::ns::namespaces {
namespace {

std::string Joined(std::vector<std::string> texts) {
  std::sort(texts.begin(), texts.end());
  std::string out;
  for (const std::string& text : texts) out.append(out.empty() ? "" : ", ").append(text);
  return out;
}

std::string Counted(const std::map<std::string, int64_t>& counts, std::string_view verb) {
  std::vector<std::string> texts;
  for (const auto& [name, count] : counts) {
    std::string text = name;
    text.append(verb).append(std::to_string(count)).append(" resource instances");
    texts.push_back(std::move(text));
  }
  return Joined(std::move(texts));
}

Condition Discovery(const Progress& p) {
  constexpr std::string_view kType = "NamespaceDeletionDiscoveryFailure";
  if (p.discovery_failure) return {kType, true, "DiscoveryFailed", *p.discovery_failure};
  return {kType, false, "ResourcesDiscovered", "All resources successfully discovered"};
}

Condition Parsing(const Progress& p) {
  constexpr std::string_view kType = "NamespaceDeletionGroupVersionParsingFailure";
  if (p.parsing_failure) return {kType, true, "GroupVersionParsingFailed", *p.parsing_failure};
  return {kType, false, "ParsedGroupVersions", "All legacy kube types successfully parsed"};
}

Condition Content(const Progress& p) {
  constexpr std::string_view kType = "NamespaceDeletionContentFailure";
  if (p.content_failures.empty()) {
    return {kType, false, "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization"};
  }
  return {kType, true, "ContentDeletionFailed",
          "Failed to delete all resource types, " + std::to_string(p.content_failures.size()) +
              " remaining: " + Joined(p.content_failures)};
}

Condition Remaining(const Progress& p) {
  constexpr std::string_view kType = "NamespaceContentRemaining";
  if (p.remaining.empty()) {
    return {kType, false, "ContentRemoved", "All content successfully removed"};
  }
  return {kType, true, "SomeResourcesRemain",
          "Some resources are remaining: " + Counted(p.remaining, " has ")};
}

Condition Finalizers(const Progress& p) {
  constexpr std::string_view kType = "NamespaceFinalizersRemaining";
  if (p.finalizers.empty()) {
    return {kType, false, "ContentHasNoFinalizers", "All content-preserving finalizers finished"};
  }
  return {
      kType, true, "SomeFinalizersRemain",
      "Some content in the namespace has finalizers remaining: " + Counted(p.finalizers, " in ")};
}

// Absent and of another type both read as "": hostile content of a status ends in a rewrite.
std::string Text(const sdk::Json& condition, const char* member) {
  const auto it = condition.find(member);
  return it != condition.end() && it->is_string() ? it->get<std::string>() : std::string();
}

bool SetCondition(const Condition& want, const std::string& now, sdk::Json& conditions) {
  const char* const status = want.bad ? "True" : "False";
  for (sdk::Json& have : conditions) {
    if (!have.is_object() || Text(have, "type") != want.type) continue;
    const bool same_status = Text(have, "status") == status;
    if (same_status && Text(have, "reason") == want.reason &&
        Text(have, "message") == want.message) {
      return false;
    }
    if (!same_status) have["lastTransitionTime"] = now;
    have["status"] = status;
    have["reason"] = want.reason;
    have["message"] = want.message;
    return true;
  }
  conditions.push_back({{"type", want.type},
                        {"status", status},
                        {"lastTransitionTime", now},
                        {"reason", want.reason},
                        {"message", want.message}});
  return true;
}

}  // namespace

std::array<Condition, 5> ConditionsOf(const Progress& p) {
  return {Discovery(p), Parsing(p), Content(p), Remaining(p), Finalizers(p)};
}

bool SetConditions(const Progress& progress, rules::WallTime now, sdk::Json& namespace_object) {
  sdk::Json& conditions = namespace_object["status"]["conditions"];
  if (!conditions.is_array()) conditions = sdk::Json::array();
  const std::string time = rules::FormatTime(now);
  bool changed = false;
  for (const Condition& want : ConditionsOf(progress)) {
    changed = SetCondition(want, time, conditions) || changed;
  }
  return changed;
}

}  // namespace kcm::ns::namespaces
