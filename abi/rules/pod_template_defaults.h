// SPDX-License-Identifier: Apache-2.0
// What API servers up to 1.36 fill into a pod template where a user wrote nothing.
//
// Servers learn defaults, stored templates do not: a template that lacks one of these members means
// the same as one that has it with this value (spec/pod-workloads.md 5.1.3).
#pragma once
#include <string_view>

#include "kcm/rules/node.h"

namespace kcm::rules {

// Whether `value` is the default of the member `name` of `holder`, an object that stands at the
// member `parent` of the template ("spec", "containers", "httpGet", ...). An rules::Addition.
bool IsPodTemplateDefault(std::string_view parent, Node holder, std::string_view name, Node value);

}  // namespace kcm::rules
