// SPDX-License-Identifier: Apache-2.0
// Merge keys of strategic merge patch and of server-side apply (spec B2), found by walking the
// schema along a member path.
#pragma once
#include <string_view>

#include "devcluster/api/field_shape.h"
#include "devcluster/api/strategy.h"
#include "devcluster/kinds/schema.h"

namespace kcm::devcluster::kinds {

// `path` is dotted and without indexes, from the root of `root`.
KindRegistry::ListKey MergeKeyAt(const Message& root, std::string_view path);

// How apply sees the values of a built-in kind.
FieldShapes ApplyShapes(const Gvr& gvr);
// The same below the metadata of any object.
FieldShape MetadataShape(std::string_view path);

}  // namespace kcm::devcluster::kinds
