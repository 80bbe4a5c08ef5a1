// SPDX-License-Identifier: Apache-2.0
// clusterrole-aggregation-controller: what wakes it and what it does.
#include "plugins/namespace/clusterrole_aggregation/controller.h"

#include <optional>
#include <string>
#include <vector>

#include "kcm/rules/aggregation_rule.h"
#include "plugins/namespace/clusterrole_aggregation/declaration.h"

namespace kcm::ns::clusterrole_aggregation {
namespace {

constexpr sdk::Resource kClusterRole{"rbac.authorization.k8s.io", "v1", "clusterroles",
                                     "ClusterRole"};

// Forced: rules that a user wrote into an aggregated role are overwritten (trap 6).
constexpr std::string_view kApplyQuery =
    "fieldManager=clusterrole-aggregation-controller&force=true";

bool IsAggregated(rules::Node role) { return role.Get("aggregationRule").Has(); }

// `wanted` becomes the `rules` of the role. Labels, annotations and aggregationRule are not in the
// body, so they are never touched. No resourceVersion: two writers are settled by field ownership.
Status Apply(const sdk::Run& run, std::span<const rules::Node> wanted) {
  const std::string body = rules::AggregationPatch(run.name(), wanted);
  const Result<sdk::WholeRef> applied = run.client().PatchObject(
      kClusterRole, {}, run.name(), sdk::Patch::kApply, body, {.query = kApplyQuery});
  if (!applied.ok()) return applied.error();
  run.log().Info(2, "Applied aggregated rules", {{"rules", wanted.size()}});
  return Ok();
}

}  // namespace

// Wakes on: any change of any role. Its labels and rules may matter to every aggregated role, so
// all of those are looked at again (trap 4).
void Controller::OnChange(const sdk::Change& change) const {
  // Each aggregated role of the first list has an initial event of its own: no need to go through
  // all roles once per role.
  if (change.initial()) {
    if (IsAggregated(change.object())) queue_.Add(change.Key());
    return;
  }
  const sdk::ObjectList<sdk::ObjectRef> roles = cache_.List(kClusterRoles);
  for (const sdk::ObjectRef& role : roles) {
    if (IsAggregated(role.Root())) queue_.Add(role.Key());
  }
}

sdk::Outcome Controller::Reconcile(sdk::Run& run) const {
  const std::optional<sdk::ObjectRef> role = cache_.Get(kClusterRoles, run.key());
  if (!role || !IsAggregated(role->Root())) return sdk::Outcome::Done();

  // `all` keeps the objects alive that the nodes below look into.
  const sdk::ObjectList<sdk::ObjectRef> all = cache_.List(kClusterRoles);
  std::vector<rules::Node> roles;
  roles.reserve(all.size());
  for (const sdk::ObjectRef& other : all) roles.push_back(other.Root());

  const Result<std::vector<rules::Node>> wanted = rules::AggregatedRules(role->Root(), roles);
  if (!wanted.ok()) return sdk::Outcome::Retry(wanted.error());
  if (rules::SamePolicyRules(*wanted, role->Get("rules"))) return sdk::Outcome::Done();
  return sdk::Outcome::Of(Apply(run, *wanted));
}

}  // namespace kcm::ns::clusterrole_aggregation
