// SPDX-License-Identifier: Apache-2.0
// Field selector keys beyond metadata.name and metadata.namespace (spec D6).
#pragma once
#include "devcluster/api/strategy.h"

namespace kcm::devcluster::kinds {

// The keys of a kind; empty for most.
std::vector<std::string> FieldLabelsOf(const Gvr& gvr);
// Value of one of them; nullopt for other keys.
std::optional<std::string> FieldLabel(const Gvr& gvr, std::string_view key, const Json& object);

}  // namespace kcm::devcluster::kinds
