// SPDX-License-Identifier: Apache-2.0
// Builds node, lease and pod reports.
#include "devcluster/nodes/reports.h"

#include <map>
#include <nlohmann/json.hpp>

#include "devcluster/nodes/json_text.h"

namespace kcm::devcluster::nodes {
namespace {

using nlohmann::json;
using rules::FormatTime;
using rules::WallTime;

constexpr int kLeaseSeconds = 40;

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

std::string StartedAt(const RunningPod& pod) {
  return pod.restarts > 0 ? pod.restarted : pod.started;
}

json Terminated(const RunningPod& pod, const std::string& container, const ContainerEnd& end,
                const std::string& started, const std::string& ended) {
  return {{"terminated",
           {{"exitCode", end.code},
            {"reason", end.reason},
            {"startedAt", started},
            {"finishedAt", ended},
            {"containerID", "sim://" + pod.uid + container}}}};
}

json ContainerStatus(const RunningPod& pod, size_t index) {
  const Container& c = pod.containers[index];
  json last = json::object();
  if (pod.restarts > 0 && index < pod.ends.size()) {
    last = Terminated(pod, c.name, pod.ends[index], pod.started, pod.ended);
  }
  return {{"name", c.name},
          {"image", c.image},
          {"imageID", "sim"},
          {"containerID", "sim://" + pod.uid + c.name},
          {"restartCount", pod.restarts},
          {"lastState", std::move(last)}};
}

// Init containers have done their work when the pod runs; sidecars run on until it ends.
json InitStatuses(const RunningPod& pod, bool running) {
  json out = json::array();
  for (const Container& c : pod.init_containers) {
    json status = {{"name", c.name},
                   {"image", c.image},
                   {"imageID", "sim"},
                   {"containerID", "sim://" + pod.uid + c.name},
                   {"restartCount", 0},
                   {"lastState", json::object()},
                   {"ready", running || !c.sidecar},
                   {"started", running && c.sidecar}};
    status["state"] = running && c.sidecar
                          ? json({{"running", {{"startedAt", pod.started}}}})
                          : Terminated(pod, c.name, {0, "Completed"}, pod.started, pod.started);
    out.push_back(std::move(status));
  }
  return out;
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
  for (size_t i = 0; i < pod.containers.size(); ++i) {
    json one = ContainerStatus(pod, i);
    one["ready"] = ready;
    one["started"] = true;
    one["state"] = {{"running", {{"startedAt", StartedAt(pod)}}}};
    containers.push_back(std::move(one));
  }
  json status = {{"phase", "Running"},
                 {"podIP", pod.ip},
                 {"podIPs", json::array({{{"ip", pod.ip}}})},
                 {"hostIP", "10.1.0.1"},
                 {"startTime", pod.started},
                 {"conditions", json::array({Condition("PodReadyToStartContainers", true, now),
                                             Condition("Initialized", true, now),
                                             Condition("Ready", ready, now, reason),
                                             Condition("ContainersReady", ready, now, reason),
                                             Condition("PodScheduled", true, now)})},
                 {"containerStatuses", std::move(containers)}};
  if (!pod.init_containers.empty()) status["initContainerStatuses"] = InitStatuses(pod, true);
  return PodPatch(pod, std::move(status));
}

std::string BackOffReport(const RunningPod& pod, host::clock::Duration delay, WallTime now) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(delay).count();
  json containers = json::array();
  for (size_t i = 0; i < pod.containers.size(); ++i) {
    json one = ContainerStatus(pod, i);
    one["ready"] = false;
    one["started"] = false;
    one["state"] = {{"waiting",
                     {{"reason", "CrashLoopBackOff"},
                      {"message", "back-off " + std::to_string(seconds) +
                                      "s restarting failed container=" + pod.containers[i].name +
                                      " pod=" + pod.name + "_" + pod.ns + "(" + pod.uid + ")"}}}};
    containers.push_back(std::move(one));
  }
  return PodPatch(pod,
                  {{"conditions",
                    json::array({Condition("Ready", false, now, "ContainersNotReady"),
                                 Condition("ContainersReady", false, now, "ContainersNotReady")})},
                   {"containerStatuses", std::move(containers)}});
}

std::string ExitedReport(const RunningPod& pod, const std::vector<ContainerEnd>& ends,
                         WallTime now) {
  bool failed = false;
  json containers = json::array();
  for (size_t i = 0; i < pod.containers.size(); ++i) {
    const ContainerEnd end = i < ends.size() ? ends[i] : ContainerEnd{0, "Completed"};
    failed = failed || end.code != 0;
    json one = ContainerStatus(pod, i);
    one["ready"] = false;
    one["started"] = false;
    one["state"] = Terminated(pod, pod.containers[i].name, end, StartedAt(pod), FormatTime(now));
    containers.push_back(std::move(one));
  }
  const char* reason = failed ? "PodFailed" : "PodCompleted";
  json status = {{"phase", failed ? "Failed" : "Succeeded"},
                 {"conditions", json::array({Condition("Ready", false, now, reason),
                                             Condition("ContainersReady", false, now, reason)})},
                 {"containerStatuses", std::move(containers)}};
  if (!pod.init_containers.empty()) status["initContainerStatuses"] = InitStatuses(pod, false);
  return PodPatch(pod, std::move(status));
}

std::string ExitedReport(const RunningPod& pod, int exit_code, WallTime now) {
  const ContainerEnd end{exit_code, exit_code == 0 ? "Completed" : "Error"};
  return ExitedReport(pod, std::vector<ContainerEnd>(pod.containers.size(), end), now);
}

}  // namespace kcm::devcluster::nodes
