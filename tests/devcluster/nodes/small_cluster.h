// SPDX-License-Identifier: Apache-2.0
// SmallCluster: the embedded server, simulated nodes and virtual time in one process, for the tests
// of the nodes.
#pragma once
#include <gtest/gtest.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "devcluster/nodes/api_connection.h"
#include "devcluster/nodes/endpoint.h"
#include "devcluster/nodes/simulated_nodes.h"
#include "devcluster/server/server.h"
#include "host/clock/clock.h"

namespace kcm::devcluster::nodes {

using nlohmann::json;

class SmallCluster : public ::testing::Test {
 protected:
  void SetUp() override {
    ServerOptions options;
    options.clock = &clock;
    server = std::make_unique<Server>(options);
    const Status s = server->Start();
    ASSERT_TRUE(s.ok()) << s.error().message;
    const auto endpoint = ParseKubeconfig(server->Kubeconfig(), "");
    ASSERT_TRUE(endpoint.ok()) << endpoint.error().message;
    const auto target = ApiServer::Make(*endpoint);
    ASSERT_TRUE(target.ok()) << target.error().message;
    api = std::make_unique<ApiConnection>(*target);
    // Pods are admitted only where their service account exists.
    Create("/api/v1/namespaces/default/serviceaccounts", {{"metadata", {{"name", "default"}}}});
  }
  void TearDown() override {
    if (probe != 0) clock.RemoveProbe(probe);
    if (nodes) nodes->Stop();
    if (server) server->Stop();
  }

  NodesOptions Options() {
    NodesOptions o;
    o.kubeconfig = server->Kubeconfig();
    o.clock = &clock;
    o.log = [](const std::string& line) { std::cerr << line + "\n"; };
    return o;
  }
  void StartNodes(NodesOptions options) {
    nodes = std::make_unique<SimulatedNodes>(std::move(options));
    const Status s = nodes->Start();
    ASSERT_TRUE(s.ok()) << s.error().message;
    probe = clock.AddProbe([this, watched = nodes->Watched()] {
      for (const std::string& r : watched) {
        if (nodes->ResourceVersionSeen(r) == 0) return false;
        if (nodes->ResourceVersionSeen(r) < server->ResourceVersion(r)) return false;
      }
      return true;
    });
    Settle();
  }
  void StartNodes() { StartNodes(Options()); }

  void Settle() { ASSERT_TRUE(clock.Settle()) << "not settled"; }
  void Advance(host::clock::Duration d) { ASSERT_TRUE(clock.Advance(d)) << "not settled"; }

  json Get(const std::string& path) {
    const Answer a = api->Call("GET", path);
    return a.ok() ? json::parse(a.body) : json();
  }
  int StatusOf(const std::string& path) { return api->Call("GET", path).status; }
  json Create(const std::string& path, const json& body) {
    const Answer a = api->Call("POST", path, body.dump());
    EXPECT_EQ(a.status, 201) << a.Describe();
    return a.ok() ? json::parse(a.body) : json();
  }
  void Patch(const std::string& path, const json& body) {
    const Answer a = api->Call("PATCH", path, body.dump(), kMergePatch);
    EXPECT_EQ(a.status, 200) << a.Describe();
  }
  void Delete(const std::string& path) {
    const Answer a = api->Call("DELETE", path);
    EXPECT_TRUE(a.ok()) << a.Describe();
  }

  static std::string PodPath(const std::string& name) {
    return "/api/v1/namespaces/default/pods/" + name;
  }
  static std::string NodePath(const std::string& name) { return "/api/v1/nodes/" + name; }
  void CreatePod(const std::string& name, const json& annotations = json::object(),
                 const json& spec = json::object(), const json& metadata = json::object()) {
    json pod = {{"metadata", {{"name", name}, {"annotations", annotations}}},
                {"spec", {{"containers", json::array({{{"name", "c"}, {"image", "app:v1"}}})}}}};
    pod["spec"].update(spec);
    pod["metadata"].update(metadata);
    Create("/api/v1/namespaces/default/pods", pod);
  }
  std::string Phase(const std::string& pod) {
    return Get(PodPath(pod))["status"].value("phase", "");
  }
  std::string NodeOf(const std::string& pod) {
    return Get(PodPath(pod))["spec"].value("nodeName", "");
  }
  // The condition of this type, null when there is none.
  json Condition(const std::string& path, const std::string& type) {
    const json object = Get(path);
    if (!object.is_object() || !object["status"].contains("conditions")) return nullptr;
    for (const json& c : object["status"]["conditions"]) {
      if (c["type"] == type) return c;
    }
    return nullptr;
  }
  std::string ConditionStatus(const std::string& path, const std::string& type) {
    const json c = Condition(path, type);
    return c.is_object() ? c.value("status", "") : "none";
  }
  std::string RenewTime(const std::string& node) {
    return Get("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/" + node)["spec"]
        .value("renewTime", "");
  }

  host::clock::VirtualClock clock;
  std::unique_ptr<Server> server;
  std::unique_ptr<SimulatedNodes> nodes;
  std::unique_ptr<ApiConnection> api;
  int probe = 0;
};

}  // namespace kcm::devcluster::nodes
