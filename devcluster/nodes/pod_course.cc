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

Duration Seconds(const Strings& annotations, std::string_view name, double otherwise) {
  double s = otherwise;
  const auto it = annotations.find(name);
  if (it != annotations.end()) s = std::strtod(it->second.c_str(), nullptr);
  if (!(s > 0)) return Duration::zero();
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(std::min(s, kLongestDelay)));
}

// The code for this pod in "1=3,2=0", else sim/exit-code, else 0.
int ExitCode(const Pod& pod) {
  std::string text = Value(pod.annotations, "sim/exit-code");
  const std::string by_index = Value(pod.annotations, "sim/exit-code-by-index");
  const std::string wanted = pod.completion_index + "=";
  for (size_t from = 0; !pod.completion_index.empty() && from < by_index.size();) {
    const size_t end = std::min(by_index.find(',', from), by_index.size());
    if (by_index.compare(from, wanted.size(), wanted) == 0) {
      text = by_index.substr(from + wanted.size(), end - from - wanted.size());
    }
    from = end + 1;
  }
  int code = 0;
  std::from_chars(text.data(), text.data() + text.size(), code);
  return code;
}

}  // namespace

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
  return c;
}

Duration DeletionTime(const Pod& pod) { return Seconds(pod.annotations, "sim/delete-after", 0); }

}  // namespace kcm::devcluster::nodes
