// SPDX-License-Identifier: Apache-2.0
// Jobs and pods for tables over the decisions of job-controller.
#pragma once
#include <deque>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kcm/rules/json_node.h"
#include "plugins/pod/job/pods.h"
#include "plugins/pod/job/spec.h"

namespace kcm::pod::job {

using TestJson = nlohmann::json;

inline rules::WallTime At(int64_t seconds) {
  return rules::WallTime(std::chrono::seconds(seconds));
}
inline std::string Time(int64_t seconds) { return rules::FormatTime(At(seconds)); }

// A pod with the tracking finalizer; `more` is merged into it.
inline TestJson Pod(const std::string& name, const std::string& phase,
                    const TestJson& more = TestJson::object()) {
  TestJson pod{{"metadata",
                {{"name", name},
                 {"namespace", "ns"},
                 {"uid", name},
                 {"creationTimestamp", Time(0)},
                 {"finalizers", {"batch.kubernetes.io/job-tracking"}}}},
               {"status", {{"phase", phase}}}};
  pod.merge_patch(more);
  return pod;
}
inline TestJson OfIndex(const std::string& index, TestJson annotations = TestJson::object()) {
  annotations["batch.kubernetes.io/job-completion-index"] = index;
  return {{"metadata", {{"annotations", annotations}}}};
}
inline TestJson Merged(TestJson x, const TestJson& y) {
  x.merge_patch(y);
  return x;
}
inline TestJson ReadyAt(int64_t seconds, const std::string& status = "True") {
  return {{"status",
           {{"conditions",
             {{{"type", "Ready"}, {"status", status}, {"lastTransitionTime", Time(seconds)}}}}}}};
}
inline TestJson Exited(const std::string& container, int code, int64_t at = 0) {
  return {{"name", container},
          {"restartCount", 0},
          {"state", {{"terminated", {{"exitCode", code}, {"finishedAt", Time(at)}}}}}};
}

// Keeps the JSON that specs and pods borrow from.
class Objects {
 public:
  JobSpec Spec(const TestJson& spec, const Features& features = {}) {
    return SpecOf(rules::JsonNode(Keep({{"spec", spec}})), features);
  }
  std::vector<JobPod> Pods(const JobSpec& spec, const std::vector<TestJson>& pods) {
    std::vector<JobPod> out;
    for (const TestJson& pod : pods) out.push_back(PodOf(rules::JsonNode(Keep(pod)), spec, false));
    return out;
  }
  rules::Node Node(const TestJson& json) { return rules::JsonNode(Keep(json)); }

 private:
  const TestJson& Keep(TestJson json) { return kept_.emplace_back(std::move(json)); }
  std::deque<TestJson> kept_;
};

inline TestJson IndexedSpec(int completions, const TestJson& more = TestJson::object()) {
  return Merged({{"completionMode", "Indexed"},
                 {"completions", completions},
                 {"parallelism", completions},
                 {"backoffLimit", 6}},
                more);
}

}  // namespace kcm::pod::job
