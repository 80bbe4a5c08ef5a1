// SPDX-License-Identifier: Apache-2.0
// Cluster: devcluster in process on the virtual clock, with clients as the host makes them.
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "devcluster/server/server.h"
#include "host/client/client.h"
#include "host/client/kubeconfig.h"
#include "host/client/transport.h"

namespace kcm::test {

struct Cluster {
  explicit Cluster(bool watch_list = true, bool tls = true) {
    devcluster::ServerOptions options;
    options.clock = &clock;
    options.watch_list = watch_list;
    options.tls = tls;
    server = std::make_unique<devcluster::Server>(options);
    const Status started = server->Start();
    EXPECT_TRUE(started.ok()) << started.error().message;
    const Result<host::client::Config> config =
        tls ? host::client::ParseKubeconfig(server->Kubeconfig(), "")
            : Result<host::client::Config>(Plain());
    EXPECT_TRUE(config.ok());
    transport = *host::client::MakeTransport(*config, {.clock = &clock});
    admin = MakeClient("test/admin");
  }
  ~Cluster() { server->Stop(); }

  host::client::Config Plain() const {
    host::client::Config config;
    config.server = server->url();
    return config;
  }

  std::shared_ptr<host::client::Client> MakeClient(const std::string& user_agent, double qps = 0) {
    host::client::ClientOptions o;
    o.transport = transport;
    o.user_agent = user_agent;
    o.qps = qps;
    o.clock = &clock;
    o.metrics = &registry;
    return std::make_shared<host::client::Client>(o);
  }

  Result<host::client::Answer> Create(const host::client::Gvr& gvr, const std::string& ns,
                                      const std::string& body) {
    host::client::Call call;
    call.verb = host::client::Verb::kCreate;
    call.resource = gvr;
    call.ns = ns;
    call.body = body;
    return admin->Do(call);
  }
  Result<host::client::Answer> ConfigMap(const std::string& name, const std::string& value = "v") {
    return Create({"", "v1", "configmaps"}, "default",
                  R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":")" + name +
                      R"("},"data":{"k":")" + value + R"("}})");
  }
  Result<host::client::Answer> Patch(const host::client::Gvr& gvr, const std::string& ns,
                                     const std::string& name, const std::string& body) {
    host::client::Call call;
    call.verb = host::client::Verb::kPatch;
    call.patch = host::client::PatchType::kMerge;
    call.resource = gvr;
    call.ns = ns;
    call.name = name;
    call.body = body;
    return admin->Do(call);
  }
  Status Delete(const host::client::Gvr& gvr, const std::string& ns, const std::string& name) {
    host::client::Call call;
    call.verb = host::client::Verb::kDelete;
    call.resource = gvr;
    call.ns = ns;
    call.name = name;
    const Result<host::client::Answer> answer = admin->Do(call);
    return answer.ok() ? Ok() : Status(answer.error());
  }

  // Requests of one user agent whose "METHOD uri" matches; empties the audit.
  std::vector<std::string> Audit(const std::string& user_agent, const std::string& regex = ".*") {
    std::vector<std::string> out;
    const std::regex want(regex);
    for (const auto& entry : server->TakeAudit()) {
      const std::string line = entry.method + " " + entry.uri;
      if (entry.user_agent == user_agent && std::regex_search(line, want)) out.push_back(line);
    }
    return out;
  }

  host::clock::VirtualClock clock;
  host::metric::Registry registry;
  std::unique_ptr<devcluster::Server> server;
  std::shared_ptr<host::client::Transport> transport;
  std::shared_ptr<host::client::Client> admin;
};

}  // namespace kcm::test
