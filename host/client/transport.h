// SPDX-License-Identifier: Apache-2.0
// Transport: connections, TLS and identity of one Config, shared by many Clients
// (spec/host.md 2.3, 7.3).
//
//   auto transport = MakeTransport(config, {.clock = &clock, .log = log, .metrics = &registry});
//   Client client({.transport = *transport, .user_agent = UserAgent(...), ...});
//
// A connection carries one request at a time and is kept alive afterwards (idle 90 s, at most 25).
// Requests of a client with its own token use connections without the client certificate, because a
// certificate beats a token (design 7). Host names are always verified, loopback too. Rotated
// certificate, key and CA files are picked up as 2.3 says; a changed client certificate closes
// every connection that was made with the old one. Thread-safe.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "host/client/client.h"
#include "host/client/kubeconfig.h"

namespace kcm::host::client {

struct TransportOptions {
  clock::Clock* clock = nullptr;  // must outlive the transport
  log::Logger log{};
  metric::Registry* metrics = nullptr;  // may be null; must outlive the transport
  bool log_outages = false;  // one line when no answer has come for 10 s, one when they come again
  // Environment lookup for HTTPS_PROXY, NO_PROXY ...; empty: the process environment.
  std::function<std::optional<std::string>(const std::string&)> env{};
};

// Reads certificate, key and CA files now: a bad first load is an error.
Result<std::shared_ptr<Transport>> MakeTransport(const Config& config, TransportOptions options);

// "host:port" of the server, as the `host` label has it.
const std::string& HostLabel(const Transport& transport);
// Connections open now, idle or in use. For tests and metrics.
size_t OpenConnections(const Transport& transport);
// The credentials of the Config, where they came from, and what to do when the server refuses them.
std::string RefusalText(const Transport& transport);
// Closes idle connections and aborts those in use: no request of this process is on the wire
// afterwards (loss of the lease).
void AbortAll(Transport& transport);

}  // namespace kcm::host::client
