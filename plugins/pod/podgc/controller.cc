// SPDX-License-Identifier: Apache-2.0
// One run of the pod garbage collector: four steps over one snapshot, in the order of
// spec/pod-batch.md 6.1. What fails is logged and counted; the next run tries again.
#include "plugins/pod/podgc/controller.h"

#include <chrono>
#include <map>
#include <utility>

#include "kcm/rules/error_class.h"
#include "kcm/rules/pod.h"
#include "plugins/pod/podgc/declaration.h"
#include "plugins/pod/resources.h"

namespace kcm::pod::podgc {

using rules::Node;

namespace {

// A node may be missing in the cache although it is there: time for the cache to catch up.
constexpr std::chrono::seconds kQuarantine{40};

constexpr sdk::DeleteOptions kForced{.grace_period_seconds = 0};

// Not an answer of the server but the end of our own work.
bool IsEnding(const Status& s) { return !s.ok() && rules::IsShuttingDown(s.error()); }

}  // namespace

// What one run works on.
struct Controller::Snapshot {
  sdk::ObjectList<sdk::ObjectRef> pods, nodes;
  std::map<std::string_view, Node> node_by_name = {};

  explicit Snapshot(const sdk::Cache& cache)
      : pods(cache.List(kPodWatch)), nodes(cache.List(kNodeWatch)) {
    for (const sdk::ObjectRef& node : nodes) node_by_name.emplace(node.Name(), node.Root());
  }

  // Pods being deleted that wait for a node which will not answer.
  Pods OnOutOfServiceNodes() const {
    Pods out;
    for (const sdk::ObjectRef& pod : pods) {
      if (!rules::HasDeletionTimestamp(pod.Root())) continue;
      const auto node = node_by_name.find(rules::PodNodeName(pod.Root()));
      if (node != node_by_name.end() && IsOutOfService(node->second)) out.push_back(&pod);
    }
    return out;
  }
  // Pods being deleted that no node ever had.
  Pods Unscheduled() const {
    Pods out;
    for (const sdk::ObjectRef& pod : pods) {
      if (rules::HasDeletionTimestamp(pod.Root()) && rules::PodNodeName(pod.Root()).empty())
        out.push_back(&pod);
    }
    return out;
  }
};

Controller::Controller(sdk::Context& context) : context_(context) {
  deletions_ = context.DefineMetric({.name = "pod_gc_collector_force_delete_pods_total",
                                     .help = "Number of pods that are being forcefully deleted "
                                             "since the Pod GC Controller started.",
                                     .labels = {"namespace", "reason"},
                                     .buckets = {}});
  errors_ = context.DefineMetric({.name = "pod_gc_collector_force_delete_pod_errors_total",
                                  .help = "Number of errors encountered when forcefully deleting "
                                          "the pods since the Pod GC Controller started.",
                                  .labels = {"namespace", "reason"},
                                  .buckets = {}});
}

sdk::Outcome Controller::Reconcile(sdk::Run& run) {
  const std::lock_guard lock(mutex_);
  due_.emplace(run.name());
  return sdk::Outcome::Done();
}

kcm::Status Controller::OnTask(uint32_t, sdk::Run& run) {
  const Snapshot snapshot(context_.cache());
  DeleteTogether(run, SurplusPods(snapshot), {"terminated"});
  DeleteTogether(run, snapshot.OnOutOfServiceNodes(), {"out-of-service"});
  DeleteOneByOne(run, OrphanedPods(run, snapshot), {"orphaned", Disruption::kNodeGone});
  DeleteOneByOne(run, snapshot.Unscheduled(), {"unscheduled"});
  return Ok();
}

// ---- what to delete ----

Controller::Pods Controller::SurplusPods(const Snapshot& snapshot) const {
  const int64_t threshold = context_.config().Int(kThresholdFlag, kDefaultThreshold);
  std::vector<Node> roots;
  roots.reserve(snapshot.pods.size());
  for (const sdk::ObjectRef& pod : snapshot.pods) roots.push_back(pod.Root());
  Pods out;
  for (const size_t place : SurplusTerminated(roots, threshold))
    out.push_back(&snapshot.pods[place]);
  return out;
}

Controller::Pods Controller::OrphanedPods(const sdk::Run& run, const Snapshot& snapshot) {
  const std::set<std::string, std::less<>> gone = GoneNodes(run, snapshot);
  Pods out;
  if (gone.empty()) return out;
  for (const sdk::ObjectRef& pod : snapshot.pods)
    if (gone.contains(rules::PodNodeName(pod.Root()))) out.push_back(&pod);
  return out;
}

std::set<std::string, std::less<>> Controller::GoneNodes(const sdk::Run& run,
                                                         const Snapshot& snapshot) {
  std::set<std::string_view> unknown;
  for (const sdk::ObjectRef& pod : snapshot.pods) {
    const std::string_view node = rules::PodNodeName(pod.Root());
    if (!node.empty() && !snapshot.node_by_name.contains(node)) unknown.insert(node);
  }
  // A name that is in quarantine already keeps its time.
  for (const std::string_view node : unknown) context_.queue().AddAfter(node, kQuarantine);

  std::set<std::string, std::less<>> due;
  {
    const std::lock_guard lock(mutex_);
    due.swap(due_);
  }
  std::erase_if(due, [&](const std::string& node) {
    // Came back, has no pods any more, or the server, which alone knows, has it.
    if (!unknown.contains(node)) return true;
    const Result<sdk::WholeRef> live = run.client().Get(kNodes, {}, node, {.metadata_only = true});
    if (live.ok()) return true;
    if (rules::IsNotFound(live.error())) return false;
    if (!rules::IsShuttingDown(live.error()))
      run.log().Error(live.error().message, "Error fetching node", {{"node", node}});
    return true;
  });
  return due;
}

// ---- how it is deleted ----

void Controller::DeleteOneByOne(const sdk::Run& run, const Pods& pods, const Reason& reason) const {
  for (const sdk::ObjectRef* pod : pods) {
    if (run.Cancelled()) return;
    if (!MarkFailed(run, *pod, reason)) continue;
    Count(run, *pod, reason, run.client().Delete(kPods, pod->Namespace(), pod->Name(), kForced));
  }
}

void Controller::DeleteTogether(const sdk::Run& run, const Pods& pods, const Reason& reason) const {
  sdk::Client client = run.client();
  sdk::Client::Batch batch(client);
  for (const sdk::ObjectRef* pod : pods) {
    if (run.Cancelled()) break;
    if (!MarkFailed(run, *pod, reason)) continue;
    batch.Delete(kPods, pod->Namespace(), pod->Name(), kForced,
                 [&, pod](Status status) { Count(run, *pod, reason, status); });
  }
  batch.Wait();
}

bool Controller::MarkFailed(const sdk::Run& run, const sdk::ObjectRef& pod,
                            const Reason& reason) const {
  deletions_.Add({pod.Namespace(), reason.name});
  run.log().Info(2, "PodGC is force deleting Pod",
                 {{"pod", pod.Key()}, {"uid", pod.Uid()}, {"reason", reason.name}});
  if (rules::IsPodTerminal(pod.Root())) return true;
  const std::string patch = FailPatch(pod.Root(), reason.disruption, context_.clock().Now());
  const Result<sdk::WholeRef> answer = run.client().PatchObject(
      kPods, pod.Namespace(), pod.Name(), sdk::Patch::kStrategic, patch, {.subresource = "status"});
  if (answer.ok()) return true;
  Count(run, pod, reason, answer.error());
  return false;
}

void Controller::Count(const sdk::Run& run, const sdk::ObjectRef& pod, const Reason& reason,
                       const Status& deleted) const {
  if (deleted.ok() || IsEnding(deleted)) return;
  errors_.Add({pod.Namespace(), reason.name});
  run.log().Error(deleted.error().message, "Error force deleting pod",
                  {{"pod", pod.Key()}, {"reason", reason.name}});
}

}  // namespace kcm::pod::podgc
