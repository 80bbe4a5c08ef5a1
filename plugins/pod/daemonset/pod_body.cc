// SPDX-License-Identifier: Apache-2.0
// Pods from a DaemonSet's template.
#include "plugins/pod/daemonset/pod_body.h"

#include <nlohmann/json.hpp>

#include "kcm/rules/controller_revision.h"
#include "kcm/rules/pod_template.h"
#include "plugins/pod/daemonset/placement.h"
#include "plugins/pod/resources.h"

namespace kcm::pod::daemonset {

using nlohmann::json;

PodBodies::PodBodies(const Spec& set, std::string_view hash) {
  const std::string api_version = kDaemonSets.ApiVersion();
  const rules::OwnerReference owner{
      .api_version = api_version, .kind = kDaemonSets.kind, .name = set.name, .uid = set.uid};
  pod_ = std::make_unique<json>(json::parse(rules::PodFromTemplate(set.Template(), owner)));
  json& labels = (*pod_)["metadata"]["labels"];
  if (!hash.empty()) labels[std::string(rules::kPodRevisionLabel)] = hash;
  if (set.template_generation)
    labels[std::string(kGenerationLabel)] = std::to_string(*set.template_generation);
  AddDaemonTolerations((*pod_)["spec"]);
}

PodBodies::~PodBodies() = default;

std::string PodBodies::For(std::string_view node) {
  SetTargetNode((*pod_)["spec"], node);
  return pod_->dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace kcm::pod::daemonset
