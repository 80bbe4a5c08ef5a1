// SPDX-License-Identifier: Apache-2.0
// Options of list and watch requests, checked as the API server checks them (spec/apiserver D2, D3,
// E7, E9).
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "devcluster/server/core.h"
#include "devcluster/server/selector.h"

namespace kcm::devcluster {

struct ListOptions {
  rules::LabelSelector labels = rules::LabelSelector::Everything();
  rules::FieldSelector fields;
  int64_t limit = 0;
  int64_t timeout_seconds = 0;
  std::string resource_version;  // as given
  std::string resource_version_match;
  std::string continue_token;
  bool bookmarks = false;
  bool send_initial_events = false;

  bool selects() const { return !labels.SelectsEverything() || !fields.SelectsEverything(); }
  bool Matches(const host::wire::Object& object, const ResourceKind& kind) const {
    return devcluster::Matches(labels, object) &&
           (fields.SelectsEverything() || devcluster::Matches(fields, object, kind));
  }
};

// Throws Failure 400 / 422.
ListOptions ReadListOptions(const State& state, const Request& request, bool watch);

struct ContinueToken {
  int64_t revision = 0;  // -1: the latest (an inconsistent continuation)
  std::string start;
};
std::string Encode(const ContinueToken& token);
// Throws Failure 400.
ContinueToken DecodeContinue(const std::string& text);

}  // namespace kcm::devcluster
