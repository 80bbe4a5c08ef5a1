// SPDX-License-Identifier: Apache-2.0
// The server behind an APIService: where it is, and one exchange with it over HTTPS.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "devcluster/server/core.h"

namespace kcm::devcluster {

// Where a group-version is served.
struct Backend {
  std::string host;
  int port = 0;
  std::string name;    // in its certificate
  std::string ca_pem;  // unless `insecure`
  bool insecure = false;
};

// Why nobody serves a group-version now, as the condition Available words it.
struct Unavailable {
  std::string reason, message;
};

// A request to a backend, in the name of a user.
struct BackendCall {
  std::string method;
  std::string target;  // path and query
  std::string body;
  std::string content_type;  // of `body`
  std::string accept = "application/json";
  std::string user;
  std::vector<std::string> groups;
  std::chrono::seconds timeout{15};  // real time; also bounds a silence within the answer
};

// The backend of `api_service`, which names a service: its externalName (type ExternalName), the
// first ready address of its EndpointSlices, or else its cluster address. nullopt: `why`.
std::optional<Backend> FindBackend(const State& state, const Json& api_service, Unavailable* why);

// Sends `call`. Blocks the caller until the answer is whole. nullopt without an answer: `why`.
std::optional<Answer> Exchange(const Backend& backend, const BackendCall& call, Unavailable* why);

}  // namespace kcm::devcluster
