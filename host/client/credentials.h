// SPDX-License-Identifier: Apache-2.0
// Credentials: the Authorization header of a Config's own identity: token file > token > exec
// plugin > basic (spec/host.md 2.2, 2.5). Client certificates live in the transport; those of exec
// plugins are handed to it from here.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "host/client/client.h"
#include "host/client/kubeconfig.h"

namespace kcm::host::client {

// Certificate and key that an exec plugin gave.
struct ExecPair {
  std::string cert_pem, key_pem;
  friend bool operator==(const ExecPair&, const ExecPair&) = default;
};

// Thread-safe.
class Credentials {
 public:
  virtual ~Credentials() = default;
  // The header's value, "" for none. May run the exec plugin.
  virtual Result<std::string> Authorization() = 0;
  // The server answered 401 to a request with `authorization`.
  virtual void Rejected(const std::string& authorization) = 0;
};

struct CredentialsContext {
  clock::Clock* clock = nullptr;
  log::Logger log;
  metric::Registry* metrics = nullptr;
  // The exec plugin's pair appeared or changed: the transport makes new TLS contexts and closes
  // connections.
  std::function<Status(const ExecPair&)> use_pair;
};

std::unique_ptr<Credentials> MakeCredentials(const Config& config, CredentialsContext context);

// A token in a file (2.2): read again when older than 50 s at the time of a request; a read error
// keeps the last good one.
class TokenFile {
 public:
  TokenFile(std::string path, clock::Clock* clock, log::Logger log);
  ~TokenFile();
  Result<std::string> Get();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kcm::host::client
