// SPDX-License-Identifier: Apache-2.0
// One error out of several, in the form that operators know from kube-controller-manager.
#pragma once
#include <vector>

#include "kcm/rules/result.h"

namespace kcm::ns::namespaces {

// A single distinct text as it is, several as `[e1, e2]`, each once. Code and reason are the first
// one's. REQUIRES: !errors.empty().
Error JoinedError(const std::vector<Error>& errors);

}  // namespace kcm::ns::namespaces
