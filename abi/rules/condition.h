// SPDX-License-Identifier: Apache-2.0
// Status conditions: finding one by type and comparing two.
//
//   if (IsConditionTrue(job, "Complete")) ...
#pragma once
#include <string_view>

#include "kcm/rules/node.h"

namespace kcm::rules {

// The first entry of status.conditions with this type; absent Node when there is none.
Node FindCondition(Node object, std::string_view type);
// The first entry of a list of conditions with this type.
Node FindConditionIn(Node conditions, std::string_view type);

// "True", "False", "Unknown", or empty when there is no such condition.
std::string_view ConditionStatus(Node object, std::string_view type);
bool IsConditionTrue(Node object, std::string_view type);
bool IsConditionFalse(Node object, std::string_view type);

// Equal but for times: type, status, reason, message (absent = empty).
bool SameCondition(Node x, Node y);

}  // namespace kcm::rules
