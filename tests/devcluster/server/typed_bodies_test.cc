// SPDX-License-Identifier: Apache-2.0
// Bodies that are no stored objects are read as strictly as those that are (spec/apiserver C3, G1,
// H2 to H5): a member of the wrong type is refused, never skipped.
#include "devcluster/server/served.h"

namespace kcm::devcluster::test {
namespace {

class TypedBodies : public Served {
 protected:
  Json Replicas() { return api_->Get(kDeployments + "/x").json()["spec"]["replicas"]; }
  std::string Message(const Reply& reply) { return reply.json().value("message", ""); }
};

TEST_F(TypedBodies, ScalesOfTheWrongTypeChangeNothing) {
  MakeDeployment("x", 3);
  const std::string path = kDeployments + "/x/scale";
  const auto scale = [](const char* spec) {
    return Json{{"metadata", {{"name", "x"}}}, {"spec", J(spec)}};
  };
  EXPECT_EQ(api_->Merge(path, J(R"({"spec":{"replicas":"5"}})")).code, 422);
  EXPECT_EQ(api_->Merge(path, J(R"({"spec":{"replicas":3000000000}})")).code, 422);
  EXPECT_EQ(api_->Do({"PATCH", path, R"([{"op":"add","path":"/spec/replicas","value":"5"}])",
                      "application/json-patch+json"})
                .code,
            422);
  EXPECT_EQ(api_->Put(path, scale(R"({"replicas":"5"})")).code, 400);
  EXPECT_EQ(api_->Put(path, scale(R"({"replicas":3000000000})")).code, 400);
  EXPECT_EQ(api_->Put(path, scale("[]")).code, 400);
  const Reply applied =
      api_->Do({"PATCH", path + "?fieldManager=m",
                R"({"apiVersion":"autoscaling/v1","kind":"Scale","spec":{"replicas":"5"}})",
                "application/apply-patch+yaml"});
  EXPECT_EQ(applied.code, 500) << applied.body;
  EXPECT_EQ(Message(applied).find("failed to create typed patch object"), 0u) << applied.body;
  EXPECT_EQ(Replicas(), 3);

  EXPECT_EQ(api_->Put(path + "?fieldValidation=Strict", scale(R"({"replicas":4,"zzz":1})")).code,
            400);
  EXPECT_EQ(api_->Merge(path + "?fieldValidation=Strict", J(R"({"spec":{"zzz":1}})")).code, 422);
  EXPECT_EQ(Replicas(), 3);
  EXPECT_EQ(api_->Put(path, scale(R"({"replicas":4})")).code, 200);
  EXPECT_EQ(Replicas(), 4);
}

TEST_F(TypedBodies, ScaleIsThatOfTheTargetInItsUrl) {
  MakeDeployment("x", 3);
  const std::string path = kDeployments + "/x/scale";
  Json scale = api_->Get(path).json();
  scale["spec"]["replicas"] = 4;
  Json foreign = scale;
  foreign["metadata"]["uid"] = "77777777-1111-1111-1111-111111111111";
  const Reply other = api_->Put(path, foreign);
  EXPECT_EQ(other.code, 409);
  EXPECT_EQ(Message(other),
            "Operation cannot be fulfilled on deployments/scale.apps \"x\": Precondition failed: "
            "UID in precondition: 77777777-1111-1111-1111-111111111111, UID in object meta: " +
                scale["metadata"]["uid"].get<std::string>());
  foreign = scale;
  foreign["metadata"]["namespace"] = "other";
  EXPECT_EQ(api_->Put(path, foreign).code, 400);
  foreign = scale;
  foreign["metadata"].erase("name");
  EXPECT_EQ(api_->Put(path, foreign).code, 400);
  EXPECT_EQ(api_->Merge(path, J(R"({"kind":"Pod"})")).code, 422);
  EXPECT_EQ(Replicas(), 3);
  EXPECT_EQ(api_->Put(path, scale).code, 200);
  EXPECT_EQ(Replicas(), 4);
}

TEST_F(TypedBodies, DeleteOptionsOfTheWrongTypeDeleteNothing) {
  Make(kMaps, {{"metadata", {{"name", "a"}}}});
  for (const char* body :
       {R"({"dryRun":"All"})", R"({"gracePeriodSeconds":"0"})", R"({"propagationPolicy":1})",
        R"({"orphanDependents":"true"})", R"({"preconditions":"none"})",
        R"({"preconditions":{"uid":5}})", R"({"dryRun":[1]})"}) {
    SCOPED_TRACE(body);
    EXPECT_EQ(api_->Do({"DELETE", kMaps + "/a", body}).code, 400);
    EXPECT_EQ(api_->Do({"DELETE", kMaps, body}).code, 400);
  }
  EXPECT_EQ(Message(api_->Do({"DELETE", kMaps + "/a", R"({"gracePeriodSeconds":"0"})"})),
            "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds "
            "of type int64");
  EXPECT_EQ(api_->Get(kMaps + "/a").code, 200);
  EXPECT_EQ(api_->Do({"DELETE", kMaps + "/a", R"({"dryRun":["All"],"zzz":1})"}).code, 200);
  EXPECT_EQ(api_->Get(kMaps + "/a").code, 200);
}

TEST_F(TypedBodies, ActionsOnPodsAndAccountsTakeTheirOwnKind) {
  MakePod("p", "");
  const std::string pod = "/api/v1/namespaces/default/pods/p";
  const std::string token = "/api/v1/namespaces/default/serviceaccounts/default/token";
  const struct {
    const char* name;
    std::string path;
    const char* body;
  } rows[] = {
      {"binding, kind", pod + "/binding",
       R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"target":{"name":"n"}})"},
      {"binding, type", pod + "/binding", R"({"metadata":{"name":"p"},"target":{"name":5}})"},
      {"binding, labels", pod + "/binding",
       R"({"metadata":{"name":"p","labels":{"a":1}},"target":{"name":"n"}})"},
      {"binding, name", pod + "/binding", R"({"metadata":{"name":"q"},"target":{"name":"n"}})"},
      {"binding, namespace", pod + "/binding",
       R"({"metadata":{"name":"p","namespace":"other"},"target":{"name":"n"}})"},
      {"eviction, kind", pod + "/eviction",
       R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}})"},
      {"eviction, options", pod + "/eviction",
       R"({"metadata":{"name":"p"},"deleteOptions":{"dryRun":"All"}})"},
      {"eviction, namespace", pod + "/eviction",
       R"({"metadata":{"name":"p","namespace":"other"}})"},
      {"token, kind", token, R"({"apiVersion":"v1","kind":"Pod"})"},
      {"token, seconds", token, R"({"spec":{"expirationSeconds":"600"}})"},
      {"token, audiences", token, R"({"spec":{"audiences":"a"}})"},
      {"token, namespace", token, R"({"metadata":{"namespace":"other"}})"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const Reply refused = api_->Do({"POST", row.path, row.body});
    EXPECT_EQ(refused.code, 400) << refused.body;
  }
  const Json kept = api_->Get(pod).json();
  EXPECT_FALSE(kept["spec"].contains("nodeName"));
  EXPECT_FALSE(kept["metadata"].contains("deletionTimestamp"));
}

// spec/apiserver H4.
TEST_F(TypedBodies, BindingIsOfThePodThatItNames) {
  MakePod("p", "");
  const std::string pod = "/api/v1/namespaces/default/pods/p";
  const Json stored = api_->Get(pod).json();
  const auto bind = [&](const char* member, const std::string& value, const char* kind) {
    Json body = {{"metadata", {{"name", "p"}}}, {"target", {{"kind", kind}, {"name", "n"}}}};
    if (*member != 0) body["metadata"][member] = value;
    return api_->Post(pod + "/binding", body);
  };
  const Reply stranger = bind("uid", "other", "Node");
  EXPECT_EQ(stranger.code, 409);
  EXPECT_EQ(Message(stranger),
            "Operation cannot be fulfilled on pods \"p\": StorageError: invalid object, Code: 4, "
            "Key: /registry/pods/default/p, ResourceVersion: 0, AdditionalErrorMsg: Precondition "
            "failed: UID in precondition: other, UID in object meta: " +
                stored["metadata"]["uid"].get<std::string>());
  EXPECT_EQ(bind("resourceVersion", "1", "Node").code, 409);
  const Reply kind = bind("", "", "Pod");
  EXPECT_EQ(kind.code, 500);
  EXPECT_EQ(Message(kind),
            R"(target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>")");
  EXPECT_FALSE(api_->Get(pod).json()["spec"].contains("nodeName"));
  EXPECT_EQ(bind("uid", stored["metadata"]["uid"], "Node").code, 201);
  EXPECT_EQ(api_->Get(pod).json()["spec"]["nodeName"], "n");
}

TEST_F(TypedBodies, ActionsNeedALiveNamespace) {
  MakeTerminating("ending");
  const Json binding = J(R"({"metadata":{"name":"p"},"target":{"name":"n"}})");
  const struct {
    const char* path;
    Json body;
  } rows[] = {{"/pods/p/binding", binding},
              {"/bindings", binding},
              {"/pods/p/eviction", J(R"({"metadata":{"name":"p"}})")},
              {"/serviceaccounts/default/token", Json::object()}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.path);
    const Reply ending = api_->Post("/api/v1/namespaces/ending" + std::string(row.path), row.body);
    EXPECT_EQ(ending.code, 403) << ending.body;
    EXPECT_EQ(ending.json()["details"]["causes"][0]["reason"], "NamespaceTerminating");
    const Reply missing = api_->Post("/api/v1/namespaces/zz" + std::string(row.path), row.body);
    EXPECT_EQ(missing.code, 404);
    EXPECT_EQ(Message(missing), "namespaces \"zz\" not found");
  }
}

// spec/apiserver C1.3.
TEST_F(TypedBodies, NamespaceOfAClusterScopedObjectIsCleared) {
  const std::string classes = "/apis/scheduling.k8s.io/v1/priorityclasses";
  const Json made = Make(classes, J(R"({"metadata":{"name":"c","namespace":"x"},"value":5})"));
  EXPECT_FALSE(made["metadata"].contains("namespace"));
  Json next = made;
  next["metadata"]["namespace"] = "x";
  next["metadata"]["labels"]["a"] = "b";
  const Reply put = api_->Put(classes + "/c", next);
  EXPECT_EQ(put.code, 200) << put.body;
  EXPECT_FALSE(put.json()["metadata"].contains("namespace"));
}

// spec/apiserver G3: with nothing left to wait for, a second DELETE decides anew.
TEST_F(TypedBodies, BackgroundAfterForegroundDeletesAPodAtOnce) {
  MakePod("p", "");
  const std::string pod = "/api/v1/namespaces/default/pods/p";
  EXPECT_EQ(api_->Delete(pod + "?propagationPolicy=Foreground").code, 200);
  EXPECT_EQ(api_->Get(pod).json()["metadata"]["finalizers"], J(R"(["foregroundDeletion"])"));
  EXPECT_EQ(api_->Delete(pod + "?propagationPolicy=Background").code, 200);
  EXPECT_EQ(api_->Get(pod).code, 404);
}

// spec/apiserver E3: only a graceful deletion is seen before it is done.
TEST_F(TypedBodies, LastFinalizerThatAPolicyTakesIsTheDeletion) {
  Make(kMaps, {{"metadata", {{"name", "a"}}}});
  WatchStream watch(server_->port(), kMaps + "?watch=1");
  EXPECT_EQ(watch.Next()["type"], "ADDED");
  EXPECT_EQ(api_->Delete(kMaps + "/a?propagationPolicy=Foreground").code, 200);
  EXPECT_EQ(watch.Next()["type"], "MODIFIED");
  EXPECT_EQ(api_->Delete(kMaps + "/a?propagationPolicy=Background").code, 200);
  Json gone = watch.Next();
  EXPECT_EQ(gone["type"], "DELETED");
  EXPECT_EQ(gone["object"]["metadata"]["finalizers"], J(R"(["foregroundDeletion"])"));
}

// spec/apiserver E7.
TEST_F(TypedBodies, StreamedListIsNeverOlderThanWasAsked) {
  const std::string future = std::to_string(server_->ResourceVersion() + 1000);
  WatchStream watch(server_->port(), kMaps +
                                         "?watch=1&sendInitialEvents=true&allowWatchBookmarks=true"
                                         "&resourceVersionMatch=NotOlderThan&resourceVersion=" +
                                         future);
  Json refused = watch.Next();
  EXPECT_EQ(refused["type"], "ERROR");
  EXPECT_EQ(refused["object"]["code"], 504);
  EXPECT_EQ(refused["object"]["details"]["causes"][0]["reason"], "ResourceVersionTooLarge");
  EXPECT_TRUE(watch.Next().is_null());
}

TEST_F(TypedBodies, NumbersOfYamlAreThoseOfYaml11) {
  const struct {
    const char* text;
    int mode;
  } rows[] = {{"0644", 420}, {"0o644", 420}, {"0x1A4", 420}, {"420", 420}, {"1_00", 100}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.text);
    const std::string body =
        std::string(
            "metadata: {generateName: p-}\nspec:\n  containers: [{name: c, image: i}]\n"
            "  volumes: [{name: v, secret: {secretName: s, defaultMode: ") +
        row.text + "}}]\n";
    const Reply made =
        api_->Do({"POST", "/api/v1/namespaces/default/pods", body, "application/yaml"});
    ASSERT_EQ(made.code, 201) << made.body;
    EXPECT_EQ(made.json()["spec"]["volumes"][0]["secret"]["defaultMode"], row.mode);
  }
}

}  // namespace
}  // namespace kcm::devcluster::test
