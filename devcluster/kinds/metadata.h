// SPDX-License-Identifier: Apache-2.0
// Validation of metadata, the same for all kinds (spec C1, C2, C7).
#pragma once
#include <vector>

#include "devcluster/api/strategy.h"
#include "devcluster/kinds/names.h"
#include "devcluster/kinds/schema.h"

namespace kcm::devcluster::kinds {

using FieldErrors = std::vector<FieldError>;

// Names, labels, annotations, owner references, finalizers of a new object.
FieldErrors ValidateMetadata(const Json& object, NameRule rule, const Schema& schema);
// The same of a changed one, and what may not change. Like the API server, which checks the
// metadata twice, causes of immutable members come twice; the message names them once.
FieldErrors ValidateMetadataUpdate(const Json& object, const Json& old, const Schema& schema);
// Drops owner references of an already seen uid, with the warning of the API server.
void DeduplicateOwners(Json& object, const RequestInfo& info);

// Labels under any path: template labels, selectors.
FieldErrors ValidateLabels(const Json* labels, const std::string& path);

void Append(FieldErrors& to, FieldErrors more);

}  // namespace kcm::devcluster::kinds
