// SPDX-License-Identifier: Apache-2.0
// The diff that some refusals carry (spec C7, "spec is immutable ..."): both values printed with
// every member, one a line, and the changed lines with three lines around them.
#pragma once
#include <string>

#include "devcluster/kinds/schema.h"

namespace kcm::devcluster::kinds {

// Empty when the values print alike, or are too long to compare (over 2000 lines).
std::string GoDiff(const Json& before, const Json& after, const Message& message);

}  // namespace kcm::devcluster::kinds
