// SPDX-License-Identifier: Apache-2.0
// The deletion procedure (spec/apiserver G), used by DELETE requests and evictions.
#pragma once
#include <optional>
#include <string>

#include "devcluster/server/core.h"

namespace kcm::devcluster {

struct DeleteOptions {
  bool dry_run = false;
  std::string policy;  // "", Foreground, Background, Orphan
  std::optional<bool> orphan_dependents;
  std::optional<int64_t> grace_seconds;
  std::string uid, resource_version;  // preconditions
};
// From a decoded DeleteOptions object. Throws 422.
DeleteOptions ParseDeleteOptions(const Json& body);
// From the body, or the query when there is none. Throws 400, 422.
DeleteOptions ReadDeleteOptions(const State& state, const Request& request);

struct Deleted {
  host::wire::ObjectPtr object;  // last form, stored version
  bool gone = false;
};
// Throws 404, 409, what admission says.
Deleted DeleteObject(const State& state, Request& request, const Resource& resource,
                     const std::string& ns, const std::string& name, const DeleteOptions& options);

}  // namespace kcm::devcluster
