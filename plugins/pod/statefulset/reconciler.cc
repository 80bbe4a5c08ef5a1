// SPDX-License-Identifier: Apache-2.0
// The order of a StatefulSet's reconcile: claim, revisions, pods, status, history.
#include "plugins/pod/statefulset/reconciler.h"

#include <nlohmann/json.hpp>

#include "kcm/rules/error_class.h"
#include "kcm/rules/pod.h"
#include "plugins/pod/conflict_retry.h"
#include "plugins/pod/ownership/claim.h"
#include "plugins/pod/resources.h"
#include "plugins/pod/statefulset/declaration.h"
#include "plugins/pod/statefulset/identity.h"

namespace kcm::pod::statefulset {

using rules::Node;

Reconciler::Reconciler(const sdk::Context& context, const sdk::Run& run, const Features& features,
                       Memory memory, sdk::WholeRef set, rules::LabelSelector selector)
    : context_(context),
      run_(run),
      client_(run.client()),
      features_(features),
      memory_(memory),
      now_(context.clock().Now()),
      object_(std::move(set)),
      selector_(std::move(selector)),
      set_(SpecOf(object_.Root())),
      history_(run, context.clock(), {context.cache(), kRevisionWatch, kByController},
               kStatefulSets, object_) {}

Reconciler::~Reconciler() = default;

Status Reconciler::Run() {
  history_.Read(selector_);
  if (const Status adopted = history_.Adopt(); !adopted.ok()) return adopted;
  if (const Status claimed = ClaimPods(); !claimed.ok()) return claimed;
  if (const Status chosen = ChooseRevisions(); !chosen.ok()) return chosen;

  std::vector<Error> errors;
  // Each of the three is done whatever came of those before it; nothing more once the controller is
  // being stopped.
  for (Status (Reconciler::*step)() :
       {&Reconciler::UpdatePods, &Reconciler::WriteStatus, &Reconciler::TruncateHistory}) {
    const Status done = (this->*step)();
    if (done.ok()) continue;
    if (rules::IsShuttingDown(done.error())) return done;
    errors.push_back(done.error());
  }
  if (!errors.empty()) return Aggregate(errors);
  LookAgainWhenAvailable();
  return Ok();
}

// A pod belongs to the set when its labels match and its name is `<set>-<number>`.
Status Reconciler::ClaimPods() {
  Claimer claimer(run_, kStatefulSets, kPods, set_.root,
                  [this](const sdk::WholeRef& pod) { Wrote(kPods, pod); });
  const auto has_its_name = [this](Node pod) {
    return ParsePodName(pod.Path("metadata.name").String()).parent == set_.name;
  };
  claimer.ClaimAll(context_.cache(), kPodWatch, kByController, selector_, pods_, has_its_name);
  for (const sdk::ObjectRef& pod : pods_) nodes_.push_back(pod.Root());
  memory_.deletions.Shown(set_.uid, nodes_);
  slots_ = Arrange(set_, nodes_);
  return claimer.result();
}

Status Reconciler::UpdatePods() {
  status_ = {.observed_generation = set_.root.Path("metadata.generation").Int(),
             .current_revision = std::string(history_.name(current_)),
             .update_revision = std::string(history_.name(update_)),
             .collision_count = collision_count_};
  CountPods(set_, nodes_, now_, status_);
  if (set_.deleting) return Ok();

  // Later counts are of the pods that have a place.
  std::vector<Node> placed;
  for (const auto& [slot, place] : slots_.pods) placed.push_back(nodes_[place]);
  for (const size_t place : slots_.condemned) placed.push_back(nodes_[place]);
  CountPods(set_, placed, now_, status_);

  for (Result<Flow> (Reconciler::*step)() : {
           static_cast<Result<Flow> (Reconciler::*)()>(&Reconciler::FillSlots),
           &Reconciler::ScaleDown,
       }) {
    const Result<Flow> done = (this->*step)();
    if (!done.ok()) return done.error();
    if (*done == Flow::kStop) return Ok();
  }
  return set_.rolls ? RollUpdate() : Ok();
}

Status Reconciler::WriteStatus() {
  CompleteUpdate(set_, status_);
  if (!NeedsWrite(StatusOf(set_.root), status_)) return Ok();
  const auto write = [this](int attempt) -> Status {
    const sdk::WholeRef* base = &object_;
    std::optional<sdk::WholeRef> fresh;
    if (attempt > 0) {
      fresh = context_.cache().Get(kOwnWatch, run_.key());
      if (!fresh || fresh->Uid() != set_.uid)
        return MakeError(Code::kNotFound, "statefulset " + object_.Key() + " is gone");
      base = &*fresh;
    }
    sdk::Edit edit(*base);
    ApplyStatus(edit.json(), status_);
    const Result<sdk::WholeRef> answer = client_.UpdateStatus(kStatefulSets, edit);
    if (!answer.ok()) return answer.error();
    Wrote(kStatefulSets, *answer);
    return Ok();
  };
  return RetryOnConflict(run_, context_.clock(), kQuickRetry, write);
}

Status Reconciler::TruncateHistory() {
  std::set<std::string_view> live = {history_.name(current_), history_.name(update_)};
  for (const Node pod : nodes_) live.insert(RevisionOf(pod));
  return history_.Truncate([&](std::string_view name) { return live.contains(name); },
                           set_.history_limit);
}

void Reconciler::LookAgainWhenAvailable() {
  if (set_.min_ready_seconds <= 0 || status_.ready == status_.available) return;
  if (!rules::NextAvailabilityCheck(nodes_, set_.min_ready_seconds, now_)) {
    look_again_ = std::chrono::seconds(set_.min_ready_seconds);
    return;
  }
  // Time has passed since: what is due by now is looked at again at once.
  look_again_ = rules::NextAvailabilityCheck(nodes_, set_.min_ready_seconds, context_.clock().Now())
                    .value_or(sdk::Duration(0));
}

int64_t Reconciler::OrdinalOf(size_t place) const {
  return ParsePodName(pods_[place].Name()).ordinal;
}

void Reconciler::Wrote(const sdk::Resource& resource, const sdk::WholeRef& answer) const {
  memory_.own_writes.Wrote(run_.key(), set_.uid, resource, answer.ResourceVersion());
}

void Reconciler::Tell(sdk::EventType type, std::string_view reason,
                      std::string_view message) const {
  context_.events().Record(object_, kStatefulSets, type, reason, message);
}

void Reconciler::TellPod(const PodVerb& verb, std::string_view pod, const Status& outcome) const {
  if (!outcome.ok() && rules::IsShuttingDown(outcome.error())) return;
  const std::string what = std::string(verb.verb) + " Pod " + std::string(pod) +
                           " in StatefulSet " + std::string(set_.name);
  if (outcome.ok()) {
    Tell(sdk::EventType::kNormal, verb.succeeded, what + " successful");
  } else {
    Tell(sdk::EventType::kWarning, verb.failed, what + " failed error: " + outcome.error().message);
  }
}

void Reconciler::TellClaim(std::string_view claim, std::string_view pod,
                           const Status& outcome) const {
  if (!outcome.ok() && rules::IsShuttingDown(outcome.error())) return;
  const std::string name(claim),
      in = std::string(pod) + " in StatefulSet " + std::string(set_.name);
  if (outcome.ok()) {
    Tell(sdk::EventType::kNormal, "SuccessfulCreate",
         "Create Claim " + name + " Pod " + in + " success");
  } else {
    Tell(sdk::EventType::kWarning, "FailedCreate",
         "Create Claim " + name + " for Pod " + in + " failed error: " + outcome.error().message);
  }
}

}  // namespace kcm::pod::statefulset
