// SPDX-License-Identifier: Apache-2.0
// Claimer: adopts and releases the dependants of one workload during one reconcile
// (spec/pod-workloads.md 1.4).
//
//   Claimer claimer(run, kDaemonSets, kPods, set.Root());
//   claimer.ClaimAll(cache, kPodWatch, kByController, selector, pods_);
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

#include "kcm/rules/label_selector.h"
#include "kcm/rules/node.h"
#include "kcm/rules/owner_reference.h"
#include "kcm/rules/result.h"
#include "kcm/sdk/context.h"
#include "plugins/pod/ownership/owner_lookup.h"

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

  // The extra condition of a kind beside the selector.
  using Filter = std::function<bool(rules::Node candidate)>;

  // Asks for all candidates that the cache has: those that name the owner as their controller and
  // the orphans of its namespace. `by_controller`: the watch's controller index. Appends to
  // `claimed` what is the owner's by now, an adopted one as the server answered it.
  template <class Watch, class Ref>
  void ClaimAll(const sdk::Cache& cache, Watch watch, int by_controller,
                const rules::LabelSelector& selector, std::vector<Ref>& claimed,
                const Filter& filter = {}) {
    const std::string orphans = OrphansIn(ns_);
    for (const std::string_view controller : {uid_, std::string_view(orphans)}) {
      sdk::ObjectList<Ref> candidates =
          cache.List(watch, {.index = by_controller, .index_value = controller, .ns = ns_});
      for (Ref& candidate : candidates.items()) {
        const rules::Node root = candidate.Root();
        const bool matches =
            selector.Matches(root.Path("metadata.labels")) && (!filter || filter(root));
        if (!Claims(root, matches)) continue;
        if (adopted_) {
          claimed.push_back(std::move(*adopted_));
        } else {
          claimed.push_back(std::move(candidate));
        }
      }
    }
  }

  // Asks for one candidate. True when it is the owner's, by now. `matches`: the selector and the
  // filter accept it.
  bool Claims(rules::Node candidate, bool matches);

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
  std::optional<sdk::WholeRef> adopted_;  // by the last Claims(), as the server answered it
  std::vector<Error> errors_;
  bool stopped_ = false;
};

// One error that stands for several: `[a, b]`, with the code of the first. REQUIRES: not empty.
Error Aggregate(const std::vector<Error>& errors);

}  // namespace kcm::pod
