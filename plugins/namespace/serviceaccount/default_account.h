// SPDX-License-Identifier: Apache-2.0
// The ServiceAccount `default`: which namespaces get one, its body, and which refusals mean that
// there is nothing left to do (spec/namespace.md, serviceaccount-controller).
#pragma once
#include <string>
#include <string_view>

#include "kcm/rules/node.h"
#include "kcm/rules/result.h"

namespace kcm::ns::serviceaccount {

inline constexpr std::string_view kDefaultAccount = "default";

// Only Active namespaces: a phase that is empty or unknown counts as not active.
bool WantsDefaultAccount(rules::Node namespace_object);

// Name and namespace only: everything else is for others to fill.
std::string DefaultAccountBody(std::string_view namespace_name);

// A create that was refused because somebody else was quicker, or because the namespace is on its
// way out.
bool IsSettled(const Error& refused);

}  // namespace kcm::ns::serviceaccount
