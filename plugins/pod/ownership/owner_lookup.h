// SPDX-License-Identifier: Apache-2.0
// OwnerLookup: from dependants to the cached owners of one kind (spec/pod-workloads.md 1.3, 1.5).
//
//   const OwnerLookup sets(context.cache(), kStatefulSets, kOwnWatch);
//   if (const auto owner = sets.Resolve(ns, rules::ControllerOf(pod))) ...
//   for (const sdk::WholeRef& set : sets.Matching(ns, pod)) ...
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "kcm/rules/node.h"
#include "kcm/sdk/context.h"

namespace kcm::pod {

// Thread-safe.
class OwnerLookup {
 public:
  OwnerLookup(sdk::Cache cache, const sdk::Resource& resource, sdk::WholeWatch watch)
      : cache_(cache), resource_(resource), watch_(watch) {}

  // The owner that a controller reference names: by kind, name and uid; the apiVersion does not
  // count.
  std::optional<sdk::WholeRef> Resolve(std::string_view ns, rules::Node reference) const;
  // Every owner in the namespace whose spec.selector, not empty, matches the labels of `orphan`.
  std::vector<sdk::WholeRef> Matching(std::string_view ns, rules::Node orphan) const;

 private:
  sdk::Cache cache_;
  const sdk::Resource& resource_;
  sdk::WholeWatch watch_;
};

}  // namespace kcm::pod
