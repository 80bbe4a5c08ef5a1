// SPDX-License-Identifier: Apache-2.0
// Pods of a Job.
#include "plugins/pod/job/pod_body.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kcm/rules/job.h"
#include "kcm/rules/pod_template.h"
#include "kcm/sdk/object.h"

namespace kcm::pod::job {
namespace {

using Json = nlohmann::json;
using rules::Node;

constexpr char kIndexVariable[] = "JOB_COMPLETION_INDEX";
constexpr size_t kMaxGeneratedPrefix = 58;  // five random characters follow

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void AddFinalizer(Json& metadata) {
  Json& finalizers = metadata["finalizers"];
  if (!finalizers.is_array()) finalizers = Json::array();
  if (std::find(finalizers.begin(), finalizers.end(), Json(rules::kJobTrackingFinalizer)) ==
      finalizers.end())
    finalizers.push_back(rules::kJobTrackingFinalizer);
}

void AddIndexVariable(Json& container) {
  Json& env = container["env"];
  if (!env.is_array()) env = Json::array();
  for (const Json& variable : env)
    if (variable.is_object() && variable.value("name", "") == kIndexVariable) return;
  const std::string path = "metadata.labels['" + std::string(rules::kJobCompletionIndex) + "']";
  env.push_back({{"name", kIndexVariable}, {"valueFrom", {{"fieldRef", {{"fieldPath", path}}}}}});
}

}  // namespace

PodBodies::PodBodies(Node job, const JobSpec& spec)
    : name_(job.Get("metadata").Get("name").String()), base_(std::make_unique<Json>()) {
  const rules::OwnerReference owner{.api_version = "batch/v1",
                                    .kind = "Job",
                                    .name = name_,
                                    .uid = job.Get("metadata").Get("uid").String()};
  *base_ = Json::parse(rules::PodFromTemplate(spec.pod_template, owner));
  AddFinalizer((*base_)["metadata"]);
  if (!spec.indexed) return;
  Json& pod_spec = (*base_)["spec"];
  for (const char* list : {"initContainers", "containers"}) {
    const auto containers = pod_spec.find(list);
    if (containers == pod_spec.end() || !containers->is_array()) continue;
    for (Json& container : *containers) AddIndexVariable(container);
  }
}

PodBodies::~PodBodies() = default;

std::string PodBodies::Plain() const { return Dump(*base_); }

std::string PodBodies::OfIndex(int64_t index, const std::optional<IndexFailures>& failures) const {
  Json pod = *base_;
  const std::string text = std::to_string(index), key(rules::kJobCompletionIndex);
  Json& metadata = pod["metadata"];
  metadata["generateName"] = IndexedNamePrefix(name_, index);
  metadata["annotations"][key] = text;
  metadata["labels"][key] = text;
  pod["spec"]["hostname"] = name_ + "-" + text;
  if (failures) {
    Json& annotations = metadata["annotations"];
    annotations[std::string(kIndexFailureCount)] = std::to_string(failures->counted);
    if (failures->ignored > 0)
      annotations[std::string(kIndexIgnoredFailureCount)] = std::to_string(failures->ignored);
  }
  return Dump(pod);
}

std::string IndexedNamePrefix(std::string_view job_name, int64_t index) {
  const std::string end = "-" + std::to_string(index) + "-";
  return std::string(job_name.substr(0, kMaxGeneratedPrefix - end.size())) + end;
}

}  // namespace kcm::pod::job
