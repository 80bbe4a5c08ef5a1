// SPDX-License-Identifier: Apache-2.0
// User agents as kube-controller-manager writes them (spec/host.md 7.5): audit logs and flow
// schemas match on them.
#pragma once
#include <string>
#include <string_view>

namespace kcm::host::client {

// "<basename of argv0>/<version up to the first '-'> (<os>/<arch>) kubernetes/<first 7 of
// commit>[/<suffix>]". Empty parts become "unknown"; an empty suffix leaves the last part out.
std::string UserAgent(std::string_view argv0, std::string_view version, std::string_view commit,
                      std::string_view suffix);

}  // namespace kcm::host::client
