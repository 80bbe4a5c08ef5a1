// SPDX-License-Identifier: Apache-2.0
// The order of a DaemonSet's reconcile: claim, revision, pods, status.
#include "plugins/pod/daemonset/reconciler.h"

#include <nlohmann/json.hpp>

#include "kcm/rules/error_class.h"
#include "plugins/pod/daemonset/declaration.h"
#include "plugins/pod/daemonset/placement.h"
#include "plugins/pod/daemonset/status.h"
#include "plugins/pod/ownership/claim.h"
#include "plugins/pod/resources.h"
#include "plugins/pod/status_write.h"

namespace kcm::pod::daemonset {

using rules::Node;

Reconciler::Reconciler(const sdk::Context& context, const sdk::Run& run, Memory& memory,
                       sdk::WholeRef set, rules::LabelSelector selector,
                       rules::ComparisonOperators comparison)
    : context_(context),
      run_(run),
      client_(run.client()),
      memory_(memory),
      now_(context.clock().Now()),
      object_(std::move(set)),
      selector_(std::move(selector)),
      comparison_(comparison),
      set_(SpecOf(object_.Root())),
      history_(run, context.clock(), {context.cache(), kRevisionWatch, kByController}, kDaemonSets,
               object_) {}

Status Reconciler::Run() {
  // Before anything is read: what an event shows later is then looked at in the next reconcile.
  const bool may_act = memory_.expectations.Satisfied(set_.uid, context_.clock().Monotonic());
  if (const Status claimed = history_.Claim(selector_); !claimed.ok()) return claimed;
  if (const Status claimed = ClaimPods(); !claimed.ok()) return claimed;
  if (const Status chosen = ChooseRevision(); !chosen.ok()) return chosen;
  ArrangeFleet();
  // The generation counts as observed when it has been acted upon.
  if (!may_act) return Report(Acted::kNo);

  const Status acted = Act();
  if (!acted.ok() && rules::IsShuttingDown(acted.error())) return acted;
  const Status reported = Report(Acted::kYes);
  return acted.ok() ? reported : acted;
}

Status Reconciler::ClaimPods() {
  Claimer claimer(run_, kDaemonSets, kPods, set_.root,
                  [this](const sdk::WholeRef& pod) { Wrote(kPods, pod.ResourceVersion()); });
  claimer.ClaimAll(context_.cache(), kPodWatch, kByController, selector_, pods_);
  return claimer.result();
}

void Reconciler::ArrangeFleet() {
  std::vector<Node> pods;
  for (const sdk::ObjectRef& pod : pods_) pods.push_back(pod.Root());
  fleet_ = FleetOf(std::move(pods));
  nodes_ = context_.cache().List(kNodeWatch);
  const Placement placement(set_.Template(), comparison_);
  for (const sdk::ObjectRef& node : nodes_)
    fleet_.nodes.emplace(node.Name(), placement.On(node.Root()));
}

Status Reconciler::Act() {
  if (const Status managed = Manage(); !managed.ok()) return managed;
  // What was just begun changes the nodes: the update goes on when the watch has shown it.
  if (!issued_ && set_.rolls) {
    if (const Status rolled = RollUpdate(); !rolled.ok()) return rolled;
  }
  return CleanUpHistory();
}

Status Reconciler::Report(Acted acted) {
  const Counts counts = CountNodes(set_, fleet_, hash_, now_);
  std::optional<int64_t> observed;
  if (acted == Acted::kYes) observed = set_.generation;
  const bool raises = observed && set_.observed_generation < *observed;
  if (raises || counts != CountsInStatus(set_.root)) {
    const Result<sdk::WholeRef> answer =
        WriteStatus(client_, kDaemonSets, object_,
                    [&](nlohmann::json& set) { ApplyStatus(set, counts, observed); });
    if (!answer.ok()) return answer.error();
    Wrote(kDaemonSets, answer->ResourceVersion());
  }
  if (set_.min_ready_seconds > 0 && counts.ready != counts.available)
    look_again_ = std::chrono::seconds(set_.min_ready_seconds);
  return Ok();
}

void Reconciler::Wrote(const sdk::Resource& resource, std::string_view version) const {
  memory_.own_writes.Wrote(run_.key(), set_.uid, resource, version);
}

void Reconciler::Tell(sdk::EventType type, std::string_view reason,
                      std::string_view message) const {
  context_.events().Record(object_, kDaemonSets, type, reason, message);
}

}  // namespace kcm::pod::daemonset
