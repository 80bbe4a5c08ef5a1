// SPDX-License-Identifier: Apache-2.0
// The pod row: status in one word, readiness, restarts.
#include "devcluster/kinds/fields.h"
#include "devcluster/kinds/tables.h"
#include "devcluster/kinds/times.h"

namespace kcm::devcluster::kinds {

namespace {

struct Restarts {
  int64_t count = 0;
  std::string last;  // when the last one ended
  void Add(const Json& status) {
    count += Integer(status, "restartCount");
    const std::string finished(Text(status, "lastState.terminated.finishedAt"));
    if (finished > last) last = finished;  // canonical UTC texts sort by time
  }
};

std::string TerminatedReason(const Json& terminated) {
  if (const std::string reason(Text(terminated, "reason")); !reason.empty()) return reason;
  if (const int64_t signal = Integer(terminated, "signal"); signal != 0)
    return "Signal:" + std::to_string(signal);
  return "ExitCode:" + std::to_string(Integer(terminated, "exitCode"));
}

bool IsSidecar(const Json& pod, std::string_view name) {
  for (const Json& container : Items(pod, "spec.initContainers")) {
    if (Text(container, "name") == name) return Text(container, "restartPolicy") == "Always";
  }
  return false;
}

bool HasCondition(const Json& pod, std::string_view type, std::string_view status = "True") {
  for (const Json& condition : Items(pod, "status.conditions")) {
    if (Text(condition, "type") == type) return Text(condition, "status") == status;
  }
  return false;
}

// The reason of the first unfinished init container; empty when initialisation is over.
std::string InitReason(const Json& pod, Restarts& init, Restarts& sidecars) {
  const Json& statuses = Items(pod, "status.initContainerStatuses");
  const size_t total = Items(pod, "spec.initContainers").size();
  for (size_t i = 0; i < statuses.size(); ++i) {
    const Json& status = statuses[i];
    init.Add(status);
    const bool sidecar = IsSidecar(pod, Text(status, "name"));
    if (sidecar) sidecars.Add(status);
    const Json* terminated = Find(status, "state.terminated");
    if (terminated != nullptr && Integer(*terminated, "exitCode") == 0) continue;
    if (sidecar && Flag(status, "started")) continue;
    if (terminated != nullptr) return "Init:" + TerminatedReason(*terminated);
    const std::string waiting(Text(status, "state.waiting.reason"));
    if (!waiting.empty() && waiting != "PodInitializing") return "Init:" + waiting;
    return "Init:" + std::to_string(i) + "/" + std::to_string(total);
  }
  return "";
}

}  // namespace

Json PodCells(const Json& pod, std::string_view now) {
  size_t total = Items(pod, "spec.containers").size(), ready = 0;
  for (const Json& container : Items(pod, "spec.initContainers")) {
    if (Text(container, "restartPolicy") == "Always") ++total;
  }
  std::string reason(Text(pod, "status.phase"));
  if (const std::string given(Text(pod, "status.reason")); !given.empty()) reason = given;
  for (const Json& condition : Items(pod, "status.conditions")) {
    if (Text(condition, "type") == "PodScheduled" && Text(condition, "reason") == "SchedulingGated")
      reason = "SchedulingGated";
  }
  Restarts restarts, init, sidecars;
  for (const Json& status : Items(pod, "status.initContainerStatuses")) {
    if (IsSidecar(pod, Text(status, "name")) && Flag(status, "started") && Flag(status, "ready"))
      ++ready;
  }
  const std::string initialising = InitReason(pod, init, sidecars);
  if (!initialising.empty()) {
    reason = initialising;
    restarts = init;
  }
  if (initialising.empty() || HasCondition(pod, "Initialized")) {
    restarts = sidecars;
    bool running = false;
    const Json& statuses = Items(pod, "status.containerStatuses");
    for (size_t n = statuses.size(); n-- > 0;) {
      const Json& status = statuses[n];
      restarts.Add(status);
      const Json* terminated = Find(status, "state.terminated");
      if (const std::string waiting(Text(status, "state.waiting.reason")); !waiting.empty())
        reason = waiting;
      else if (terminated != nullptr)
        reason = TerminatedReason(*terminated);
      else if (Flag(status, "ready") && Find(status, "state.running") != nullptr) {
        running = true;
        ++ready;
      }
    }
    if (reason == "Completed" && running)
      reason = HasCondition(pod, "Ready") ? "Running" : "NotReady";
  }
  const bool deleting = Find(pod, "metadata.deletionTimestamp") != nullptr;
  const std::string phase(Text(pod, "status.phase"));
  if (deleting && Text(pod, "status.reason") == "NodeLost")
    reason = "Unknown";
  else if (deleting && phase != "Succeeded" && phase != "Failed")
    reason = "Terminating";
  std::string count = std::to_string(restarts.count);
  if (restarts.count != 0 && !restarts.last.empty())
    count += " (" + Age(restarts.last, now) + " ago)";
  std::string ip(Text(pod, "status.podIP"));
  if (const Json& ips = Items(pod, "status.podIPs"); !ips.empty()) ip = Text(ips[0], "ip");
  std::string gates = "<none>";
  if (const Json& list = Items(pod, "spec.readinessGates"); !list.empty()) {
    size_t met = 0;
    for (const Json& gate : list) met += HasCondition(pod, Text(gate, "conditionType")) ? 1 : 0;
    gates = std::to_string(met) + "/" + std::to_string(list.size());
  }
  return Json::array({Text(pod, "metadata.name"),
                      std::to_string(ready) + "/" + std::to_string(total), reason, count,
                      AgeOf(pod, now), OrNone(ip), OrNone(std::string(Text(pod, "spec.nodeName"))),
                      OrNone(std::string(Text(pod, "status.nominatedNodeName"))), gates});
}

Json PodConditions(const Json& pod) {
  const std::string_view phase = Text(pod, "status.phase");
  if (phase == "Succeeded") {
    return Json::array({{{"type", "Completed"},
                         {"status", "True"},
                         {"reason", "Succeeded"},
                         {"message", "The pod has completed successfully."}}});
  }
  if (phase == "Failed") {
    return Json::array({{{"type", "Completed"},
                         {"status", "True"},
                         {"reason", "Failed"},
                         {"message", "The pod failed."}}});
  }
  return nullptr;
}

}  // namespace kcm::devcluster::kinds
