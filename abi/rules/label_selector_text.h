// SPDX-License-Identifier: Apache-2.0
// A LabelSelector object as Go prints it, which is how some Events and messages show selectors
// (spec/pod-batch.md 4.5.7, 5.7).
#pragma once
#include <string>

#include "kcm/rules/node.h"

namespace kcm::rules {

// `&LabelSelector{MatchLabels:map[string]string{k: v,},MatchExpressions:
// []LabelSelectorRequirement{...},}` in one line, labels sorted; `nil` for an absent selector.
std::string LabelSelectorText(Node selector);

}  // namespace kcm::rules
