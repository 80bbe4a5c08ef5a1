// SPDX-License-Identifier: Apache-2.0
// When horizontal-pod-autoscaler-controller looks at an autoscaler.
#include "plugins/pod/hpa/controller.h"

#include <optional>
#include <utility>

#include "kcm/rules/error_class.h"
#include "plugins/pod/hpa/declaration.h"

namespace kcm::pod::hpa {

// Wakes on: every change of an autoscaler, after a sync period. A key that waits already keeps its
// time, so changes speed nothing up, and redeliveries would change nothing: a key always waits.
// Keys of a warm standby wait too, so that it looks at once when it takes over.
void Controller::OnChange(const sdk::Change& change) {
  const std::string key = change.Key();
  if (change.type() == sdk::Change::Type::kDelete) {
    shared_.context.queue().Forget(key);
    shared_.selectors.Remove(change.ns(), change.name());
  } else {
    shared_.selectors.Add(change.ns(), change.name());
    shared_.context.queue().AddAfter(key, shared_.settings.sync_period);
  }
  shared_.instruments.Autoscalers(shared_.selectors.size());
}

sdk::Outcome Controller::Reconcile(sdk::Run& run) {
  std::optional<sdk::WholeRef> autoscaler =
      shared_.context.cache().Get(kAutoscalerWatch, run.key());
  if (!autoscaler) {
    shared_.histories.Drop(run.key());
    return sdk::Outcome::Done();
  }
  const Status done = Reconciler(shared_, run, *std::move(autoscaler)).Run();
  if (!done.ok()) {
    if (rules::IsShuttingDown(done.error())) return sdk::Outcome::Retry(done.error());
    run.log().Error(done.error().message, "Failed to sync HPA",
                    {{"horizontalPodAutoscaler", run.key()}});
  }
  // The same after an error: metrics are asked for at a fixed pace.
  return sdk::Outcome::RequeueAfter(shared_.settings.sync_period);
}

}  // namespace kcm::pod::hpa
