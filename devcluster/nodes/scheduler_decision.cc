// SPDX-License-Identifier: Apache-2.0
// The choice of a node for a pod, and of pods to evict for it.
#include <algorithm>
#include <utility>

#include "devcluster/nodes/scheduler_impl.h"

namespace kcm::devcluster::nodes {
namespace {

using host::clock::Duration;

// Looking at more candidates spreads no better: 3 000 binds a second over 5 000 nodes must not be
// 15 million checks.
constexpr size_t kEnoughNodes = 50;
constexpr size_t kEnoughEvictions = 20;
// Changes come in bursts; waiting pods are looked at once per burst.
constexpr Duration kRetrySoon = std::chrono::milliseconds(100);

constexpr char kWrongNode[] = "node(s) didn't match Pod's node affinity/selector";

bool OurConcern(const Pod& pod) {
  return pod.node.empty() && !pod.deleting && !pod.Finished() && !pod.gated &&
         (pod.scheduler.empty() || pod.scheduler == "default-scheduler");
}

}  // namespace

bool Scheduler::Impl::ListedLocked() const {
  return nodes_listed && claims_listed && pods_listed && unlisted.empty();
}

// The pods on nodes that matter for `pod`, but for `without`.
std::vector<PlacedPod> Scheduler::Impl::PlacedLocked(const Pod& pod,
                                                     const std::vector<const Pod*>& without) const {
  std::vector<PlacedPod> out;
  const auto add = [&](const BookedPod& booked) {
    const auto room = rooms.find(booked.node);
    if (room == rooms.end()) return;
    if (std::find(without.begin(), without.end(), &booked.pod) != without.end()) return;
    out.push_back({&booked.pod, &room->second->node});
  };
  if (MindsOtherNamespaces(pod)) {
    for (const auto& [uid, booked] : pods) add(booked);
    return out;
  }
  const bool minds = MindsNeighbours(pod);
  const auto own = in.find(pod.ns);
  if (minds && own != in.end()) {
    for (const std::string& uid : own->second) add(pods.at(uid));
  }
  for (const std::string& uid : defensive) {
    const BookedPod& booked = pods.at(uid);
    if (!minds || booked.pod.ns != pod.ns) add(booked);
  }
  return out;
}

std::optional<Neighbours> Scheduler::Impl::NeighboursLocked(
    const Pod& pod, const Placement& placement, const std::vector<const Pod*>& without) const {
  const bool minds = MindsNeighbours(pod);
  if (!minds && defensive.empty()) return std::nullopt;
  std::vector<const NodeObject*> nodes;
  if (minds) {
    for (const Room* room : order) nodes.push_back(&room->node);
  }
  return Neighbours(pod, placement, PlacedLocked(pod, without), nodes);
}

// What the room is short of when the places of pods that others were evicted for stay free.
std::vector<std::string> Scheduler::Impl::ShortageLocked(const Question& q,
                                                         const Room& room) const {
  const auto kept = nominated.find(room.node.name);
  if (kept == nominated.end()) return q.placement.ShortageOf(room);
  Room fuller = room;
  for (const std::string& uid : kept->second) {
    const Pod& other = pods.at(uid).pod;
    if (uid != q.pod.uid && other.priority >= q.pod.priority) fuller.Take(other);
  }
  return q.placement.ShortageOf(fuller);
}

std::vector<std::string> Scheduler::Impl::AgainstLocked(const Question& q, const Room& room) const {
  std::string why = q.placement.ForbiddenOn(room.node);
  if (!why.empty()) return {std::move(why)};
  std::vector<std::string> shortage = ShortageLocked(q, room);
  if (!shortage.empty()) return shortage;
  why = q.volumes.Against(room.node);
  if (why.empty() && q.neighbours != nullptr) why = q.neighbours->Against(room.node);
  if (why.empty()) why = q.devices.Against(room.node);
  if (!why.empty()) return {std::move(why)};
  return {};
}

Room* Scheduler::Impl::ChoosePinnedLocked(const Question& q, std::map<std::string, int>* reasons) {
  for (const std::string& name : q.placement.pinned()) {
    const auto it = rooms.find(name);
    if (it == rooms.end()) continue;
    const std::vector<std::string> why_not = AgainstLocked(q, *it->second);
    if (why_not.empty()) return it->second.get();
    for (const std::string& reason : why_not) ++(*reasons)[reason];
  }
  if (reasons->empty() && !rooms.empty()) (*reasons)[kWrongNode] = static_cast<int>(rooms.size());
  return nullptr;
}

// The best of the first kEnoughNodes nodes that fit, starting where the last choice ended.
Room* Scheduler::Impl::ChooseLocked(const Question& q, std::map<std::string, int>* reasons) {
  if (!q.placement.pinned().empty()) return ChoosePinnedLocked(q, reasons);
  Room* best = nullptr;
  double least = 0;
  size_t fitting = 0;
  for (size_t i = 0; i < order.size() && fitting < kEnoughNodes; ++i) {
    Room* room = order[next];
    next = (next + 1) % order.size();
    const std::vector<std::string> why_not = AgainstLocked(q, *room);
    for (const std::string& reason : why_not) ++(*reasons)[reason];
    if (!why_not.empty()) continue;
    ++fitting;
    double dislike = room->Load() + q.placement.Dislike(room->node);
    if (q.neighbours != nullptr) dislike += q.neighbours->Dislike(room->node);
    if (best != nullptr && dislike >= least) continue;
    best = room;
    least = dislike;
  }
  return best;
}

// nullopt: eviction does not help, or is not wanted.
std::optional<Eviction> Scheduler::Impl::PreemptLocked(const BookedPod& booked,
                                                       const Question& q) const {
  if (q.pod.never_preempts) return std::nullopt;
  const auto lower_on = [&](const std::string& node) {
    std::vector<const Pod*> out;
    const auto there = on.find(node);
    if (there == on.end()) return out;
    for (const std::string& uid : there->second) {
      const Pod& pod = pods.at(uid).pod;
      if (pod.priority < q.pod.priority) out.push_back(&pod);
    }
    return out;
  };
  // The pods that it waits for are still on their way out.
  for (const Pod* pod : lower_on(booked.nominated)) {
    if (pod->deleting) return std::nullopt;
  }
  std::optional<Eviction> best;
  size_t found = 0;
  for (const Room* room : order) {
    if (found == kEnoughEvictions) break;
    if (!q.placement.ForbiddenOn(room->node).empty() || !q.volumes.Against(room->node).empty() ||
        !q.devices.Against(room->node).empty()) {
      continue;
    }
    Eviction e{room->node.name, {}};
    e.victims = VictimsOn(*room, lower_on(room->node.name),
                          [&](const Room& left, const std::vector<const Pod*>& gone) {
                            if (!ShortageLocked(q, left).empty()) return false;
                            const auto n = NeighboursLocked(q.pod, q.placement, gone);
                            return !n || n->Against(left.node).empty();
                          });
    if (e.victims.empty()) continue;
    ++found;
    if (!best || HurtsLess(e, *best)) best = std::move(e);
  }
  return best;
}

void Scheduler::Impl::NominateLocked(BookedPod& booked, const std::string& node) {
  const auto old = nominated.find(booked.nominated);
  if (old != nominated.end()) {
    old->second.erase(booked.pod.uid);
    if (old->second.empty()) nominated.erase(old);
  }
  booked.nominated = node;
  if (!node.empty()) nominated[node].insert(booked.pod.uid);
}

void Scheduler::Impl::AssumeLocked(BookedPod& booked, const Room& room, const Question& q,
                                   Outcomes* out) {
  booked.binding = true;
  booked.waiting = false;
  ++booked.attempt;
  waiting.erase(booked.pod.uid);
  NominateLocked(booked, "");
  booked.devices = q.devices.Allocations(room.node);
  booked.devices_written = false;
  for (const ClaimAllocation& a : booked.devices) {
    if (a.allocation != nullptr) devices.promised[Key(a.ns, a.claim)] = a.devices;
  }
  Outcome o;
  o.steps = q.volumes.Steps(room.node);
  for (const ClaimStep& step : o.steps) {
    if (step.volume.empty()) continue;
    volumes.promised[step.volume] = step.claim_uid;
    booked.volumes.push_back(step.volume);
  }
  o.node = room.node.name;
  MoveLocked(booked, room.node.name);
  o.pod = booked.pod;
  out->push_back(std::move(o));
}

void Scheduler::Impl::DecideLocked(BookedPod& booked, Outcomes* out) {
  if (!ListedLocked() || booked.binding || !OurConcern(booked.pod)) return;
  Outcome o;
  const VolumeChoice volume_choice(booked.pod, volumes);
  const DeviceChoice device_choice(booked.pod, devices);
  if (rooms.empty()) {
    o.message = "no nodes available to schedule pods";
  } else if (volume_choice.missing()) {
    o.message = UnschedulableMessage(rooms.size(), {{*volume_choice.missing(), 0}});
  } else if (device_choice.missing()) {
    o.message = UnschedulableMessage(rooms.size(), {{*device_choice.missing(), 0}});
  } else {
    const Placement placement(booked.pod);
    const std::optional<Neighbours> neighbours = NeighboursLocked(booked.pod, placement, {});
    const Question q{booked.pod, placement, neighbours ? &*neighbours : nullptr, volume_choice,
                     device_choice};
    std::map<std::string, int> reasons;
    const Room* room = ChooseLocked(q, &reasons);
    if (room != nullptr) return AssumeLocked(booked, *room, q, out);
    o.message = UnschedulableMessage(rooms.size(), reasons);
    if (const std::optional<Eviction> eviction = PreemptLocked(booked, q)) {
      for (const Pod* victim : eviction->victims) {
        if (victim->deleting) continue;
        o.victims.push_back(*victim);
        pods.at(victim->uid).pod.deleting = true;  // what the watch will show: once is enough
      }
      o.nominated = eviction->node;
      NominateLocked(booked, eviction->node);
    }
  }
  booked.waiting = true;
  waiting.insert(booked.pod.uid);
  if (booked.message == o.message && o.nominated.empty()) return;
  booked.message = o.message;
  o.pod = booked.pod;
  o.event_number = ++events;
  events += o.victims.size();  // each has an event too
  out->push_back(std::move(o));
}

// The important first, then as they came.
void Scheduler::Impl::DecideInOrderLocked(std::vector<BookedPod*> some, Outcomes* out) {
  std::sort(some.begin(), some.end(), [](const BookedPod* x, const BookedPod* y) {
    if (x->pod.priority != y->pod.priority) return x->pod.priority > y->pod.priority;
    return x->sequence < y->sequence;
  });
  for (BookedPod* booked : some) DecideLocked(*booked, out);
}

void Scheduler::Impl::DecideWaitingLocked(Outcomes* out) {
  std::vector<BookedPod*> some;
  for (const std::string& uid : waiting) some.push_back(&pods.at(uid));
  DecideInOrderLocked(std::move(some), out);
}

void Scheduler::Impl::DecideAllLocked(Outcomes* out) {
  if (!ListedLocked()) return;
  std::vector<BookedPod*> some;
  for (auto& [uid, booked] : pods) {
    if (OurConcern(booked.pod)) some.push_back(&booked);
  }
  DecideInOrderLocked(std::move(some), out);
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

}  // namespace kcm::devcluster::nodes
