// SPDX-License-Identifier: Apache-2.0
// kcmctl as a library call: the tool behind the thin main.
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace kcm::host::ctl {

using Write = std::function<void(const std::string& text)>;

// The exit code: 0 done, 1 failed, 2 wrong arguments. Results go to `out`, the reason of a failure
// to `err` as one line.
int Run(const std::vector<std::string>& args, const Write& out, const Write& err);

}  // namespace kcm::host::ctl
