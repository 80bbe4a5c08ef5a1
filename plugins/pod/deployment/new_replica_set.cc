// SPDX-License-Identifier: Apache-2.0
// Finding, annotating and creating the ReplicaSet of the Deployment's template
// (spec/pod-workloads.md 4.1).
#include <algorithm>
#include <nlohmann/json.hpp>

#include "kcm/rules/equality.h"
#include "kcm/rules/error_class.h"
#include "kcm/rules/owner_reference.h"
#include "kcm/rules/pod_template.h"
#include "plugins/pod/deployment/body.h"
#include "plugins/pod/deployment/declaration.h"
#include "plugins/pod/deployment/reconciler.h"
#include "plugins/pod/deployment/revision.h"
#include "plugins/pod/deployment/rolling_update.h"
#include "plugins/pod/resources.h"

namespace kcm::pod::deployment {

using rules::Node;

namespace {

std::string Quoted(std::string_view name) { return "\"" + std::string(name) + "\""; }

}  // namespace

Status Reconciler::SyncNewReplicaSet(Creation creation) {
  if (rollout_.new_set) return UpdateNewReplicaSet();
  if (creation == Creation::kForbidden) return Ok();
  return CreateNewReplicaSet(MaxOldRevision(rollout_) + 1);
}

// Either the ReplicaSet or the Deployment is written; the other one has its turn in a later
// reconcile.
Status Reconciler::UpdateNewReplicaSet() {
  const size_t place = *rollout_.new_set;
  const Node set = rollout_.sets[place].root;
  const int64_t min_ready = object_.Root().Path("spec.minReadySeconds").Int();
  const AnnotationChange change = AnnotateNew(object_.Root(), set, MaxOldRevision(rollout_) + 1);
  if (change.changed || set.Path("spec.minReadySeconds").Int() != min_ready) {
    sdk::Edit edit(sets_[place]);
    SetAnnotations(edit.json(), change.annotations);
    edit.json()["spec"]["minReadySeconds"] = min_ready;
    Result<sdk::WholeRef> answer = client_.Update(kReplicaSets, edit);
    if (!answer.ok()) return answer.error();
    Replace(place, std::move(*answer));
    return Ok();
  }
  std::optional<Condition> found;
  if (rollout_.deployment.deadline_seconds && CurrentStatus().Find(kProgressing) == nullptr) {
    found = MakeCondition(kProgressing, "True", "FoundNewReplicaSet",
                          "Found new replica set " + Quoted(rollout_.sets[place].name), now_);
  }
  return NoteRevision(AnnotationOf(set, kRevision), std::move(found));
}

Status Reconciler::CreateNewReplicaSet(int64_t revision) {
  const Deployment& d = rollout_.deployment;
  NewReplicaSet fresh;
  fresh.hash =
      rules::PodTemplateHash(object_.Root().Path("spec.template"), CurrentStatus().collisions);
  fresh.name = ReplicaSetName(d.name, fresh.hash);
  fresh.replicas = NewReplicaSetSize(d, 0, rollout_.TotalReplicas());
  fresh.annotations = AnnotationsOfNew(d, revision);

  Result<sdk::WholeRef> answer =
      client_.Create(kReplicaSets, object_.Namespace(), ReplicaSetBody(d, fresh));
  bool created = answer.ok();
  if (created) {
    sets_.push_back(std::move(*answer));
  } else if (rules::IsAlreadyExists(answer.error())) {
    bool ours = false;
    if (const Status settled = SettleCollision(fresh, answer.error(), &ours); !ours) return settled;
  } else {
    const Error error = answer.error();
    if (rules::IsNamespaceTerminating(error) || rules::IsShuttingDown(error)) return error;
    const std::string text =
        "Failed to create new replica set " + Quoted(fresh.name) + ": " + error.message;
    if (d.deadline_seconds) {
      DeploymentStatus status = CurrentStatus();
      status.Set(MakeCondition(kProgressing, "False", "ReplicaSetCreateError", text, now_));
      // The error of the creation is the one to return.
      if (status != CurrentStatus()) (void)PutStatus(status);
    }
    Tell(sdk::EventType::kWarning, "ReplicaSetCreateError", text);
    return error;
  }
  // The youngest: its place is the last one.
  rollout_.sets.push_back(ReplicaSetOf(sets_.back().Root()));
  rollout_.new_set = sets_.size() - 1;
  if (created && fresh.replicas > 0) {
    Tell(sdk::EventType::kNormal, "ScalingReplicaSet",
         "Scaled up replica set " + fresh.name + " from 0 to " + std::to_string(fresh.replicas));
  }
  std::optional<Condition> progress;
  if (created && d.deadline_seconds) {
    progress = MakeCondition(kProgressing, "True", "NewReplicaSetCreated",
                             "Created new replica set " + Quoted(fresh.name), now_);
  }
  return NoteRevision(std::to_string(revision), std::move(progress));
}

// The name is taken. By ourselves, when an answer was lost: *ours, and it is appended. Else the
// next attempt has another hash.
Status Reconciler::SettleCollision(const NewReplicaSet& fresh, const Error& error, bool* ours) {
  *ours = false;
  std::optional<sdk::WholeRef> existing =
      context_.cache().Get(kReplicaSetWatch, std::string(object_.Namespace()) + "/" + fresh.name);
  if (!existing) {
    return MakeError(Code::kNotFound, "replicaset.apps " + Quoted(fresh.name) +
                                          " exists but is not in the cache yet");
  }
  if (rules::IsControlledBy(existing->Root(), object_.Uid()) &&
      rules::PodTemplatesEqual(object_.Root().Path("spec.template"),
                               existing->Root().Path("spec.template"))) {
    *ours = true;
    sets_.push_back(std::move(*existing));
    return Ok();
  }
  DeploymentStatus status = CurrentStatus();
  status.collisions = status.collisions.value_or(0) + 1;
  if (const Status put = PutStatus(status); !put.ok()) return put;
  run_.log().Info(2, "Found a hash collision for deployment - bumping collisionCount to resolve it",
                  {{"deployment", object_.Key()}, {"collisionCount", *status.collisions}});
  return error;
}

// The revision is an annotation, but it is written through the status: a PUT of the object would
// raise its generation.
Status Reconciler::NoteRevision(std::string_view revision, std::optional<Condition> progress) {
  const bool differs = AnnotationOf(object_.Root(), kRevision) != revision;
  if (!differs && !progress) return Ok();
  sdk::Edit edit(object_);
  if (differs) SetAnnotation(edit.json(), kRevision, std::string(revision));
  if (progress) {
    DeploymentStatus status = CurrentStatus();
    status.Set(std::move(*progress));
    ApplyStatus(edit.json(), status);
  }
  return PutStatusOf(edit);
}

}  // namespace kcm::pod::deployment
