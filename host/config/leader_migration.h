// SPDX-License-Identifier: Apache-2.0
// LeaderMigrationConfiguration: which controllers are moving to another component
// (spec/host.md 4.8).
#pragma once
#include <string>
#include <string_view>

#include "host/config/configz.h"
#include "kcm/rules/result.h"

namespace kcm::host::config {

// What holds without a file.
LeaderMigration DefaultLeaderMigration();

// Reads `path`; "" is the default. Decoding is strict: unknown and duplicate fields are errors.
// Error texts are the reference's: `unable to read leader migration configuration from "PATH":
// ...`, `failed to parse leader migration configuration: ...`.
Result<LeaderMigration> ReadLeaderMigration(const std::string& path);

enum class MigratedTo : uint8_t { kMainLock, kMigrationLock, kElsewhere };
// Where a controller (canonical name, compared literally) runs in this component.
MigratedTo WhereRuns(const LeaderMigration& migration, std::string_view controller);

}  // namespace kcm::host::config
