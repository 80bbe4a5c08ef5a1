// SPDX-License-Identifier: Apache-2.0
// Reads the annotations of pods.
#include "devcluster/nodes/pod_course.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace kcm::devcluster::nodes {

bool Says(const Strings& annotations, std::string_view name, std::string_view value) {
  const auto it = annotations.find(name);
  return it != annotations.end() && it->second == value;
}
std::string Value(const Strings& annotations, std::string_view name) {
  const auto it = annotations.find(name);
  return it == annotations.end() ? std::string() : it->second;
}

namespace {

using host::clock::Duration;

constexpr double kLongestDelay = 1e6;  // seconds

Duration FromSeconds(double s) {
  if (!(s > 0)) return Duration::zero();
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(std::min(s, kLongestDelay)));
}

Duration Seconds(const Strings& annotations, std::string_view name, double otherwise) {
  const auto it = annotations.find(name);
  return it == annotations.end() ? FromSeconds(otherwise) : SecondsIn(it->second);
}

constexpr int kKilled = 137;  // 128 + SIGKILL: how a container out of memory ends

int Number(const std::string& text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// The code for this pod in "1=3,2=0", else sim/exit-code, else what the reason demands.
int ExitCode(const Pod& pod) {
  std::string text = Value(pod.annotations, "sim/exit-code");
  if (text.empty() && Value(pod.annotations, "sim/exit-reason") == "OOMKilled") return kKilled;
  const std::string by_index = Value(pod.annotations, "sim/exit-code-by-index");
  const std::string wanted = pod.completion_index + "=";
  for (size_t from = 0; !pod.completion_index.empty() && from < by_index.size();) {
    const size_t end = std::min(by_index.find(',', from), by_index.size());
    if (by_index.compare(from, wanted.size(), wanted) == 0) {
      text = by_index.substr(from + wanted.size(), end - from - wanted.size());
    }
    from = end + 1;
  }
  return Number(text);
}

// The container's own annotations, else those of the pod.
ContainerEnd EndOf(const Pod& pod, const std::string& container, int pod_code) {
  ContainerEnd end;
  const std::string own_code = Value(pod.annotations, "sim/exit-code." + container);
  const std::string own_reason = Value(pod.annotations, "sim/exit-reason." + container);
  end.code = !own_code.empty() ? Number(own_code) : own_reason == "OOMKilled" ? kKilled : pod_code;
  end.reason = own_reason;
  if (end.reason.empty() && own_code.empty())
    end.reason = Value(pod.annotations, "sim/exit-reason");
  if (end.reason.empty()) end.reason = end.code == 0 ? "Completed" : "Error";
  return end;
}

constexpr Duration kFirstBackOff = std::chrono::seconds(10);
constexpr Duration kLongestBackOff = std::chrono::minutes(5);
constexpr int kEndless = 1'000'000;

// The pod's restart policy has the last word: where it allows no restart the pod ends instead.
void AddRestarts(const Pod& pod, PodCourse* c) {
  if (!pod.annotations.contains("sim/restart-after")) return;
  const Duration after = Seconds(pod.annotations, "sim/restart-after", 0);
  const bool failed = std::any_of(c->ends.begin(), c->ends.end(),
                                  [](const ContainerEnd& e) { return e.code != 0; });
  const bool allowed = pod.restart_policy == "Always" || pod.restart_policy.empty() ||
                       (pod.restart_policy == "OnFailure" && failed);
  if (!allowed) {
    if (!c->exit_after) c->exit_after = after;
    return;
  }
  c->restart_after = after;
  const std::string most = Value(pod.annotations, "sim/restarts");
  c->restarts = most.empty() ? kEndless : std::max(Number(most), 0);
}

}  // namespace

Duration SecondsIn(const std::string& text) {
  return FromSeconds(std::strtod(text.c_str(), nullptr));
}

PodCourse CourseOf(const Pod& pod) {
  const Duration wait = Seconds(pod.annotations, "sim/ready-after", 0);
  const bool never = Says(pod.annotations, "sim/never-ready", "true");
  PodCourse c;
  c.ready_at_once = !never && wait == Duration::zero();
  if (!never && wait > Duration::zero()) c.ready_after = wait;
  const bool job_ends = pod.owned_by_job && !pod.annotations.contains("sim/run-forever");
  if (pod.annotations.contains("sim/exit-after") || job_ends) {
    c.exit_after = Seconds(pod.annotations, "sim/exit-after", 1);
    c.exit_code = ExitCode(pod);
  }
  const int code = ExitCode(pod);
  for (const Container& container : pod.containers) {
    c.ends.push_back(EndOf(pod, container.name, code));
  }
  AddRestarts(pod, &c);
  return c;
}

Duration RestartDelay(int count) {
  if (count <= 1) return Duration::zero();
  Duration delay = kFirstBackOff;
  for (int i = 2; i < count && delay < kLongestBackOff; ++i) delay *= 2;
  return std::min(delay, kLongestBackOff);
}

Duration DeletionTime(const Pod& pod) {
  if (Says(pod.annotations, "sim/delete-after", "grace")) {
    return std::chrono::seconds(std::max<int64_t>(pod.grace_seconds, 0));
  }
  return Seconds(pod.annotations, "sim/delete-after", 0);
}

}  // namespace kcm::devcluster::nodes
