// SPDX-License-Identifier: Apache-2.0
// Opens the listening socket as the bind flags ask for.
#pragma once
#include "host/config/options.h"
#include "kcm/rules/result.h"

namespace kcm::host::http {

struct Listener {
  int fd = -1;  // listening; the caller's
  int port = 0;
};

// "0.0.0.0" and "::" listen on all interfaces in both families (IPv4 alone where the kernel has no
// IPv6). Port 0 takes a free one. Error: `failed to create listener: failed to listen on ADDR:PORT:
// ...`.
Result<Listener> Listen(const config::ServingOptions& options);

}  // namespace kcm::host::http
