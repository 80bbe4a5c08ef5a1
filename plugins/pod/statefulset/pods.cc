// SPDX-License-Identifier: Apache-2.0
// Writes of pods: created with their claims, deleted, made what the set says (spec/pod-workloads.md
// 5.3, 5.5).
#include <nlohmann/json.hpp>

#include "kcm/rules/controller_revision.h"
#include "kcm/rules/error_class.h"
#include "kcm/rules/slow_start.h"
#include "plugins/pod/conflict_retry.h"
#include "plugins/pod/ownership/claim.h"
#include "plugins/pod/resources.h"
#include "plugins/pod/statefulset/identity.h"
#include "plugins/pod/statefulset/reconciler.h"

namespace kcm::pod::statefulset {

// All at once: their claims, then those that have all of them.
Status Reconciler::CreatePods(const std::vector<int64_t>& slots) {
  std::vector<Creation> creations;
  for (const int64_t slot : slots) {
    const int64_t ordinal = set_.start + slot;
    creations.push_back({.name = PodName(set_.name, ordinal), .ordinal = ordinal});
  }
  CreateClaims(creations);
  PostPods(creations, slots);
  std::vector<Error> errors;
  for (Creation& c : creations) {
    Status outcome = c.errors.empty() ? Ok() : Status(Aggregate(c.errors));
    // Made, or refused by the server: either way its claims are what they will be.
    if (!c.exists && c.posted) {
      const Status fixed = FixClaimOwners({.name = c.name, .uid = c.uid}, c.ordinal);
      if (!fixed.ok()) outcome = fixed;
    }
    // One that exists already is not in the cache yet: nothing to tell.
    if (!c.exists) TellPod(kCreate, c.name, outcome);
    if (outcome.ok()) continue;
    if (rules::IsShuttingDown(outcome.error())) return outcome;
    errors.push_back(outcome.error());
  }
  return errors.empty() ? Ok() : Status(Aggregate(errors));
}

void Reconciler::PostPods(std::vector<Creation>& creations, const std::vector<int64_t>& slots) {
  std::vector<std::optional<Result<sdk::WholeRef>>> answers(creations.size());
  {
    sdk::Client::Batch batch(client_);
    for (size_t i = 0; i < creations.size(); ++i) {
      if (!creations[i].errors.empty()) continue;
      const Result<std::string> body = BodyOf(slots[i]);
      if (!body.ok()) {
        creations[i].errors.push_back(body.error());
        continue;
      }
      batch.CreateText(kPods, set_.ns, *body, [&answers, i](Result<sdk::WholeRef> answer) {
        answers[i].emplace(std::move(answer));
      });
    }
    batch.Wait();
  }
  for (size_t i = 0; i < creations.size(); ++i) {
    if (!answers[i]) continue;
    Creation& c = creations[i];
    c.posted = true;
    if (answers[i]->ok()) {
      c.uid = (*answers[i])->Uid();
      Wrote(kPods, **answers[i]);
    } else {
      c.exists = rules::IsAlreadyExists(answers[i]->error());
      c.errors.push_back(answers[i]->error());
    }
  }
}

Result<std::string> Reconciler::BodyOf(int64_t slot) {
  const bool from_current = IsMadeFromCurrent(set_, slot);
  std::unique_ptr<nlohmann::json>& pod = from_current ? pod_of_current_ : pod_of_update_;
  if (pod == nullptr) {
    const size_t place = from_current ? current_ : update_;
    const rules::Node pod_template = rules::RevisionTemplate(history_.node(place));
    if (!pod_template.Has()) {
      return MakeError(Code::kInvalid, "controllerrevision " + std::string(history_.name(place)) +
                                           " holds no pod template");
    }
    pod =
        std::make_unique<nlohmann::json>(PodFromRevision(set_, pod_template, history_.name(place)));
  }
  return PodOf(set_, *pod, set_.start + slot)
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// In growing batches, up to the first with a failure. A pod that is gone already counts as deleted.
Status Reconciler::DeletePods(const std::vector<size_t>& wanted) {
  const std::vector<size_t> places = NotYetDeleted(wanted);
  rules::SlowStart batches(static_cast<int64_t>(places.size()), kMostAtOnce);
  size_t first = 0;
  while (const int64_t next = batches.Next()) {
    const size_t count = static_cast<size_t>(next);
    std::vector<Status> answers(count, Ok());
    {
      sdk::Client::Batch batch(client_);
      for (size_t i = 0; i < count; ++i) {
        batch.Delete(kPods, set_.ns, pods_[places[first + i]].Name(), {},
                     [&answers, i](Status answer) { answers[i] = std::move(answer); });
      }
      batch.Wait();
    }
    std::vector<Error> errors;
    for (size_t i = 0; i < count; ++i) {
      const size_t place = places[first + i];
      if (!answers[i].ok() && rules::IsNotFound(answers[i].error())) answers[i] = Ok();
      TellPod(kDelete, pods_[place].Name(), answers[i]);
      if (answers[i].ok()) {
        deleted_.insert(place);
        memory_.deletions.Issued(set_.uid, pods_[place].Uid(), context_.clock().Monotonic());
      } else if (rules::IsShuttingDown(answers[i].error())) {
        return answers[i];
      } else {
        errors.push_back(answers[i].error());
      }
    }
    if (!errors.empty()) return Aggregate(errors);
    first += count;
  }
  return Ok();
}

// Without those that an earlier reconcile has deleted and the cache still shows as they were: they
// count as deleted in this one, too.
std::vector<size_t> Reconciler::NotYetDeleted(const std::vector<size_t>& places) {
  std::vector<size_t> out;
  for (const size_t place : places) {
    if (memory_.deletions.IsAwaited(set_.uid, pods_[place].Uid(), context_.clock().Monotonic())) {
      deleted_.insert(place);
    } else {
      out.push_back(place);
    }
  }
  return out;
}

Status Reconciler::MakeConsistent(size_t place) {
  const bool stored = StorageMatches(set_, nodes_[place]);
  const bool pod_fits = stored && IdentityMatches(set_, nodes_[place]);
  const bool owners_fit = ClaimOwnersFit(place);
  if (pod_fits && owners_fit) return Ok();
  if (!stored) {
    if (const Status created = CreateMissingClaims(place); !created.ok()) {
      TellPod(kUpdate, pods_[place].Name(), created);
      return created;
    }
  }
  if (!owners_fit) {
    if (const Status fixed = FixClaimOwnersOrTell(place); !fixed.ok()) return fixed;
  }
  const Status put = pod_fits ? Ok() : PutPod(place);
  TellPod(kUpdate, pods_[place].Name(), put);
  return put;
}

// The cache holds a part of each pod only: the whole one is asked for.
Status Reconciler::PutPod(size_t place) {
  const sdk::ObjectRef& cached = pods_[place];
  const auto write = [&](int) -> Status {
    const Result<sdk::WholeRef> live = client_.Get(kPods, set_.ns, cached.Name());
    if (!live.ok()) return live.error();
    if (live->Uid() != cached.Uid()) {
      return MakeError(Code::kNotFound, "pod " + cached.Key() + " has been replaced by another");
    }
    sdk::Edit edit(*live);
    SetIdentityLabels(edit.json(), OrdinalOf(place));
    if (!StorageMatches(set_, live->Root())) SetStorage(set_, edit.json(), OrdinalOf(place));
    const Result<sdk::WholeRef> answer = client_.Update(kPods, edit);
    if (!answer.ok()) return answer.error();
    Wrote(kPods, *answer);
    return Ok();
  };
  return RetryOnConflict(run_, context_.clock(), kPatientRetry, write);
}

}  // namespace kcm::pod::statefulset
