// SPDX-License-Identifier: Apache-2.0
// The reconcile of a ReplicaSet in the order of spec/pod-workloads.md section 2: claim, scale,
// report.
#include "plugins/pod/replicaset/controller.h"

#include <algorithm>

#include "kcm/rules/error_class.h"
#include "kcm/rules/owner_reference.h"
#include "kcm/rules/pod.h"
#include "kcm/rules/pod_template.h"
#include "plugins/pod/ownership/gone_owner.h"
#include "plugins/pod/ownership/wakes.h"
#include "plugins/pod/pod_control/pod_control.h"
#include "plugins/pod/replicaset/declaration.h"
#include "plugins/pod/resources.h"
#include "plugins/pod/server_features.h"
#include "plugins/pod/status_write.h"

namespace kcm::pod::replicaset {

using rules::Node;
using rules::WallTime;
using sdk::Outcome;

namespace {

constexpr Flavour kReplicaSetFlavour{.resource = kReplicaSets,
                                     .reports_terminating = true,
                                     .reads_own_writes = true,
                                     .has_related_pods = true};

constexpr OwnWrites::Skips kSkips{
    .name = "replicaset_controller_stale_sync_skips_total",
    .help = "Total number of ReplicaSet syncs skipped due to a stale watch cache."};
constexpr OwnWrites::Shown kShown[] = {{kPods, kPodWatch.number}, {kReplicaSets, kOwnWatch.number}};

std::string KeyOf(std::string_view ns, std::string_view name) {
  return std::string(ns) + "/" + std::string(name);
}

std::vector<Node> Nodes(const std::vector<sdk::ObjectRef>& refs) {
  std::vector<Node> out;
  out.reserve(refs.size());
  for (const sdk::ObjectRef& r : refs) out.push_back(r.Root());
  return out;
}

int64_t WantedReplicas(Node owner) { return owner.Path("spec.replicas").Int(1); }
std::chrono::seconds MinReady(Node owner) {
  return std::chrono::seconds(owner.Path("spec.minReadySeconds").Int());
}

}  // namespace

// What one reconcile works on. Everything borrowed from `owner` and `pods` lives as long as this.
struct Controller::Sync {
  sdk::Run& run;
  sdk::WholeRef owner;
  rules::LabelSelector selector;
  WallTime now;                           // one for all pods
  std::vector<sdk::ObjectRef> pods = {};  // claimed and active
  std::vector<Node> active = {};          // their roots
  int64_t terminating = 0;

  PodOwner AsPodOwner(const sdk::Context& context, const Flavour& flavour) const {
    return {owner, flavour.resource, context.events()};
  }
};

Controller::Controller(sdk::Context& context) : Controller(context, kReplicaSetFlavour) {}

Controller::Controller(sdk::Context& context, const Flavour& flavour)
    : context_(context),
      flavour_(flavour),
      owners_(context.cache(), flavour_.resource, kOwnWatch, flavour_.selector) {
  age_ratio_ = context.DefineMetric({.type = KCM_METRIC_HISTOGRAM,
                                     .name = "replicaset_controller_sorting_deletion_age_ratio",
                                     .help = "The ratio of chosen deleted pod's ages to the "
                                             "current youngest pod's age (at the time). Should be "
                                             "<2. The intent of this metric is to measure the "
                                             "rough efficacy of the LogarithmicScaleDown feature "
                                             "gate's effect on the sorting (and deletion) of pods "
                                             "when a replicaset scales down. This only considers "
                                             "Ready pods when calculating and reporting.",
                                     .labels = {},
                                     .buckets = {0.25, 0.5, 1, 2, 4, 8}});
  if (flavour_.reads_own_writes) own_writes_.emplace(context, kSkips, kShown);
}

// ---- what wakes it ----

void Controller::OnChange(const sdk::Change& change) {
  if (change.watch() == kOwnWatch.number) {
    OnOwnChange(change);
  } else {
    OnPodChange(change);
  }
}

void Controller::OnOwnChange(const sdk::Change& change) {
  const std::string key = change.Key();
  if (const auto gone = GoneOwnerOf(change.type(), change.old_object(), change.object()))
    Forget(key, gone->uid);
  context_.queue().Add(key);
}

void Controller::OnPodChange(const sdk::Change& change) {
  const Node pod = change.object();
  const Wakes wakes = WakesOf(change.type(), change.old_object(), pod, DeletingUpdate::kIsDeletion);
  for (size_t i = 0; i < wakes.count; ++i) {
    const OwnerWake& wake = wakes.owners[i];
    const std::optional<sdk::WholeRef> owner = owners_.Resolve(change.ns(), wake.reference);
    if (!owner) continue;
    const std::string key = owner->Key();
    if (wake.created) expectations_.CreationObserved(owner->Uid());
    if (wake.deleted) expectations_.DeletionObserved(owner->Uid(), std::string_view(change.Key()));
    context_.queue().Add(key);
    // Its availability is a matter of time alone from now on.
    if (const auto min_ready = MinReady(owner->Root()); wake.became_ready && min_ready.count() > 0)
      context_.queue().AddAfter(key, min_ready);
  }
  if (!wakes.orphan) return;
  for (const sdk::WholeRef& owner : owners_.Matching(change.ns(), pod))
    context_.queue().Add(owner.Key());
}

void Controller::Forget(std::string_view key, std::string_view uid) {
  expectations_.Forget(uid);
  if (own_writes_) own_writes_->Forget(key, uid);
}

void Controller::Wrote(const Sync& sync, const sdk::Resource& resource, std::string_view version) {
  if (own_writes_) own_writes_->Wrote(sync.run.key(), sync.owner.Uid(), resource, version);
}

// ---- what it does ----

Outcome Controller::Reconcile(sdk::Run& run) {
  if (own_writes_) {
    if (const auto stale = own_writes_->NotShownYet(run.key())) return Outcome::Retry(*stale);
  }
  std::optional<sdk::WholeRef> owner = context_.cache().Get(kOwnWatch, run.key());
  if (!owner) return Outcome::Done();
  Result<rules::LabelSelector> selector = owners_.SelectorOf(owner->Root());
  if (!selector.ok()) {
    run.log().Error(selector.error().message, "Error converting pod selector to selector");
    return Outcome::Done();
  }
  Sync sync{.run = run,
            .owner = std::move(*owner),
            .selector = std::move(*selector),
            .now = context_.clock().Now()};
  Outcome outcome = Act(sync);
  if (const std::string_view uid = sync.owner.Uid(); !owners_.Has(run.key(), uid))
    Forget(run.key(), uid);
  return outcome;
}

Outcome Controller::Act(Sync& sync) {
  // Before the pods are read: what an event shows later is then looked at in the next reconcile.
  const bool may_act = expectations_.Satisfied(sync.owner.Uid(), context_.clock().Monotonic());
  bool with_terminating = false;
  if (flavour_.reports_terminating) {
    const Result<bool> served = TerminatingReplicasServed(context_);
    if (!served.ok()) return Outcome::Retry(served.error());
    with_terminating = *served;
  }
  if (const Status claimed = ClaimPods(sync); !claimed.ok()) return Outcome::Retry(claimed.error());

  const Node root = sync.owner.Root();
  std::optional<Error> failure;
  if (may_act && !rules::HasDeletionTimestamp(root)) failure = ManageReplicas(sync);
  if (failure && rules::IsShuttingDown(*failure)) return Outcome::Retry(*failure);

  // Of the pods as they were before this reconcile created or deleted any.
  const Counts counts =
      CountPods(root, sync.active,
                with_terminating ? std::optional(sync.terminating) : std::nullopt, sync.now);
  const FailureChange change =
      DecideFailure(root, counts.replicas, WantedReplicas(root), failure ? &*failure : nullptr);
  if (counts != CountsInStatus(root, with_terminating) ||
      change.type != FailureChange::Type::kKeep) {
    if (const Status written = WriteStatus(sync, counts, change); !written.ok())
      return Outcome::Retry(written.error());
  }
  if (failure) return Outcome::Retry(*failure);
  return AwaitAvailability(sync, counts);
}

// Terminal and deleted pods are left out before claiming: a Failed pod is neither released nor
// adopted.
Status Controller::ClaimPods(Sync& sync) {
  const std::string_view uid = sync.owner.Uid(), ns = sync.owner.Namespace();
  const sdk::Cache cache = context_.cache();
  sdk::ObjectList<sdk::ObjectRef> own =
      cache.List(kPodWatch, {.index = kByController, .index_value = uid, .ns = ns});
  const std::string orphans = OrphansIn(ns);
  sdk::ObjectList<sdk::ObjectRef> free =
      cache.List(kPodWatch, {.index = kByController, .index_value = orphans, .ns = ns});

  Claimer claimer(
      sync.run, flavour_.resource, kPods, sync.owner.Root(),
      [this, &sync](const sdk::WholeRef& pod) { Wrote(sync, kPods, pod.ResourceVersion()); });
  for (sdk::ObjectList<sdk::ObjectRef>* list : {&own, &free}) {
    for (sdk::ObjectRef& pod : list->items()) {
      const Node root = pod.Root();
      const bool matches = sync.selector.Matches(root.Path("metadata.labels"));
      if (list == &own && matches && rules::IsPodTerminating(root)) ++sync.terminating;
      if (!rules::IsPodActive(root)) continue;
      if (claimer.Claims(root, matches)) sync.pods.push_back(std::move(pod));
    }
  }
  sync.active = Nodes(sync.pods);
  return claimer.result();
}

std::optional<Error> Controller::ManageReplicas(Sync& sync) {
  const ScalePlan plan =
      PlanScale(static_cast<int64_t>(sync.active.size()), WantedReplicas(sync.owner.Root()));
  if (plan.creates > 0) return Create(sync, plan.creates);
  if (plan.deletes > 0) return Delete(sync, plan.deletes);
  return std::nullopt;
}

std::optional<Error> Controller::Create(Sync& sync, int64_t count) {
  const Node pod_template = sync.owner.Root().Path("spec.template");
  if (!pod_template.Has()) {
    // Only an RC's type allows it, and the server requires one there too.
    sync.run.log().Error("no pod template", "Can not create pods");
    return std::nullopt;
  }
  const std::string_view uid = sync.owner.Uid();
  sync.run.log().Info(2, "Too few replicas",
                      {{"need", WantedReplicas(sync.owner.Root())}, {"creating", count}});
  if (!rules::TemplateHasLabels(pod_template))
    return MakeError(Code::kInvalid, std::string(rules::kNoPodLabels));
  const std::string api_version = flavour_.resource.ApiVersion();
  const std::string body = rules::PodFromTemplate(pod_template, {.api_version = api_version,
                                                                 .kind = flavour_.resource.kind,
                                                                 .name = sync.owner.Name(),
                                                                 .uid = uid});
  expectations_.Expect(uid, {.creations = count}, context_.clock().Monotonic());
  const auto remember = [this, &sync](std::string_view version) { Wrote(sync, kPods, version); };
  const Created created =
      CreatePods(sync.run.client(), sync.AsPodOwner(context_, flavour_), body, count, remember);
  // The failed ones and those that slow start left out will never be seen.
  if (const int64_t missing = count - created.succeeded; missing > 0)
    expectations_.CreationObserved(uid, missing);
  return created.error;
}

std::optional<Error> Controller::Delete(Sync& sync, int64_t count) {
  const std::string_view uid = sync.owner.Uid(), ns = sync.owner.Namespace();
  sync.run.log().Info(2, "Too many replicas",
                      {{"need", WantedReplicas(sync.owner.Root())}, {"deleting", count}});
  std::vector<sdk::ObjectRef> related;
  const bool sorts = static_cast<size_t>(count) < sync.active.size();
  if (sorts && flavour_.has_related_pods) related = RelatedPods(sync.owner);
  const std::vector<size_t> chosen = PodsToDelete(sync.active, Nodes(related), count, sync.now);
  if (sorts) {
    for (const double ratio : DeletionAgeRatios(sync.active, chosen, sync.now))
      age_ratio_.Observe(ratio);
  }
  std::vector<std::string> names, keys;
  for (const size_t place : chosen) {
    names.emplace_back(sync.pods[place].Name());
    keys.push_back(sync.pods[place].Key());
  }
  expectations_.ExpectDeletionsOf(uid, keys, context_.clock().Monotonic());
  return DeletePods(sync.run.client(), sync.AsPodOwner(context_, flavour_), names,
                    [this, uid, ns](std::string_view name) {
                      expectations_.DeletionObserved(uid, std::string_view(KeyOf(ns, name)));
                    });
}

// All pods that any sibling's selector matches, each once; whose they are does not matter (1.9 step
// 5).
std::vector<sdk::ObjectRef> Controller::RelatedPods(const sdk::WholeRef& owner) const {
  std::vector<sdk::ObjectRef> out;
  const Node parent = rules::ControllerOf(owner.Root());
  if (!parent.Has()) return out;
  const sdk::Cache cache = context_.cache();
  for (const sdk::WholeRef& sibling :
       cache.List(kOwnWatch, {.index = kByController,
                             .index_value = parent.Get("uid").String(),
                             .ns = owner.Namespace()})) {
    const Result<rules::LabelSelector> selector = owners_.SelectorOf(sibling.Root());
    if (!selector.ok() || selector->SelectsNothing()) continue;
    sdk::Query query{.ns = owner.Namespace()};
    // Siblings made by a Deployment name their template's hash: no walk through the namespace.
    const std::optional<std::string_view> hash = selector->RequiredValue(kTemplateHashLabel);
    if (hash) {
      query.index = kByTemplateHash;
      query.index_value = *hash;
    }
    sdk::ObjectList<sdk::ObjectRef> pods = cache.List(kPodWatch, query);
    for (sdk::ObjectRef& pod : pods.items()) {
      if (selector->Matches(pod.Root().Path("metadata.labels"))) out.push_back(std::move(pod));
    }
  }
  std::sort(out.begin(), out.end(), [](const auto& x, const auto& y) { return x.Uid() < y.Uid(); });
  const auto same = [](const auto& x, const auto& y) { return x.Uid() == y.Uid(); };
  out.erase(std::unique(out.begin(), out.end(), same), out.end());
  return out;
}

Status Controller::WriteStatus(Sync& sync, const Counts& counts, const FailureChange& failure) {
  const Result<sdk::WholeRef> answer = pod::WriteStatus(
      sync.run.client(), flavour_.resource, sync.owner,
      [&](nlohmann::json& owner) { ApplyStatus(owner, counts, failure, sync.now); });
  if (!answer.ok()) return answer.error();
  Wrote(sync, flavour_.resource, answer->ResourceVersion());
  return Ok();
}

Outcome Controller::AwaitAvailability(const Sync& sync, const Counts& counts) const {
  const std::chrono::seconds min_ready = MinReady(sync.owner.Root());
  if (min_ready.count() <= 0 || counts.ready == counts.available) return Outcome::Done();
  if (!rules::NextAvailabilityCheck(sync.active, min_ready.count(), sync.now))
    return Outcome::RequeueAfter(min_ready);
  // Time has passed since: what is due by now is looked at again at once.
  const auto next =
      rules::NextAvailabilityCheck(sync.active, min_ready.count(), context_.clock().Now());
  return Outcome::RequeueAfter(next.value_or(std::chrono::nanoseconds(0)));
}

}  // namespace kcm::pod::replicaset
