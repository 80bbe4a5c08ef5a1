// SPDX-License-Identifier: Apache-2.0
// The client side of a SOCKS5 CONNECT (RFC 1928, 1929), spoken over a fresh connection to the
// proxy.
#pragma once
#include <string>

#include "host/client/proxy.h"
#include "host/client/socket_deadline.h"
#include "kcm/rules/result.h"

namespace kcm::host::client {

class Connection;

// The proxy resolves `host`. After Ok the connection leads to the server.
Status Socks5Connect(Connection* connection, const Proxy& proxy, const std::string& host,
                     uint16_t port, SocketDeadline deadline);

}  // namespace kcm::host::client
