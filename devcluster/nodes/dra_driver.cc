// SPDX-License-Identifier: Apache-2.0
// Publishes devices.
#include "devcluster/nodes/dra_driver.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "devcluster/nodes/json_text.h"
#include "devcluster/nodes/keyed_work.h"
#include "devcluster/nodes/pod_course.h"

namespace kcm::devcluster::nodes {
namespace {

using nlohmann::json;

constexpr char kSlices[] = "/apis/resource.k8s.io/v1/resourceslices";

json Devices(int count) {
  json out = json::array();
  for (int i = 0; i < count; ++i) {
    out.push_back(
        {{"name", "dev-" + std::to_string(i)},
         {"attributes",
          {{"index", {{"int", i}}}, {"model", {{"string", i % 2 == 0 ? "even" : "odd"}}}}},
         {"capacity", {{"memory", {{"value", "16Gi"}}}}}});
  }
  return out;
}

json Slice(const NodeObject& node, int count, int64_t generation) {
  return {
      {"apiVersion", "resource.k8s.io/v1"},
      {"kind", "ResourceSlice"},
      {"metadata",
       {{"name", node.name + "-" + kDraDriver},
        {"ownerReferences",
         json::array(
             {{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node.name}, {"uid", node.uid}}})}}},
      {"spec",
       {{"driver", kDraDriver},
        {"nodeName", node.name},
        {"pool", {{"name", node.name}, {"generation", generation}, {"resourceSliceCount", 1}}},
        {"devices", Devices(count)}}}};
}

}  // namespace

struct DraDriver::Impl {
  const int devices;
  const std::function<bool(const std::string&)> simulates;
  KeyedWork work;
  std::mutex mu;
  std::map<std::string, NodeObject, std::less<>> nodes;  // guarded by mu

  Impl(WorkPool& pool, int n, std::function<bool(const std::string&)> ours,
       std::function<void(const std::string&)> log)
      : devices(n),
        simulates(std::move(ours)),
        work(
            pool, [this](WorkPool::Worker& w, const std::string& node) { return Do(w, node); },
            std::move(log)) {}

  int CountOf(const NodeObject& node) const {
    const std::string text = Value(node.annotations, "sim/devices");
    int count = devices;
    std::from_chars(text.data(), text.data() + text.size(), count);
    return std::clamp(count, 0, kMostDevicesOfANode);
  }
  KeyedWork::Outcome Do(WorkPool::Worker& worker, const std::string& name);
  KeyedWork::Outcome SetUp(WorkPool::Worker& worker);
};

// The empty name stands for what is there once.
KeyedWork::Outcome DraDriver::Impl::SetUp(WorkPool::Worker& worker) {
  const json device_class = {
      {"apiVersion", "resource.k8s.io/v1"},
      {"kind", "DeviceClass"},
      {"metadata", {{"name", "sim"}}},
      {"spec",
       {{"selectors", json::array({{{"cel",
                                     {{"expression", std::string("device.driver == \"") +
                                                         kDraDriver + "\""}}}}})}}}};
  const Answer a =
      worker.Call("POST", "/apis/resource.k8s.io/v1/deviceclasses", Dump(device_class));
  if (a.ok() || a.status == 409) return {};
  return {"create device class sim: " + a.Describe()};
}

KeyedWork::Outcome DraDriver::Impl::Do(WorkPool::Worker& worker, const std::string& name) {
  if (name.empty()) return SetUp(worker);
  NodeObject node;
  {
    const std::lock_guard lock(mu);
    const auto it = nodes.find(name);
    if (it == nodes.end()) return {};
    node = it->second;
  }
  if (!simulates(name)) return {};
  const std::string what = "resource slice of " + name;
  const std::string path = std::string(kSlices) + "/" + name + "-" + kDraDriver;
  Answer a = worker.Call("GET", path);
  if (a.status == 404) {
    a = worker.Call("POST", kSlices, Dump(Slice(node, CountOf(node), 1)));
    if (a.ok() || a.status == 409) return {};
    return {what + ": " + a.Describe()};
  }
  json live = json::parse(a.body, nullptr, false);
  if (!a.ok() || !live.is_object() || !live.contains("spec")) return {what + ": " + a.Describe()};
  json& spec = live["spec"];
  if (spec.value("devices", json::array()).size() == static_cast<size_t>(CountOf(node))) return {};
  // Another set of devices is another generation of the pool.
  const int64_t generation = spec.value("pool", json::object()).value("generation", int64_t{0}) + 1;
  json body = Slice(node, CountOf(node), generation);
  body["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"];
  a = worker.Call("PUT", path, Dump(body));
  if (a.ok()) return {};
  return {what + ": " + a.Describe()};
}

DraDriver::DraDriver(WorkPool& pool, int devices, std::function<bool(const std::string&)> simulates,
                     std::function<void(const std::string&)> log)
    : impl_(std::make_unique<Impl>(pool, devices, std::move(simulates), std::move(log))) {}
DraDriver::~DraDriver() = default;

void DraDriver::Register() { impl_->work.Wake(""); }

void DraDriver::OnNodes(const std::vector<NodeObject>& all) {
  {
    const std::lock_guard lock(impl_->mu);
    impl_->nodes.clear();
    for (const NodeObject& node : all) impl_->nodes[node.name] = node;
  }
  for (const NodeObject& node : all) impl_->work.Wake(node.name);
}

void DraDriver::OnNode(Change change, const NodeObject& node) {
  {
    const std::lock_guard lock(impl_->mu);
    const auto known = impl_->nodes.find(node.name);
    const bool news = known == impl_->nodes.end() || known->second.uid != node.uid ||
                      impl_->CountOf(known->second) != impl_->CountOf(node);
    if (change == Change::kDeleted) {
      impl_->nodes.erase(node.name);
    } else {
      impl_->nodes[node.name] = node;
    }
    if (change == Change::kDeleted || !news) return;
  }
  impl_->work.Wake(node.name);
}

}  // namespace kcm::devcluster::nodes
