// SPDX-License-Identifier: Apache-2.0
// Finding the revision to go back to.
#include "plugins/pod/deployment/rollback.h"

#include "kcm/rules/decimal_int64.h"
#include "kcm/rules/equality.h"
#include "plugins/pod/deployment/revision.h"

namespace kcm::pod::deployment {

std::optional<int64_t> RollbackTarget(rules::Node deployment) {
  return rules::ParseInt64(AnnotationOf(deployment, kRollbackTo));
}

RollbackPlan PlanRollback(const Rollout& rollout, int64_t target) {
  if (target == 0) {
    target = LastRevision(rollout);
    if (target == 0) {
      return {.set = std::nullopt,
              .warning = true,
              .reason = "DeploymentRollbackRevisionNotFound",
              .message = "Unable to find last revision."};
    }
  }
  const Deployment& d = rollout.deployment;
  const std::string quoted = "\"" + std::string(d.name) + "\"";
  for (size_t i = 0; i < rollout.sets.size(); ++i) {
    const rules::Node set = rollout.sets[i].root;
    if (RevisionOf(set) != target) continue;
    if (rules::PodTemplatesEqual(d.root.Path("spec.template"), set.Path("spec.template"))) {
      return {.set = std::nullopt,
              .warning = true,
              .reason = "DeploymentRollbackTemplateUnchanged",
              .message = "The rollback revision contains the same template as current deployment " +
                         quoted};
    }
    return {
        .set = i,
        .warning = false,
        .reason = "DeploymentRollback",
        .message = "Rolled back deployment " + quoted + " to revision " + std::to_string(target)};
  }
  return {.set = std::nullopt,
          .warning = true,
          .reason = "DeploymentRollbackRevisionNotFound",
          .message = "Unable to find the revision to rollback to."};
}

}  // namespace kcm::pod::deployment
