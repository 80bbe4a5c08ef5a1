// SPDX-License-Identifier: Apache-2.0
// ScaleSum: what the controllers of some pods want in total (spec/pod-batch.md 5.4.1).
//
//   ScaleSum sum(context.cache(), run);
//   for (const Node pod : pods) if (Status s = sum.Add(pod); !s.ok()) return s.error();
//   ... sum.replicas(), sum.has_unmanaged()
//
// One thread, one reconcile.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "kcm/rules/node.h"
#include "kcm/rules/result.h"
#include "kcm/sdk/context.h"

namespace kcm::pod::disruption {

class ScaleSum {
 public:
  ScaleSum(sdk::Cache cache, const sdk::Run& run) : cache_(cache), run_(run) {}

  // Counts the pod's controller, once. A pod without one is unmanaged and adds nothing. Errors end
  // the calculation.
  Status Add(rules::Node pod);
  int64_t replicas() const;
  bool has_unmanaged() const { return has_unmanaged_; }

 private:
  struct Scale {
    std::string uid;  // of what is scaled: a Deployment for a pod of its ReplicaSet
    int64_t replicas = 0;
  };
  // A controller reference and where it stands.
  struct Reference;

  // nullopt: none of them is it.
  Result<std::optional<Scale>> Find(const Reference& reference) const;
  std::optional<Scale> OfReplicaSet(const Reference& reference) const;
  std::optional<Scale> Cached(sdk::MaskedWatch watch, const Reference& reference) const;
  Result<std::optional<Scale>> OfSubresource(const Reference& reference) const;
  Result<bool> ImplementsScale(const sdk::ServedResource& resource) const;

  sdk::Cache cache_;
  const sdk::Run& run_;
  std::set<std::string, std::less<>> seen_;             // uids of controllers of pods
  std::map<std::string, int64_t, std::less<>> scales_;  // by uid of what is scaled
  bool has_unmanaged_ = false;
};

}  // namespace kcm::pod::disruption
