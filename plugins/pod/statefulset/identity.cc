// SPDX-License-Identifier: Apache-2.0
// Names, labels and volumes by ordinal.
#include "plugins/pod/statefulset/identity.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "kcm/rules/controller_revision.h"
#include "kcm/rules/pod_template.h"
#include "kcm/sdk/object.h"

namespace kcm::pod::statefulset {
namespace {

using nlohmann::json;
using rules::Node;

json& Object(json& parent, std::string_view name) {
  json& member = parent[std::string(name)];
  if (!member.is_object()) member = json::object();
  return member;
}

Node VolumeNamed(Node pod, std::string_view name) {
  for (const Node volume : pod.Path("spec.volumes").Items()) {
    if (volume.Get("name").String() == name) return volume;
  }
  return Node();
}

std::string_view NameOf(Node claim_template) {
  return claim_template.Path("metadata.name").String();
}

bool IsClaimVolume(const Spec& set, const json& volume) {
  for (const Node claim_template : set.ClaimTemplates().Items()) {
    if (volume.is_object() && volume.value("name", "") == NameOf(claim_template)) return true;
  }
  return false;
}

}  // namespace

ParsedName ParsePodName(std::string_view pod) {
  const size_t dash = pod.rfind('-');
  if (dash == std::string_view::npos || dash + 1 == pod.size()) return {};
  int64_t ordinal = 0;
  for (const char c : pod.substr(dash + 1)) {
    if (c < '0' || c > '9') return {};
    ordinal = ordinal * 10 + (c - '0');
    if (ordinal > std::numeric_limits<int32_t>::max()) return {};
  }
  return {pod.substr(0, dash), ordinal};
}

std::string PodName(std::string_view set, int64_t ordinal) {
  return std::string(set) + "-" + std::to_string(ordinal);
}

std::string ClaimName(std::string_view claim_template, std::string_view set, int64_t ordinal) {
  return std::string(claim_template) + "-" + PodName(set, ordinal);
}

bool IdentityMatches(const Spec& set, Node pod) {
  const Node metadata = pod.Get("metadata");
  const std::string_view name = metadata.Get("name").String();
  const ParsedName parsed = ParsePodName(name);
  return parsed.ordinal >= 0 && PodName(set.name, parsed.ordinal) == name &&
         metadata.Get("namespace").String() == set.ns &&
         metadata.Get("labels").Get(kPodNameLabel).String() == name;
}

bool StorageMatches(const Spec& set, Node pod) {
  const int64_t ordinal = ParsePodName(pod.Path("metadata.name").String()).ordinal;
  if (ordinal < 0) return false;
  for (const Node claim_template : set.ClaimTemplates().Items()) {
    const std::string_view name = NameOf(claim_template);
    const Node claim = VolumeNamed(pod, name).Path("persistentVolumeClaim.claimName");
    if (claim.String() != ClaimName(name, set.name, ordinal)) return false;
  }
  return true;
}

json PodFromRevision(const Spec& set, Node pod_template, std::string_view revision) {
  json pod = json::parse(rules::PodFromTemplate(
      pod_template,
      {.api_version = "apps/v1", .kind = "StatefulSet", .name = set.name, .uid = set.uid}));
  Object(Object(pod, "metadata"), "labels")[std::string(rules::kPodRevisionLabel)] = revision;
  return pod;
}

json PodOf(const Spec& set, const json& pod_of_revision, int64_t ordinal) {
  json pod = pod_of_revision;
  const std::string name = PodName(set.name, ordinal);
  pod["metadata"]["name"] = name;
  pod["metadata"]["namespace"] = set.ns;
  SetIdentityLabels(pod, ordinal);
  json& spec = Object(pod, "spec");
  spec["hostname"] = name;
  const std::string_view service = set.root.Path("spec.serviceName").String();
  if (service.empty()) {
    spec.erase("subdomain");
  } else {
    spec["subdomain"] = service;
  }
  SetStorage(set, pod, ordinal);
  return pod;
}

json ClaimOf(const Spec& set, Node claim_template, int64_t ordinal) {
  json claim = sdk::ToJson(claim_template);
  if (!claim.is_object()) claim = json::object();
  claim["apiVersion"] = "v1";
  claim["kind"] = "PersistentVolumeClaim";
  json& metadata = Object(claim, "metadata");
  metadata["name"] = ClaimName(NameOf(claim_template), set.name, ordinal);
  metadata["namespace"] = set.ns;
  json& labels = Object(metadata, "labels");
  for (const auto& [name, value] : set.root.Path("spec.selector.matchLabels").Entries())
    labels[std::string(name)] = value.String();
  if (labels.empty()) metadata.erase("labels");
  return claim;
}

void SetIdentityLabels(json& pod, int64_t ordinal) {
  json& metadata = Object(pod, "metadata");
  json& labels = Object(metadata, "labels");
  labels[std::string(kPodNameLabel)] = metadata.value("name", "");
  labels[std::string(kPodIndexLabel)] = std::to_string(ordinal);
}

void SetStorage(const Spec& set, json& pod, int64_t ordinal) {
  if (set.ClaimTemplates().empty()) return;
  json volumes = json::array();
  for (const Node claim_template : set.ClaimTemplates().Items()) {
    const std::string_view name = NameOf(claim_template);
    volumes.push_back(
        {{"name", name},
         {"persistentVolumeClaim", {{"claimName", ClaimName(name, set.name, ordinal)}}}});
  }
  json& spec = Object(pod, "spec");
  if (const auto old = spec.find("volumes"); old != spec.end() && old->is_array()) {
    for (json& volume : *old) {
      if (!IsClaimVolume(set, volume)) volumes.push_back(std::move(volume));
    }
  }
  spec["volumes"] = std::move(volumes);
}

}  // namespace kcm::pod::statefulset
