// SPDX-License-Identifier: Apache-2.0
// Equality of two values, whatever holds them: as JSON, and as the API means it
// (spec/pod-workloads.md 1.12, 1.15.3).
#pragma once
#include <cstdint>
#include <string_view>

#include "kcm/rules/node.h"

namespace kcm::rules {

enum class NullRule : uint8_t {
  kDistinct,      // null, absent and anything else are three different things
  kNullIsAbsent,  // a null member equals a missing one
};

// Equal as JSON: member order does not matter, list order does; 1 equals 1.0; "1" does not.
bool DeepEqual(Node x, Node y, NullRule rule = NullRule::kDistinct);

// Equal as the API means it, for pod templates, PVC templates and what contains them (revision
// data):
// - absent, null and the empty list are the same; so is the empty map where the API has a map
// (labels, annotations,
//   nodeSelector, matchLabels, limits, requests, overhead, volumeAttributes, options) and an empty
//   `metadata`; elsewhere an empty object is not the same as none (`securityContext: {}`);
// - quantities compare by value where the API has quantities (limits, requests, overhead,
// sizeLimit, divisor);
// - everything else as DeepEqual. Fields that this build does not know are compared too.
bool SemanticEqual(Node x, Node y);

// Whether the member `name` that only the second value has, in an object that stands at the member
// `parent`, is the same as none. `holder`: that object, of the second value.
using Addition = bool (*)(std::string_view parent, Node holder, std::string_view name, Node value);
// SemanticEqual but for members of `y` that `x` lacks and `is_nothing` accepts.
bool SemanticEqualBut(Node x, Node y, Addition is_nothing);

// SemanticEqual of two pod templates without the label `pod-template-hash` of either (1.12).
bool PodTemplatesEqual(Node x, Node y);

}  // namespace kcm::rules
