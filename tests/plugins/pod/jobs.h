// SPDX-License-Identifier: Apache-2.0
// Jobs: what the scenario tests share that need Jobs without job-controller. Only the controllers
// under test run; the test itself writes the Jobs' statuses.
#pragma once
#include "plugins/pod/workloads.h"

namespace kcm::harness {

// The next `times` requests of this kind get this answer (-1: until ClearFaults).
inline devcluster::Server::Fault Answered(const std::string& method, const std::string& path_regex,
                                          int times, int status, const std::string& reason = "",
                                          const std::string& message = "") {
  devcluster::Server::Fault fault;
  fault.method = method;
  fault.path_regex = path_regex;
  fault.times = times;
  fault.status = status;
  fault.reason = reason;
  fault.message = message;
  return fault;
}

class Jobs : public Workloads {
 protected:
  // `controllers`: comma separated names.
  explicit Jobs(const std::string& controllers, bool start_host = true)
      : Workloads({.plugins = {"pod"},
                   .flags = {"--controllers=" + controllers},
                   .start_host = start_host,
                   .nodes = 0,
                   .scheduler = false}) {}

  static Json JobTemplate() {
    Json t = PodTemplate(Json::object());
    t["spec"]["restartPolicy"] = "Never";
    return t;
  }
  static Json Job(const std::string& name, const Json& spec = Json::object()) {
    Json job{{"apiVersion", "batch/v1"},
             {"kind", "Job"},
             {"metadata", {{"name", name}}},
             {"spec", {{"template", JobTemplate()}}}};
    job["spec"].merge_patch(spec);
    return job;
  }
  // The status of a Job that has become `type` (Complete, Failed) at `at`, RFC 3339.
  static Json Finished(const std::string& type, const std::string& at,
                       const std::string& started = "") {
    const std::string first = type == "Complete" ? "SuccessCriteriaMet" : "FailureTarget";
    Json status{{"conditions",
                 {{{"type", first}, {"status", "True"}, {"lastTransitionTime", at}},
                  {{"type", type}, {"status", "True"}, {"lastTransitionTime", at}}}}};
    status["startTime"] = started.empty() ? at : started;  // servers want one of a finished Job
    if (type != "Complete") return status;
    status["completionTime"] = at;
    status["succeeded"] = 1;
    return status;
  }
  void Finish(const std::string& job, const std::string& type, std::chrono::seconds ago = 0s) {
    cluster.PatchStatus("jobs", job, Finished(type, cluster.Now(-ago)));
  }
  bool HasJob(const std::string& name) { return cluster.Find("jobs", name).has_value(); }
  std::vector<std::string> JobNames() {
    std::vector<std::string> out;
    for (const Json& job : cluster.List("jobs"))
      if (!IsDeleting(job)) out.push_back(Name(job));
    return out;
  }
  bool JobIsGoing(const std::string& name) {
    const std::optional<Json> job = cluster.Find("jobs", name);
    return !job || IsDeleting(*job);
  }
};

}  // namespace kcm::harness
