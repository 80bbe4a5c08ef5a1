// SPDX-License-Identifier: Apache-2.0
// Builds node, lease and pod reports.
#include "devcluster/nodes/reports.h"

#include <map>
#include <nlohmann/json.hpp>

namespace kcm::devcluster::nodes {
namespace {

using nlohmann::json;
using rules::FormatTime;
using rules::WallTime;

constexpr int kLeaseSeconds = 40;

std::string Dump(const json& j) { return j.dump(-1, ' ', false, json::error_handler_t::replace); }

// "A=True,B=False"; parts without "=" are ignored.
std::map<std::string, std::string> Overrides(const std::string& forced) {
  std::map<std::string, std::string> out;
  size_t from = 0;
  while (from < forced.size()) {
    const size_t end = std::min(forced.find(',', from), forced.size());
    const std::string part = forced.substr(from, end - from);
    const size_t equals = part.find('=');
    if (equals != std::string::npos) out[part.substr(0, equals)] = part.substr(equals + 1);
    from = end + 1;
  }
  return out;
}

json NodeConditions(const std::string& forced, WallTime now) {
  const struct {
    const char *type, *status, *reason, *message;
  } rows[] = {
      {"MemoryPressure", "False", "KubeletHasSufficientMemory",
       "kubelet has sufficient memory available"},
      {"DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"},
      {"PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"},
      {"Ready", "True", "KubeletReady", "kubelet is posting ready status"},
  };
  const auto over = Overrides(forced);
  json out = json::array();
  for (const auto& row : rows) {
    const auto o = over.find(row.type);
    const bool simulated = o != over.end();
    out.push_back({{"type", row.type},
                   {"status", simulated ? o->second : row.status},
                   {"reason", simulated ? "Simulated" : row.reason},
                   {"message", simulated ? "simulated" : row.message},
                   {"lastHeartbeatTime", FormatTime(now)},
                   {"lastTransitionTime", FormatTime(now)}});
  }
  return out;
}

json FullNodeStatus(const std::string& forced, WallTime now) {
  const json room = {
      {"cpu", "32"}, {"memory", "64Gi"}, {"pods", "500"}, {"ephemeral-storage", "100Gi"}};
  json info = {
      {"operatingSystem", "linux"}, {"architecture", "amd64"}, {"kubeletVersion", "v1.36.2"}};
  for (const char* name : {"machineID", "systemUUID", "bootID", "kernelVersion", "osImage",
                           "containerRuntimeVersion", "kubeProxyVersion"}) {
    info[name] = "";
  }
  return {{"conditions", NodeConditions(forced, now)},
          {"capacity", room},
          {"allocatable", room},
          {"nodeInfo", info}};
}

json LeaseSpec(const std::string& node, WallTime now) {
  return {{"holderIdentity", node},
          {"leaseDurationSeconds", kLeaseSeconds},
          {"renewTime", rules::FormatMicroTime(now)}};
}

json Condition(const char* type, bool holds, WallTime now) {
  return {{"type", type},
          {"status", holds ? "True" : "False"},
          {"lastTransitionTime", FormatTime(now)}};
}
// With a reason; null removes the one that a strategic merge would keep.
json Condition(const char* type, bool holds, WallTime now, const json& reason) {
  json c = Condition(type, holds, now);
  c["reason"] = reason;
  return c;
}

json ContainerStatus(const RunningPod& pod, const Container& c) {
  return {{"name", c.name},    {"image", c.image},
          {"imageID", "sim"},  {"containerID", "sim://" + pod.uid + c.name},
          {"restartCount", 0}, {"lastState", json::object()}};
}

// The uid makes the patch fail on a pod of the same name that came later.
std::string PodPatch(const RunningPod& pod, json status) {
  return Dump({{"metadata", {{"uid", pod.uid}}}, {"status", std::move(status)}});
}

}  // namespace

std::string NodeBody(const std::string& name, int index, int zones) {
  return Dump({{"apiVersion", "v1"},
               {"kind", "Node"},
               {"metadata",
                {{"name", name},
                 {"labels",
                  {{"kubernetes.io/hostname", name},
                   {"kubernetes.io/os", "linux"},
                   {"kubernetes.io/arch", "amd64"},
                   {"topology.kubernetes.io/zone", "zone-" + std::to_string(index % zones)},
                   {"topology.kubernetes.io/region", "r1"}}}}},
               {"spec", json::object()}});
}

std::string NodeRegistration(int index, WallTime now) {
  json status = FullNodeStatus("", now);
  const std::string address =
      "10.1." + std::to_string(index / 250) + "." + std::to_string(index % 250 + 1);
  status["addresses"] = json::array({{{"type", "InternalIP"}, {"address", address}}});
  return Dump({{"status", std::move(status)}});
}

std::string NodeReport(const std::string& forced, bool full, WallTime now) {
  if (full) return Dump({{"status", FullNodeStatus(forced, now)}});
  return Dump({{"status", {{"conditions", NodeConditions(forced, now)}}}});
}

std::string LeaseRenewal(const std::string& node, WallTime now) {
  return Dump({{"spec", LeaseSpec(node, now)}});
}

std::string LeaseBody(const std::string& node, const std::string& uid, WallTime now) {
  json metadata = {{"name", node}};
  if (!uid.empty()) {
    metadata["ownerReferences"] =
        json::array({{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}, {"uid", uid}}});
  }
  return Dump({{"apiVersion", "coordination.k8s.io/v1"},
               {"kind", "Lease"},
               {"metadata", std::move(metadata)},
               {"spec", LeaseSpec(node, now)}});
}

std::string RunningReport(const RunningPod& pod, bool ready, WallTime now) {
  const json reason = ready ? json(nullptr) : json("ContainersNotReady");
  json containers = json::array();
  for (const Container& c : pod.containers) {
    json status = ContainerStatus(pod, c);
    status["ready"] = ready;
    status["started"] = true;
    status["state"] = {{"running", {{"startedAt", pod.started}}}};
    containers.push_back(std::move(status));
  }
  return PodPatch(pod,
                  {{"phase", "Running"},
                   {"podIP", pod.ip},
                   {"podIPs", json::array({{{"ip", pod.ip}}})},
                   {"hostIP", "10.1.0.1"},
                   {"startTime", pod.started},
                   {"conditions", json::array({Condition("PodReadyToStartContainers", true, now),
                                               Condition("Initialized", true, now),
                                               Condition("Ready", ready, now, reason),
                                               Condition("ContainersReady", ready, now, reason),
                                               Condition("PodScheduled", true, now)})},
                   {"containerStatuses", std::move(containers)}});
}

std::string ExitedReport(const RunningPod& pod, int exit_code, WallTime now) {
  const char* reason = exit_code == 0 ? "PodCompleted" : "PodFailed";
  json containers = json::array();
  for (const Container& c : pod.containers) {
    json status = ContainerStatus(pod, c);
    status["ready"] = false;
    status["started"] = false;
    status["state"] = {{"terminated",
                        {{"exitCode", exit_code},
                         {"reason", exit_code == 0 ? "Completed" : "Error"},
                         {"startedAt", pod.started},
                         {"finishedAt", FormatTime(now)},
                         {"containerID", "sim://" + pod.uid + c.name}}}};
    containers.push_back(std::move(status));
  }
  return PodPatch(pod,
                  {{"phase", exit_code == 0 ? "Succeeded" : "Failed"},
                   {"conditions", json::array({Condition("Ready", false, now, reason),
                                               Condition("ContainersReady", false, now, reason)})},
                   {"containerStatuses", std::move(containers)}});
}

}  // namespace kcm::devcluster::nodes
