// SPDX-License-Identifier: Apache-2.0
// Provisioner and resizer of the simulated CSI driver.
#include "devcluster/nodes/csi_driver_impl.h"
#include "devcluster/nodes/pod_course.h"
#include "devcluster/nodes/resources.h"

namespace kcm::devcluster::nodes {
namespace {

constexpr char kProvisionerFinalizer[] = "external-provisioner.volume.kubernetes.io/finalizer";
constexpr char kSelectedNode[] = "volume.kubernetes.io/selected-node";
constexpr char kProvisionedBy[] = "pv.kubernetes.io/provisioned-by";
constexpr char kVolumes[] = "/api/v1/persistentvolumes";

}  // namespace

Outcome CsiDriver::Impl::DoClaim(WorkPool::Worker& worker, const std::string& key) {
  const std::optional<Claim> claim = Find(claims, key);
  if (!claim || claim->deleting) return {};
  if (claim->bound) {
    const std::optional<JsonObject> volume = Find(volumes, claim->volume);
    if (!volume || !OfOurDriver(*volume)) return {};
    return Resize(worker, *claim, *volume);
  }
  if (claim->provisioner != kCsiDriver || !claim->volume.empty()) return {};
  const std::optional<JsonObject> storage_class = Find(classes, claim->storage_class);
  if (!storage_class) return {};  // its appearance wakes the claim
  const bool waits =
      JsonNode(*storage_class->body).Get("volumeBindingMode").String() == "WaitForFirstConsumer";
  if (waits && claim->selected_node.empty()) return {};
  return Provision(worker, *claim, *storage_class);
}

Outcome CsiDriver::Impl::Refuse(WorkPool::Worker& worker, const Claim& claim,
                                const std::string& why) {
  Report(worker, claim, "Warning", "ProvisioningFailed",
         "failed to provision volume with StorageClass \"" + claim.storage_class + "\": " + why);
  if (!claim.selected_node.empty()) {
    // Another node may do better: the scheduler decides again.
    const json body = {
        {"metadata", {{"uid", claim.uid}, {"annotations", {{kSelectedNode, nullptr}}}}}};
    return After(
        "claim " + Key(claim.ns, claim.name),
        worker.Call("PATCH",
                    "/api/v1/namespaces/" + claim.ns + "/persistentvolumeclaims/" + claim.name,
                    Dump(body), kMergePatch));
  }
  return {"claim " + Key(claim.ns, claim.name) + ": " + why};
}

json CsiDriver::Impl::VolumeBody(const Claim& claim, const JsonObject& storage_class) {
  const Node of_class = JsonNode(*storage_class.body);
  const std::string policy = TextOf(of_class.Get("reclaimPolicy"));
  json metadata = {{"name", "pvc-" + claim.uid}, {"annotations", {{kProvisionedBy, kCsiDriver}}}};
  if (policy != "Retain") metadata["finalizers"] = json::array({kProvisionerFinalizer});
  json modes = json::array();
  for (const std::string& mode : claim.access_modes) modes.push_back(mode);
  json csi = {{"driver", kCsiDriver},
              {"volumeHandle", "vol-" + claim.uid},
              {"volumeAttributes", {{"storage.kubernetes.io/csiProvisionerIdentity", kCsiDriver}}}};
  if (!claim.block) csi["fsType"] = "ext4";
  json spec = {{"capacity", {{"storage", claim.request_text}}},
               {"accessModes", std::move(modes)},
               {"claimRef",
                {{"kind", "PersistentVolumeClaim"},
                 {"apiVersion", "v1"},
                 {"namespace", claim.ns},
                 {"name", claim.name},
                 {"uid", claim.uid},
                 {"resourceVersion", std::to_string(claim.resource_version)}}},
               {"persistentVolumeReclaimPolicy", policy.empty() ? "Delete" : policy},
               {"storageClassName", claim.storage_class},
               {"volumeMode", claim.block ? "Block" : "Filesystem"},
               {"csi", std::move(csi)}};
  const std::string topology = TextOf(of_class.Get("parameters").Get("topology"));
  const std::optional<NodeObject> node = Find(nodes, claim.selected_node);
  if (node && (topology == "zone" || topology == "node")) {
    const char* key = topology == "zone" ? kZone : kHostname;
    const std::string value =
        TextOf(JsonNode(*node->identity).Get("metadata").Get("labels").Get(key));
    spec["nodeAffinity"]["required"]["nodeSelectorTerms"] = json::array(
        {{{"matchExpressions",
           json::array({{{"key", key}, {"operator", "In"}, {"values", json::array({value})}}})}}});
  }
  return {{"apiVersion", "v1"},
          {"kind", "PersistentVolume"},
          {"metadata", std::move(metadata)},
          {"spec", std::move(spec)}};
}

Outcome CsiDriver::Impl::Provision(WorkPool::Worker& worker, const Claim& claim,
                                   const JsonObject& storage_class) {
  if (const auto wait =
          WaitFor("provision " + claim.uid, Value(claim.annotations, "sim/provision-after"))) {
    return {{}, *wait};
  }
  const std::string why = Value(claim.annotations, "sim/provision-fail");
  if (!why.empty()) return Refuse(worker, claim, why);
  if (!claim.selected_node.empty() && !Find(nodes, claim.selected_node)) {
    return Refuse(worker, claim, "node \"" + claim.selected_node + "\" not found");
  }
  const json body = VolumeBody(claim, storage_class);
  const Answer a = worker.Call("POST", kVolumes, Dump(body));
  if (a.status == 409) return {};  // made already: the volume controller binds it
  if (!a.ok()) return {"volume for claim " + Key(claim.ns, claim.name) + ": " + a.Describe()};
  Report(worker, claim, "Normal", "ProvisioningSucceeded",
         "Successfully provisioned volume pvc-" + claim.uid);
  return {};
}

Outcome CsiDriver::Impl::Resize(WorkPool::Worker& worker, const Claim& claim,
                                const JsonObject& volume) {
  if (claim.request <= claim.capacity || claim.capacity == 0) return {};
  if (const auto wait =
          WaitFor("resize " + claim.uid, Value(claim.annotations, "sim/resize-after"))) {
    return {{}, *wait};
  }
  const std::string what = "resize of claim " + Key(claim.ns, claim.name);
  Answer a;
  if (Bytes(JsonNode(*volume.body).Path("spec.capacity.storage").String()) < claim.request) {
    a = worker.Call("PATCH", std::string(kVolumes) + "/" + volume.name,
                    Dump({{"spec", {{"capacity", {{"storage", claim.request_text}}}}}}),
                    kMergePatch);
    if (!a.ok()) return After(what, a);
  }
  const std::string path =
      "/api/v1/namespaces/" + claim.ns + "/persistentvolumeclaims/" + claim.name;
  a = worker.Call("GET", path);
  const json live = json::parse(a.body, nullptr, false);
  if (!a.ok() || !live.is_object()) return After(what, a);
  json conditions = json::array();
  for (const json& c : live.value("status", json::object()).value("conditions", json::array())) {
    const std::string type = c.value("type", "");
    if (type != "Resizing" && type != "FileSystemResizePending") conditions.push_back(c);
  }
  const json body = {
      {"metadata",
       {{"uid", claim.uid}, {"resourceVersion", live["metadata"].value("resourceVersion", "")}}},
      {"status",
       {{"capacity", {{"storage", claim.request_text}}},
        {"conditions", conditions.empty() ? json(nullptr) : conditions},
        {"allocatedResources", nullptr},
        {"allocatedResourceStatuses", nullptr}}}};
  a = worker.Call("PATCH", path + "/status", Dump(body), kMergePatch);
  if (!a.ok()) return After(what, a);
  Report(worker, claim, "Normal", "VolumeResizeSuccessful", "Resize volume succeeded");
  return {};
}

// A released volume is deleted when its policy says so.
Outcome CsiDriver::Impl::DoVolume(WorkPool::Worker& worker, const std::string& name) {
  const std::optional<JsonObject> volume = Find(volumes, name);
  if (!volume || !OfOurDriver(*volume)) return {};
  if (AnnotationOf(*volume, kProvisionedBy).String() != kCsiDriver) return {};
  const Node v = JsonNode(*volume->body);
  const std::string phase = TextOf(v.Path("status.phase"));
  const bool released = phase == "Released" || phase == "Failed";
  const bool ends =
      (released && v.Path("spec.persistentVolumeReclaimPolicy").String() == "Delete") ||
      (volume->deleting && phase != "Bound");
  if (!ends) return {};
  const std::string path = std::string(kVolumes) + "/" + name;
  const json finalizers = FinalizersOf(*volume);
  if (Has(finalizers, kProvisionerFinalizer)) {
    const Answer a = worker.Call(
        "PATCH", path, FinalizersBody(*volume, Without(finalizers, kProvisionerFinalizer)),
        kMergePatch);
    if (!a.ok()) return After("volume " + name, a);
  }
  if (volume->deleting) return {};
  const json options = {
      {"kind", "DeleteOptions"}, {"apiVersion", "v1"}, {"preconditions", {{"uid", volume->uid}}}};
  return After("volume " + name, worker.Call("DELETE", path, Dump(options)));
}

}  // namespace kcm::devcluster::nodes
