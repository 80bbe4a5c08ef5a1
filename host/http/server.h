// SPDX-License-Identifier: Apache-2.0
// Server: the HTTPS endpoints of the host on --secure-port (spec/host.md 9).
//
//   ServerOptions o; o.serving = options.serving; ... o.configz = [&] { return
//   config::ConfigzJson(...); }; Result<std::unique_ptr<Server>> server =
//   Server::Start(std::move(o));
//   (*server)->health().Add("leaderElection", check);
//   (*server)->Handle("/plugins", {.prefix = true}, [&](const Request& r) { ... });
//
// Every request is authenticated, then authorized, then dispatched, so that a stranger can not find
// out which paths exist. Handlers run on the server's threads, many at once; what they throw
// becomes a 500. Answers carry `Cache-Control: no-cache, private`. HTTP/1.1 only. After Stop (or
// destruction) no handler runs.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/clock/clock.h"
#include "host/config/options.h"
#include "host/http/healthz.h"
#include "host/http/request.h"
#include "host/http/review_client.h"
#include "host/log/log.h"
#include "host/metric/registry.h"
#include "kcm/rules/result.h"

namespace kcm::host::http {

struct ServerOptions {
  config::ServingOptions serving;  // REQUIRES: port of 1..65535, or 0 for any free port (the caller
                                   // serves nothing at all when --secure-port=0)
  config::AuthenticationOptions authentication;
  config::AuthorizationOptions authorization;
  ReviewClient* authentication_client = nullptr;  // nullptr: no delegation; must outlive the server
  ReviewClient* authorization_client = nullptr;
  clock::Clock* clock = nullptr;         // REQUIRES: not nullptr
  metric::Registry* metrics = nullptr;   // REQUIRES: not nullptr
  log::Logger log;                       // PUT /debug/flags/v changes its verbosity
  std::function<std::string()> configz;  // JSON text
  std::vector<std::pair<std::string, std::string>> flags;  // for /flagz
  bool profiling = true;                                   // /debug/flags
  bool flagz = true, statusz = true;                       // gates ComponentFlagz, ComponentStatusz
  config::BuildInfo build;
  config::Emulation emulation;
};

// How a path is served.
struct PathOptions {
  bool prefix = false;  // also everything below `path` + "/"
  bool listed = false;  // its first segment appears on /statusz
};

// Thread-safe.
class Server {
 public:
  // Reads certificates and CAs, binds, serves. Error: start must fail, with the reference's text
  // (`failed to create listener: failed to listen on ADDR: ...`).
  static Result<std::unique_ptr<Server>> Start(ServerOptions options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // The port that was bound.
  int port() const;
  HealthRegistry& health();
  // Adds or replaces what serves `path` (exact; longest prefix otherwise). Methods are the
  // handler's business.
  void Handle(const std::string& path, PathOptions options, Handler handler);
  // After it returns no new request reaches the handler; one that runs already may still be
  // running.
  void Remove(const std::string& path);
  // Re-reads certificates, CA files and the authentication ConfigMap; happens by itself (files
  // every 30 s, the ConfigMap every 60 s).
  void Refresh();
  // Closes the listener and all connections and waits for handlers. Idempotent.
  void Stop();

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kcm::host::http
