// SPDX-License-Identifier: Apache-2.0
// The simple scheduler: bookkeeping of nodes and pods, choice, binding, report of pods that fit
// nowhere.
#include "devcluster/nodes/scheduler.h"

#include <algorithm>
#include <charconv>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "devcluster/nodes/placement.h"
#include "kcm/rules/time.h"

namespace kcm::devcluster::nodes {
namespace {

using host::clock::Clock;
using host::clock::Duration;
using nlohmann::json;

// Looking at more candidates spreads no better: 3 000 binds a second over 5 000 nodes must not be
// 15 million checks.
constexpr size_t kEnoughNodes = 50;
// Changes come in bursts; waiting pods are looked at once per burst.
constexpr Duration kRetrySoon = std::chrono::milliseconds(100);
constexpr Duration kRetryFailed = std::chrono::seconds(1);

std::string Dump(const json& j) { return j.dump(-1, ' ', false, json::error_handler_t::replace); }
std::string PodPath(const Pod& pod) { return "/api/v1/namespaces/" + pod.ns + "/pods/" + pod.name; }

bool OurConcern(const Pod& pod) {
  return pod.node.empty() && !pod.deleting && !pod.Finished() && !pod.gated &&
         (pod.scheduler.empty() || pod.scheduler == "default-scheduler");
}

std::string BindingBody(const Pod& pod, const std::string& node) {
  return Dump({{"apiVersion", "v1"},
               {"kind", "Binding"},
               {"metadata", {{"name", pod.name}, {"namespace", pod.ns}, {"uid", pod.uid}}},
               {"target", {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}}}});
}

std::string UnschedulableBody(const Pod& pod, const std::string& message, rules::WallTime now) {
  return Dump(
      {{"metadata", {{"uid", pod.uid}}},
       {"status",
        {{"conditions", json::array({{{"type", "PodScheduled"},
                                      {"status", "False"},
                                      {"reason", "Unschedulable"},
                                      {"message", message},
                                      {"lastTransitionTime", rules::FormatTime(now)}}})}}}});
}

std::string FailedSchedulingBody(const Pod& pod, const std::string& message, uint64_t number,
                                 rules::WallTime now) {
  char hex[16];
  const uint64_t unique = static_cast<uint64_t>(now.time_since_epoch().count()) + number;
  const auto end = std::to_chars(hex, hex + sizeof hex, unique, 16).ptr;
  const std::string time = rules::FormatTime(now);
  return Dump(
      {{"apiVersion", "v1"},
       {"kind", "Event"},
       {"metadata", {{"name", pod.name + "." + std::string(hex, end)}, {"namespace", pod.ns}}},
       {"involvedObject",
        {{"apiVersion", "v1"},
         {"kind", "Pod"},
         {"namespace", pod.ns},
         {"name", pod.name},
         {"uid", pod.uid},
         {"resourceVersion", std::to_string(pod.resource_version)}}},
       {"type", "Warning"},
       {"reason", "FailedScheduling"},
       {"message", message},
       {"source", {{"component", "default-scheduler"}}},
       {"reportingComponent", "default-scheduler"},
       {"count", 1},
       {"firstTimestamp", time},
       {"lastTimestamp", time}});
}

bool SameJson(const Json& x, const Json& y) {
  if (x == y) return true;
  return x != nullptr && y != nullptr && *x == *y;
}

bool SamePlace(const NodeObject& x, const NodeObject& y) {
  return SameJson(x.identity, y.identity) && x.unschedulable == y.unschedulable &&
         x.milli_cpu == y.milli_cpu && x.memory == y.memory && x.pods == y.pods &&
         SameJson(x.taints, y.taints);
}

// A pod in the scheduler's books.
struct Booked {
  Pod pod;           // as last seen; trimmed once it is on a node
  std::string node;  // where it counts: bound, or assumed while the binding is under way
  bool binding = false;
  bool waiting = false;  // fits nowhere now
  std::string message;   // reported last
};

}  // namespace

struct Scheduler::Impl {
  Clock& clock;
  WorkPool& pool;
  const std::function<void(const std::string&)> log;

  std::mutex mu;  // guards all below; never held over a request
  bool nodes_listed = false, claims_listed = false, pods_listed = false;
  std::unordered_map<std::string, std::unique_ptr<Room>> rooms;
  std::vector<Room*> order;  // round robin
  size_t next = 0;
  std::unordered_map<std::string, bool> claims;  // ns/name -> bound
  std::unordered_map<std::string, Booked> pods;  // by uid
  std::unordered_set<std::string> waiting;       // uids
  bool retry_planned = false;
  uint64_t events = 0;

  Impl(Clock& c, WorkPool& p, std::function<void(const std::string&)> l)
      : clock(c), pool(p), log(std::move(l)) {}

  // What a decision leads to; carried out without the lock.
  struct Outcome {
    Pod pod;
    std::string node;     // bind there, or
    std::string message;  // report this
    uint64_t event_number = 0;
  };
  using Outcomes = std::vector<Outcome>;

  bool ListedLocked() const { return nodes_listed && claims_listed && pods_listed; }
  std::optional<std::string> MissingClaimLocked(const Pod& pod) const;
  Room* ChooseLocked(const Placement& placement, std::map<std::string, int>* reasons);
  void DecideLocked(Booked& booked, Outcomes* out);
  void DecideWaitingLocked(Outcomes* out);
  void DecideAllLocked(Outcomes* out);
  void PlanRetryLocked();
  void CarryOut(Outcomes outcomes);
  void Bind(WorkPool::Worker& worker, const Pod& pod, const std::string& node);
  void Report(WorkPool::Worker& worker, const Outcome& outcome);

  void BookLocked(Pod pod, Outcomes* out);
  void ForgetLocked(const std::string& uid);
  void MoveLocked(Booked& booked, const std::string& node);
  bool PutNodeLocked(NodeObject node);
  void DropNodeLocked(const std::string& name);
};

// ---- deciding

std::optional<std::string> Scheduler::Impl::MissingClaimLocked(const Pod& pod) const {
  for (const std::string& name : pod.claims) {
    const auto it = claims.find(pod.ns + "/" + name);
    if (it == claims.end()) return "persistentvolumeclaim \"" + name + "\" not found";
    if (!it->second) return std::string("pod has unbound immediate PersistentVolumeClaims");
  }
  return std::nullopt;
}

// The least loaded of the first kEnoughNodes nodes that fit, starting where the last choice ended.
Room* Scheduler::Impl::ChooseLocked(const Placement& placement,
                                    std::map<std::string, int>* reasons) {
  Room* best = nullptr;
  size_t fitting = 0;
  const auto consider = [&](Room* room) {
    const std::vector<std::string> why_not = placement.Against(*room);
    for (const std::string& reason : why_not) ++(*reasons)[reason];
    if (!why_not.empty()) return;
    ++fitting;
    if (best == nullptr || room->Load() < best->Load()) best = room;
  };
  if (!placement.pinned().empty()) {
    for (const std::string& name : placement.pinned()) {
      const auto it = rooms.find(name);
      if (it != rooms.end()) consider(it->second.get());
    }
    const int others = static_cast<int>(rooms.size()) - static_cast<int>(fitting);
    if (best == nullptr && reasons->empty() && others > 0) {
      (*reasons)["node(s) didn't match Pod's node affinity/selector"] = others;
    }
    return best;
  }
  for (size_t i = 0; i < order.size() && fitting < kEnoughNodes; ++i) {
    consider(order[next]);
    next = (next + 1) % order.size();
  }
  return best;
}

void Scheduler::Impl::DecideLocked(Booked& booked, Outcomes* out) {
  if (!ListedLocked() || booked.binding || !OurConcern(booked.pod)) return;
  std::string message;
  if (rooms.empty()) {
    message = "no nodes available to schedule pods";
  } else if (const auto missing = MissingClaimLocked(booked.pod)) {
    message = UnschedulableMessage(rooms.size(), {{*missing, 0}});
  } else {
    std::map<std::string, int> reasons;
    const Placement placement(booked.pod);
    Room* room = ChooseLocked(placement, &reasons);
    if (room != nullptr) {
      booked.binding = true;
      booked.waiting = false;
      waiting.erase(booked.pod.uid);
      MoveLocked(booked, room->node.name);
      out->push_back({booked.pod, booked.node, {}, 0});
      return;
    }
    message = UnschedulableMessage(rooms.size(), reasons);
  }
  booked.waiting = true;
  waiting.insert(booked.pod.uid);
  if (booked.message == message) return;
  booked.message = message;
  out->push_back({booked.pod, {}, message, ++events});
}

void Scheduler::Impl::DecideWaitingLocked(Outcomes* out) {
  const std::vector<std::string> uids(waiting.begin(), waiting.end());
  for (const std::string& uid : uids) {
    const auto it = pods.find(uid);
    if (it != pods.end()) DecideLocked(it->second, out);
  }
}

void Scheduler::Impl::DecideAllLocked(Outcomes* out) {
  if (!ListedLocked()) return;
  for (auto& [uid, booked] : pods) DecideLocked(booked, out);
}

void Scheduler::Impl::PlanRetryLocked() {
  if (retry_planned || waiting.empty()) return;
  retry_planned = true;
  pool.SubmitAfter(kRetrySoon, [this](WorkPool::Worker&) {
    Outcomes out;
    {
      const std::lock_guard lock(mu);
      retry_planned = false;
      DecideWaitingLocked(&out);
    }
    CarryOut(std::move(out));
  });
}

// ---- acting

void Scheduler::Impl::CarryOut(Outcomes outcomes) {
  for (Outcome& o : outcomes) {
    if (!o.node.empty()) {
      pool.Submit([this, pod = std::move(o.pod), node = std::move(o.node)](WorkPool::Worker& w) {
        Bind(w, pod, node);
      });
    } else {
      pool.Submit([this, o = std::move(o)](WorkPool::Worker& w) { Report(w, o); });
    }
  }
}

void Scheduler::Impl::Bind(WorkPool::Worker& worker, const Pod& pod, const std::string& node) {
  const Answer a = worker.Call("POST", PodPath(pod) + "/binding", BindingBody(pod, node));
  const std::lock_guard lock(mu);
  const auto it = pods.find(pod.uid);
  if (it == pods.end()) return;
  Booked& booked = it->second;
  // `binding` stays until the watch shows the node, so that an older event does not start another
  // binding.
  if (a.ok() || !booked.pod.node.empty()) return;
  booked.binding = false;
  MoveLocked(booked, "");
  if (a.status == 404) return;
  if (log) log("bind " + pod.ns + "/" + pod.name + " to " + node + ": " + a.Describe());
  pool.SubmitAfter(kRetryFailed, [this, uid = pod.uid](WorkPool::Worker&) {
    Outcomes out;
    {
      const std::lock_guard again(mu);
      const auto found = pods.find(uid);
      if (found != pods.end()) DecideLocked(found->second, &out);
    }
    CarryOut(std::move(out));
  });
}

void Scheduler::Impl::Report(WorkPool::Worker& worker, const Outcome& outcome) {
  const Pod& pod = outcome.pod;
  const rules::WallTime now = clock.Now();
  const Answer a = worker.Call("PATCH", PodPath(pod) + "/status",
                               UnschedulableBody(pod, outcome.message, now), kStrategicPatch);
  if (!a.ok()) return;  // gone, or bound meanwhile
  worker.Call("POST", "/api/v1/namespaces/" + pod.ns + "/events",
              FailedSchedulingBody(pod, outcome.message, outcome.event_number, now));
}

// ---- bookkeeping

void Scheduler::Impl::MoveLocked(Booked& booked, const std::string& node) {
  if (booked.node == node) return;
  const auto from = rooms.find(booked.node);
  if (from != rooms.end()) from->second->Give(booked.pod);
  booked.node = node;
  const auto to = rooms.find(node);
  if (to != rooms.end()) to->second->Take(booked.pod);
}

void Scheduler::Impl::ForgetLocked(const std::string& uid) {
  const auto it = pods.find(uid);
  if (it == pods.end()) return;
  const bool freed = !it->second.node.empty();
  MoveLocked(it->second, "");
  waiting.erase(uid);
  pods.erase(it);
  if (freed) PlanRetryLocked();
}

void Scheduler::Impl::BookLocked(Pod pod, Outcomes* out) {
  if (pod.Finished()) return ForgetLocked(pod.uid);  // its resources are free
  const auto [it, fresh] = pods.try_emplace(pod.uid);
  Booked& booked = it->second;
  if (!pod.node.empty()) {
    if (fresh || booked.pod.node.empty()) {
      waiting.erase(pod.uid);
      booked.waiting = false;
      const std::string node = pod.node;
      pod.containers.clear();
      pod.annotations.clear();
      pod.scheduling.reset();
      // Same requests before and after: what was taken for an assumed place is given back in full.
      pod.milli_cpu = fresh ? pod.milli_cpu : booked.pod.milli_cpu;
      pod.memory = fresh ? pod.memory : booked.pod.memory;
      booked.pod = std::move(pod);
      MoveLocked(booked, node);
    }
    return;
  }
  if (booked.binding) return;  // an event from before our binding
  const bool same = !fresh && booked.waiting && booked.pod.gated == pod.gated &&
                    booked.pod.deleting == pod.deleting && booked.pod.claims == pod.claims &&
                    SameJson(booked.pod.scheduling, pod.scheduling);
  if (fresh) booked.message = pod.scheduled_message;
  booked.pod = std::move(pod);
  if (booked.pod.deleting) {
    waiting.erase(booked.pod.uid);
    booked.waiting = false;
  }
  if (!same) DecideLocked(booked, out);
}

// Whether pods that wait may have a chance now.
bool Scheduler::Impl::PutNodeLocked(NodeObject node) {
  const auto it = rooms.find(node.name);
  if (it != rooms.end()) {
    const bool same = SamePlace(it->second->node, node);
    it->second->node = std::move(node);
    return !same;
  }
  auto room = std::make_unique<Room>();
  room->node = std::move(node);
  // Pods may be known before their node (and outlive it).
  for (const auto& [uid, booked] : pods) {
    if (booked.node == room->node.name) room->Take(booked.pod);
  }
  order.push_back(room.get());
  rooms.emplace(room->node.name, std::move(room));
  return true;
}

void Scheduler::Impl::DropNodeLocked(const std::string& name) {
  const auto it = rooms.find(name);
  if (it == rooms.end()) return;
  std::erase(order, it->second.get());
  rooms.erase(it);
  next = 0;
}

// ---- the outside

Scheduler::Scheduler(Clock& clock, WorkPool& pool, std::function<void(const std::string&)> log)
    : impl_(std::make_unique<Impl>(clock, pool, std::move(log))) {}
Scheduler::~Scheduler() = default;

void Scheduler::OnNodes(std::vector<NodeObject> all) {
  Impl::Outcomes out;
  {
    const std::lock_guard lock(impl_->mu);
    std::unordered_set<std::string> there;
    for (const NodeObject& node : all) there.insert(node.name);
    std::vector<std::string> lost;
    for (const auto& [name, room] : impl_->rooms) {
      if (!there.contains(name)) lost.push_back(name);
    }
    for (const std::string& name : lost) impl_->DropNodeLocked(name);
    for (NodeObject& node : all) impl_->PutNodeLocked(std::move(node));
    impl_->nodes_listed = true;
    impl_->DecideAllLocked(&out);
  }
  impl_->CarryOut(std::move(out));
}

void Scheduler::OnNode(Change change, NodeObject node) {
  const std::lock_guard lock(impl_->mu);
  if (change == Change::kDeleted) {
    impl_->DropNodeLocked(node.name);
  } else if (!impl_->PutNodeLocked(std::move(node))) {
    return;
  }
  impl_->PlanRetryLocked();
}

void Scheduler::OnClaims(std::vector<Claim> all) {
  Impl::Outcomes out;
  {
    const std::lock_guard lock(impl_->mu);
    impl_->claims.clear();
    for (const Claim& c : all) impl_->claims[c.ns + "/" + c.name] = c.bound;
    impl_->claims_listed = true;
    impl_->DecideAllLocked(&out);
  }
  impl_->CarryOut(std::move(out));
}

void Scheduler::OnClaim(Change change, const Claim& claim) {
  const std::lock_guard lock(impl_->mu);
  if (change == Change::kDeleted) {
    impl_->claims.erase(claim.ns + "/" + claim.name);
  } else {
    impl_->claims[claim.ns + "/" + claim.name] = claim.bound;
  }
  impl_->PlanRetryLocked();
}

void Scheduler::OnPods(std::vector<Pod> all) {
  Impl::Outcomes out;
  {
    const std::lock_guard lock(impl_->mu);
    std::unordered_set<std::string> there;
    for (const Pod& pod : all) there.insert(pod.uid);
    std::vector<std::string> lost;
    for (const auto& [uid, booked] : impl_->pods) {
      if (!there.contains(uid)) lost.push_back(uid);
    }
    for (const std::string& uid : lost) impl_->ForgetLocked(uid);
    for (Pod& pod : all) impl_->BookLocked(std::move(pod), &out);
    impl_->pods_listed = true;
    impl_->DecideAllLocked(&out);
  }
  impl_->CarryOut(std::move(out));
}

void Scheduler::OnPod(Change change, Pod pod) {
  Impl::Outcomes out;
  {
    const std::lock_guard lock(impl_->mu);
    if (change == Change::kDeleted) {
      impl_->ForgetLocked(pod.uid);
    } else {
      impl_->BookLocked(std::move(pod), &out);
    }
  }
  impl_->CarryOut(std::move(out));
}

}  // namespace kcm::devcluster::nodes
