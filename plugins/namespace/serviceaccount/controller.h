// SPDX-License-Identifier: Apache-2.0
// serviceaccount-controller: ensures a ServiceAccount `default` in every Active namespace
// (spec/namespace.md). Creates only: an existing account is never patched.
//
// Stateless between calls; thread-safe.
#pragma once
#include "kcm/sdk/context.h"
#include "kcm/sdk/controller.h"

namespace kcm::ns::serviceaccount {

class Controller {
 public:
  explicit Controller(const sdk::Context& context)
      : cache_(context.cache()), queue_(context.queue()) {}

  void OnChange(const sdk::Change& change) const;
  sdk::Outcome Reconcile(sdk::Run& run) const;

 private:
  sdk::Cache cache_;
  sdk::Queues queue_;
};

}  // namespace kcm::ns::serviceaccount
