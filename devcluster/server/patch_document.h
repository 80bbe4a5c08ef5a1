// SPDX-License-Identifier: Apache-2.0
// The three classic patch types as pure functions on documents (spec/apiserver F2 to F4). They
// throw Failure with the reference's answers.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "devcluster/api/strategy.h"

namespace kcm::devcluster {

// RFC 6902, lenient as the reference is: `replace` of a missing member adds it.
Json ApplyJsonPatch(Json document, const Json& patch);
// RFC 7386.
Json ApplyMergePatch(Json document, const Json& patch);

// Merge key of the list at a dotted path.
using ListKeys = std::function<KindRegistry::ListKey(std::string_view path)>;
// Strategic merge patch with its directives.
Json ApplyStrategicPatch(Json document, const Json& patch, const ListKeys& keys);

// As Go prints values in the reference's messages: map[a:1 b:[x y]].
std::string GoMap(const Json& value);

}  // namespace kcm::devcluster
