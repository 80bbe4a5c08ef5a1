// SPDX-License-Identifier: Apache-2.0
// What the simulated CSI driver knows of the cluster, and what it brings along.
#include "devcluster/nodes/csi_driver.h"

#include "devcluster/nodes/csi_driver_impl.h"
#include "devcluster/nodes/event_body.h"
#include "devcluster/nodes/pod_course.h"

namespace kcm::devcluster::nodes {
namespace {

constexpr char kManagedAttach[] = "volumes.kubernetes.io/controller-managed-attach-detach";
constexpr char kClasses[] = "/apis/storage.k8s.io/v1/storageclasses";

json ClassBody(const char* name, const char* mode) {
  return {{"apiVersion", "storage.k8s.io/v1"}, {"kind", "StorageClass"},
          {"metadata", {{"name", name}}},      {"provisioner", kCsiDriver},
          {"reclaimPolicy", "Delete"},         {"volumeBindingMode", mode},
          {"allowVolumeExpansion", true}};
}

}  // namespace

void CsiDriver::Impl::Listed(Input input) {
  {
    const std::lock_guard lock(mu);
    unlisted.erase(input);
    if (!unlisted.empty()) return;
  }
  WakeAll();
}

void CsiDriver::Impl::WakeAll() {
  std::vector<std::string> keys;
  {
    const std::lock_guard lock(mu);
    for (const auto& [name, o] : nodes) keys.push_back(WorkKey(Kind::kNode, name));
    for (const auto& [name, o] : claims) keys.push_back(WorkKey(Kind::kClaim, name));
    for (const auto& [name, o] : volumes) keys.push_back(WorkKey(Kind::kVolume, name));
    for (const auto& [name, o] : attachments) keys.push_back(WorkKey(Kind::kAttachment, name));
  }
  for (const std::string& key : keys) work.Wake(key);
}

// How long an act that takes `seconds` still takes; nullopt when it may happen now. The time runs
// from the first call for it.
std::optional<Duration> CsiDriver::Impl::WaitFor(const std::string& act,
                                                 const std::string& seconds) {
  const Duration all = SecondsIn(seconds);
  if (all <= Duration::zero()) return std::nullopt;
  const std::lock_guard lock(mu);
  const host::clock::MonoTime now = clock.Monotonic();
  const auto [it, first] = due.emplace(act, now + all);
  if (it->second > now) return it->second - now;
  due.erase(it);
  return std::nullopt;
}

void CsiDriver::Impl::Report(WorkPool::Worker& worker, const Claim& claim, const char* type,
                             const char* reason, const std::string& message) {
  const EventSubject subject{"v1",      "PersistentVolumeClaim", claim.ns, claim.name,
                             claim.uid, claim.resource_version};
  worker.Call("POST", "/api/v1/namespaces/" + claim.ns + "/events",
              EventBody(subject, {type, reason, message, kCsiDriver}, ++events, clock.Now()));
}

Outcome CsiDriver::Impl::Do(WorkPool::Worker& worker, const std::string& key) {
  const std::string name = key.substr(1);
  switch (static_cast<Kind>(key[0])) {
    case Kind::kSetup:
      return SetUp(worker);
    case Kind::kNode:
      return SetUpNode(worker, name);
    case Kind::kClaim:
      return DoClaim(worker, name);
    case Kind::kVolume:
      return DoVolume(worker, name);
    case Kind::kAttachment:
      return DoAttachment(worker, name);
  }
  return {};
}

// ---- what a driver brings along

Outcome CsiDriver::Impl::SetUp(WorkPool::Worker& worker) {
  const json driver = {{"apiVersion", "storage.k8s.io/v1"},
                       {"kind", "CSIDriver"},
                       {"metadata", {{"name", kCsiDriver}}},
                       {"spec", {{"attachRequired", true}}}};
  const std::pair<std::string, json> all[] = {
      {"/apis/storage.k8s.io/v1/csidrivers", driver},
      {kClasses, ClassBody("sim", "Immediate")},
      {kClasses, ClassBody("sim-wait", "WaitForFirstConsumer")}};
  for (const auto& [path, body] : all) {
    const Answer a = worker.Call("POST", path, Dump(body));
    if (!a.ok() && a.status != 409) return {"create " + path + ": " + a.Describe()};
  }
  return {};
}

Outcome CsiDriver::Impl::SetUpNode(WorkPool::Worker& worker, const std::string& name) {
  const std::optional<NodeObject> node = Find(nodes, name);
  if (!node || !simulates(name)) return {};
  const json csi_node = {
      {"apiVersion", "storage.k8s.io/v1"},
      {"kind", "CSINode"},
      {"metadata",
       {{"name", name},
        {"ownerReferences",
         json::array(
             {{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", name}, {"uid", node->uid}}})}}},
      {"spec",
       {{"drivers", json::array({{{"name", kCsiDriver},
                                  {"nodeID", name},
                                  {"topologyKeys", json::array({kHostname, kZone})}}})}}}};
  Answer a = worker.Call("POST", "/apis/storage.k8s.io/v1/csinodes", Dump(csi_node));
  if (!a.ok() && a.status != 409) return {"CSINode " + name + ": " + a.Describe()};
  const json managed = {{"metadata", {{"annotations", {{kManagedAttach, "true"}}}}}};
  return After("node " + name,
               worker.Call("PATCH", "/api/v1/nodes/" + name, Dump(managed), kMergePatch));
}

// ---- the outside

CsiDriver::CsiDriver(host::clock::Clock& clock, WorkPool& pool,
                     std::function<bool(const std::string&)> simulates,
                     std::function<void(const std::string&)> log)
    : impl_(std::make_unique<Impl>(clock, pool, std::move(simulates), std::move(log))) {}
CsiDriver::~CsiDriver() = default;

void CsiDriver::Register() { impl_->Wake(Kind::kSetup, ""); }

void CsiDriver::OnNodes(const std::vector<NodeObject>& all) {
  {
    const std::lock_guard lock(impl_->mu);
    impl_->nodes.clear();
    for (const NodeObject& node : all) impl_->nodes[node.name] = node;
  }
  impl_->Listed(Impl::Input::kNodes);
}

void CsiDriver::OnNode(Change change, const NodeObject& node) {
  {
    const std::lock_guard lock(impl_->mu);
    const auto known = impl_->nodes.find(node.name);
    const bool news = known == impl_->nodes.end() || known->second.uid != node.uid;
    if (change == Change::kDeleted) {
      impl_->nodes.erase(node.name);
    } else {
      impl_->nodes[node.name] = node;
    }
    if (change == Change::kDeleted || !news) return;
  }
  impl_->Wake(Kind::kNode, node.name);
}

void CsiDriver::OnClaims(const std::vector<Claim>& all) {
  {
    const std::lock_guard lock(impl_->mu);
    impl_->claims.clear();
    for (const Claim& c : all) impl_->claims[Key(c.ns, c.name)] = c;
  }
  impl_->Listed(Impl::Input::kClaims);
}

void CsiDriver::OnClaim(Change change, const Claim& claim) {
  const std::string key = Key(claim.ns, claim.name);
  {
    const std::lock_guard lock(impl_->mu);
    if (change == Change::kDeleted) {
      impl_->claims.erase(key);
      for (const char* act : {"provision ", "resize "}) impl_->due.erase(act + claim.uid);
      return;
    }
    impl_->claims[key] = claim;
  }
  impl_->Wake(Kind::kClaim, key);
}

void CsiDriver::OnVolumes(std::vector<JsonObject> all) {
  {
    const std::lock_guard lock(impl_->mu);
    PutAll(std::move(all), &impl_->volumes);
  }
  impl_->Listed(Impl::Input::kVolumes);
}

void CsiDriver::OnVolume(Change change, JsonObject volume) {
  const Node ref = JsonNode(*volume.body).Path("spec.claimRef");
  const std::string claim = Key(ref.Get("namespace").String(), ref.Get("name").String());
  const std::string name = volume.name;
  {
    const std::lock_guard lock(impl_->mu);
    Put(change, std::move(volume), &impl_->volumes);
  }
  if (change == Change::kDeleted) return;
  impl_->Wake(Kind::kVolume, name);
  if (!claim.empty()) impl_->Wake(Kind::kClaim, claim);
}

void CsiDriver::OnClasses(std::vector<JsonObject> all) {
  {
    const std::lock_guard lock(impl_->mu);
    PutAll(std::move(all), &impl_->classes);
  }
  impl_->Listed(Impl::Input::kClasses);
}

void CsiDriver::OnClass(Change change, JsonObject storage_class) {
  {
    const std::lock_guard lock(impl_->mu);
    Put(change, std::move(storage_class), &impl_->classes);
  }
  impl_->WakeAll();  // rare
}

void CsiDriver::OnAttachments(std::vector<JsonObject> all) {
  {
    const std::lock_guard lock(impl_->mu);
    PutAll(std::move(all), &impl_->attachments);
  }
  impl_->Listed(Impl::Input::kAttachments);
}

void CsiDriver::OnAttachment(Change change, JsonObject attachment) {
  const std::string name = attachment.name, uid = attachment.uid;
  {
    const std::lock_guard lock(impl_->mu);
    Put(change, std::move(attachment), &impl_->attachments);
    if (change == Change::kDeleted) impl_->due.erase("attach " + uid);
  }
  if (change != Change::kDeleted) impl_->Wake(Kind::kAttachment, name);
}

}  // namespace kcm::devcluster::nodes
