// SPDX-License-Identifier: Apache-2.0
// The documents of API discovery.
#include "fuzz/try.h"
#include "host/client/discovery_parse.h"

namespace kcm::fuzz {

void Try(std::string_view input) {
  host::client::DiscoveryDocument document;
  (void)host::client::ParseAggregated(input, &document);
  std::vector<std::string> versions;
  (void)host::client::ParseGroupList(input, &document, &versions);
  (void)host::client::ParseResourceList(input, "apps/v1", &document);
}

std::vector<std::string> Seeds() {
  return {
      R"({"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[{"metadata":{"name":"apps"},"versions":[{"version":"v1","freshness":"Current","resources":[{"resource":"deployments","responseKind":{"group":"apps","version":"v1","kind":"Deployment"},"scope":"Namespaced","verbs":["get","list"],"subresources":[{"subresource":"status","verbs":["get"]}]}]}]}]})",
      R"({"kind":"APIGroupList","groups":[{"name":"apps","versions":[{"groupVersion":"apps/v1","version":"v1"}],"preferredVersion":{"groupVersion":"apps/v1","version":"v1"}}]})",
      R"({"kind":"APIVersions","versions":["v1"]})",
      R"({"kind":"APIResourceList","groupVersion":"apps/v1","resources":[{"name":"deployments","namespaced":true,"kind":"Deployment","verbs":["get"]},{"name":"deployments/status","kind":"Deployment","namespaced":true,"verbs":["get"]}]})"};
}

}  // namespace kcm::fuzz
