// SPDX-License-Identifier: Apache-2.0
// Discovery and RESTMapper (spec/host.md 13): what the server serves, shared by all controllers of
// a host.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/client/client.h"

namespace kcm::host::client {

struct ApiResource {
  Gvr gvr;
  std::string kind;
  bool namespaced = false;
  std::vector<std::string> verbs;
  std::vector<std::string> subresources;  // "status", "scale"
  bool Supports(std::string_view verb) const;
};

struct DiscoveryResult {
  std::vector<ApiResource> resources;  // every version, no subresources, server order
  std::vector<std::pair<std::string, std::string>>
      failed;  // group/version, error: partial failure (13.2)
  std::vector<std::string> group_order;
};

// Thread-safe. Caches; Reset() forgets (the host does it every 30 s).
class Discovery {
 public:
  // `cancel` ends requests that wait; may be null; outlives the discovery.
  Discovery(std::shared_ptr<Client> client, clock::Clock* clock, log::Logger log,
            Cancellation* cancel = nullptr);
  ~Discovery();
  Result<std::shared_ptr<const DiscoveryResult>> Get();
  // Preferred version of each group resource (13.3).
  Result<std::vector<ApiResource>> PreferredResources();
  // The same as the server has it now, past the cache, and what could not be read, from one
  // reading: a namespace must not be called empty because of a resource that came a moment ago.
  Result<DiscoveryResult> FetchPreferred();
  // RESTMapper: kind -> resource; a miss on an old cache rediscovers once (13.4). kNotFound: "no
  // match".
  Result<ApiResource> ForKind(std::string_view group, std::string_view version /* may be empty */,
                              std::string_view kind);
  Result<ApiResource> ForResource(const Gvr& gvr);
  // From /version: minor number (36), cached.
  Result<int> ServerMinor();
  void Reset();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kcm::host::client
