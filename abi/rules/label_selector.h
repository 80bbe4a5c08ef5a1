// SPDX-License-Identifier: Apache-2.0
// LabelSelector: a compiled label query (spec/pod-workloads.md 1.5, spec/namespace.md S3,
// spec/apiserver.md D5).
//
//   Result<LabelSelector> s = LabelSelector::FromObject(rs.Path("spec.selector"));
//   if (s.ok() && s->Matches(pod.Path("metadata.labels"))) ...
//   Result<LabelSelector> q = LabelSelector::Parse("app=web,tier in (fe,be),!legacy");
//
// A null selector selects nothing, an empty one everything; a search for the owners of an orphan
// uses CanSearch().
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kcm/rules/node.h"
#include "kcm/rules/result.h"

namespace kcm::rules {

enum class SelectorOperator : uint8_t {
  kEquals,        // k=v
  kDoubleEquals,  // k==v: means the same, printed as written
  kNotEquals,     // k!=v: also objects without k
  kIn,
  kNotIn,  // also objects without the key
  kExists,
  kDoesNotExist,
  kGreaterThan,  // both sides signed 64-bit decimals, else no match
  kLessThan,
};

struct SelectorRequirement {
  std::string key;
  SelectorOperator op = SelectorOperator::kEquals;
  std::vector<std::string> values;  // sorted, no duplicates

  // `value`: the object's label `key`, nullopt when it has none.
  bool Matches(std::optional<std::string_view> value) const;
  std::string Text() const;
};

// Checks key, values and their number. Error kInvalid with the server's text
// (`key: Invalid value: "x y": name part must ...`, `values: Invalid value: []: for 'in', 'notin'
// operators, ...`).
Result<SelectorRequirement> MakeRequirement(std::string_view key, SelectorOperator op,
                                            std::vector<std::string> values);

// Immutable; a value type; thread-safe.
class LabelSelector {
 public:
  static LabelSelector Everything() { return LabelSelector(false, {}); }
  static LabelSelector Nothing() { return LabelSelector(true, {}); }
  // A meta/v1 LabelSelector {matchLabels, matchExpressions}; absent or null: Nothing(). Error
  // kInvalid as S3.4 and S3.5.
  static Result<LabelSelector> FromObject(Node selector);
  // A plain map (ReplicationController, Service): all pairs must be equal. Absent or empty:
  // Everything(). Not validated.
  static LabelSelector FromMap(Node labels);
  // The text form of query strings (S3.7). Empty: Everything(). Error kInvalid, the server's 400
  // message.
  static Result<LabelSelector> Parse(std::string_view text);
  // Requirements made by MakeRequirement.
  static LabelSelector FromRequirements(std::vector<SelectorRequirement> requirements) {
    return LabelSelector(false, std::move(requirements));
  }

  // `labels`: metadata.labels, absent counts as empty.
  bool Matches(Node labels) const;
  // The same over any holder: `find(key)` gives std::optional<std::string_view>.
  template <class Find>
  bool MatchesWith(Find find) const {
    if (nothing_) return false;
    for (const SelectorRequirement& r : requirements_) {
      if (!r.Matches(find(std::string_view(r.key)))) return false;
    }
    return true;
  }

  bool SelectsNothing() const { return nothing_; }
  bool SelectsEverything() const { return !nothing_ && requirements_.empty(); }
  // False for null and empty selectors: those never claim an orphan that looks for an owner (1.5).
  bool CanSearch() const { return !nothing_ && !requirements_.empty(); }
  // The only value that `key` may have, when the selector says so: lets a cache use an index.
  std::optional<std::string_view> RequiredValue(std::string_view key) const;
  const std::vector<SelectorRequirement>& requirements() const { return requirements_; }  // by key

  // S3.7: sorted by key, `k=v,k2 in (a,b),!k3`. Empty for Everything() and Nothing().
  std::string Text() const;
  // Same text form and same emptiness (S3.9).
  friend bool operator==(const LabelSelector& x, const LabelSelector& y) {
    return x.nothing_ == y.nothing_ && x.Text() == y.Text();
  }

 private:
  LabelSelector(bool nothing, std::vector<SelectorRequirement> requirements);

  bool nothing_;
  std::vector<SelectorRequirement> requirements_;
};

}  // namespace kcm::rules
