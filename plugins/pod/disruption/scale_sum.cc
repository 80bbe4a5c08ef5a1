// SPDX-License-Identifier: Apache-2.0
// From pods to the replicas their controllers want.
#include "plugins/pod/disruption/scale_sum.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "kcm/rules/error_class.h"
#include "kcm/rules/go_quote.h"
#include "kcm/rules/owner_reference.h"
#include "plugins/pod/disruption/declaration.h"

namespace kcm::pod::disruption {

using nlohmann::json;
using rules::Node;

namespace {

// The Scales that are understood; the old ones are the same in what is read of them.
constexpr std::pair<std::string_view, std::string_view> kScaleVersions[] = {
    {"autoscaling", "v1"}, {"apps", "v1beta1"}, {"apps", "v1beta2"}, {"extensions", "v1beta1"}};

bool IsWorkloadGroup(std::string_view group) { return group == "apps" || group == "extensions"; }

std::string KeyOf(std::string_view ns, std::string_view name) {
  return std::string(ns) + "/" + std::string(name);
}

// `resource.group`; the core group has none.
std::string GroupResource(const sdk::ServedResource& r) {
  return r.group.empty() ? r.resource : r.resource + "." + r.group;
}

bool IsScale(const json& resource, const std::string& name) {
  if (!resource.is_object() || resource.value("name", "") != name ||
      resource.value("kind", "") != "Scale") {
    return false;
  }
  const std::string group = resource.value("group", ""), version = resource.value("version", "");
  for (const auto& [known_group, known_version] : kScaleVersions)
    if (group == known_group && version == known_version) return true;
  return false;
}

}  // namespace

struct ScaleSum::Reference {
  std::string_view ns, group, version, api_version, kind, name, uid;

  Reference(Node reference, std::string_view where)
      : ns(where),
        api_version(reference.Get("apiVersion").String()),
        kind(reference.Get("kind").String()),
        name(reference.Get("name").String()),
        uid(reference.Get("uid").String()) {
    const size_t slash = api_version.find('/');
    group = slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
    version = slash == std::string_view::npos ? api_version : api_version.substr(slash + 1);
  }
};

Status ScaleSum::Add(Node pod) {
  const Node controller = rules::ControllerOf(pod);
  if (!controller.Has()) {
    has_unmanaged_ = true;
    return Ok();
  }
  const Reference reference(controller, pod.Path("metadata.namespace").String());
  if (seen_.contains(reference.uid)) return Ok();
  Result<std::optional<Scale>> found = Find(reference);
  if (!found.ok()) return found.error();
  if (!*found) {
    return MakeError(Code::kNotFound, "found no controllers for pod " +
                                          rules::GoQuote(pod.Path("metadata.name").String()));
  }
  seen_.emplace(reference.uid);
  scales_.insert_or_assign(std::move((*found)->uid), (*found)->replicas);
  return Ok();
}

int64_t ScaleSum::replicas() const {
  int64_t sum = 0;
  for (const auto& [uid, replicas] : scales_) sum += replicas;
  return sum;
}

Result<std::optional<ScaleSum::Scale>> ScaleSum::Find(const Reference& reference) const {
  std::optional<Scale> cached;
  if (reference.kind == "ReplicationController" && reference.group.empty()) {
    cached = Cached(kReplicationControllerWatch, reference);
  } else if (reference.kind == "ReplicaSet" && IsWorkloadGroup(reference.group)) {
    cached = OfReplicaSet(reference);
  } else if (reference.kind == "StatefulSet" && reference.group == "apps") {
    cached = Cached(kStatefulSetWatch, reference);
  }
  if (cached) return cached;
  return OfSubresource(reference);
}

std::optional<ScaleSum::Scale> ScaleSum::Cached(sdk::MaskedWatch watch,
                                                const Reference& reference) const {
  const std::optional<sdk::ObjectRef> object =
      cache_.Get(watch, KeyOf(reference.ns, reference.name));
  if (!object || object->Uid() != reference.uid) return std::nullopt;
  return Scale{std::string(object->Uid()), object->Root().Path("spec.replicas").Int(1)};
}

// A ReplicaSet of a Deployment stands for the Deployment: during a rollout two of them share its
// replicas. Without its Deployment it is left to its own scale.
std::optional<ScaleSum::Scale> ScaleSum::OfReplicaSet(const Reference& reference) const {
  const std::optional<sdk::ObjectRef> set =
      cache_.Get(kReplicaSetWatch, KeyOf(reference.ns, reference.name));
  if (!set || set->Uid() != reference.uid) return std::nullopt;
  const Node owner = rules::ControllerOf(set->Root());
  const Reference parent(owner, reference.ns);
  if (parent.kind != "Deployment") return Cached(kReplicaSetWatch, reference);
  if (!IsWorkloadGroup(parent.group)) return std::nullopt;
  return Cached(kDeploymentWatch, parent);
}

Result<std::optional<ScaleSum::Scale>> ScaleSum::OfSubresource(const Reference& reference) const {
  const Result<sdk::ServedResource> mapped =
      run_.discovery().ForKind(reference.group, reference.version, reference.kind);
  if (!mapped.ok()) {
    if (!rules::IsNotFound(mapped.error())) return mapped.error();
    return MakeError(Code::kNotFound, "no matches for kind " + rules::GoQuote(reference.kind) +
                                          " in version " + rules::GoQuote(reference.api_version));
  }
  const Result<sdk::WholeRef> scale = run_.client().GetScale(*mapped, reference.ns, reference.name);
  if (scale.ok()) {
    if (scale->Uid() != reference.uid) return std::optional<Scale>();
    return std::optional<Scale>(
        Scale{std::string(scale->Uid()), scale->Root().Path("spec.replicas").Int()});
  }
  if (!rules::IsNotFound(scale.error())) return scale.error();
  // Either the object is gone, or its kind has no scale.
  const Result<bool> has_scale = ImplementsScale(*mapped);
  if (!has_scale.ok()) return has_scale.error();
  if (*has_scale) return std::optional<Scale>();
  return MakeError(Code::kNotFound,
                   GroupResource(*mapped) + " does not implement the scale subresource");
}

Result<bool> ScaleSum::ImplementsScale(const sdk::ServedResource& resource) const {
  const std::string path = resource.group.empty()
                               ? "/api/" + resource.version
                               : "/apis/" + resource.group + "/" + resource.version;
  const Result<std::string> text = run_.client().Raw(path);
  if (!text.ok()) return text.error();
  const json list = json::parse(*text, nullptr, false);
  if (!list.is_object() || !list.contains("resources") || !list["resources"].is_array())
    return MakeError(Code::kInternal, "GET " + path + ": the answer is no list of resources");
  for (const json& r : list["resources"])
    if (IsScale(r, resource.resource + "/scale")) return true;
  return false;
}

}  // namespace kcm::pod::disruption
