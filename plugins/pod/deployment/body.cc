// SPDX-License-Identifier: Apache-2.0
// Making ReplicaSets and edits.
#include "plugins/pod/deployment/body.h"

#include <nlohmann/json.hpp>

#include "kcm/sdk/object.h"

namespace kcm::pod::deployment {
namespace {

constexpr size_t kMaxNameLength = 253;

nlohmann::json JsonOf(const Annotations& annotations) {
  nlohmann::json out = nlohmann::json::object();
  for (const auto& [name, value] : annotations) out[name] = value;
  return out;
}

nlohmann::json& Object(nlohmann::json& parent, const char* name) {
  nlohmann::json& member = parent[name];
  if (!member.is_object()) member = nlohmann::json::object();
  return member;
}

}  // namespace

std::string ReplicaSetName(std::string_view deployment, std::string_view hash) {
  const size_t room = kMaxNameLength - 1 - hash.size();
  return std::string(deployment.substr(0, room)) + "-" + std::string(hash);
}

nlohmann::json ReplicaSetBody(const Deployment& d, const NewReplicaSet& fresh) {
  const rules::Node metadata = d.root.Get("metadata"), spec = d.root.Get("spec");
  nlohmann::json pod_template = sdk::ToJson(spec.Get("template"));
  nlohmann::json& labels = Object(Object(pod_template, "metadata"), "labels");
  labels[std::string(kHashLabel)] = fresh.hash;
  nlohmann::json selector = sdk::ToJson(spec.Get("selector"));
  if (!selector.is_object()) selector = nlohmann::json::object();
  Object(selector, "matchLabels")[std::string(kHashLabel)] = fresh.hash;

  nlohmann::json body{{"apiVersion", "apps/v1"}, {"kind", "ReplicaSet"}};
  body["metadata"] = {{"name", fresh.name},
                      {"namespace", metadata.Get("namespace").String()},
                      {"labels", labels},
                      {"annotations", JsonOf(fresh.annotations)},
                      {"ownerReferences",
                       {{{"apiVersion", "apps/v1"},
                         {"kind", "Deployment"},
                         {"name", d.name},
                         {"uid", metadata.Get("uid").String()},
                         {"controller", true},
                         {"blockOwnerDeletion", true}}}}};
  body["spec"] = {{"replicas", fresh.replicas}, {"selector", std::move(selector)}};
  if (const int64_t min_ready = spec.Get("minReadySeconds").Int(); min_ready != 0)
    body["spec"]["minReadySeconds"] = min_ready;
  body["spec"]["template"] = std::move(pod_template);
  return body;
}

void SetAnnotations(nlohmann::json& object, const Annotations& annotations) {
  nlohmann::json& metadata = Object(object, "metadata");
  if (annotations.empty()) {
    metadata.erase("annotations");
  } else {
    metadata["annotations"] = JsonOf(annotations);
  }
}

void SetAnnotation(nlohmann::json& object, std::string_view name, std::string value) {
  Object(Object(object, "metadata"), "annotations")[std::string(name)] = std::move(value);
}

void RemoveAnnotation(nlohmann::json& object, std::string_view name) {
  Object(Object(object, "metadata"), "annotations").erase(std::string(name));
}

void TakeTemplate(nlohmann::json& deployment, rules::Node replica_set) {
  nlohmann::json pod_template = sdk::ToJson(replica_set.Path("spec.template"));
  if (const auto metadata = pod_template.find("metadata"); metadata != pod_template.end()) {
    if (const auto labels = metadata->find("labels"); labels != metadata->end())
      labels->erase(std::string(kHashLabel));
  }
  Object(deployment, "spec")["template"] = std::move(pod_template);
}

}  // namespace kcm::pod::deployment
