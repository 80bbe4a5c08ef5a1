// SPDX-License-Identifier: Apache-2.0
// Fields of a status that only newer API servers keep (spec/pod-workloads.md 1.18).
//
// Writing a field that the server drops would differ from the cache for ever and be written in
// every reconcile.
#pragma once
#include <string_view>

#include "kcm/sdk/context.h"

namespace kcm::pod {

inline constexpr std::string_view kTerminatingReplicasGate =
    "DeploymentReplicaSetTerminatingReplicas";

// Whether one of the comma separated items of the flag --feature-gates is `name=true`, in any word
// for true and with or without a component (`kube:name=1`, `:name=true`, as Config::Flag shows it);
// the last one of that name decides.
bool IsTurnedOn(std::string_view items, std::string_view name);

// status.terminatingReplicas is on by default since 1.35. A gate that is off always wins; one that
// `feature_gates` (the flag's text, ":A=true,:B=false") turns on by name also counts for older
// servers.
bool TerminatingReplicasServed(bool gate, std::string_view feature_gates, int server_minor);

// The same for the server and the flags at hand. An error when the server's version can not be
// read.
Result<bool> TerminatingReplicasServed(const sdk::Context& context);

}  // namespace kcm::pod
