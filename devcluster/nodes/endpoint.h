// SPDX-License-Identifier: Apache-2.0
// Endpoint: which API server to talk to and as whom, read from a kubeconfig.
#pragma once
#include <cstdint>
#include <string>

#include "kcm/rules/result.h"

namespace kcm::devcluster::nodes {

struct Endpoint {
  bool tls = true;
  std::string host;
  uint16_t port = 443;
  std::string
      path;  // prefix of every request path, without a trailing slash ("" or "/k8s/cluster")
  std::string ca_pem;    // empty: the system's trust store
  std::string cert_pem;  // client certificate chain, empty: none
  std::string key_pem;
  std::string token;      // bearer token, empty: none
  bool insecure = false;  // insecure-skip-tls-verify
};

// The current context of a kubeconfig (YAML or JSON text). Certificates and keys may be embedded
// (*-data) or files; relative file names are resolved against `base_dir`. Errors name the missing
// or broken member. exec and auth-provider users are refused: simulated nodes do not run other
// programs.
Result<Endpoint> ParseKubeconfig(const std::string& text, const std::string& base_dir);

// "https://host:port/prefix" split into an Endpoint without credentials.
Result<Endpoint> ParseServerUrl(const std::string& url);

}  // namespace kcm::devcluster::nodes
