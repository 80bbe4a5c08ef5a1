// SPDX-License-Identifier: Apache-2.0
// Kubeconfig files and server addresses.
#include "host/client/kubeconfig.h"

#include "fuzz/try.h"

namespace kcm::fuzz {

void Try(std::string_view input) {
  const auto config = host::client::ParseKubeconfig(input, "/nowhere");
  Check(config.ok() ? !config->server.empty() : !config.error().message.empty(),
        "a server or a reason");
  (void)host::client::ParseServer(input);
}

std::vector<std::string> Seeds() {
  return {
      R"(apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: k, user: u, namespace: n}}]
clusters:
- name: k
  cluster: {server: "https://[::1]:6443/prefix", certificate-authority-data: YWJj, tls-server-name: x}
users:
- name: u
  user:
    exec: {apiVersion: client.authentication.k8s.io/v1, command: x, args: [a], env: [{name: A, value: b}], interactiveMode: Never}
)",
      R"({"kind":"Config","clusters":[{"name":"k","cluster":{"server":"http://h"}}],"users":[{"name":"u","user":{"token":"t","as":"x","as-user-extra":{"a":["b"]}}}]})",
      "https://example.com:8443/a/b", "127.0.0.1"};
}

}  // namespace kcm::fuzz
