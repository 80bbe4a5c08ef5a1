// SPDX-License-Identifier: Apache-2.0
// Strict reading of a client's object and its canonical form (spec C3, C6), driven by the schema.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "devcluster/kinds/schema.h"

namespace kcm::devcluster::kinds {

// Rewrites `object` as the API server would print it after decoding: unknown members dropped (their
// paths appended to `unknown` unless nullptr; nested ones before those of the enclosing object),
// quantities and times canonical, empty members omitted or written as null as the type demands.
// Returns the decoding error of the first member of a wrong type, nullopt when all is well;
// `object` is then unspecified. Depth is that of the schema, except JSON schemas: bounded by 100.
std::optional<std::string> Decode(Json& object, const Message& message,
                                  std::vector<std::string>* unknown);

// Decode of what the server itself produced: errors can not happen and are ignored.
void Canonicalise(Json& object, const Message& message);

}  // namespace kcm::devcluster::kinds
