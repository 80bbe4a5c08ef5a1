// SPDX-License-Identifier: Apache-2.0
// What the scheduler writes: volumes, devices, bindings, evictions, reports.
#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "devcluster/nodes/event_body.h"
#include "devcluster/nodes/json_text.h"
#include "devcluster/nodes/scheduler_impl.h"
#include "kcm/rules/time.h"

namespace kcm::devcluster::nodes {
namespace {

using host::clock::Duration;
using nlohmann::json;

constexpr Duration kRetryFailed = std::chrono::seconds(1);
// As kube-scheduler waits for volumes to be bound.
constexpr Duration kVolumeTimeout = std::chrono::minutes(10);
constexpr char kDeviceFinalizer[] = "resource.kubernetes.io/delete-protection";

std::string BindingBody(const Pod& pod, const std::string& node) {
  return Dump({{"apiVersion", "v1"},
               {"kind", "Binding"},
               {"metadata", {{"name", pod.name}, {"namespace", pod.ns}, {"uid", pod.uid}}},
               {"target", {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}}}});
}

json Condition(const char* type, const char* status, const char* reason, const std::string& message,
               rules::WallTime now) {
  return {{"type", type},
          {"status", status},
          {"reason", reason},
          {"message", message},
          {"lastTransitionTime", rules::FormatTime(now)}};
}

// `nominated`: empty leaves what is there.
std::string UnschedulableBody(const Pod& pod, const std::string& message,
                              const std::string& nominated, rules::WallTime now) {
  json status = {{"conditions", json::array({Condition("PodScheduled", "False", "Unschedulable",
                                                       message, now)})}};
  if (!nominated.empty()) status["nominatedNodeName"] = nominated;
  return Dump({{"metadata", {{"uid", pod.uid}}}, {"status", std::move(status)}});
}

std::string EvictedBody(const Pod& victim, rules::WallTime now) {
  return Dump({{"metadata", {{"uid", victim.uid}}},
               {"status",
                {{"conditions",
                  json::array({Condition("DisruptionTarget", "True", "PreemptionByScheduler",
                                         "default-scheduler: preempting to accommodate a higher "
                                         "priority pod",
                                         now)})}}}});
}

std::string PodEvent(const Pod& pod, const char* type, const char* reason,
                     const std::string& message, uint64_t number, rules::WallTime now) {
  return EventBody({"v1", "Pod", pod.ns, pod.name, pod.uid, pod.resource_version},
                   {type, reason, message, "default-scheduler"}, number, now);
}

uint64_t VersionIn(const std::string& body) {
  const json object = json::parse(body, nullptr, false);
  if (!object.is_object() || !object.contains("metadata")) return 0;
  const std::string text = object["metadata"].value("resourceVersion", "");
  uint64_t version = 0;
  std::from_chars(text.data(), text.data() + text.size(), version);
  return version;
}

// Whether the provisioner has taken back the node that we chose in `version` of the claim. Version
// 0: a volume was bound to the claim, no node was chosen for it.
bool TakenBack(const Claim& claim, uint64_t version) {
  return version != 0 && claim.resource_version > version && claim.selected_node.empty();
}
constexpr char kRefused[] = "the provisioner refused the node";

std::string ClaimPath(const std::string& ns, const std::string& name) {
  return "/api/v1/namespaces/" + ns + "/persistentvolumeclaims/" + name;
}

}  // namespace

std::string PodPath(const Pod& pod) { return "/api/v1/namespaces/" + pod.ns + "/pods/" + pod.name; }

void Scheduler::Impl::CarryOut(Outcomes outcomes) {
  for (Outcome& o : outcomes) {
    pool.Submit([this, o = std::move(o)](WorkPool::Worker& w) {
      if (o.node.empty()) {
        Report(w, o);
      } else {
        Prepare(w, o);
      }
    });
  }
}

// One unbound claim; an error text when the server did not want it.
std::string Scheduler::Impl::TakeStep(WorkPool::Worker& worker, const ClaimStep& step,
                                      const std::string& node, uint64_t* version) {
  Answer a;
  if (!step.volume.empty()) {
    const json body = {{"metadata",
                        {{"resourceVersion", std::to_string(step.volume_version)},
                         {"annotations", {{"pv.kubernetes.io/bound-by-controller", "yes"}}}}},
                       {"spec",
                        {{"claimRef",
                          {{"kind", "PersistentVolumeClaim"},
                           {"apiVersion", "v1"},
                           {"namespace", step.ns},
                           {"name", step.claim},
                           {"uid", step.claim_uid}}}}}};
    a = worker.Call("PATCH", "/api/v1/persistentvolumes/" + step.volume, Dump(body), kMergePatch);
    if (!a.ok()) return "volume " + step.volume + ": " + a.Describe();
    return {};
  }
  const json body = {
      {"metadata",
       {{"uid", step.claim_uid}, {"annotations", {{"volume.kubernetes.io/selected-node", node}}}}}};
  a = worker.Call("PATCH", ClaimPath(step.ns, step.claim), Dump(body), kMergePatch);
  if (!a.ok()) return "claim " + step.ns + "/" + step.claim + ": " + a.Describe();
  *version = VersionIn(a.body);
  return {};
}

// Has the claims bound first; the binding follows when the watch shows them bound.
void Scheduler::Impl::Prepare(WorkPool::Worker& worker, const Outcome& outcome) {
  const Pod& pod = outcome.pod;
  std::map<std::string, uint64_t> awaits;
  for (const ClaimStep& step : outcome.steps) {
    const std::string why = TakeStep(worker, step, outcome.node, &awaits[Key(step.ns, step.claim)]);
    if (!why.empty()) return GiveUp(pod.uid, why);
  }
  bool refused = false;
  {
    const std::lock_guard lock(mu);
    const auto it = pods.find(pod.uid);
    if (it == pods.end()) return;
    for (auto& [key, version] : awaits) {
      const auto claim = volumes.claims.find(key);
      if (claim != volumes.claims.end() && claim->second.bound) continue;
      // The provisioner may have answered before we came here.
      refused = refused || (claim != volumes.claims.end() && TakenBack(claim->second, version));
      it->second.awaits[key] = version;
    }
    if (!it->second.awaits.empty()) awaiting.insert(pod.uid);
    if (!it->second.awaits.empty() && !refused) return GiveUpLater(pod.uid, it->second.attempt);
  }
  if (refused) return GiveUp(pod.uid, kRefused);
  Bind(worker, pod, outcome.node);
}

void Scheduler::Impl::GiveUpLater(const std::string& uid, uint64_t attempt) {
  pool.SubmitAfter(kVolumeTimeout, [this, uid, attempt](WorkPool::Worker&) {
    {
      const std::lock_guard lock(mu);
      const auto it = pods.find(uid);
      if (it == pods.end() || it->second.attempt != attempt || it->second.awaits.empty()) return;
    }
    GiveUp(uid, "timed out waiting for volumes to be bound");
  });
}

// The decision falls: the place is free again, and another one is tried soon.
void Scheduler::Impl::GiveUp(const std::string& uid, const std::string& why) {
  {
    const std::lock_guard lock(mu);
    const auto it = pods.find(uid);
    if (it == pods.end() || !it->second.pod.node.empty() || !it->second.binding) return;
    if (log) {
      log("bind " + it->second.pod.ns + "/" + it->second.pod.name + " to " + it->second.node +
          ": " + why);
    }
    ReleaseLocked(it->second);
  }
  pool.SubmitAfter(kRetryFailed, [this, uid](WorkPool::Worker&) {
    Outcomes out;
    {
      const std::lock_guard again(mu);
      const auto found = pods.find(uid);
      if (found != pods.end()) DecideLocked(found->second, &out);
    }
    CarryOut(std::move(out));
  });
}

// Allocates the claim, if it still has to be, and reserves it for the pod. Reads it first: other
// pods are reserved in the same list. An error text on failure.
std::string Scheduler::Impl::WriteAllocation(WorkPool::Worker& worker, const Pod& pod,
                                             const ClaimAllocation& a) {
  const std::string path =
      "/apis/resource.k8s.io/v1/namespaces/" + a.ns + "/resourceclaims/" + a.claim;
  const auto failed = [&a](const Answer& answer) {
    return "resourceclaim " + a.ns + "/" + a.claim + ": " + answer.Describe();
  };
  Answer answer = worker.Call("GET", path);
  if (!answer.ok()) return failed(answer);
  json claim = json::parse(answer.body, nullptr, false);
  if (!claim.is_object() || claim["metadata"].value("uid", "") != a.claim_uid) {
    return "resourceclaim " + a.ns + "/" + a.claim + " was replaced";
  }
  json finalizers = claim["metadata"].value("finalizers", json::array());
  if (std::find(finalizers.begin(), finalizers.end(), kDeviceFinalizer) == finalizers.end()) {
    finalizers.push_back(kDeviceFinalizer);
    const json body = {{"metadata",
                        {{"resourceVersion", claim["metadata"]["resourceVersion"]},
                         {"finalizers", std::move(finalizers)}}}};
    answer = worker.Call("PATCH", path, Dump(body), kMergePatch);
    if (!answer.ok()) return failed(answer);
    claim = json::parse(answer.body, nullptr, false);
  }
  const json old = claim.value("status", json::object());
  if (old.contains("allocation") == (a.allocation != nullptr)) {
    return "resourceclaim " + a.ns + "/" + a.claim + " has changed";
  }
  json reserved = old.value("reservedFor", json::array());
  for (const json& consumer : reserved) {
    if (consumer.value("uid", "") == pod.uid) return {};
  }
  reserved.push_back({{"resource", "pods"}, {"name", pod.name}, {"uid", pod.uid}});
  json status = {{"reservedFor", std::move(reserved)}};
  if (a.allocation != nullptr) status["allocation"] = *a.allocation;
  const json body = {{"metadata", {{"resourceVersion", claim["metadata"]["resourceVersion"]}}},
                     {"status", std::move(status)}};
  answer = worker.Call("PATCH", path + "/status", Dump(body), kMergePatch);
  return answer.ok() ? std::string() : failed(answer);
}

void Scheduler::Impl::Bind(WorkPool::Worker& worker, const Pod& pod, const std::string& node) {
  std::vector<ClaimAllocation> allocations;
  {
    const std::lock_guard lock(mu);
    const auto it = pods.find(pod.uid);
    if (it == pods.end() || it->second.node != node || !it->second.binding) return;
    allocations = it->second.devices;
    it->second.devices_written = !allocations.empty();
  }
  for (const ClaimAllocation& a : allocations) {
    const std::string why = WriteAllocation(worker, pod, a);
    if (!why.empty()) return GiveUp(pod.uid, why);
  }
  const Answer a = worker.Call("POST", PodPath(pod) + "/binding", BindingBody(pod, node));
  // `binding` stays until the watch shows the node, so that an older event does not start another
  // binding.
  if (!a.ok()) GiveUp(pod.uid, a.Describe());
}

void Scheduler::Impl::Report(WorkPool::Worker& worker, const Outcome& outcome) {
  const Pod& pod = outcome.pod;
  uint64_t number = outcome.event_number;
  for (const Pod& victim : outcome.victims) {
    Evict(worker, victim, pod, outcome.nominated, ++number);
  }
  const rules::WallTime now = clock.Now();
  const Answer a =
      worker.Call("PATCH", PodPath(pod) + "/status",
                  UnschedulableBody(pod, outcome.message, outcome.nominated, now), kStrategicPatch);
  if (!a.ok()) return;  // gone, or bound meanwhile
  worker.Call(
      "POST", "/api/v1/namespaces/" + pod.ns + "/events",
      PodEvent(pod, "Warning", "FailedScheduling", outcome.message, outcome.event_number, now));
}

void Scheduler::Impl::Evict(WorkPool::Worker& worker, const Pod& victim, const Pod& preemptor,
                            const std::string& node, uint64_t event_number) {
  worker.Call("PATCH", PodPath(victim) + "/status", EvictedBody(victim, clock.Now()),
              kStrategicPatch);
  const json options = {
      {"kind", "DeleteOptions"}, {"apiVersion", "v1"}, {"preconditions", {{"uid", victim.uid}}}};
  const Answer a = worker.Call("DELETE", PodPath(victim), Dump(options));
  if (a.ok()) {
    worker.Call("POST", "/api/v1/namespaces/" + victim.ns + "/events",
                PodEvent(victim, "Normal", "Preempted",
                         "Preempted by pod " + preemptor.uid + " on node " + node, event_number,
                         clock.Now()));
    return;
  }
  if (a.status == 404 || a.status == 409) return;  // gone, or replaced
  if (log) log("evict " + victim.ns + "/" + victim.name + ": " + a.Describe());
  const std::lock_guard lock(mu);
  const auto it = pods.find(victim.uid);
  if (it != pods.end()) it->second.pod.deleting = false;  // may be chosen again
  PlanRetryLocked();
}

// A claim that pods wait for has changed: `bind` gets those whose claims are all bound now,
// `rejected` those whose provisioner has taken the chosen node back.
void Scheduler::Impl::LookAtAwaitedLocked(const Claim& claim, Outcomes* bind,
                                          std::vector<std::string>* rejected) {
  const std::string key = Key(claim.ns, claim.name);
  const std::vector<std::string> uids(awaiting.begin(), awaiting.end());
  for (const std::string& uid : uids) {
    BookedPod& booked = pods.at(uid);
    const auto it = booked.awaits.find(key);
    if (it == booked.awaits.end()) continue;
    if (claim.bound) {
      booked.awaits.erase(it);
      if (!booked.awaits.empty()) continue;
      awaiting.erase(uid);
      Outcome o;
      o.pod = booked.pod;
      o.node = booked.node;
      bind->push_back(std::move(o));
      continue;
    }
    if (TakenBack(claim, it->second)) rejected->push_back(uid);
  }
}

void Scheduler::Impl::SeeClaim(const Claim& claim) {
  Outcomes bind;
  std::vector<std::string> rejected;
  {
    const std::lock_guard lock(mu);
    volumes.claims[Key(claim.ns, claim.name)] = claim;
    LookAtAwaitedLocked(claim, &bind, &rejected);
    PlanRetryLocked();
  }
  CarryOut(std::move(bind));
  for (const std::string& uid : rejected) GiveUp(uid, kRefused);
}

}  // namespace kcm::devcluster::nodes
