// SPDX-License-Identifier: Apache-2.0
// From a request to its handler: URL, verb, authorization, method rules (spec/apiserver A2 to A4).
#pragma once
#include "devcluster/server/core.h"

namespace kcm::devcluster {

// REQUIRES: request.http, connection and user are set. Never throws.
Answer Dispatch(const State& state, Request& request);

}  // namespace kcm::devcluster
