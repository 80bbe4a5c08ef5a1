// SPDX-License-Identifier: Apache-2.0
// Parses the documents of API discovery (spec/host.md 13.1). Private to host/client. Pure
// functions; foreign bytes give an error text, never an exception.
#pragma once
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "host/client/discovery.h"

namespace kcm::host::client {

struct DiscoveryDocument {
  DiscoveryResult result;
  std::set<std::string> preferred;  // apiVersions
  bool IsPreferred(const Gvr& gvr) const { return preferred.count(gvr.ApiVersion()) > 0; }
};

// An APIGroupDiscoveryList (v2 or v2beta1). Each returns "" or what is wrong.
std::string ParseAggregated(std::string_view text, DiscoveryDocument* out);
// An APIVersions (/api) or APIGroupList (/apis): `versions` gets the group/versions to fetch.
std::string ParseGroupList(std::string_view text, DiscoveryDocument* out,
                           std::vector<std::string>* versions);
// An APIResourceList of `group_version`.
std::string ParseResourceList(std::string_view text, const std::string& group_version,
                              DiscoveryDocument* out);

}  // namespace kcm::host::client
