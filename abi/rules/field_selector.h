// SPDX-License-Identifier: Apache-2.0
// FieldSelector: `spec.nodeName=n1,status.phase!=Failed` of list and watch requests
// (spec/apiserver.md D6).
//
//   Result<FieldSelector> s = FieldSelector::Parse("metadata.name=p1");
//   s->MatchesWith([&](std::string_view key) -> std::string_view { return FieldOf(pod, key); });
//
// Which keys a kind knows is the server's business: it reads requirements() and answers for the
// others.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kcm/rules/result.h"

namespace kcm::rules {

struct FieldRequirement {
  std::string key;
  std::string value;
  bool negated = false;
};

// Immutable; a value type; thread-safe.
class FieldSelector {
 public:
  FieldSelector() = default;  // everything
  // Terms `k=v`, `k==v`, `k!=v` joined by commas; `\` escapes `\`, `,` and `=` in values; empty
  // terms are skipped. Error kInvalid: `invalid selector: 'TEXT'; can't understand 'TERM'`,
  // `invalid field selector: ...`.
  static Result<FieldSelector> Parse(std::string_view text);

  bool SelectsEverything() const { return requirements_.empty(); }
  const std::vector<FieldRequirement>& requirements() const { return requirements_; }
  // The value that `key` must have, nullopt when it is free (lets a server use an index).
  std::optional<std::string_view> RequiredValue(std::string_view key) const;

  // `find(key)` gives the field's text, empty when absent.
  template <class Find>
  bool MatchesWith(Find find) const {
    for (const FieldRequirement& r : requirements_) {
      if ((find(std::string_view(r.key)) == r.value) == r.negated) return false;
    }
    return true;
  }

  std::string Text() const;  // escaped again, joined by commas

 private:
  std::vector<FieldRequirement> requirements_;
};

// `\`, `,` and `=` escaped, for building a selector.
std::string EscapeFieldValue(std::string_view value);

}  // namespace kcm::rules
