// SPDX-License-Identifier: Apache-2.0
// The five conditions in which a namespace that is being deleted tells how far it is
// (spec/namespace.md, "Conditions").
//
//   Progress progress;
//   progress.remaining["configmaps."] = 2;
//   if (SetConditions(progress, now, edit.json())) client.UpdateStatus(...);
//
// Pure; thread-safe.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kcm/rules/time.h"
#include "kcm/sdk/object.h"

namespace kcm::ns::namespaces {

// What one run learned.
struct Progress {
  std::optional<std::string> discovery_failure;  // the condition's message
  std::optional<std::string> parsing_failure;    // likewise
  std::vector<std::string> content_failures;     // one text per failed resource
  std::map<std::string, int64_t> remaining;      // "<resource>.<group>" -> instances
  std::map<std::string, int64_t> finalizers;     // finalizer -> instances that have it
};

struct Condition {
  std::string_view type;
  bool bad = false;  // status True
  std::string_view reason;
  std::string message;
};

// In the order in which they are appended to a namespace that has none.
std::array<Condition, 5> ConditionsOf(const Progress& progress);

// Brings status.conditions of a namespace to `progress`. Entries of other types stay as they are,
// known ones keep their place; lastTransitionTime moves only with the status. Returns whether
// anything changed.
bool SetConditions(const Progress& progress, rules::WallTime now, sdk::Json& namespace_object);

}  // namespace kcm::ns::namespaces
