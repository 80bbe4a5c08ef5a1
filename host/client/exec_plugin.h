// SPDX-License-Identifier: Apache-2.0
// Exec credential plugins (spec/host.md 2.5): runs the command, checks its answer, caches it.
#pragma once
#include <memory>

#include "host/client/credentials.h"

namespace kcm::host::client {

// The returned object asks the plugin at the first request and again when its answer has expired or
// was rejected.
std::unique_ptr<Credentials> MakeExecCredentials(const Config& config, CredentialsContext context);

}  // namespace kcm::host::client
