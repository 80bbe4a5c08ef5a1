// SPDX-License-Identifier: Apache-2.0
// RBAC questions against the stock roles (spec J2).
#include "devcluster/kinds/authorizer.h"

#include <gtest/gtest.h>

#include "devcluster/kinds/cluster_of_kinds.h"

namespace kcm::devcluster::kinds {
namespace {

UserInfo Account(const std::string& ns, const std::string& name) {
  UserInfo u;
  u.name = "system:serviceaccount:" + ns + ":" + name;
  u.groups = {"system:serviceaccounts", "system:serviceaccounts:" + ns, "system:authenticated"};
  return u;
}

TEST(Authorizer, AnswersByStockRoles) {
  const ClusterOfKinds cluster;
  const Authorizer rbac;
  const UserInfo deployments = Account("kube-system", "deployment-controller");
  UserInfo anonymous;
  anonymous.name = "system:anonymous";
  anonymous.groups = {"system:unauthenticated"};
  UserInfo manager;
  manager.name = "system:kube-controller-manager";
  manager.groups = {"system:authenticated"};
  UserInfo master;
  master.groups = {"system:masters"};
  const struct {
    const char* name;
    UserInfo user;
    ResourceRequest request;
    bool want;
  } rows[] = {
      {"masters may all", master, {"delete", "x", "y", "z", "n", "m"}, true},
      {"a controller's own verb",
       deployments,
       {"update", "apps", "replicasets", "", "n", "r"},
       true},
      {"subresource named apart",
       deployments,
       {"update", "apps", "deployments", "status", "n", "d"},
       true},
      {"subresource does not grant more",
       deployments,
       {"update", "apps", "deployments", "scale", "n", "d"},
       false},
      {"a verb the role lacks", deployments, {"delete", "", "nodes", "", "", "x"}, false},
      {"anonymous may nothing", anonymous, {"list", "", "pods", "", "n", ""}, false},
      {"its own lease by name",
       manager,
       {"update", "coordination.k8s.io", "leases", "", "kube-system", "kube-controller-manager"},
       true},
      {"another's lease",
       manager,
       {"update", "coordination.k8s.io", "leases", "", "kube-system", "other"},
       false},
      {"a role bound in one namespace",
       manager,
       {"get", "", "configmaps", "", "kube-system", "extension-apiserver-authentication"},
       true},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(rbac.Allowed(row.user, row.request, cluster, nullptr), row.want);
  }
}

TEST(Authorizer, NamesTheBindingThatAllows) {
  ClusterOfKinds cluster;
  const std::string rbac_group = "rbac.authorization.k8s.io";
  cluster.Create({"", "v1", "namespaces"}, "", Json{{"metadata", {{"name", "i06"}}}});
  cluster.Create(
      {rbac_group, "v1", "roles"}, "i06",
      Json::parse(
          R"({"metadata":{"name":"r"},"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]})"));
  cluster.Create({rbac_group, "v1", "rolebindings"}, "i06",
                 Json::parse(R"({"metadata":{"name":"r"},"roleRef":{"kind":"Role","name":"r"},
                                 "subjects":[{"kind":"ServiceAccount","name":"default","namespace":"i06"}]})"));
  const Authorizer rbac;
  std::string reason;
  EXPECT_TRUE(rbac.Allowed(Account("i06", "default"), {"get", "", "pods", "", "i06", "x"}, cluster,
                           &reason));
  EXPECT_EQ(
      reason,
      "RBAC: allowed by RoleBinding \"r/i06\" of Role \"r\" to ServiceAccount \"default/i06\"");
  EXPECT_FALSE(rbac.Allowed(Account("i06", "default"), {"get", "", "pods", "", "other", "x"},
                            cluster, nullptr));
}

TEST(Authorizer, PathsByPrefix) {
  const ClusterOfKinds cluster;
  const Authorizer rbac;
  UserInfo anonymous;
  anonymous.groups = {"system:unauthenticated"};
  EXPECT_TRUE(rbac.AllowedUrl(anonymous, "get", "/healthz", cluster, nullptr));
  EXPECT_FALSE(rbac.AllowedUrl(anonymous, "get", "/api", cluster, nullptr));
  EXPECT_TRUE(rbac.AllowedUrl(Account("n", "s"), "get", "/apis/apps/v1", cluster, nullptr));
  EXPECT_FALSE(rbac.AllowedUrl(Account("n", "s"), "get", "/metrics", cluster, nullptr));
}

TEST(Authorizer, RefusesToGrantWhatOneLacks) {
  ClusterOfKinds cluster;
  const std::string rbac_group = "rbac.authorization.k8s.io";
  cluster.Create({"", "v1", "namespaces"}, "", Json{{"metadata", {{"name", "i06"}}}});
  cluster.user = Account("i06", "default");
  const Json role = Json::parse(
      R"({"metadata":{"name":"esc"},"rules":[{"apiGroups":[""],"resources":["secrets"],"verbs":["get"]}]})");
  const auto refused = cluster.Create({rbac_group, "v1", "roles"}, "i06", role);
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.body["message"],
            "roles.rbac.authorization.k8s.io \"esc\" is forbidden: user "
            "\"system:serviceaccount:i06:default\" "
            "(groups=[\"system:serviceaccounts\" \"system:serviceaccounts:i06\" "
            "\"system:authenticated\"]) is attempting to "
            "grant RBAC permissions not currently held:\n{APIGroups:[\"\"], "
            "Resources:[\"secrets\"], Verbs:[\"get\"]}");
  const Json binding = Json::parse(
      R"({"metadata":{"name":"esc"},"roleRef":{"kind":"ClusterRole","name":"cluster-admin"}})");
  EXPECT_EQ(cluster.Create({rbac_group, "v1", "rolebindings"}, "i06", binding).body["message"],
            "rolebindings.rbac.authorization.k8s.io \"esc\" is forbidden: user "
            "\"system:serviceaccount:i06:default\" "
            "(groups=[\"system:serviceaccounts\" \"system:serviceaccounts:i06\" "
            "\"system:authenticated\"]) is attempting to "
            "grant RBAC permissions not currently held:\n{APIGroups:[\"*\"], Resources:[\"*\"], "
            "Verbs:[\"*\"]}\n"
            "{NonResourceURLs:[\"*\"], Verbs:[\"*\"]}");
}

}  // namespace
}  // namespace kcm::devcluster::kinds
