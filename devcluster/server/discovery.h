// SPDX-License-Identifier: Apache-2.0
// Discovery (spec/apiserver A3), version, health and OpenAPI (L3).
#pragma once
#include "devcluster/server/core.h"

namespace kcm::devcluster {

// Paths that name no resource. REQUIRES: target.kind != kResource.
Answer HandleNonResource(const State& state, Request& request);
Answer PlainNotFound();

}  // namespace kcm::devcluster
