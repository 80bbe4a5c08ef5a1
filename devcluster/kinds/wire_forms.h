// SPDX-License-Identifier: Apache-2.0
// Where the reference's objects look different from what is stored, because it keeps them in
// another form in memory.
#pragma once
#include <string_view>

#include "devcluster/api/strategy.h"

namespace kcm::devcluster::kinds {

// Members that an object without any content has on the wire (bookmarks): numbers that are no
// pointers in memory. Null: none.
Json EmptyMembers(const Gvr& gvr);
// An annotation that is made from a member of the spec when a whole object is written: rows of
// tables do not have it. "": none.
std::string_view HiddenInRows(const Gvr& gvr);

}  // namespace kcm::devcluster::kinds
