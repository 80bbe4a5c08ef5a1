// SPDX-License-Identifier: Apache-2.0
// The embedded API server with a data directory: what a restart keeps, what nobody may see too
// early, and what a full or broken disk does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "devcluster/server/api_client.h"
#include "devcluster/server/faulty_disk.h"
#include "devcluster/server/objects.h"
#include "devcluster/server/server.h"
#include "harness/temporary_dir.h"
#include "host/clock/clock.h"

namespace kcm::devcluster::test {
namespace {

using ::testing::HasSubstr;

const std::string kServices = "/api/v1/namespaces/default/services";
const std::string kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

Json ValueMap(const std::string& name, const std::string& value = "") {
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata", {{"name", name}}},
          {"data", {{"value", value}}}};
}

Json Service(const std::string& name, Json port) {
  port["port"] = 80;
  return {{"apiVersion", "v1"},
          {"kind", "Service"},
          {"metadata", {{"name", name}}},
          {"spec", {{"type", "NodePort"}, {"ports", Json::array({std::move(port)})}}}};
}

Json WidgetDefinition() {
  return Json::parse(
      R"({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"}, "spec": {"group": "example.com", "scope": "Namespaced",
    "names": {"plural": "widgets", "kind": "Widget"}, "versions": [{"name": "v1", "served": true,
    "storage": true, "schema": {"openAPIV3Schema": {"type": "object",
    "x-kubernetes-preserve-unknown-fields": true}}}]}})");
}

Json Widget(const std::string& name) {
  return {{"apiVersion", "example.com/v1"}, {"kind", "Widget"}, {"metadata", {{"name", name}}}};
}

uint64_t RevisionOf(const Json& object) {
  return std::stoull(object["metadata"]["resourceVersion"].get<std::string>());
}

class Durable : public ::testing::Test {
 protected:
  ServerOptions Options(bool tls = false) {
    ServerOptions o;
    o.tls = tls;
    o.clock = &clock_;
    o.data_dir = dir_.path() + "/data";
    return o;
  }
  void Begin() {
    server_ = std::make_unique<Server>(Options());
    const Status started = server_->Start();
    ASSERT_TRUE(started.ok()) << started.error().message;
    api_ = std::make_unique<ApiClient>(server_->port());
  }
  void End() {
    api_.reset();
    server_.reset();
  }
  void Restart() {
    End();
    Begin();
  }
  void Sql(const std::string& statements) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open((dir_.path() + "/data/objects.sqlite").c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, statements.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
  void TearDown() override { End(); }

  harness::TemporaryDir dir_;
  host::clock::VirtualClock clock_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<ApiClient> api_;
};

TEST_F(Durable, ARestartKeepsObjectsAndTheCounter) {
  Begin();
  api_->Post(kMaps, ValueMap("a"));
  api_->Post(kMaps, ValueMap("gone"));
  api_->Put(kMaps + "/a", ValueMap("a", "2"));
  const Json map = api_->Get(kMaps + "/a").json();
  const Json space = api_->Get("/api/v1/namespaces/kube-system").json();
  api_->Delete(kMaps + "/gone");
  const uint64_t last = server_->ResourceVersion();
  Restart();
  EXPECT_EQ(server_->ResourceVersion(), last) << "a restart writes nothing of its own";
  EXPECT_EQ(api_->Get(kMaps + "/a").json(), map);
  EXPECT_EQ(api_->Get("/api/v1/namespaces/kube-system").json(), space);
  EXPECT_EQ(api_->Get(kMaps + "/gone").code, 404);
  EXPECT_EQ(RevisionOf(api_->Post(kMaps, ValueMap("b")).json()), last + 1);
  EXPECT_EQ(RevisionOf(api_->Get(kMaps).json()), last + 1);
  EXPECT_EQ(api_->Put(kMaps + "/a", map).code, 200) << "the old revision is still the current one";
}

TEST_F(Durable, ARestartEndsHistory) {
  Begin();
  const uint64_t early = RevisionOf(api_->Post(kMaps, ValueMap("a")).json());
  api_->Post(kMaps, ValueMap("b"));
  const std::string token = api_->Get(kMaps + "?limit=1").json()["metadata"]["continue"];
  const uint64_t last = RevisionOf(api_->Post(kMaps, ValueMap("c")).json());
  Restart();
  const std::string watch = kMaps + "?watch=1&resourceVersion=";
  WatchStream old(server_->port(), watch + std::to_string(early));
  const Json expired = old.Next();
  EXPECT_EQ(expired["type"], "ERROR");
  EXPECT_EQ(expired["object"]["code"], 410);
  WatchStream current(server_->port(), watch + std::to_string(last));
  api_->Post(kMaps, ValueMap("d"));
  EXPECT_EQ(current.Next()["object"]["metadata"]["name"], "d");
  EXPECT_EQ(api_->Get(kMaps + "?limit=1&continue=" + token).code, 410);
}

TEST_F(Durable, ARestartKeepsAddressesAndPortsTaken) {
  Begin();
  const Json made = api_->Post(kServices, Service("s", {{"nodePort", 30100}})).json();
  const std::string address = made["spec"]["clusterIP"];
  ASSERT_FALSE(address.empty());
  Restart();
  EXPECT_EQ(api_->Post(kServices, Service("t", {{"nodePort", 30100}})).code, 422);
  Json same = Service("u", {{"nodePort", 30101}});
  same["spec"]["clusterIP"] = address;
  EXPECT_EQ(api_->Post(kServices, same).code, 422);
  api_->Delete(kServices + "/s");
  Restart();
  EXPECT_EQ(api_->Post(kServices, same).code, 201) << "what was given back is free";
}

TEST_F(Durable, ARestartServesCustomResources) {
  Begin();
  api_->Post(kDefinitions, WidgetDefinition());
  const Json widget = api_->Post(kWidgets, Widget("w")).json();
  const Json definition = api_->Get(kDefinitions + "/widgets.example.com").json();
  Restart();
  EXPECT_EQ(api_->Get(kWidgets + "/w").json(), widget);
  EXPECT_EQ(api_->Get(kDefinitions + "/widgets.example.com").json(), definition);
  EXPECT_EQ(api_->Merge(kWidgets + "/w", {{"spec", {{"n", 1}}}}).json()["metadata"]["generation"],
            2);
}

TEST_F(Durable, ARestartAnnouncesGroupsOfOthers) {
  Begin();
  const std::string services = "/apis/apiregistration.k8s.io/v1/apiservices";
  const Json spec = {{"group", "agg.example.com"},
                     {"version", "v1"},
                     {"groupPriorityMinimum", 1},
                     {"versionPriority", 1},
                     {"service", {{"namespace", "kube-system"}, {"name", "nobody"}}}};
  ASSERT_EQ(
      api_->Post(services, {{"metadata", {{"name", "v1.agg.example.com"}}}, {"spec", spec}}).code,
      201);
  const Json service = api_->Get(services + "/v1.agg.example.com").json();
  Restart();
  EXPECT_EQ(api_->Get("/apis/agg.example.com/v1").code, 503);
  EXPECT_EQ(api_->Get(services + "/v1.agg.example.com").json(), service);
}

// The process ended after the definition was removed and before its objects were.
TEST_F(Durable, ARestartRemovesObjectsWhoseDefinitionIsGone) {
  Begin();
  api_->Post(kDefinitions, WidgetDefinition());
  api_->Post(kWidgets, Widget("w"));
  End();
  Sql("DELETE FROM objects WHERE tab = 'apiextensions.k8s.io/customresourcedefinitions'");
  Begin();
  EXPECT_EQ(api_->Get(kWidgets).code, 404);
  api_->Post(kDefinitions, WidgetDefinition());
  EXPECT_EQ(api_->Get(kWidgets).json()["items"].size(), 0u);
}

TEST_F(Durable, ARestartKeepsKeys) {
  std::string ca, token;
  {
    Server server(Options(true));
    ASSERT_TRUE(server.Start().ok());
    ca = server.CaPem();
  }
  {
    Server server(Options(true));
    ASSERT_TRUE(server.Start().ok());
    EXPECT_EQ(server.CaPem(), ca);
  }
  Begin();
  const std::string accounts = "/api/v1/namespaces/default/serviceaccounts";
  api_->Post(accounts,
             {{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", {{"name", "robot"}}}});
  token = api_->Post(accounts + "/robot/token", {{"apiVersion", "authentication.k8s.io/v1"},
                                                 {"kind", "TokenRequest"},
                                                 {"spec", Json::object()}})
              .json()["status"]["token"];
  Restart();
  const Reply who =
      api_->Do({"POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews",
                R"({"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"})",
                "application/json", "application/json", token});
  EXPECT_EQ(who.json()["status"]["userInfo"]["username"], "system:serviceaccount:default:robot");
}

TEST_F(Durable, TwoServersDoNotShareADirectory) {
  Begin();
  Server second(Options());
  const Status refused = second.Start();
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("in use by another server"));
  EXPECT_EQ(api_->Post(kMaps, ValueMap("a")).code, 201) << "the first is undisturbed";
}

TEST_F(Durable, NobodySeesAWriteBeforeItIsOnDisk) {
  FaultyDisk disk;
  Begin();
  const uint64_t before = server_->ResourceVersion();
  WatchStream watch(server_->port(), kMaps + "?watch=1&resourceVersion=" + std::to_string(before));
  disk.ShutGate();
  Reply created;
  std::atomic<bool> answered{false};
  std::thread writer([&] {
    created = ApiClient(server_->port()).Post(kMaps, ValueMap("a"));
    answered = true;
  });
  disk.AwaitSync();
  EXPECT_EQ(api_->Get(kMaps + "/a").code, 404);
  EXPECT_EQ(RevisionOf(api_->Get(kMaps).json()), before);
  EXPECT_EQ(server_->ResourceVersion(), before);
  EXPECT_FALSE(answered);
  disk.OpenGate();
  writer.join();
  EXPECT_EQ(created.code, 201);
  EXPECT_EQ(watch.Next()["object"]["metadata"]["name"], "a");
  EXPECT_EQ(api_->Get(kMaps + "/a").json(), created.json());
  End();
}

TEST_F(Durable, WritersShareAnFsync) {
  FaultyDisk disk;
  Begin();
  disk.ShutGate();
  const int before = disk.syncs;
  std::vector<std::thread> writers;
  std::atomic<int> made{0};
  for (int i = 0; i < 16; ++i) {
    writers.emplace_back([&, i] {
      made += ApiClient(server_->port()).Post(kMaps, ValueMap("m" + std::to_string(i))).code == 201;
    });
  }
  disk.AwaitSync();
  // All have arrived: one transaction in its fsync, the others on their way to the next.
  while (server_->RequestsInFlight() < 16) std::this_thread::yield();
  disk.OpenGate();
  for (std::thread& t : writers) t.join();
  EXPECT_EQ(made, 16);
  EXPECT_LT(disk.syncs - before, 16) << "16 writes of 16 clients";
  End();
}

TEST_F(Durable, TwoWritersOfOneObjectDoNotPassEachOther) {
  FaultyDisk disk;
  Begin();
  const Json map = api_->Post(kMaps, ValueMap("a")).json();
  Json first = map, second = map;
  first["data"]["value"] = "first";
  second["data"]["value"] = "second";
  disk.ShutGate();
  Reply replies[2];
  std::thread one([&] { replies[0] = ApiClient(server_->port()).Put(kMaps + "/a", first); });
  disk.AwaitSync();
  std::thread two([&] { replies[1] = ApiClient(server_->port()).Put(kMaps + "/a", second); });
  while (server_->RequestsInFlight() < 2) std::this_thread::yield();
  disk.OpenGate();
  one.join();
  two.join();
  EXPECT_EQ(replies[0].code, 200);
  EXPECT_EQ(replies[1].code, 409);
  EXPECT_EQ(api_->Get(kMaps + "/a").json()["data"]["value"], "first");
  End();
}

TEST_F(Durable, AFullDiskRefusesWritesAndServesReads) {
  FaultyDisk disk;
  Begin();
  const Json map = api_->Post(kMaps, ValueMap("a", "old")).json();
  const uint64_t before = server_->ResourceVersion();
  disk.room = 0;
  const Reply full = api_->Put(kMaps + "/a", ValueMap("a", "new"));
  EXPECT_EQ(full.code, 507);
  EXPECT_EQ(full.json()["kind"], "Status");
  EXPECT_EQ(full.json()["reason"], "InsufficientStorage");
  EXPECT_THAT(full.json()["message"].get<std::string>(), HasSubstr("free space"));
  EXPECT_EQ(api_->Post(kMaps, ValueMap("b")).code, 507);
  EXPECT_EQ(api_->Get(kMaps + "/a").json(), map);
  EXPECT_EQ(api_->Get(kMaps + "/b").code, 404);
  EXPECT_EQ(server_->ResourceVersion(), before);
  disk.room = INT64_MAX;
  EXPECT_EQ(api_->Put(kMaps + "/a", ValueMap("a", "new")).code, 200);
  EXPECT_EQ(api_->Post(kMaps, ValueMap("b")).code, 201);
  End();
}

TEST_F(Durable, ABrokenDiskRefusesWritesAndServesReads) {
  FaultyDisk disk;
  Begin();
  const Json map = api_->Post(kMaps, ValueMap("a")).json();
  disk.sync_fails = true;
  EXPECT_EQ(api_->Post(kMaps, ValueMap("b")).code, 500);
  disk.sync_fails = false;
  const Reply after = api_->Post(kMaps, ValueMap("c"));
  EXPECT_EQ(after.code, 500);
  EXPECT_EQ(after.json()["reason"], "InternalError");
  EXPECT_THAT(after.json()["message"].get<std::string>(), HasSubstr("restart the server"));
  EXPECT_EQ(api_->Get(kMaps + "/a").json(), map);
  Restart();
  EXPECT_EQ(api_->Get(kMaps + "/a").json(), map);
  EXPECT_EQ(api_->Post(kMaps, ValueMap("d")).code, 201);
  End();
}

TEST_F(Durable, ADamagedObjectIsRefusedAtStart) {
  Begin();
  api_->Post(kMaps, ValueMap("a"));
  End();
  Sql("UPDATE objects SET body = replace(body, 'ConfigMap', 'ConfigMop') WHERE key = 'default/a'");
  Server server(Options());
  const Status refused = server.Start();
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("/configmaps default/a"));
}

TEST_F(Durable, ForeignKeysAreRefusedAtStart) {
  Server(Options(true)).Start().ok();
  std::filesystem::resize_file(dir_.path() + "/data/ca.pem", 20);
  Server server(Options(true));
  const Status refused = server.Start();
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("data/ca.pem"));
}

}  // namespace
}  // namespace kcm::devcluster::test
