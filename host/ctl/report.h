// SPDX-License-Identifier: Apache-2.0
// Texts of a host's report (JSON of GET /plugins) for people. Pure functions; a report that is not
// what this version knows gives an error (kInternal), never half a table.
#pragma once
#include <string>
#include <vector>

#include "kcm/rules/result.h"

namespace kcm::host::ctl {

// Columns wide enough for their content, two blanks between them, no blanks at line ends. All rows
// have the header's length.
std::string Table(const std::vector<std::vector<std::string>>& rows);

// plugins list: plugins, controllers, refused files.
Result<std::string> PluginTables(const std::string& report);
// queues: one row per queue, then its keys. `controller` limits it; unknown: kNotFound naming the
// known ones.
Result<std::string> QueueTables(const std::string& report, const std::string& controller);
// why: every queue that holds `key`, or that none does.
Result<std::string> WhyText(const std::string& report, const std::string& key);
// After a swap or rollback: a line per plugin whose number of swaps differs.
Result<std::string> SwapText(const std::string& before, const std::string& after);

}  // namespace kcm::host::ctl
