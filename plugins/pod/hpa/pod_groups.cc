// SPDX-License-Identifier: Apache-2.0
// Sorts pods and adds up their requests.
#include "plugins/pod/hpa/pod_groups.h"

#include <optional>

#include "kcm/rules/pod.h"
#include "kcm/rules/pod_requests.h"
#include "kcm/rules/quantity.h"

namespace kcm::pod::hpa {

using rules::Node;
using rules::WallTime;

namespace {

std::string NameOf(Node object) { return std::string(object.Path("metadata.name").String()); }

bool CpuIsMeaningless(Node pod, const Sample& sample, const Readiness& readiness) {
  const Node ready = rules::PodReadyCondition(pod);
  const std::optional<WallTime> started = rules::TimeOf(pod.Path("status.startTime"));
  if (!ready.Has() || !started) return true;
  const bool is_false = ready.Get("status").String() == "False";
  const WallTime changed = rules::TimeOf(ready.Get("lastTransitionTime")).value_or(WallTime::min());
  if (rules::Plus(*started, readiness.cpu_initialization) > readiness.now) {
    // The sample has to lie wholly behind the moment at which the pod became ready.
    return is_false || sample.timestamp < rules::Plus(changed, sample.window);
  }
  // Not ready since its start; a pod that was ready once counts when it no longer is.
  return is_false && rules::Plus(*started, readiness.initial_delay) > changed;
}

Result<int64_t> RequestOfContainers(Node pod, std::string_view resource,
                                    std::string_view container) {
  int64_t sum = 0;
  bool found = false;
  std::string lacking;
  const auto add = [&](Node c) {
    const std::string_view name = c.Get("name").String();
    if (!lacking.empty() || (!container.empty() && name != container)) return;
    found = true;
    const Node request = c.Path("resources.requests").Get(resource);
    if (request.Has()) {
      sum = AddSaturated(sum, rules::Quantity::Of(request).MilliValue());
    } else {
      lacking = name;
    }
  };
  for (const Node c : pod.Path("spec.containers").Items()) add(c);
  for (const Node c : pod.Path("spec.initContainers").Items())
    if (rules::IsSidecar(c)) add(c);
  if (!lacking.empty()) {
    return MakeError(Code::kNotFound, "missing request for " + std::string(resource) +
                                          " in container " + lacking + " of Pod " + NameOf(pod));
  }
  if (!container.empty() && !found) {
    return MakeError(Code::kNotFound,
                     "container " + std::string(container) + " not found in Pod " + NameOf(pod));
  }
  return sum;
}

Result<int64_t> RequestOfPod(Node pod, std::string_view resource) {
  const rules::ResourceList requests = rules::PodRequests(pod);
  const auto it = requests.find(resource);
  if (it != requests.end()) return it->second.MilliValue();
  return MakeError(Code::kNotFound, "missing pod-level request for " + std::string(resource) +
                                        " in Pod " + NameOf(pod));
}

}  // namespace

PodGroups GroupPods(std::span<const Node> pods, const Samples& samples, std::string_view resource,
                    const Readiness& readiness) {
  PodGroups out;
  for (const Node pod : pods) {
    const std::string name = NameOf(pod);
    const std::string_view phase = rules::PodPhase(pod);
    const auto sample = samples.find(name);
    if (rules::HasDeletionTimestamp(pod) || phase == "Failed") {
      out.ignored.insert(name);
    } else if (phase == "Pending") {
      out.unready.insert(name);
    } else if (sample == samples.end()) {
      out.missing.insert(name);
    } else if (resource == "cpu" && CpuIsMeaningless(pod, sample->second, readiness)) {
      out.unready.insert(name);
    } else {
      ++out.ready;
    }
  }
  return out;
}

Error NoPods() {
  return MakeError(Code::kNotFound, "no pods returned by selector while calculating replica count");
}

int64_t CountReady(std::span<const Node> pods) {
  int64_t ready = 0;
  for (const Node pod : pods)
    if (rules::PodPhase(pod) == "Running" && rules::IsPodReady(pod)) ++ready;
  return ready;
}

Result<Requests> RequestsOf(std::span<const Node> pods, std::string_view resource,
                            std::string_view container, bool pod_level) {
  Requests out;
  for (const Node pod : pods) {
    const bool whole = pod_level && container.empty() && rules::HasPodLevelRequests(pod);
    const Result<int64_t> request =
        whole ? RequestOfPod(pod, resource) : RequestOfContainers(pod, resource, container);
    if (!request.ok()) return request.error();
    out.insert_or_assign(NameOf(pod), *request);
  }
  return out;
}

}  // namespace kcm::pod::hpa
