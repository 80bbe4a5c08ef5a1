// SPDX-License-Identifier: Apache-2.0
// Checks of a plugin file's bytes before any of it is mapped (design 9): complete, right class and
// machine, a shared object that exports the entry symbol.
#pragma once
#include <string>
#include <string_view>

#include "kcm/rules/result.h"

namespace kcm::host::plugin {

// Pure. `file` is for messages. kUnavailable: the file is shorter than its own tables say (still
// being copied): look again later; kInvalid: not a plugin, and why.
Status CheckElf(std::string_view bytes, const std::string& file);

}  // namespace kcm::host::plugin
