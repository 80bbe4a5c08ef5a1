// SPDX-License-Identifier: Apache-2.0
// OpenAPI documents (spec/apiserver A3.4, L3).
#pragma once
#include "devcluster/server/core.h"

namespace kcm::devcluster {

// `/openapi/v3`: where the documents are, each under a hash of what it depends on.
Answer OpenApiIndex(const State& state, const ResourceSet& set);
// `/openapi/v3/apis/G/V`: the schemas of its kinds, and for each kind the operation from which
// kubectl learns that the server validates fields.
Answer OpenApiDocument(const State& state, const Request& request, const GroupVersionResources& v);
// `/openapi/v2`: only so much that kubectl uses its compiled-in merge keys and leaves validation to
// the server.
Answer OpenApiV2(const Request& request);

}  // namespace kcm::devcluster
