// SPDX-License-Identifier: Apache-2.0
// spec.finalizers of a namespace: `kubernetes` stands for its content and is ours to remove, the
// others are not (spec/namespace.md, step 8).
//
// Pure; thread-safe.
#pragma once
#include <string>
#include <vector>

#include "kcm/rules/node.h"
#include "kcm/sdk/object.h"

namespace kcm::ns::namespaces {

// spec.finalizers without `kubernetes`, each once, sorted.
std::vector<std::string> ForeignFinalizers(rules::Node namespace_object);

// spec.finalizers is that list already: a PUT would change nothing.
bool IsFinalized(rules::Node namespace_object);

// Makes a namespace the body of the finalize PUT: metadata as read, those finalizers, no status.
void RemoveOwnFinalizer(sdk::Json& namespace_object);

}  // namespace kcm::ns::namespaces
