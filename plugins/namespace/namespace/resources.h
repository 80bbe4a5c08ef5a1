// SPDX-License-Identifier: Apache-2.0
// Which resources of a server a namespace's content is made of, and what it means when discovery
// came back with less than everything (spec/namespace.md S5).
//
// Pure; thread-safe.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kcm/sdk/context.h"

namespace kcm::ns::namespaces {

bool IsPods(const sdk::ServedResource& resource);

// "pods.", "deployments.apps": how the conditions name a resource.
std::string ConditionName(const sdk::ServedResource& resource);
// "/v1, Resource=configmaps", "apps/v1, Resource=deployments": how errors name it.
std::string ErrorName(const sdk::ServedResource& resource);

// Namespaced resources that can be deleted, in server order.
std::vector<sdk::ServedResource> DeletableResources(const sdk::ServedResources& served);

// The error of the first group/version that is not `version` or `group/version`.
std::optional<std::string> ParsingFailure(const std::vector<sdk::ServedResource>& resources);

// The text and number of the group/versions that could not be read; nullopt when all were.
struct PartialDiscovery {
  size_t failing = 0;
  std::string text;  // "unable to retrieve the complete list of server APIs: a/v1: ..., b/v1: ..."
  std::string ConditionMessage() const;
};
std::optional<PartialDiscovery> PartialFailure(const sdk::ServedResources& served);

// What the server did not offer when the controller started. Never refreshed: a resource that came
// later counts as offering both verbs, and the answers of a run tell otherwise. Immutable.
class MissingVerbs {
 public:
  MissingVerbs() = default;
  explicit MissingVerbs(const sdk::ServedResources& served);

  bool List(const sdk::ServedResource& resource) const;
  bool DeleteCollection(const sdk::ServedResource& resource) const;

 private:
  std::set<std::string> list_, delete_collection_;  // by ErrorName
};

}  // namespace kcm::ns::namespaces
