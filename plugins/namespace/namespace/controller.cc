// SPDX-License-Identifier: Apache-2.0
// namespace-controller: what wakes it and what it does. Keys are names of namespaces.
#include "plugins/namespace/namespace/controller.h"

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "kcm/rules/error_class.h"
#include "kcm/rules/time.h"
#include "plugins/namespace/namespace/content.h"
#include "plugins/namespace/namespace/declaration.h"
#include "plugins/namespace/namespace/joined_error.h"
#include "plugins/namespace/namespace/leftovers.h"
#include "plugins/namespace/namespace/write_back.h"

namespace kcm::ns::namespaces {
namespace {

// Until every API server has seen the deletion and refuses new content.
constexpr std::chrono::seconds kSettleDelay{5};

bool IsDeleting(rules::Node namespace_object) {
  return namespace_object.Path("metadata.deletionTimestamp").Has();
}

}  // namespace

void Controller::Start() {
  const Result<sdk::ServedResources> served = discovery_.Preferred();
  if (!served.ok() && rules::IsShuttingDown(served.error())) return;
  if (!served.ok() || served->resources.empty()) {
    throw std::runtime_error("Unable to get any supported resources from server" +
                             (served.ok() ? "" : ": " + served.error().message));
  }
  if (const std::optional<PartialDiscovery> partial = PartialFailure(*served)) {
    log_.Info(0, "Unable to get all supported resources from server", {{"err", partial->text}});
  }
  missing_verbs_ = MissingVerbs(*served);
}

// Wakes on: a namespace that is being deleted, each time it changes. The delay is not extended by
// further changes: of two due times the earlier one holds (S1.4).
void Controller::OnChange(const sdk::Change& change) const {
  if (change.type() == sdk::Change::Type::kDelete || !IsDeleting(change.object())) return;
  queue_.AddAfter(change.name(), kSettleDelay);
}

// Wakes on: time. Content may have gone without any change of the namespace.
Status Controller::OnTask(uint32_t, sdk::Run&) const {
  const sdk::ObjectList<sdk::ObjectRef> all = cache_.List(kNamespaces);
  for (const sdk::ObjectRef& one : all) {
    if (IsDeleting(one.Root())) queue_.AddAfter(one.Name(), kSettleDelay);
  }
  return Ok();
}

sdk::Outcome Controller::Reconcile(sdk::Run& run) const {
  if (!cache_.Get(kNamespaces, run.key())) return sdk::Outcome::Done();
  Result<sdk::WholeRef> read = run.client().Get(kNamespace, {}, run.name());
  if (!read.ok()) {
    return rules::IsNotFound(read.error()) ? sdk::Outcome::Done()
                                           : sdk::Outcome::Retry(read.error());
  }
  if (!IsDeleting(read->Root())) return sdk::Outcome::Done();

  // The server has set the phase already, but for namespaces that were deleted long ago.
  Result<std::optional<sdk::WholeRef>> marked = MarkTerminating(run, *std::move(read));
  if (!marked.ok()) return sdk::Outcome::Retry(marked.error());
  if (!*marked) return sdk::Outcome::Done();
  sdk::WholeRef live = std::move(**marked);
  if (!IsDeleting(live.Root()) || live.Root().Path("spec.finalizers").empty()) {
    return sdk::Outcome::Done();
  }
  return DeleteContent(run, std::move(live));
}

sdk::Outcome Controller::DeleteContent(const sdk::Run& run, sdk::WholeRef live) const {
  const rules::Node deleted = live.Root().Path("metadata.deletionTimestamp");
  const Doomed doomed{std::string(run.name()),
                      rules::TimeOf(deleted).value_or(rules::WallTime::min())};
  const Result<ContentPass> pass = ContentDeletion(run, clock_, missing_verbs_, doomed).Run();
  if (!pass.ok()) return sdk::Outcome::Retry(pass.error());

  Result<sdk::WholeRef> told = WriteConditions(run, std::move(live), pass->progress, clock_.Now());
  if (!told.ok()) return sdk::Outcome::Retry(told.error());
  // An error beats an estimate (trap 6).
  if (!pass->errors.empty()) return sdk::Outcome::Retry(JoinedError(pass->errors));
  if (pass->estimate > 0) return sdk::Outcome::RequeueAfter(RequeueDelay(pass->estimate));
  return sdk::Outcome::Of(Finalize(run, *std::move(told)));
}

}  // namespace kcm::ns::namespaces
