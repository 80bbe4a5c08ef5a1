// SPDX-License-Identifier: Apache-2.0
// Runs one child process and collects what it prints (exec credential plugins).
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "host/clock/clock.h"
#include "kcm/rules/result.h"

namespace kcm::host::client {

struct ProcessResult {
  int exit_code = 0;  // 128 + signal when a signal ended it
  std::string out;
};

// PATH is searched unless `command` has a '/'. stdin is /dev/null, stderr passes through. The
// environment is ours plus `env`. kNotFound: no such executable. A child that runs for longer than
// `limit` or prints over 8 MiB is killed (kTimeout, kInvalid); real time.
Result<ProcessResult> RunProcess(const std::string& command, const std::vector<std::string>& args,
                                 const std::vector<std::pair<std::string, std::string>>& env,
                                 clock::Duration limit = std::chrono::minutes(1));

}  // namespace kcm::host::client
