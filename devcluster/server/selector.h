// SPDX-License-Identifier: Apache-2.0
// Label and field selectors of list, watch and deletecollection (spec/apiserver D5, D6).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "devcluster/api/strategy.h"
#include "host/wire/object.h"

namespace kcm::devcluster {

// Immutable, thread-safe.
class LabelSelector {
 public:
  // Throws Failure 400 with the reference's text.
  static LabelSelector Parse(std::string_view text);
  bool empty() const { return requirements_.empty(); }
  bool Matches(const host::wire::Object& object) const;

 private:
  enum class Operator { kIn, kNotIn, kExists, kAbsent, kGreater, kLess };
  struct Requirement {
    std::string key;
    Operator op = Operator::kExists;
    std::vector<std::string> values;
    int64_t number = 0;
  };
  class Parser;
  std::vector<Requirement> requirements_;
};

class FieldSelector {
 public:
  // Keys are checked against the kind. Throws Failure 400.
  static FieldSelector Parse(std::string_view text, const ResourceKind& kind);
  bool empty() const { return terms_.empty(); }
  // `kind` as given to Parse.
  bool Matches(const host::wire::Object& object, const ResourceKind& kind) const;
  // The value that metadata.name must have, when the selector says so.
  std::optional<std::string> RequiredName() const;

 private:
  struct Term {
    std::string key, value;
    bool equal = true;
  };
  std::vector<Term> terms_;
};

}  // namespace kcm::devcluster
