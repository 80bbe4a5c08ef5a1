// SPDX-License-Identifier: Apache-2.0
// The host of the runtime tests.
#include "host/plugin/plugin_cluster.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

namespace kcm::test {
namespace {

harness::Options OptionsFor(std::vector<std::string> flags, int nodes) {
  harness::Options o;
  o.flags = std::move(flags);
  o.start_host = false;
  o.nodes = nodes;
  o.scheduler = nodes > 0;
  o.service_account_credentials = false;
  return o;
}

}  // namespace

PluginCluster::PluginCluster(const std::vector<std::string>& files, std::vector<std::string> flags,
                             int nodes)
    : Cluster(OptionsFor(std::move(flags), nodes)) {
  // The stock role of kube-controller-manager knows nothing of what these plugins write.
  Create({{"apiVersion", "rbac.authorization.k8s.io/v1"},
          {"kind", "ClusterRole"},
          {"metadata", {{"name", "probes"}}},
          {"rules", {{{"apiGroups", {"*"}}, {"resources", {"*"}}, {"verbs", {"*"}}}}}});
  Create(
      {{"apiVersion", "rbac.authorization.k8s.io/v1"},
       {"kind", "ClusterRoleBinding"},
       {"metadata", {{"name", "probes"}}},
       {"roleRef",
        {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "ClusterRole"}, {"name", "probes"}}},
       {"subjects",
        {{{"kind", "User"},
          {"apiGroup", "rbac.authorization.k8s.io"},
          {"name", "system:kube-controller-manager"}}}}});
  for (const std::string& file : files)
    Install(file, InDir(std::filesystem::path(file).filename().string()));
  StartHost();
}

void PluginCluster::Run(const std::string& what, const std::function<void()>& operation) {
  std::atomic<bool> done{false};
  std::thread thread = host::clock::StartBusyThread(clock(), [&] {
    operation();
    done = true;
  });
  Until(
      what, [&] { return done.load(); }, std::chrono::minutes(3), 10ms);
  thread.join();
  Settle();
}

Status PluginCluster::SwapFile(const std::string& file) {
  Status s = Ok();
  Run("swap to " + file, [&] { s = host().manager()->SwapFile(file); });
  return s;
}
Status PluginCluster::Rollback(const std::string& plugin) {
  Status s = Ok();
  Run("rollback of " + plugin, [&] { s = host().manager()->Rollback(plugin); });
  return s;
}
bool PluginCluster::Rescan(bool confirm_removal) {
  bool again = false;
  Run("rescan", [&] { again = host().manager()->Rescan(confirm_removal); });
  return again;
}

Json PluginCluster::Plugin(const std::string& name) {
  const Json report = Json::parse(host().manager()->Report(100));
  for (const Json& p : report["plugins"])
    if (p["name"] == name) return p;
  return {};
}
Json PluginCluster::Controller(const std::string& plugin, const std::string& controller,
                               size_t keys) {
  const Json report = Json::parse(host().manager()->Report(keys));
  for (const Json& p : report["plugins"])
    if (p["name"] == plugin)
      for (const Json& c : p["controllers"])
        if (c["name"] == controller) return c;
  return {};
}
std::vector<std::string> PluginCluster::Problems() { return host().manager()->Problems(); }

int PluginCluster::Mapped(const std::string& file_name) {
  return MappingsOf("-" + file_name);  // private copies are NUMBER-NAME
}

void PluginCluster::CreateProbe(const std::string& name, const std::string& mode) {
  Create({{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata", {{"name", name}, {"annotations", {{"kcm.test/probe", mode}}}}}});
}
std::string PluginCluster::StampOf(const std::string& name) {
  return Get("configmaps", name)["metadata"]["annotations"].value("kcm.test/build", "");
}
void PluginCluster::ExpectStampedBy(const std::string& build) {
  const std::string name = "probe-" + std::to_string(++created_);
  CreateProbe(name);
  Settle();
  EXPECT_EQ(StampOf(name), build);
}
bool PluginCluster::Logged(const std::string& text) {
  for (const std::string& line : log())
    if (line.find(text) != std::string::npos) return true;
  return false;
}

Json ConfigMap(const std::string& name) {
  return {{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", name}}}};
}

std::string MessageOf(const Status& s) { return s.ok() ? "" : s.error().message; }

}  // namespace kcm::test
