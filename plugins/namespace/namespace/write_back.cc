// SPDX-License-Identifier: Apache-2.0
// PUTs of a namespace.
#include "plugins/namespace/namespace/write_back.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "kcm/rules/error_class.h"
#include "plugins/namespace/namespace/finalizers.h"

namespace kcm::ns::namespaces {
namespace {

// The reference repeats without end; a namespace that is rewritten this often between a read and a
// write is left to the queue's back-off.
constexpr int kMaxConflicts = 100;

bool IsTerminating(rules::Node namespace_object) {
  return namespace_object.Path("status.phase").String() == "Terminating";
}

void SetTerminating(sdk::Json& namespace_object) {
  namespace_object["status"]["phase"] = "Terminating";
}

// Sends `change` of the namespace unless `done` holds; on a conflict reads it again and repeats.
// nullopt: the namespace is gone.
Result<std::optional<sdk::WholeRef>> UpdateFresh(const sdk::Run& run, sdk::WholeRef from,
                                                 std::string_view subresource,
                                                 bool (*done)(rules::Node),
                                                 void (*change)(sdk::Json&)) {
  const sdk::Client client = run.client();
  Error conflict;
  for (int i = 0; i < kMaxConflicts; ++i) {
    if (done(from.Root())) return std::optional(std::move(from));
    sdk::Edit edit(from);
    change(edit.json());
    Result<sdk::WholeRef> updated = client.Update(kNamespace, edit, {.subresource = subresource});
    if (updated.ok()) return std::optional(*std::move(updated));
    if (rules::IsNotFound(updated.error())) return std::optional<sdk::WholeRef>();
    if (!rules::IsConflict(updated.error())) return updated.error();
    conflict = updated.error();

    Result<sdk::WholeRef> fresh = client.Get(kNamespace, {}, run.name());
    if (!fresh.ok()) {
      if (rules::IsNotFound(fresh.error())) return std::optional<sdk::WholeRef>();
      return fresh.error();
    }
    if (fresh->Uid() != from.Uid()) {
      return MakeError(Code::kConflict, "namespace uid has changed across retries");
    }
    from = *std::move(fresh);
  }
  return conflict;
}

}  // namespace

Result<std::optional<sdk::WholeRef>> MarkTerminating(const sdk::Run& run, sdk::WholeRef from) {
  return UpdateFresh(run, std::move(from), "status", IsTerminating, SetTerminating);
}

Result<sdk::WholeRef> WriteConditions(const sdk::Run& run, sdk::WholeRef from,
                                      const Progress& progress, rules::WallTime now) {
  sdk::Edit edit(from);
  if (!SetConditions(progress, now, edit.json())) return from;
  Result<sdk::WholeRef> updated = run.client().UpdateStatus(kNamespace, edit);
  if (updated.ok()) return updated;
  if (rules::IsShuttingDown(updated.error())) return updated.error();
  run.log().Info(0, "Failed to update the conditions of a namespace",
                 {{"err", updated.error().message}});
  return from;
}

Status Finalize(const sdk::Run& run, sdk::WholeRef from) {
  const Result<std::optional<sdk::WholeRef>> finalized =
      UpdateFresh(run, std::move(from), "finalize", IsFinalized, RemoveOwnFinalizer);
  return finalized.ok() ? Ok() : Status(finalized.error());
}

}  // namespace kcm::ns::namespaces
