// SPDX-License-Identifier: Apache-2.0
// The admin API of kcmctl below /plugins, on the secure port with its authentication and
// authorization (design 11):
//   GET  /plugins                    report: plugins, builds, generations, controllers; ?keys=N
//   adds keys of queues POST /plugins/swap               body {"file": "/path/x.so"} POST
//   /plugins/NAME/rollback POST /plugins/rescan
#pragma once
#include "host/http/request.h"
#include "host/plugin/manager.h"

namespace kcm::host::main {

// Never throws. Answers JSON; failures are Status objects whose message names the thing and the
// fix.
http::Response ServeAdmin(plugin::Manager& manager, const http::Request& request);

}  // namespace kcm::host::main
