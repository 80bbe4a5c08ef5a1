// SPDX-License-Identifier: Apache-2.0
// Subresources with a kind of their own, and requests that store nothing (spec/apiserver H, J).
#pragma once
#include "devcluster/server/core.h"

namespace kcm::devcluster {

Answer HandleScale(const State& state, Request& request);  // scale.cc
Answer HandleBinding(const State& state,
                     Request& request);  // pod_actions.cc: pods/binding and bindings
Answer HandleEviction(const State& state, Request& request);  // pod_actions.cc
Answer HandlePodStream(const State& state,
                       Request& request);  // pod_actions.cc: log, exec, attach, portforward, proxy
Answer HandleTokenRequest(const State& state, Request& request);  // token_request.cc
// tokenreviews, (local/self)subjectaccessreviews, selfsubjectrulesreviews, selfsubjectreviews.
bool IsReview(const Gvr& gvr);
Answer HandleReview(const State& state, Request& request);  // reviews.cc

}  // namespace kcm::devcluster
