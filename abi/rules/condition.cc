// SPDX-License-Identifier: Apache-2.0
// Reading conditions.
#include "kcm/rules/condition.h"

namespace kcm::rules {

Node FindConditionIn(Node conditions, std::string_view type) {
  for (const Node c : conditions.Items()) {
    if (c.Get("type").String() == type) return c;
  }
  return Node();
}

Node FindCondition(Node object, std::string_view type) {
  return FindConditionIn(object.Get("status").Get("conditions"), type);
}

std::string_view ConditionStatus(Node object, std::string_view type) {
  return FindCondition(object, type).Get("status").String();
}

bool IsConditionTrue(Node object, std::string_view type) {
  return ConditionStatus(object, type) == "True";
}

bool IsConditionFalse(Node object, std::string_view type) {
  return ConditionStatus(object, type) == "False";
}

bool SameCondition(Node x, Node y) {
  for (const std::string_view field : {"type", "status", "reason", "message"}) {
    if (x.Get(field).String() != y.Get(field).String()) return false;
  }
  return true;
}

}  // namespace kcm::rules
