// SPDX-License-Identifier: Apache-2.0
// namespace-controller: empties a namespace that is being deleted (pods first), reports progress in
// its conditions, then removes `kubernetes` from spec.finalizers (spec/namespace.md).
//
// OnChange and OnTask put the names of namespaces that are being deleted into the queue, Reconcile
// works on the live object. The only state is a table of verbs, made in Start and read by workers.
#pragma once
#include "kcm/sdk/context.h"
#include "kcm/sdk/controller.h"
#include "plugins/namespace/namespace/resources.h"

namespace kcm::ns::namespaces {

class Controller {
 public:
  explicit Controller(const sdk::Context& context)
      : log_(context.log()),
        clock_(context.clock()),
        cache_(context.cache()),
        queue_(context.queue()),
        discovery_(context.discovery()) {}

  // Throws when the server offers nothing at all: the host then ends.
  void Start();
  void OnChange(const sdk::Change& change) const;
  Status OnTask(uint32_t task, sdk::Run& run) const;
  sdk::Outcome Reconcile(sdk::Run& run) const;

 private:
  sdk::Outcome DeleteContent(const sdk::Run& run, sdk::WholeRef live) const;

  sdk::Log log_;
  sdk::Clock clock_;
  sdk::Cache cache_;
  sdk::Queues queue_;
  sdk::Discovery discovery_;
  MissingVerbs missing_verbs_;  // written by Start, before there are workers
};

}  // namespace kcm::ns::namespaces
