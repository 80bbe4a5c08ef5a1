// SPDX-License-Identifier: Apache-2.0
// RBAC: who may do what, by Roles, ClusterRoles and their bindings (spec J2).
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "devcluster/api/strategy.h"

namespace kcm::devcluster::kinds {

// One rule of a role, as granted to somebody.
struct Rule {
  std::vector<std::string> verbs, groups, resources, names, urls;
};

struct ResourceRequest {
  std::string_view verb, group, resource, subresource, ns, name;
};

// Thread-safe. Reads all roles and bindings once per Reader::AuthorizationRevision(); without
// revisions on every call.
class Authorizer {
 public:
  Authorizer();
  ~Authorizer();
  // `reason` (may be nullptr) gets `RBAC: allowed by ...` when allowed by a binding.
  bool Allowed(const UserInfo& user, const ResourceRequest& request, const Reader& reader,
               std::string* reason) const;
  bool AllowedUrl(const UserInfo& user, std::string_view verb, std::string_view path,
                  const Reader& reader, std::string* reason) const;
  // Every rule that holds for `user` in namespace `ns` (cluster-wide ones included).
  std::vector<Rule> RulesOf(const UserInfo& user, std::string_view ns, const Reader& reader) const;

 private:
  struct Index;
  std::shared_ptr<const Index> Current(const Reader& reader) const;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Index> index_;  // guarded by mutex_
};

Rule ReadRule(const Json& rule);
// Rules of `wanted` that `owned` does not cover, reduced to single verbs and resources and shown as
// the API server does.
std::string Uncovered(const std::vector<Rule>& wanted, const std::vector<Rule>& owned);

}  // namespace kcm::devcluster::kinds
