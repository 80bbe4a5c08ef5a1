// SPDX-License-Identifier: Apache-2.0
// OwnerLookup: from dependants to the cached owners of one kind (spec/pod-workloads.md 1.3, 1.5).
//
//   const OwnerLookup sets(context.cache(), kStatefulSets, kOwnWatch);
//   if (const auto owner = sets.Resolve(ns, rules::ControllerOf(pod))) ...
//   for (const sdk::WholeRef& set : sets.Matching(ns, pod)) ...
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kcm/rules/label_selector.h"
#include "kcm/rules/node.h"
#include "kcm/rules/result.h"
#include "kcm/sdk/context.h"

namespace kcm::pod {

// How owners of a kind say what they select.
enum class SelectorForm : uint8_t {
  kLabelSelector,  // matchLabels and matchExpressions
  kMap,            // labels alone: ReplicationControllers
};

// The value of a controller index (sdk::Index::kControllerUid) for the objects of a namespace that
// have no controller.
std::string OrphansIn(std::string_view ns);

// Thread-safe.
class OwnerLookup {
 public:
  // `resource` must outlive it.
  OwnerLookup(sdk::Cache cache, const sdk::Resource& resource, sdk::WholeWatch watch,
              SelectorForm form = SelectorForm::kLabelSelector)
      : cache_(cache), resource_(resource), watch_(watch), form_(form) {}

  // The owner that a controller reference names: by kind, name and uid; the apiVersion does not
  // count. An absent reference names none.
  std::optional<sdk::WholeRef> Resolve(std::string_view ns, rules::Node reference) const;
  // Every owner in the namespace whose spec.selector, not empty, matches the labels of `orphan`, of
  // which it has some.
  std::vector<sdk::WholeRef> Matching(std::string_view ns, rules::Node orphan) const;
  // Whether the cache still has this owner: `key` is `namespace/name`.
  bool Has(std::string_view key, std::string_view uid) const;

  Result<rules::LabelSelector> SelectorOf(rules::Node owner) const;

 private:
  const sdk::Cache cache_;
  const sdk::Resource& resource_;
  const sdk::WholeWatch watch_;
  const SelectorForm form_;
};

}  // namespace kcm::pod
