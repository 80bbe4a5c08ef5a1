// SPDX-License-Identifier: Apache-2.0
// The embedded API server over real HTTP with a virtual clock (spec/apiserver).
#include "devcluster/server/server.h"

#include <gtest/gtest.h>

#include <thread>

#include "devcluster/server/api_client.h"
#include "devcluster/server/objects.h"
#include "host/clock/clock.h"
#include "host/wire/codec.h"

namespace kcm::devcluster::test {
namespace {

const char* const kPods = "/api/v1/namespaces/default/pods";

Json Map(const std::string& name, Json data = Json::object()) {
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata", {{"name", name}}},
          {"data", std::move(data)}};
}

Json Labelled(const std::string& name, Json labels) {
  Json m = Map(name);
  m["metadata"]["labels"] = std::move(labels);
  return m;
}

Json Pod(const std::string& name, const std::string& node) {
  Json p = {{"apiVersion", "v1"},
            {"kind", "Pod"},
            {"metadata", {{"name", name}}},
            {"spec",
             {{"automountServiceAccountToken", false},
              {"containers", {{{"name", "c"}, {"image", "nginx"}}}}}}};
  if (!node.empty()) p["spec"]["nodeName"] = node;
  return p;
}

std::string Rv(const Json& object) { return object["metadata"]["resourceVersion"]; }

class DevclusterServer : public ::testing::Test {
 protected:
  void SetUp() override { Begin(true); }

  void Begin(bool watch_list) {
    ServerOptions options;
    options.tls = false;
    options.clock = &clock_;
    options.watch_list = watch_list;
    server_ = std::make_unique<Server>(options);
    const Status started = server_->Start();
    ASSERT_TRUE(started.ok()) << started.error().message;
    api_ = std::make_unique<ApiClient>(server_->port());
    api_->Post(
        "/api/v1/namespaces/default/serviceaccounts",
        {{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", {{"name", "default"}}}});
  }

  host::clock::VirtualClock clock_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<ApiClient> api_;
};

TEST_F(DevclusterServer, StoresReadsAndRefusesStaleWrites) {
  const Reply created = api_->Post(kMaps, Map("a", {{"k", "1"}}));
  ASSERT_EQ(created.code, 201) << created.body;
  const std::string path = std::string(kMaps) + "/a";
  EXPECT_EQ(api_->Post(kMaps, Map("a")).json()["reason"], "AlreadyExists");
  EXPECT_EQ(api_->Get(path).json(), created.json());

  Json next = created.json();
  next["data"]["k"] = "2";
  const Reply updated = api_->Put(path, next);
  ASSERT_EQ(updated.code, 200) << updated.body;
  EXPECT_GT(std::stoull(Rv(updated.json())), std::stoull(Rv(created.json())));
  const Reply stale = api_->Put(path, next);
  EXPECT_EQ(stale.code, 409);
  EXPECT_EQ(stale.json()["reason"], "Conflict");
  EXPECT_EQ(api_->Get(path).json()["data"]["k"], "2") << "a refused write changed the object";

  EXPECT_EQ(api_->Delete(path).json()["status"], "Success");
  EXPECT_EQ(api_->Get(path).code, 404);
}

TEST_F(DevclusterServer, SelectorsAreCheckedAsTheRulesSay) {
  const auto refused = [&](const std::string& query) {
    const Reply reply = api_->Get(std::string(kMaps) + "?" + query);
    EXPECT_EQ(reply.code, 400) << query << ": " << reply.body;
    return reply.json().value("message", "");
  };
  EXPECT_EQ(refused("labelSelector=-x%3D1").find("unable to parse requirement: <nil>: Invalid"), 0);
  EXPECT_NE(refused("labelSelector=x%3Da+b"), "");
  EXPECT_NE(refused("labelSelector=n%3Eone"), "");
  EXPECT_NE(refused("fieldSelector=metadata.name"), "");
  EXPECT_NE(refused("fieldSelector=data.k%3Dv").find("is not a known field selector"),
            std::string::npos);
}

TEST_F(DevclusterServer, TextAfterANulIsNotDropped) {
  const std::string map = Map("cut").dump();
  const Reply refused = api_->Do({"POST", kMaps, map + std::string(1, '\0') + "{\"x"});
  EXPECT_EQ(refused.code, 400) << refused.body;
  EXPECT_EQ(api_->Get(std::string(kMaps) + "/cut").code, 404);
}

TEST_F(DevclusterServer, WriteThatChangesNothingKeepsTheRevision) {
  const Json created = api_->Post(kMaps, Map("a", {{"k", "1"}})).json();
  const uint64_t before = server_->ResourceVersion();
  const Json again = api_->Merge(std::string(kMaps) + "/a", {{"data", {{"k", "1"}}}}).json();
  EXPECT_EQ(Rv(again), Rv(created));
  EXPECT_EQ(server_->ResourceVersion(), before);
}

TEST_F(DevclusterServer, PatchesWithoutRevisionNeverConflict) {
  api_->Post(kMaps, Map("a"));
  std::vector<std::thread> writers;
  std::atomic<int> failed{0};
  for (int w = 0; w < 4; ++w) {
    writers.emplace_back([&, w] {
      ApiClient client(server_->port());
      for (int i = 0; i < 20; ++i) {
        const std::string key = "k" + std::to_string(w) + "-" + std::to_string(i);
        if (client.Merge(std::string(kMaps) + "/a", {{"data", {{key, "v"}}}}).code != 200) ++failed;
      }
    });
  }
  for (std::thread& t : writers) t.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(api_->Get(std::string(kMaps) + "/a").json()["data"].size(), 80U) << "a write was lost";
}

TEST_F(DevclusterServer, WatchDeliversEveryChangeInOrder) {
  const std::string from = std::to_string(server_->ResourceVersion());
  WatchStream watch(server_->port(), std::string(kMaps) + "?watch=1&resourceVersion=" + from);
  const Json a = api_->Post(kMaps, Map("a")).json();
  const Json b = api_->Merge(std::string(kMaps) + "/a", {{"data", {{"x", "1"}}}}).json();
  api_->Delete(std::string(kMaps) + "/a");
  const Json first = watch.Next(), second = watch.Next(), third = watch.Next();
  EXPECT_EQ(first["type"], "ADDED");
  EXPECT_EQ(first["object"], a);
  EXPECT_EQ(second["type"], "MODIFIED");
  EXPECT_EQ(second["object"], b);
  EXPECT_EQ(third["type"], "DELETED");
  EXPECT_EQ(third["object"]["data"]["x"], "1") << "the last state";
  EXPECT_GT(std::stoull(Rv(third["object"])), std::stoull(Rv(b)))
      << "under the revision of the deletion";
}

TEST_F(DevclusterServer, WatchFromForgottenRevisionGetsOneExpiredEvent) {
  const std::string old = Rv(api_->Post(kMaps, Map("a")).json());
  api_->Post(kMaps, Map("b"));
  server_->Compact();
  WatchStream watch(server_->port(), std::string(kMaps) + "?watch=1&resourceVersion=" + old);
  const Json event = watch.Next();
  EXPECT_EQ(event["type"], "ERROR");
  EXPECT_EQ(event["object"]["code"], 410);
  EXPECT_EQ(event["object"]["reason"], "Expired");
  EXPECT_TRUE(watch.Next().is_null()) << "the stream goes on";
}

TEST_F(DevclusterServer, AWatchThatMissedNothingOutlivesACompaction) {
  WatchStream watch(server_->port(), std::string(kMaps) + "?watch=1&resourceVersion=" +
                                         std::to_string(server_->ResourceVersion()));
  api_->Post(kMaps, Map("a"));
  EXPECT_EQ(watch.Next()["object"]["metadata"]["name"], "a");
  api_->Post("/api/v1/namespaces", {{"metadata", {{"name", "other"}}}});
  server_->Compact();
  api_->Post(kMaps, Map("b"));
  EXPECT_EQ(watch.Next()["object"]["metadata"]["name"], "b");
}

TEST_F(DevclusterServer, WatchThatFallsTooFarBehindIsEnded) {
  // Nothing is read while more is written than the socket and the history hold.
  WatchStream watch(server_->port(), std::string(kMaps) + "?watch=1&resourceVersion=" +
                                         std::to_string(server_->ResourceVersion()));
  api_->Post(kMaps, Map("big", {{"k", std::string(500000, 'x')}}));
  for (int i = 0; i < 40; ++i) {
    ASSERT_EQ(api_->Merge(std::string(kMaps) + "/big", {{"data", {{"n", std::to_string(i)}}}}).code,
              200);
  }
  server_->Compact();
  Json last;
  for (Json event = watch.Next(); !event.is_null(); event = watch.Next()) last = event;
  EXPECT_EQ(last["type"], "ERROR");
  EXPECT_EQ(last["object"]["code"], 410);
}

TEST_F(DevclusterServer, PagesShowTheStateOfTheFirstPage) {
  for (const char* name : {"a", "b", "c", "d"}) api_->Post(kMaps, Map(name));
  const Json first = api_->Get(std::string(kMaps) + "?limit=2").json();
  ASSERT_EQ(first["items"].size(), 2U);
  EXPECT_EQ(first["metadata"]["remainingItemCount"], 2);
  api_->Delete(std::string(kMaps) + "/c");
  api_->Post(kMaps, Map("cc"));
  api_->Merge(std::string(kMaps) + "/d", {{"data", {{"late", "1"}}}});
  const std::string token = first["metadata"]["continue"];
  const Json second = api_->Get(std::string(kMaps) + "?limit=2&continue=" + token).json();
  ASSERT_EQ(second["items"].size(), 2U);
  EXPECT_EQ(second["items"][0]["metadata"]["name"], "c");
  EXPECT_EQ(second["items"][1]["metadata"]["name"], "d");
  EXPECT_FALSE(second["items"][1].contains("data")) << "a later change shows";
  EXPECT_EQ(second["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
  server_->Compact();
  const Reply expired = api_->Get(std::string(kMaps) + "?limit=2&continue=" + token);
  EXPECT_EQ(expired.code, 410);
  EXPECT_FALSE(expired.json()["metadata"]["continue"].get<std::string>().empty());
}

TEST_F(DevclusterServer, SelectorTransitionsBecomeAddedAndDeleted) {
  const std::string from = std::to_string(server_->ResourceVersion());
  WatchStream watch(
      server_->port(),
      std::string(kMaps) + "?watch=1&labelSelector=app%3Dweb&resourceVersion=" + from);
  const std::string path = std::string(kMaps) + "/a";
  api_->Post(kMaps, Labelled("a", {{"app", "db"}}));
  const Json in = api_->Merge(path, {{"metadata", {{"labels", {{"app", "web"}}}}}}).json();
  const Json out = api_->Merge(path, {{"metadata", {{"labels", {{"app", "db"}}}}}}).json();
  const Json first = watch.Next(), second = watch.Next();
  EXPECT_EQ(first["type"], "ADDED");
  EXPECT_EQ(first["object"], in);
  EXPECT_EQ(second["type"], "DELETED");
  EXPECT_EQ(second["object"]["metadata"]["labels"]["app"], "web") << "the old content";
  EXPECT_EQ(Rv(second["object"]), Rv(out)) << "at the new revision";
}

TEST_F(DevclusterServer, FinalizersHoldADeletedObject) {
  Json held = Map("a");
  held["metadata"]["finalizers"] = {"example.com/hold"};
  api_->Post(kMaps, held);
  const std::string path = std::string(kMaps) + "/a";
  const Json marked = api_->Delete(path).json();
  EXPECT_TRUE(marked["metadata"].contains("deletionTimestamp"));
  EXPECT_EQ(Rv(api_->Delete(path).json()), Rv(marked)) << "a second deletion changed it";
  const Reply done = api_->Merge(path, {{"metadata", {{"finalizers", nullptr}}}});
  EXPECT_EQ(done.code, 200);
  EXPECT_EQ(Rv(done.json()), Rv(marked)) << "the answer carries the old revision";
  EXPECT_EQ(api_->Get(path).code, 404);
}

TEST_F(DevclusterServer, BoundPodsWaitForTheKubelet) {
  ASSERT_EQ(api_->Post(kPods, Pod("bound", "n")).code, 201);
  const std::string path = std::string(kPods) + "/bound";
  const Json going = api_->Delete(path).json();
  EXPECT_EQ(going["metadata"]["deletionGracePeriodSeconds"], 30);
  EXPECT_EQ(going["metadata"]["generation"], 2);
  ASSERT_TRUE(clock_.Advance(std::chrono::minutes(5)));
  EXPECT_EQ(api_->Get(path).code, 200) << "the server has no timer for it";
  EXPECT_EQ(api_->Do({"DELETE", path, R"({"gracePeriodSeconds":0})"}).code, 200);
  EXPECT_EQ(api_->Get(path).code, 404);

  api_->Post(kPods, Pod("unbound", ""));
  api_->Delete(std::string(kPods) + "/unbound");
  EXPECT_EQ(api_->Get(std::string(kPods) + "/unbound").code, 404);
}

TEST_F(DevclusterServer, SpeaksProtobufBothWays) {
  const host::wire::ObjectPtr object =
      host::wire::FromJsonOrDie(R"({"metadata":{"name":"pb"},"data":{"k":"v"}})");
  std::string raw, body;
  ASSERT_TRUE(host::wire::EncodeProtobuf("core.v1.ConfigMap", object->Root(), &raw).ok());
  host::wire::WrapEnvelope({"v1", "ConfigMap"}, raw, &body);
  const char* const kType = "application/vnd.kubernetes.protobuf";
  const Reply created = api_->Do({"POST", kMaps, body, kType, kType});
  ASSERT_EQ(created.code, 201) << created.body;
  EXPECT_EQ(created.content_type, kType);
  host::wire::DecodeOptions options;
  host::wire::TypeMeta type;
  const Result<host::wire::ObjectPtr> answer =
      host::wire::DecodeEnvelope(created.body, options, &type);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(type.kind, "ConfigMap");
  EXPECT_EQ((*answer)->Root().Member("data").Member("k").String(), "v");
  EXPECT_EQ(api_->Get(std::string(kMaps) + "/pb").json()["data"]["k"], "v");
  const Reply list = api_->Do({"GET", kMaps, "", "", kType});
  int items = 0;
  auto decoder = host::wire::NewProtobufListDecoder("core.v1.ConfigMap", options,
                                                    [&](host::wire::ObjectPtr) { ++items; });
  ASSERT_TRUE(decoder->Feed(list.body).ok());
  ASSERT_TRUE(decoder->Finish().ok());
  EXPECT_EQ(items, 1);
}

TEST_F(DevclusterServer, StreamingListEndsWithItsBookmark) {
  api_->Post(kMaps, Map("a"));
  WatchStream watch(server_->port(), std::string(kMaps) +
                                         "?watch=1&sendInitialEvents=true&resourceVersionMatch="
                                         "NotOlderThan&allowWatchBookmarks=true");
  EXPECT_EQ(watch.Next()["type"], "ADDED");
  const Json mark = watch.Next();
  EXPECT_EQ(mark["type"], "BOOKMARK");
  EXPECT_EQ(mark["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
  api_->Post(kMaps, Map("b"));
  EXPECT_EQ(watch.Next()["object"]["metadata"]["name"], "b");
}

TEST_F(DevclusterServer, OldServersRefuseStreamingLists) {
  Begin(false);
  EXPECT_EQ(api_->Get(std::string(kMaps) +
                      "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan")
                .code,
            422);
}

TEST_F(DevclusterServer, WatchEndsAtItsTimeWithABookmarkBefore) {
  const std::string from = std::to_string(server_->ResourceVersion());
  WatchStream watch(
      server_->port(),
      std::string(kMaps) +
          "?watch=1&allowWatchBookmarks=true&timeoutSeconds=10&resourceVersion=" + from);
  const Json other =
      api_->Post("/api/v1/namespaces",
                 {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "x"}}}})
          .json();
  ASSERT_TRUE(clock_.Advance(std::chrono::seconds(9)));
  const Json mark = watch.Next();
  EXPECT_EQ(mark["type"], "BOOKMARK");
  EXPECT_GE(std::stoull(Rv(mark["object"])), std::stoull(Rv(other)));
  ASSERT_TRUE(clock_.Advance(std::chrono::seconds(2)));
  EXPECT_TRUE(watch.Next().is_null());
}

TEST_F(DevclusterServer, FaultsAnswerInsteadOfTheServer) {
  Server::Fault fault;
  fault.method = "POST";
  fault.path_regex = "configmaps";
  fault.status = 503;
  fault.message = "not now";
  fault.retry_after_seconds = 7;
  server_->AddFault(fault);
  const Reply refused = api_->Post(kMaps, Map("a"));
  EXPECT_EQ(refused.code, 503);
  EXPECT_EQ(api_->Get(std::string(kMaps) + "/a").code, 404) << "the fault let it through";
  EXPECT_EQ(api_->Post(kMaps, Map("a")).code, 201) << "one time only";

  fault = {};
  fault.kind = Server::Fault::Kind::kDropAfter;
  fault.path_regex = "/configmaps$";
  server_->AddFault(fault);
  EXPECT_ANY_THROW(api_->Post(kMaps, Map("b")));
  ApiClient fresh(server_->port());
  EXPECT_EQ(fresh.Get(std::string(kMaps) + "/b").code, 200) << "done, though the answer was lost";

  fault = {};
  fault.kind = Server::Fault::Kind::kWatchGone;
  server_->AddFault(fault);
  WatchStream watch(server_->port(), std::string(kMaps) + "?watch=1");
  EXPECT_EQ(watch.Next()["object"]["code"], 410);
}

TEST_F(DevclusterServer, AWatchCanBeCutInTheMiddleOfAnEvent) {
  Server::Fault fault;
  fault.kind = Server::Fault::Kind::kWatchCut;
  server_->AddFault(fault);
  const std::string from = std::to_string(server_->ResourceVersion());
  WatchStream cut(server_->port(), std::string(kMaps) + "?watch=1&resourceVersion=" + from);
  EXPECT_EQ(api_->Post(kMaps, Map("a")).code, 201);
  EXPECT_TRUE(cut.Next().is_discarded()) << "half a line is no event";
  WatchStream next(server_->port(), std::string(kMaps) + "?watch=1&resourceVersion=" + from);
  EXPECT_EQ(next.Next()["object"]["metadata"]["name"], "a");
}

TEST_F(DevclusterServer, ClosedWatchesEnd) {
  WatchStream watch(server_->port(), std::string(kMaps) + "?watch=1&resourceVersion=" +
                                         std::to_string(server_->ResourceVersion()));
  server_->CloseWatches();
  EXPECT_TRUE(watch.Next().is_null());
}

TEST_F(DevclusterServer, AccountsMayDoOnlyWhatTheirRolesSay) {
  const Json request = {{"apiVersion", "authentication.k8s.io/v1"},
                        {"kind", "TokenRequest"},
                        {"spec", Json::object()}};
  const Reply issued =
      api_->Post("/api/v1/namespaces/default/serviceaccounts/default/token", request);
  ASSERT_EQ(issued.code, 201) << issued.body;
  const std::string token = issued.json()["status"]["token"];
  const Ask list{"GET", kMaps, "", "", "application/json", token};
  const Reply refused = api_->Do(list);
  EXPECT_EQ(refused.code, 403);
  EXPECT_EQ(refused.json()["message"],
            "configmaps is forbidden: User \"system:serviceaccount:default:default\" cannot list "
            "resource \"configmaps\" in "
            "API group \"\" in the namespace \"default\"");
  const std::string rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/";
  api_->Post(
      rbac + "roles",
      {{"apiVersion", "rbac.authorization.k8s.io/v1"},
       {"kind", "Role"},
       {"metadata", {{"name", "r"}}},
       {"rules", {{{"apiGroups", {""}}, {"resources", {"configmaps"}}, {"verbs", {"list"}}}}}});
  const Reply bound = api_->Post(
      rbac + "rolebindings",
      {{"apiVersion", "rbac.authorization.k8s.io/v1"},
       {"kind", "RoleBinding"},
       {"metadata", {{"name", "r"}}},
       {"subjects", {{{"kind", "ServiceAccount"}, {"name", "default"}, {"namespace", "default"}}}},
       {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "Role"}, {"name", "r"}}}});
  ASSERT_EQ(bound.code, 201) << bound.body;
  EXPECT_EQ(api_->Do(list).code, 200);
}

TEST_F(DevclusterServer, AuditShowsEveryRequest) {
  server_->EnableAudit(true);
  api_->Get(std::string(kMaps) + "?limit=1");
  const std::vector<Server::AuditEntry> entries = server_->TakeAudit();
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].method, "GET");
  EXPECT_EQ(entries[0].uri, std::string(kMaps) + "?limit=1");
  EXPECT_EQ(entries[0].user, "admin");
  EXPECT_EQ(entries[0].user_agent, "test/1.0");
  EXPECT_EQ(entries[0].code, 200);
  EXPECT_EQ(server_->RequestsInFlight(), 0);
}

TEST_F(DevclusterServer, CustomResourcesAreServedAndGoWithTheirDefinition) {
  const Json crd =
      Json::parse(R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
    "metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
    "names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},
    "versions":[{"name":"v1","served":true,"storage":true,
      "schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})");
  const std::string definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const Reply made = api_->Post(definitions, crd);
  ASSERT_EQ(made.code, 201) << made.body;
  const std::string widgets = "/apis/example.com/v1/namespaces/default/widgets";
  const Json widget = {{"apiVersion", "example.com/v1"},
                       {"kind", "Widget"},
                       {"metadata", {{"name", "w"}}},
                       {"spec", {{"n", 1}}}};
  EXPECT_EQ(api_->Post(widgets, widget).code, 201);
  EXPECT_EQ(api_->Get(widgets).json()["items"][0]["kind"], "Widget");
  EXPECT_EQ(api_->Merge(widgets + "/w", {{"spec", {{"n", 2}}}}).json()["metadata"]["generation"],
            2);
  api_->Delete(definitions + "/widgets.example.com");
  EXPECT_EQ(api_->Get(widgets).code, 404);
}

// A client that opens a watch and does not read fills its socket; nobody waits for it.
TEST_F(DevclusterServer, ASlowWatcherHoldsUpNoWriterAndMustListAgain) {
  const std::string filler(500'000, 'x');
  WatchStream slow(server_->port(), std::string(kMaps) + "?watch=1");
  api_->Post(kMaps, Map("first"));
  EXPECT_EQ(slow.Next()["object"]["metadata"]["name"], "first");
  // More than two sockets hold, then some that the watch can not have looked at.
  for (int i = 0; i < 60; ++i)
    ASSERT_EQ(api_->Post(kMaps, Map("big" + std::to_string(i), {{"x", filler}})).code, 201);
  for (int i = 0; i < 10; ++i)
    ASSERT_EQ(api_->Post(kMaps, Map("small" + std::to_string(i))).code, 201);
  server_->Compact();
  int seen = 0;
  Json last;
  for (Json e = slow.Next(); !e.is_null(); e = slow.Next()) {
    last = std::move(e);
    if (last["type"] == "ADDED") {
      EXPECT_EQ(last["object"]["metadata"]["name"], "big" + std::to_string(seen)) << "in order";
      ++seen;
    }
  }
  EXPECT_EQ(last["type"], "ERROR");
  EXPECT_EQ(last["object"]["code"], 410);
  EXPECT_GT(seen, 0);
  EXPECT_LE(seen, 60);
}

TEST_F(DevclusterServer, HostileRequestsGetAnErrorAndNothingElse) {
  std::string deep;
  for (int i = 0; i < 5000; ++i) deep += "{\"a\":";
  EXPECT_EQ(api_->Do({"POST", kMaps, deep}).code, 400);
  EXPECT_EQ(api_->Do({"POST", kMaps, std::string("k8s\0\x0a\xff\xff", 8),
                      "application/vnd.kubernetes.protobuf"})
                .code,
            400);
  EXPECT_EQ(api_->Do({"POST", kMaps, "metadata: [", "application/yaml"}).code, 400);
  EXPECT_EQ(api_->Get("/api/v1/%zz/%").code, 404);
  EXPECT_EQ(api_->Get(std::string(kMaps) + "?limit=abc").code, 400);
  EXPECT_EQ(api_->Get(kMaps).code, 200);
}

}  // namespace
}  // namespace kcm::devcluster::test
