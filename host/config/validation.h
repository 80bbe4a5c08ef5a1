// SPDX-License-Identifier: Apache-2.0
// Rules between and about flag values, all collected, with the reference's texts
// (spec/host.md 1.5).
#pragma once
#include <string>
#include <vector>

#include "host/config/options.h"

namespace kcm::host::config {

// Every violation, in a fixed order. Reads nothing, but looks whether files that
// flags name are files. `options` has typed groups and flags filled in.
std::vector<std::string> Validate(const Options& options);
// What to warn about although it is legal.
std::vector<std::string> Warnings(const Options& options);
// Errors that the reference finds when it sets up serving: the first one. Not asked when the port
// is 0.
Status CheckServing(const ServingOptions& serving, const AuthorizationOptions& authorization);

// One error as it is; several as `[e1, e2]`; duplicates once. "" for none.
std::string Aggregate(const std::vector<std::string>& errors);

}  // namespace kcm::host::config
