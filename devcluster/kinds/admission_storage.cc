// SPDX-License-Identifier: Apache-2.0
// Admission of volumes, claims and ingresses: protection finalizers, default classes, growing
// claims.
#include <algorithm>

#include "devcluster/kinds/admission.h"
#include "devcluster/kinds/fields.h"
#include "kcm/rules/json_node.h"
#include "kcm/rules/quantity.h"

namespace kcm::devcluster::kinds {

namespace {

const Gvr& StorageClasses() {
  static const Gvr* const kGvr = new Gvr{"storage.k8s.io", "v1", "storageclasses"};
  return *kGvr;
}

// The newest object of a kind that an annotation marks as default; of equal age the first by name.
std::optional<std::string> NewestDefault(const Reader& reader, const Gvr& gvr,
                                         std::string_view annotation) {
  std::optional<std::string> name;
  std::string newest;
  for (const Json& c : reader.List(gvr, "")) {
    const Json* annotations = Find(c, "metadata.annotations");
    if (annotations == nullptr || KeyText(*annotations, annotation) != "true") continue;
    const std::string created(Text(c, "metadata.creationTimestamp"));
    if (name && created <= newest) continue;
    name = std::string(Text(c, "metadata.name"));
    newest = created;
  }
  return name;
}

}  // namespace

Refusal ProtectInUse(const Admission& a) {
  if (!a.IsCreate() || !a.Main()) return std::nullopt;
  const char* finalizer = a.Of("persistentvolumes")        ? "kubernetes.io/pv-protection"
                          : a.Of("persistentvolumeclaims") ? "kubernetes.io/pvc-protection"
                          : a.Of("volumeattributesclasses", "storage.k8s.io")
                              ? "kubernetes.io/vac-protection"
                              : nullptr;
  if (finalizer == nullptr) return std::nullopt;
  Json& list = Child(a.object, "metadata")["finalizers"];
  if (!list.is_array()) list = Json::array();
  if (std::find(list.begin(), list.end(), Json(finalizer)) == list.end()) list.push_back(finalizer);
  return std::nullopt;
}

Refusal DefaultClasses(const Admission& a) {
  if (!a.IsCreate() || !a.Main()) return std::nullopt;
  if (a.Of("persistentvolumeclaims")) {
    const Json* annotations = Find(a.object, "metadata.annotations");
    const bool by_annotation =
        annotations != nullptr &&
        Key(*annotations, "volume.beta.kubernetes.io/storage-class") != nullptr;
    if (by_annotation || Find(a.object, "spec.storageClassName") != nullptr) return std::nullopt;
    if (auto name = NewestDefault(*a.info.reader, StorageClasses(),
                                  "storageclass.kubernetes.io/is-default-class")) {
      Child(a.object, "spec")["storageClassName"] = *name;
    }
  } else if (a.Of("ingresses", "networking.k8s.io")) {
    const Json* annotations = Find(a.object, "metadata.annotations");
    const bool by_annotation =
        annotations != nullptr && Key(*annotations, "kubernetes.io/ingress.class") != nullptr;
    if (by_annotation || Find(a.object, "spec.ingressClassName") != nullptr) return std::nullopt;
    static const Gvr* const kClasses = new Gvr{"networking.k8s.io", "v1", "ingressclasses"};
    if (auto name = NewestDefault(*a.info.reader, *kClasses,
                                  "ingressclass.kubernetes.io/is-default-class")) {
      Child(a.object, "spec")["ingressClassName"] = *name;
    }
  }
  return std::nullopt;
}

Refusal CheckClaimResize(const Admission& a) {
  if (!a.Of("persistentvolumeclaims") || !a.IsUpdate() || !a.Main()) return std::nullopt;
  const auto storage = [](const Json& claim) {
    return rules::Quantity::Of(rules::JsonNode(claim).Path("spec.resources.requests.storage"));
  };
  if (storage(a.object) <= storage(*a.old)) return std::nullopt;
  if (Text(*a.old, "status.phase") != "Bound") return std::nullopt;  // validation refuses it
  const std::string name(Text(*a.old, "spec.storageClassName"));
  const std::optional<Json> c =
      name.empty() ? std::nullopt : a.info.reader->Get(StorageClasses(), "", name);
  if (c && Flag(*c, "allowVolumeExpansion")) return std::nullopt;
  return a.Forbid(
      "only dynamically provisioned pvc can be resized and the storageclass that provisions the "
      "pvc must support resize");
}

}  // namespace kcm::devcluster::kinds
