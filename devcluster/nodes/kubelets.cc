// SPDX-License-Identifier: Apache-2.0
// The simulated kubelets: which nodes are alive.
#include "devcluster/nodes/kubelets.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <utility>

#include "devcluster/nodes/pod_course.h"
#include "devcluster/nodes/pod_workers.h"
#include "devcluster/nodes/reports.h"
#include "kcm/rules/json_node.h"

namespace kcm::devcluster::nodes {
namespace {

using host::clock::Clock;
using host::clock::Duration;

constexpr Duration kStatusPeriod = std::chrono::seconds(60);
// Beats are spread over the period in groups of about this size, so that 5 000 nodes are no burst
// every ten seconds.
constexpr size_t kNodesPerSlot = 50;
constexpr size_t kMostSlots = 40;

struct SimulatedNode {
  std::string uid;  // of a guest: owner of its lease
  Strings annotations;
  Json identity;  // null until the watch has shown the node
  bool own = false;
  bool gone = false;             // own, and deleted through the API: as a machine that is off
  bool failed_by_order = false;  // Fail()
  bool beating = false;          // a lease renewal waits or runs: a slow server gets no second one

  bool Failed() const { return gone || failed_by_order || Says(annotations, "sim/fail", "true"); }
};

}  // namespace

struct Kubelets::Impl {
  Clock& clock;
  WorkPool& pool;
  const KubeletOptions options;

  std::mutex mu;  // guards all below; never held over a request
  std::unordered_map<std::string, SimulatedNode> nodes;
  std::unordered_map<std::string, size_t> slots;  // node -> slot; kept when a guest goes
  std::vector<std::vector<std::string>> slot_nodes;
  size_t next_slot = 0;
  PodWorkers pods;  // takes its own lock before ours

  Impl(Clock& c, WorkPool& p, KubeletOptions o)
      : clock(c),
        pool(p),
        options(std::move(o)),
        pods(
            c, p, [this](const std::string& node) { return Runs(node); }, options.log) {
    const size_t n = static_cast<size_t>(std::max(options.count, 0));
    slot_nodes.resize(std::clamp(n / kNodesPerSlot, size_t{1}, kMostSlots));
  }

  void Log(const std::string& line) const {
    if (options.log) options.log(line);
  }
  std::string Name(int i) const { return options.prefix + std::to_string(i); }

  // Nodes.
  Status RegisterOne(WorkPool::Worker& worker, int index);
  void AssignSlotLocked(const std::string& name);
  void Beat(WorkPool::Worker& worker, const std::string& name);
  void SubmitBeat(const std::string& name);
  void BeatSlot(size_t slot);
  void ReportSlot(size_t slot);
  void Report(const std::string& name, bool full);
  void ComeBack(const std::string& name, bool full);
  void SeeNode(const NodeObject& node);
  void LoseNode(const std::string& name);
  bool Runs(const std::string& name);
};

// ---- nodes

Status Kubelets::Impl::RegisterOne(WorkPool::Worker& worker, int index) {
  const std::string name = Name(index);
  const Answer made = worker.Call("POST", "/api/v1/nodes", NodeBody(name, index, options.zones));
  if (!made.ok() && made.status != 409) {
    return MakeError(Code::kUnavailable, "register node " + name + ": " + made.Describe());
  }
  const Answer status = worker.Call("PATCH", "/api/v1/nodes/" + name + "/status",
                                    NodeRegistration(index, clock.Now()), kMergePatch);
  if (!status.ok()) {
    return MakeError(Code::kUnavailable, "status of node " + name + ": " + status.Describe());
  }
  Beat(worker, name);
  return Ok();
}

void Kubelets::Impl::AssignSlotLocked(const std::string& name) {
  const auto [it, fresh] = slots.emplace(name, next_slot);
  if (!fresh) return;
  slot_nodes[next_slot].push_back(name);
  next_slot = (next_slot + 1) % slot_nodes.size();
}

void Kubelets::Impl::Beat(WorkPool::Worker& worker, const std::string& name) {
  std::string uid;
  {
    const std::lock_guard lock(mu);
    const auto it = nodes.find(name);
    if (it == nodes.end()) return;
    it->second.beating = false;
    if (it->second.Failed()) return;
    if (!it->second.own) uid = it->second.uid;
  }
  const std::string leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
  Answer a =
      worker.Call("PATCH", leases + "/" + name, LeaseRenewal(name, clock.Now()), kMergePatch);
  if (a.status == 404) a = worker.Call("POST", leases, LeaseBody(name, uid, clock.Now()));
  if (!a.ok() && a.status != 409) Log("lease of " + name + ": " + a.Describe());
}

void Kubelets::Impl::SubmitBeat(const std::string& name) {
  pool.Submit([this, name](WorkPool::Worker& w) { Beat(w, name); }, WorkPool::Lane::kHeartbeat);
}

void Kubelets::Impl::BeatSlot(size_t slot) {
  std::vector<std::string> due;
  {
    const std::lock_guard lock(mu);
    for (const std::string& name : slot_nodes[slot]) {
      const auto it = nodes.find(name);
      if (it == nodes.end() || it->second.Failed() || it->second.beating) continue;
      it->second.beating = true;
      due.push_back(name);
    }
  }
  for (const std::string& name : due) SubmitBeat(name);
  pool.SubmitAfter(
      options.heartbeat, [this, slot](WorkPool::Worker&) { BeatSlot(slot); },
      WorkPool::Lane::kHeartbeat);
}

void Kubelets::Impl::ReportSlot(size_t slot) {
  std::vector<std::string> due;
  {
    const std::lock_guard lock(mu);
    for (const std::string& name : slot_nodes[slot]) {
      const auto it = nodes.find(name);
      if (it != nodes.end() && !it->second.Failed()) due.push_back(name);
    }
  }
  for (const std::string& name : due) Report(name, false);
  pool.SubmitAfter(
      kStatusPeriod, [this, slot](WorkPool::Worker&) { ReportSlot(slot); },
      WorkPool::Lane::kHeartbeat);
}

void Kubelets::Impl::Report(const std::string& name, bool full) {
  pool.Submit(
      [this, name, full](WorkPool::Worker& w) {
        std::string forced;
        {
          const std::lock_guard lock(mu);
          const auto it = nodes.find(name);
          if (it == nodes.end() || it->second.Failed()) return;
          forced = Value(it->second.annotations, "sim/conditions");
        }
        const Answer a = w.Call("PATCH", "/api/v1/nodes/" + name + "/status",
                                NodeReport(forced, full, clock.Now()), kStrategicPatch);
        if (!a.ok() && a.status != 404) Log("status of " + name + ": " + a.Describe());
      },
      WorkPool::Lane::kHeartbeat);
}

// A node that appears or recovers reports, beats, and looks at the pods that were bound to it
// meanwhile.
void Kubelets::Impl::ComeBack(const std::string& name, bool full) {
  Report(name, full);
  SubmitBeat(name);
  pods.Recover(name);
  pool.Submit([this, name](WorkPool::Worker& w) {
    Answer a = w.Call("GET", "/api/v1/pods?fieldSelector=spec.nodeName%3D" + name);
    if (!a.ok()) return Log("pods of " + name + ": " + a.Describe());
    Decoder<Pod> decoder;
    const Result<Page<Pod>> page = decoder.List(&a.body);
    if (!page.ok()) return Log("pods of " + name + ": " + page.error().message);
    for (const Pod& pod : page->objects) pods.See(pod);
  });
}

bool Kubelets::Impl::Runs(const std::string& name) {
  const std::lock_guard lock(mu);
  const auto it = nodes.find(name);
  return it != nodes.end() && !it->second.Failed();
}

void Kubelets::Impl::SeeNode(const NodeObject& node) {
  bool back = false, full = false;
  {
    const std::lock_guard lock(mu);
    auto it = nodes.find(node.name);
    if (it == nodes.end() && !node.guest) return;
    if (it == nodes.end()) {
      full = back = true;
      it = nodes.emplace(node.name, SimulatedNode{}).first;
      AssignSlotLocked(node.name);
    }
    SimulatedNode& known = it->second;
    const bool failed = known.Failed();
    const bool replaced = !known.uid.empty() && known.uid != node.uid;
    const bool forced =
        Value(known.annotations, "sim/conditions") != Value(node.annotations, "sim/conditions");
    known.uid = node.uid;
    known.annotations = node.annotations;
    known.identity = node.identity;
    known.gone = false;
    if (known.Failed()) return;
    back = back || failed || replaced || forced;
    full = full || replaced;
  }
  if (back) ComeBack(node.name, full);
}

void Kubelets::Impl::LoseNode(const std::string& name) {
  const std::lock_guard lock(mu);
  const auto it = nodes.find(name);
  if (it == nodes.end()) return;
  if (it->second.own) {
    it->second.gone = true;
  } else {
    nodes.erase(it);
  }
}

// ---- the outside

Kubelets::Kubelets(Clock& clock, WorkPool& pool, KubeletOptions options)
    : impl_(std::make_unique<Impl>(clock, pool, std::move(options))) {}
Kubelets::~Kubelets() = default;

namespace {
// Counts registrations that are still to end; shared with the work, which a stopping pool may drop
// unrun.
struct Registrations {
  std::mutex mu;
  std::condition_variable cv;
  int left = 0;
  std::optional<Error> first;

  void Failed(const Error& e) {
    const std::lock_guard lock(mu);
    if (!first) first = e;
  }
  void Ended() {
    const std::lock_guard lock(mu);
    --left;
    cv.notify_all();
  }
};
}  // namespace

Status Kubelets::Register() {
  Impl& impl = *impl_;
  const auto all = std::make_shared<Registrations>();
  all->left = std::max(impl.options.count, 0);
  for (int i = 0; i < impl.options.count; ++i) {
    {
      const std::lock_guard lock(impl.mu);
      impl.nodes[impl.Name(i)].own = true;
      impl.AssignSlotLocked(impl.Name(i));
    }
    // Ends with the last copy of the work: run or dropped.
    const std::shared_ptr<void> ticket(nullptr, [all](void*) { all->Ended(); });
    impl.pool.Submit([&impl, all, ticket, i](WorkPool::Worker& w) {
      const Status s = impl.RegisterOne(w, i);
      if (!s.ok()) all->Failed(s.error());
    });
  }
  std::unique_lock lock(all->mu);
  impl.clock.Wait(lock, all->cv, host::clock::MonoTime::Max(), [&all] { return all->left == 0; });
  if (all->first) return *all->first;
  return Ok();
}

void Kubelets::StartHeartbeats() {
  Impl& impl = *impl_;
  const size_t n = impl.slot_nodes.size();
  for (size_t slot = 0; slot < n; ++slot) {
    const int64_t part = static_cast<int64_t>(slot + 1);
    const int64_t all = static_cast<int64_t>(n);
    impl.pool.SubmitAfter(
        impl.options.heartbeat * part / all,
        [&impl, slot](WorkPool::Worker&) { impl.BeatSlot(slot); }, WorkPool::Lane::kHeartbeat);
    impl.pool.SubmitAfter(
        kStatusPeriod * part / all, [&impl, slot](WorkPool::Worker&) { impl.ReportSlot(slot); },
        WorkPool::Lane::kHeartbeat);
  }
}

void Kubelets::OnNodes(std::vector<NodeObject> all) {
  std::vector<std::string> lost;
  {
    const std::lock_guard lock(impl_->mu);
    std::unordered_map<std::string, bool> there;
    for (const NodeObject& node : all) there[node.name] = true;
    for (const auto& [name, node] : impl_->nodes) {
      if (!there.contains(name)) lost.push_back(name);
    }
  }
  for (const std::string& name : lost) impl_->LoseNode(name);
  for (const NodeObject& node : all) impl_->SeeNode(node);
}

void Kubelets::OnNode(Change change, NodeObject node) {
  if (change == Change::kDeleted) return impl_->LoseNode(node.name);
  impl_->SeeNode(node);
}

void Kubelets::OnPods(const std::vector<Pod>& all) { impl_->pods.OnPods(all); }

void Kubelets::OnPod(Change change, const Pod& pod) { impl_->pods.OnPod(change, pod); }

PodWorkers& Kubelets::pods() { return impl_->pods; }

bool Kubelets::Simulates(const std::string& node) const {
  const std::lock_guard lock(impl_->mu);
  return impl_->nodes.contains(node);
}

std::map<std::string, Strings> Kubelets::RunningNodes() const {
  const std::lock_guard lock(impl_->mu);
  std::map<std::string, Strings> out;
  for (const auto& [name, node] : impl_->nodes) {
    if (node.Failed() || node.identity == nullptr) continue;
    Strings& labels = out[name];
    for (const auto [key, value] :
         rules::JsonNode(*node.identity).Get("metadata").Get("labels").Entries()) {
      labels.emplace(key, value.String());
    }
  }
  return out;
}

Status Kubelets::Fail(const std::string& node) {
  const std::lock_guard lock(impl_->mu);
  const auto it = impl_->nodes.find(node);
  if (it == impl_->nodes.end())
    return MakeError(Code::kNotFound, "no simulated node is called " + node);
  it->second.failed_by_order = true;
  return Ok();
}

Status Kubelets::Resume(const std::string& node) {
  {
    const std::lock_guard lock(impl_->mu);
    const auto it = impl_->nodes.find(node);
    if (it == impl_->nodes.end()) {
      return MakeError(Code::kNotFound, "no simulated node is called " + node);
    }
    if (!std::exchange(it->second.failed_by_order, false)) return Ok();
    if (it->second.Failed()) return Ok();
  }
  impl_->ComeBack(node, false);
  return Ok();
}

}  // namespace kcm::devcluster::nodes
