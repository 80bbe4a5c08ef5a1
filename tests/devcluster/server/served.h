// SPDX-License-Identifier: Apache-2.0
// A server in memory on a virtual clock with one client, for tests of what it answers.
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "devcluster/server/api_client.h"
#include "devcluster/server/objects.h"
#include "devcluster/server/server.h"
#include "host/clock/clock.h"

namespace kcm::devcluster::test {

class Served : public ::testing::Test {
 protected:
  void SetUp() override {
    ServerOptions options;
    options.tls = false;
    options.clock = &clock_;
    server_ = std::make_unique<Server>(options);
    const Status started = server_->Start();
    ASSERT_TRUE(started.ok()) << started.error().message;
    api_ = std::make_unique<ApiClient>(server_->port());
    Make("/api/v1/namespaces/default/serviceaccounts", {{"metadata", {{"name", "default"}}}});
  }
  Json Make(const std::string& path, const Json& body) {
    const Reply made = api_->Post(path, body);
    EXPECT_EQ(made.code, 201) << path << ": " << made.body;
    return made.json();
  }
  void MakePod(const std::string& name, const std::string& node,
               const std::string& ns = "default") {
    Json pod = J(R"({"spec":{"automountServiceAccountToken":false,
                     "containers":[{"name":"c","image":"nginx"}]}})");
    pod["metadata"]["name"] = name;
    if (!node.empty()) pod["spec"]["nodeName"] = node;
    Make("/api/v1/namespaces/" + ns + "/pods", pod);
  }
  void MakeDeployment(const std::string& name, int replicas) {
    Json deployment = J(R"({"spec":{"selector":{"matchLabels":{"app":"a"}},
        "template":{"metadata":{"labels":{"app":"a"}},
                    "spec":{"containers":[{"name":"c","image":"nginx"}]}}}})");
    deployment["metadata"]["name"] = name;
    deployment["spec"]["replicas"] = replicas;
    Make(kDeployments, deployment);
  }
  // A namespace that something holds in its deletion, with a service account and a pod in it.
  void MakeTerminating(const std::string& ns) {
    Make("/api/v1/namespaces", {{"metadata", {{"name", ns}}}});
    Make("/api/v1/namespaces/" + ns + "/serviceaccounts", {{"metadata", {{"name", "default"}}}});
    MakePod("p", "", ns);
    EXPECT_EQ(api_->Delete("/api/v1/namespaces/" + ns).code, 200);
  }
  // A token of an account of the namespace default.
  std::string Token(const std::string& account, const Json& spec = Json::object()) {
    return Make("/api/v1/namespaces/default/serviceaccounts/" + account + "/token",
                {{"spec", spec}})["status"]["token"];
  }
  Reply GetAs(const std::string& token, const std::string& path) {
    return api_->Do({"GET", path, "", "application/json", "application/json", token});
  }

  inline static const std::string kDeployments = "/apis/apps/v1/namespaces/default/deployments";

  host::clock::VirtualClock clock_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<ApiClient> api_;
};

}  // namespace kcm::devcluster::test
