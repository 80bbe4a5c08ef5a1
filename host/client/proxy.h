// SPDX-License-Identifier: Apache-2.0
// Proxy: which proxy leads to the server, and the words spoken to it (spec/host.md 2.2 proxy-url,
// environment).
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "host/client/kubeconfig.h"

namespace kcm::host::client {

struct Proxy {
  enum class Kind { kNone, kHttp, kSocks5 } kind = Kind::kNone;
  std::string host;
  uint16_t port = 0;
  std::string username, password;
};

using EnvLookup = std::function<std::optional<std::string>(const std::string&)>;

// proxy-url if set, else HTTPS_PROXY / HTTP_PROXY (lower case first), less NO_PROXY; loopback
// servers are never proxied by the environment. kUnsupported for a proxy that is itself reached by
// https.
Result<Proxy> ChooseProxy(const std::string& proxy_url, const ServerAddress& server,
                          const EnvLookup& env);

// "CONNECT host:port HTTP/1.1 ..." with Proxy-Authorization when there is a user.
std::string ConnectRequest(const Proxy& proxy, const std::string& host_port);
// Value of Proxy-Authorization, "" without a user.
std::string ProxyAuthorization(const Proxy& proxy);

}  // namespace kcm::host::client
