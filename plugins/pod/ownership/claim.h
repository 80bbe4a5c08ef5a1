// SPDX-License-Identifier: Apache-2.0
// Claimer: adopts and releases the dependants of one workload during one reconcile
// (spec/pod-workloads.md 1.4).
//
//   Claimer claimer(run, kReplicaSets, kPods, rs->Root());
//   for (const ObjectRef& pod : candidates)
//     if (claimer.Claims(pod.Root(), selector.Matches(pod.Root().Path("metadata.labels"))))
//     claimed.push_back(...);
//   if (!claimer.result().ok()) return Outcome::Retry(claimer.result().error());
//
// One thread. Errors of single candidates are collected, the rest is still processed; when the
// controller is being stopped or fenced no further request is sent.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kcm/rules/node.h"
#include "kcm/rules/owner_reference.h"
#include "kcm/rules/result.h"
#include "kcm/sdk/context.h"

namespace kcm::pod {

class Claimer {
 public:
  // Called with the answer of each patch that succeeded.
  using Patched = std::function<void(const sdk::WholeRef& answer)>;

  // `owner` must outlive the claimer; the resources are constants. `finalizer`: given to what is
  // adopted, taken from what is released; a constant, empty for none.
  Claimer(const sdk::Run& run, const sdk::Resource& owner_resource,
          const sdk::Resource& candidate_resource, rules::Node owner, Patched patched = {},
          std::string_view finalizer = {});

  // True when the candidate is the owner's, by now. `matches`: the selector and the extra filter
  // accept it.
  bool Claims(rules::Node candidate, bool matches);
  // The adopted object as the server answered it, of the last Claims(); empty when nothing was
  // adopted.
  std::optional<sdk::WholeRef>& adopted() { return adopted_; }

  // The collected errors as one.
  Status result() const;

 private:
  bool Adopt(rules::Node candidate);
  void Release(rules::Node candidate);
  // The live owner is still the one we act for; asked once per reconcile.
  const Status& MayAdopt();
  rules::OwnerReference Reference() const;

  const sdk::Run& run_;
  const sdk::Resource& owner_resource_;
  const sdk::Resource& candidate_resource_;
  rules::Node owner_;
  std::string_view ns_, name_, uid_;
  std::string api_version_;
  bool deleting_;
  Patched patched_;
  std::string_view finalizer_;
  std::optional<Status> may_adopt_;
  std::optional<sdk::WholeRef> adopted_;
  std::vector<Error> errors_;
  bool stopped_ = false;
};

// One error that stands for several: `[a, b]`, with the code of the first. REQUIRES: not empty.
Error Aggregate(const std::vector<Error>& errors);

}  // namespace kcm::pod
