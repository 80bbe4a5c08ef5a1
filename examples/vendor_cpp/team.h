// SPDX-License-Identifier: Apache-2.0
// The one decision of this plugin, pure: which team label a namespace should get.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "kcm/rules/node.h"

namespace vendor {

inline constexpr std::string_view kLabel = "example.com/team";

// The label to set, nullopt when the namespace keeps what it has. The part of the name before the
// first '-' is the team; a name without one belongs to `otherwise`. System namespaces (kube-*) and
// those being deleted are left alone.
std::optional<std::string> TeamFor(kcm::rules::Node ns, std::string_view otherwise);

}  // namespace vendor
