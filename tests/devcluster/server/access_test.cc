// SPDX-License-Identifier: Apache-2.0
// Who may do what (spec/apiserver J): rules with names, tokens and how long they hold.
#include "devcluster/server/served.h"

namespace kcm::devcluster::test {
namespace {

class Access : public Served {
 protected:
  // Lets the account `default` do `verbs` on ConfigMaps of these names; no names: all.
  void Allow(const Json& verbs, const Json& names) {
    const std::string rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    Json rule = {{"apiGroups", {""}}, {"resources", {"configmaps"}}, {"verbs", verbs}};
    if (!names.empty()) rule["resourceNames"] = names;
    Make(rbac + "/roles",
         {{"metadata", {{"name", "r"}}}, {"rules", Json::array({std::move(rule)})}});
    Make(rbac + "/rolebindings", J(R"({"metadata":{"name":"r"},
               "roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"r"},
               "subjects":[{"kind":"ServiceAccount","name":"default","namespace":"default"}]})"));
  }
  Json Review(const std::string& token, const Json& audiences = Json()) {
    Json spec = {{"token", token}};
    if (!audiences.is_null()) spec["audiences"] = audiences;
    return Make("/apis/authentication.k8s.io/v1/tokenreviews", {{"spec", spec}})["status"];
  }
};

TEST_F(Access, NameOfAFieldSelectorCountsForListAndWatch) {
  Allow({"list", "watch"}, {"a"});
  const std::string token = Token("default");
  EXPECT_EQ(GetAs(token, kMaps).code, 403);
  EXPECT_EQ(GetAs(token, kMaps + "?fieldSelector=metadata.name%3Da").code, 200);
  EXPECT_EQ(GetAs(token, kMaps + "?fieldSelector=metadata.name%3D%3Da").code, 200);
  EXPECT_EQ(GetAs(token, kMaps + "?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Db").code,
            403);
  EXPECT_EQ(GetAs(token, kMaps + "?fieldSelector=metadata.name%21%3Da").code, 403);
  const Reply other = GetAs(token, kMaps + "?fieldSelector=metadata.name%3Db");
  EXPECT_EQ(other.code, 403);
  EXPECT_EQ(other.json()["message"].get<std::string>().find("configmaps \"b\" is forbidden"), 0u)
      << other.body;
}

TEST_F(Access, TokenForOthersDoesNotOpenTheApi) {
  Allow({"list"}, Json::array());
  const std::string foreign = Token("default", J(R"({"audiences":["vault"]})"));
  EXPECT_EQ(GetAs(foreign, kMaps).code, 401);
  const std::string own = Token("default");
  EXPECT_EQ(GetAs(own, kMaps).code, 200);

  EXPECT_FALSE(Review(foreign).contains("authenticated"));
  EXPECT_EQ(Review(foreign, {"vault"})["authenticated"], true);
  EXPECT_EQ(Review(foreign, {"vault"})["audiences"], J(R"(["vault"])"));
  EXPECT_EQ(Review(own)["authenticated"], true);
}

TEST_F(Access, BoundTokenEndsWithItsPod) {
  Allow({"list"}, Json::array());
  MakePod("p", "");
  const std::string token =
      Token("default", J(R"({"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p"}})"));
  EXPECT_EQ(GetAs(token, kMaps).code, 200);
  EXPECT_EQ(api_->Delete("/api/v1/namespaces/default/pods/p").code, 200);
  EXPECT_EQ(GetAs(token, kMaps).code, 401);
  MakePod("p", "");  // another one of that name
  EXPECT_EQ(GetAs(token, kMaps).code, 401);
}

TEST_F(Access, ImpersonationIsAllowedPartByPart) {
  const auto ask = [&](const std::string& token,
                       std::vector<std::pair<std::string, std::string>> headers) {
    Ask a{"GET", kMaps};
    a.token = token;
    a.headers = std::move(headers);
    return api_->Do(a);
  };
  EXPECT_EQ(ask("", {{"Impersonate-Group", "system:masters"}}).code, 500);
  EXPECT_EQ(ask("", {{"Impersonate-Uid", "1"}}).code, 500);
  EXPECT_EQ(ask("", {{"Impersonate-Extra-Scopes", "view"}}).code, 500);

  const std::string rbac = "/apis/rbac.authorization.k8s.io/v1/clusterrole";
  Make(rbac + "s", J(R"({"metadata":{"name":"i"},"rules":[
      {"apiGroups":[""],"resources":["users","groups"],"verbs":["impersonate"]},
      {"apiGroups":["authentication.k8s.io"],"resources":["uids"],"resourceNames":["1"],
       "verbs":["impersonate"]},
      {"apiGroups":["authentication.k8s.io"],"resources":["userextras/scopes"],
       "resourceNames":["view"],"verbs":["impersonate"]}]})"));
  Make(rbac + "bindings", J(R"({"metadata":{"name":"i"},
             "roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"i"},
             "subjects":[{"kind":"ServiceAccount","name":"default","namespace":"default"}]})"));
  const std::string token = Token("default");
  const std::pair<std::string, std::string> user("Impersonate-User", "u"),
      masters("Impersonate-Group", "system:masters");
  EXPECT_EQ(ask(token, {user, masters}).code, 200);
  EXPECT_EQ(ask(token, {user, masters, {"Impersonate-Uid", "1"}}).code, 200);
  EXPECT_EQ(ask(token, {user, masters, {"Impersonate-Uid", "2"}}).code, 403);
  EXPECT_EQ(ask(token, {user, masters, {"Impersonate-Extra-Scopes", "view"}}).code, 200);
  EXPECT_EQ(ask(token, {user, masters, {"Impersonate-Extra-Scopes", "edit"}}).code, 403);
  EXPECT_EQ(ask(token, {user, masters, {"Impersonate-Extra-Other", "view"}}).code, 403);
}

}  // namespace
}  // namespace kcm::devcluster::test
