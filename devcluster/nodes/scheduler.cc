// SPDX-License-Identifier: Apache-2.0
// The scheduler's books: nodes, pods, volumes and devices as the watches show them.
#include "devcluster/nodes/scheduler.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "devcluster/nodes/scheduler_impl.h"
#include "kcm/rules/json_node.h"

namespace kcm::devcluster::nodes {
namespace {

bool SameJson(const Json& x, const Json& y) {
  if (x == y) return true;
  return x != nullptr && y != nullptr && *x == *y;
}

bool SamePlace(const NodeObject& x, const NodeObject& y) {
  return SameJson(x.identity, y.identity) && x.unschedulable == y.unschedulable &&
         x.milli_cpu == y.milli_cpu && x.memory == y.memory && x.pods == y.pods &&
         x.other == y.other && SameJson(x.taints, y.taints);
}

bool SameClaims(const std::vector<PodClaim>& x, const std::vector<PodClaim>& y) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [](const PodClaim& a, const PodClaim& b) {
                      return a.entry == b.entry && a.claim == b.claim && a.needless == b.needless;
                    });
}

// Whether a decision about the pod would be the same.
bool SameDemand(const Pod& x, const Pod& y) {
  return x.gated == y.gated && x.deleting == y.deleting && x.claims == y.claims &&
         x.labels == y.labels && SameClaims(x.device_claims, y.device_claims) &&
         SameJson(x.scheduling, y.scheduling);
}

void EraseFrom(std::unordered_map<std::string, std::unordered_set<std::string>>* index,
               const std::string& key, const std::string& uid) {
  const auto it = index->find(key);
  if (it == index->end()) return;
  it->second.erase(uid);
  if (it->second.empty()) index->erase(it);
}

}  // namespace

Scheduler::Impl::Impl(host::clock::Clock& c, WorkPool& p, bool with_devices,
                      std::function<void(const std::string&)> l)
    : clock(c), pool(p), log(std::move(l)), unlisted{Book::kVolumes, Book::kStorageClasses} {
  if (with_devices) {
    unlisted.insert({Book::kDeviceClaims, Book::kDeviceClasses, Book::kDeviceSlices});
  }
}

// ---- pods

void Scheduler::Impl::MoveLocked(BookedPod& booked, const std::string& node) {
  if (booked.node == node) return;
  const auto from = rooms.find(booked.node);
  if (from != rooms.end()) from->second->Give(booked.pod);
  EraseFrom(&on, booked.node, booked.pod.uid);
  booked.node = node;
  const auto to = rooms.find(node);
  if (to != rooms.end()) to->second->Take(booked.pod);
  if (!node.empty()) on[node].insert(booked.pod.uid);
}

// Gives back what an attempt to bind has taken.
void Scheduler::Impl::ReleaseLocked(BookedPod& booked) {
  booked.binding = false;
  booked.awaits.clear();
  awaiting.erase(booked.pod.uid);
  MoveLocked(booked, "");
  // A write that reached the server is refused to the next one by the volume's resourceVersion.
  for (const std::string& volume : booked.volumes) volumes.promised.erase(volume);
  booked.volumes.clear();
  for (const ClaimAllocation& a : booked.devices) {
    // What may have reached the server is taken until the watch shows the claim.
    if (!booked.devices_written) devices.promised.erase(Key(a.ns, a.claim));
  }
  booked.devices.clear();
}

void Scheduler::Impl::ForgetLocked(const std::string& uid) {
  const auto it = pods.find(uid);
  if (it == pods.end()) return;
  const bool freed = !it->second.node.empty();
  NominateLocked(it->second, "");
  ReleaseLocked(it->second);
  EraseFrom(&in, it->second.pod.ns, uid);
  defensive.erase(uid);
  waiting.erase(uid);
  pods.erase(it);
  if (freed) PlanRetryLocked();
}

void Scheduler::Impl::IndexLocked(const BookedPod& booked) {
  in[booked.pod.ns].insert(booked.pod.uid);
  if (booked.pod.anti_affinity != nullptr) defensive.insert(booked.pod.uid);
}

// A pod that has a node.
void Scheduler::Impl::SeeOnNodeLocked(BookedPod& booked, Pod pod, bool fresh) {
  if (!fresh && !booked.pod.node.empty()) {
    const bool moved = booked.pod.labels != pod.labels;
    booked.pod.labels = std::move(pod.labels);
    booked.pod.deleting = pod.deleting;
    if (moved) PlanRetryLocked();
    return;
  }
  waiting.erase(pod.uid);
  booked.waiting = booked.binding = false;
  booked.awaits.clear();
  awaiting.erase(pod.uid);
  booked.volumes.clear();
  booked.devices.clear();
  NominateLocked(booked, "");
  const std::string node = pod.node;
  pod.containers.clear();
  pod.init_containers.clear();
  pod.annotations.clear();
  pod.scheduling.reset();
  if (!fresh) {
    // Same requests before and after: what was taken for an assumed place is given back in full.
    pod.milli_cpu = booked.pod.milli_cpu;
    pod.memory = booked.pod.memory;
    pod.other_requests = booked.pod.other_requests;
    pod.host_ports = booked.pod.host_ports;
  }
  booked.pod = std::move(pod);
  MoveLocked(booked, node);
  // Others may want to be near it. (Most pods that wait wait for room, which it has only taken.)
  const auto minds = [this](const std::string& uid) { return MindsNeighbours(pods.at(uid).pod); };
  if (!retry_planned && std::any_of(waiting.begin(), waiting.end(), minds)) PlanRetryLocked();
}

void Scheduler::Impl::BookLocked(Pod pod, Outcomes* out) {
  if (pod.Finished()) return ForgetLocked(pod.uid);  // its resources are free
  const auto [it, fresh] = pods.try_emplace(pod.uid);
  BookedPod& booked = it->second;
  if (fresh) booked.sequence = ++next_sequence;
  if (!pod.node.empty()) {
    SeeOnNodeLocked(booked, std::move(pod), fresh);
    return IndexLocked(booked);
  }
  if (booked.binding) return;  // an event from before our binding
  const bool same = !fresh && booked.waiting && SameDemand(booked.pod, pod);
  if (fresh) booked.message = pod.scheduled_message;
  booked.pod = std::move(pod);
  IndexLocked(booked);
  if (booked.pod.deleting) {
    waiting.erase(booked.pod.uid);
    booked.waiting = false;
    NominateLocked(booked, "");
  }
  if (!same) DecideLocked(booked, out);
}

// ---- nodes

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
  const auto there = on.find(room->node.name);
  if (there != on.end()) {
    for (const std::string& uid : there->second) room->Take(pods.at(uid).pod);
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

// ---- volumes and devices

JsonObjects& Scheduler::Impl::BookOf(Book book) {
  switch (book) {
    case Book::kVolumes:
      return volumes.volumes;
    case Book::kStorageClasses:
      return volumes.classes;
    case Book::kDeviceClaims:
      return devices.claims;
    case Book::kDeviceClasses:
      return devices.classes;
    case Book::kDeviceSlices:
      break;
  }
  return devices.slices;
}

// A promise ends when the claim shows its allocation, or is gone.
void Scheduler::Impl::KeepPromisesLocked() {
  std::erase_if(devices.promised, [this](const auto& promise) {
    const auto claim = devices.claims.find(promise.first);
    return claim == devices.claims.end() ||
           rules::JsonNode(*claim->second.body).Get("status").Get("allocation").Has();
  });
}

void Scheduler::Impl::KeepVolumePromisesLocked() {
  std::erase_if(volumes.promised, [this](const auto& promise) {
    const auto volume = volumes.volumes.find(promise.first);
    return volume == volumes.volumes.end() ||
           rules::JsonNode(*volume->second.body).Get("spec").Get("claimRef").Has();
  });
}

// ---- the outside

Scheduler::Scheduler(host::clock::Clock& clock, WorkPool& pool, bool devices,
                     std::function<void(const std::string&)> log)
    : impl_(std::make_unique<Impl>(clock, pool, devices, std::move(log))) {}
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
    impl_->volumes.claims.clear();
    for (const Claim& c : all) impl_->volumes.claims[Key(c.ns, c.name)] = c;
    impl_->claims_listed = true;
    impl_->DecideAllLocked(&out);
  }
  impl_->CarryOut(std::move(out));
  for (const Claim& c : all) impl_->SeeClaim(c);
}

void Scheduler::OnClaim(Change change, const Claim& claim) {
  if (change != Change::kDeleted) return impl_->SeeClaim(claim);
  const std::lock_guard lock(impl_->mu);
  impl_->volumes.claims.erase(Key(claim.ns, claim.name));
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

void Scheduler::OnObjects(Book book, std::vector<JsonObject> all) {
  Impl::Outcomes out;
  {
    const std::lock_guard lock(impl_->mu);
    PutAll(std::move(all), &impl_->BookOf(book));
    impl_->KeepPromisesLocked();
    impl_->KeepVolumePromisesLocked();
    impl_->unlisted.erase(book);
    impl_->DecideAllLocked(&out);
  }
  impl_->CarryOut(std::move(out));
}

void Scheduler::OnObject(Book book, Change change, JsonObject object) {
  const std::lock_guard lock(impl_->mu);
  Put(change, std::move(object), &impl_->BookOf(book));
  if (book == Book::kDeviceClaims) impl_->KeepPromisesLocked();
  if (book == Book::kVolumes) impl_->KeepVolumePromisesLocked();
  impl_->PlanRetryLocked();
}

}  // namespace kcm::devcluster::nodes
