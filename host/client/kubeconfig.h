// SPDX-License-Identifier: Apache-2.0
// Config: where the API server is and who we are to it, from a kubeconfig file, --master, or the
// pod (spec/host.md 2).
//
//   Result<Config> config = LoadConfig({.kubeconfig = "/etc/kubernetes/kcm.conf"});
//
// Loading reads the kubeconfig once; files that it names are checked lazily (transport.h re-reads
// them, 2.3). All functions are thread-safe. Errors carry the texts of section 2 and are
// Code::kInvalid. Nothing here is ever logged.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kcm/rules/result.h"

namespace kcm::host::client {

// Bytes given in the file (`-data`, decoded) or a path that is re-read.
struct Material {
  std::string data;
  std::string file;
  bool empty() const { return data.empty() && file.empty(); }
};

// users[].user.exec (2.5).
struct ExecConfig {
  std::string command, api_version, interactive_mode, install_hint;
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;
  bool provide_cluster_info = false;
  std::string cluster_extension;  // JSON text of the cluster's extension
                                  // client.authentication.k8s.io/exec, "" when none
};

struct Config {
  // Cluster.
  std::string server;  // as given; "" never leaves LoadConfig
  Material ca;
  bool insecure_skip_tls_verify = false;
  std::string tls_server_name;
  std::string proxy_url;  // "" = from the environment
  // User. Applied only when the server is https.
  std::string token;
  std::string token_file;
  Material client_cert, client_key;
  std::string username, password;
  std::string impersonate_user, impersonate_uid;
  std::vector<std::string> impersonate_groups;
  std::vector<std::pair<std::string, std::vector<std::string>>> impersonate_extra;
  std::optional<ExecConfig> exec;
  // For messages: the file all this is from ("" when it is from none) and its entry of `users`.
  std::string kubeconfig, user;
};

// `server` taken apart.
struct ServerAddress {
  bool tls = false;
  std::string host;  // without brackets
  uint16_t port = 0;
  std::string path;  // prefix of every API path, no trailing '/'
  std::string HostPort()
      const;  // "host:port", IPv6 in brackets: the Host header and the metric label
};
Result<ServerAddress> ParseServer(std::string_view server);

struct LoadOptions {
  std::string kubeconfig{};  // --kubeconfig
  std::string master{};      // --master
  // Environment lookup; empty: the process environment. Tests inject.
  std::function<std::optional<std::string>(const std::string&)> env{};
  std::string service_account_dir = "/var/run/secrets/kubernetes.io/serviceaccount";
  // Gets the warnings of 2.1 and 2.4, one line each; may be empty.
  std::function<void(const std::string& line)> warn{};
};

// The table of 2.1.
Result<Config> LoadConfig(const LoadOptions& options);
// 2.4.
Result<Config> InClusterConfig(const LoadOptions& options);
// The text of a kubeconfig. `directory` is what relative paths are relative to. An error when no
// server results.
Result<Config> ParseKubeconfig(std::string_view text, const std::string& directory);

}  // namespace kcm::host::client
