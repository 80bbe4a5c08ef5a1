// SPDX-License-Identifier: Apache-2.0
// Scheduler::Impl: the scheduler's books and steps. Only the scheduler's own files include this:
// scheduler.cc (books), scheduler_decision.cc (choice), scheduler_binding.cc (requests).
#pragma once
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "devcluster/nodes/device_choice.h"
#include "devcluster/nodes/neighbours.h"
#include "devcluster/nodes/placement.h"
#include "devcluster/nodes/preemption.h"
#include "devcluster/nodes/scheduler.h"
#include "devcluster/nodes/volume_choice.h"

namespace kcm::devcluster::nodes {

// A pod in the scheduler's books.
struct BookedPod {
  Pod pod;                // as last seen; trimmed once it is on a node
  std::string node;       // where it counts: bound, or assumed while the binding is under way
  uint64_t sequence = 0;  // order of appearance
  bool binding = false;   // from the decision until the watch shows the node, or it failed
  bool waiting = false;   // fits nowhere now
  std::string message;    // reported last
  std::string nominated;  // the node that pods were evicted from for this one
  // Claims that must be bound before the pod is, with the resourceVersion of our last write: what
  // the watch showed before it says nothing.
  std::map<std::string, uint64_t> awaits;
  std::vector<std::string> volumes;      // promised to its claims
  std::vector<ClaimAllocation> devices;  // to be written before the pod is bound
  bool devices_written = false;
  uint64_t attempt = 0;  // counts decisions: a timeout belongs to one of them
};

struct Scheduler::Impl {
  host::clock::Clock& clock;
  WorkPool& pool;
  const std::function<void(const std::string&)> log;

  std::mutex mu;  // guards all below; never held over a request
  bool nodes_listed = false, claims_listed = false, pods_listed = false;
  std::set<Book> unlisted;
  std::unordered_map<std::string, std::unique_ptr<Room>> rooms;
  std::vector<Room*> order;  // round robin
  size_t next = 0;
  VolumeBooks volumes;
  DeviceBooks devices;
  std::unordered_map<std::string, BookedPod> pods;                      // by uid
  std::unordered_map<std::string, std::unordered_set<std::string>> on;  // node -> uids
  std::unordered_map<std::string, std::unordered_set<std::string>> in;  // namespace -> uids
  std::unordered_set<std::string> defensive;                            // uids with anti_affinity
  std::unordered_map<std::string, std::set<std::string>> nominated;     // node -> uids
  std::unordered_set<std::string> waiting;                              // uids
  std::unordered_set<std::string> awaiting;                             // uids with awaits
  bool retry_planned = false;
  uint64_t events = 0, next_sequence = 0;

  Impl(host::clock::Clock& c, WorkPool& p, bool with_devices,
       std::function<void(const std::string&)> l);

  // What a decision leads to; carried out without the lock.
  struct Outcome {
    Pod pod;
    std::string node;              // bind there, or
    std::vector<ClaimStep> steps;  // (after these)
    std::string message;           // report this, and
    uint64_t event_number = 0;
    std::vector<Pod> victims;  // evict these
    std::string nominated;     // for a place there
  };
  using Outcomes = std::vector<Outcome>;

  // Everything that decides where a pod may go.
  struct Question {
    const Pod& pod;
    const Placement& placement;
    const Neighbours* neighbours;  // nullptr: nobody minds
    const VolumeChoice& volumes;
    const DeviceChoice& devices;
  };

  // scheduler_decision.cc
  bool ListedLocked() const;
  std::vector<PlacedPod> PlacedLocked(const Pod& pod, const std::vector<const Pod*>& without) const;
  std::optional<Neighbours> NeighboursLocked(const Pod& pod, const Placement& placement,
                                             const std::vector<const Pod*>& without) const;
  std::vector<std::string> ShortageLocked(const Question& q, const Room& room) const;
  std::vector<std::string> AgainstLocked(const Question& q, const Room& room) const;
  Room* ChooseLocked(const Question& q, std::map<std::string, int>* reasons);
  Room* ChoosePinnedLocked(const Question& q, std::map<std::string, int>* reasons);
  std::optional<Eviction> PreemptLocked(const BookedPod& booked, const Question& q) const;
  void AssumeLocked(BookedPod& booked, const Room& room, const Question& q, Outcomes* out);
  void NominateLocked(BookedPod& booked, const std::string& node);
  void DecideLocked(BookedPod& booked, Outcomes* out);
  void DecideInOrderLocked(std::vector<BookedPod*> some, Outcomes* out);
  void DecideWaitingLocked(Outcomes* out);
  void DecideAllLocked(Outcomes* out);
  void PlanRetryLocked();

  // scheduler_binding.cc
  void CarryOut(Outcomes outcomes);
  void Prepare(WorkPool::Worker& worker, const Outcome& outcome);
  void Bind(WorkPool::Worker& worker, const Pod& pod, const std::string& node);
  std::string TakeStep(WorkPool::Worker& worker, const ClaimStep& step, const std::string& node,
                       uint64_t* version);
  std::string WriteAllocation(WorkPool::Worker& worker, const Pod& pod, const ClaimAllocation& a);
  void GiveUp(const std::string& uid, const std::string& why);
  void GiveUpLater(const std::string& uid, uint64_t attempt);
  void Report(WorkPool::Worker& worker, const Outcome& outcome);
  void Evict(WorkPool::Worker& worker, const Pod& victim, const Pod& preemptor,
             const std::string& node, uint64_t event_number);
  void LookAtAwaitedLocked(const Claim& claim, Outcomes* bind, std::vector<std::string>* rejected);
  void SeeClaim(const Claim& claim);

  // scheduler.cc
  void BookLocked(Pod pod, Outcomes* out);
  void SeeOnNodeLocked(BookedPod& booked, Pod pod, bool fresh);
  void IndexLocked(const BookedPod& booked);
  void ForgetLocked(const std::string& uid);
  void ReleaseLocked(BookedPod& booked);
  void MoveLocked(BookedPod& booked, const std::string& node);
  bool PutNodeLocked(NodeObject node);
  void DropNodeLocked(const std::string& name);
  JsonObjects& BookOf(Book book);
  void KeepPromisesLocked();
  void KeepVolumePromisesLocked();
};

std::string PodPath(const Pod& pod);

}  // namespace kcm::devcluster::nodes
