// SPDX-License-Identifier: Apache-2.0
// The effective configuration as /configz and /flagz show it (spec/host.md 9.4, 9.5).
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "host/config/options.h"

namespace kcm::host::config {

// Who runs which controller while they move to another component.
struct LeaderMigration {
  std::string leader_name, resource_lock;
  std::vector<std::pair<std::string, std::string>> controllers;  // name, component
};

// JSON text of the body of /configz. `migration` is nullptr when leader migration is off.
std::string ConfigzJson(const Options& options, const LeaderMigration* migration);

// (name, value) of all flags, sorted: the content of /flagz.
std::vector<std::pair<std::string, std::string>> FlagValues(const FlagSet& flags);

}  // namespace kcm::host::config
