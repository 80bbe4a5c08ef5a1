// SPDX-License-Identifier: Apache-2.0
// The registry's pure answers: merge keys, decoding errors, field labels, durations, namespaces
// under deletion, seeds.
#include <gtest/gtest.h>

#include <set>

#include "devcluster/kinds/cluster_of_kinds.h"
#include "devcluster/kinds/times.h"

namespace kcm::devcluster::kinds {
namespace {

TEST(MergeKeys, FollowTheSchema) {
  const auto registry = MakeKindRegistry();
  const struct {
    Gvr gvr;
    const char* path;
    const char* key;
    bool retain;
  } rows[] = {
      {{"", "v1", "pods"}, "spec.containers", "name", false},
      {{"apps", "v1", "deployments"}, "spec.template.spec.containers", "name", false},
      {{"apps", "v1", "deployments"},
       "spec.template.spec.containers.ports",
       "containerPort",
       false},
      {{"batch", "v1", "cronjobs"}, "spec.jobTemplate.spec.template.spec.volumes", "name", true},
      {{"", "v1", "pods"}, "spec.tolerations", "", false},
      {{"", "v1", "pods"}, "spec.containers.args", "", false},
      {{"", "v1", "pods"}, "metadata.ownerReferences", "uid", false},
      {{"", "v1", "configmaps"}, "metadata.finalizers", "$set", false},
      {{"apps", "v1", "deployments"}, "spec.strategy", "", true},
      {{"", "v1", "services"}, "spec.ports", "port", false},
      {{"certificates.k8s.io", "v1", "certificatesigningrequests"}, "status.conditions", "", false},
      {{"", "v1", "pods"}, "no.such.path", "", false},
      {{"none", "v1", "pods"}, "spec.containers", "", false},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.gvr.resource + " " + row.path);
    const KindRegistry::ListKey key = registry->MergeKey(row.gvr, row.path);
    EXPECT_EQ(key.key, row.key);
    EXPECT_EQ(key.retain_keys, row.retain);
  }
}

TEST(Decoding, SaysWhatGoWouldSay) {
  const ClusterOfKinds cluster;
  const struct {
    Gvr gvr;
    const char* body;
    const char* error;  // "" well typed
    std::vector<std::string> unknown;
  } rows[] = {
      {{"", "v1", "configmaps"},
       R"({"metadata":{"name":5}})",
       "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string",
       {}},
      {{"", "v1", "configmaps"},
       R"({"data":{"a":1}})",
       "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
       {}},
      {{"", "v1", "secrets"},
       R"({"data":{"a":"not base64!"}})",
       "illegal base64 data at input byte 3",
       {}},
      {{"", "v1", "configmaps"},
       R"({"metadata":{"name":"x","nope":1},"foo":"bar"})",
       "",
       {"metadata.nope", "foo"}},
      {{"apps", "v1", "deployments"},
       R"({"spec":{"template":{"spec":{"containers":[{"name":"c","imag":"x"}]}},"nope":1}})",
       "",
       {"spec.template.spec.containers[0].imag", "spec.nope"}},
      {{"", "v1", "configmaps"}, R"({"metadata":{"Name":"case"}})", "", {"metadata.Name"}},
      {{"", "v1", "pods"},
       R"({"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"abc"}}}]}})",
       "quantities must match the regular expression "
       "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
       {}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.body);
    Json object = Json::parse(row.body);
    std::vector<std::string> unknown;
    EXPECT_EQ(cluster.Kind(row.gvr)->decode(object, &unknown).value_or(""), row.error);
    EXPECT_EQ(unknown, row.unknown);
  }
}

TEST(Decoding, SurvivesDeepSchemas) {
  const ClusterOfKinds cluster;
  Json schema = {{"type", "object"}};
  for (int i = 0; i < 400; ++i) schema = Json{{"properties", {{"x", schema}}}};
  Json crd;
  crd["spec"]["versions"] = Json::array({Json{{"name", "v1"}}});
  crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema;
  EXPECT_EQ(cluster.Kind({"apiextensions.k8s.io", "v1", "customresourcedefinitions"})
                ->decode(crd, nullptr)
                .value_or(""),
            "exceeded max depth");
}

TEST(FieldLabels, OfKindsThatHaveSome) {
  const ClusterOfKinds cluster;
  const ResourceKind* pods = cluster.Kind({"", "v1", "pods"});
  const Json pod = Json::parse(
      R"({"spec":{"nodeName":"n1"},"status":{"phase":"Running","podIPs":[{"ip":"10.0.0.1"}]}})");
  EXPECT_EQ(pods->field_label("spec.nodeName", pod), "n1");
  EXPECT_EQ(pods->field_label("status.podIPs", pod), "");
  EXPECT_EQ(pods->field_label("spec.hostNetwork", pod), "false");
  EXPECT_EQ(pods->field_label("spec.nope", pod), std::nullopt);
  const ResourceKind* events = cluster.Kind({"", "v1", "events"});
  EXPECT_EQ(events->field_label("source", Json::parse(R"({"source":{},"reportingComponent":"c"})")),
            "c");
  EXPECT_TRUE(cluster.Kind({"apps", "v1", "deployments"})->field_labels.empty());
}

TEST(HumanDuration, ShortForms) {
  const struct {
    int64_t seconds;
    const char* text;
  } rows[] = {
      {0, "0s"},      {119, "119s"},    {120, "2m"},           {190, "3m10s"},   {3599, "59m"},
      {10800, "3h"},  {10860, "3h1m"},  {28800, "8h"},         {172800, "2d"},   {183600, "2d3h"},
      {691200, "8d"}, {63072000, "2y"}, {218246400, "6y336d"}, {-5, "<invalid>"}};
  for (const auto& row : rows) EXPECT_EQ(HumanDuration(row.seconds), row.text) << row.seconds;
}

TEST(NamespaceLifecycle, RefusesNewContentWithItsCause) {
  ClusterOfKinds cluster;
  const Gvr configmaps{"", "v1", "configmaps"};
  const Json body = {{"metadata", {{"name", "x"}}}};
  EXPECT_EQ(cluster.Create(configmaps, "none", body).body["message"],
            "namespaces \"none\" not found");
  cluster.Create({"", "v1", "namespaces"}, "", Json{{"metadata", {{"name", "c06"}}}});
  Json terminating = Json::parse(R"({"status":{"phase":"Terminating"}})");
  cluster.Update({"", "v1", "namespaces"}, "", "c06", "status", terminating,
                 ClusterOfKinds::PatchType::kMerge);
  const auto refused = cluster.Create(configmaps, "c06", body);
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.body["message"],
            "configmaps \"x\" is forbidden: unable to create new content in namespace c06 because "
            "it is being terminated");
  EXPECT_EQ(
      refused.body["details"]["causes"][0],
      Json::parse(
          R"({"reason":"NamespaceTerminating","message":"namespace c06 is being terminated","field":"metadata.namespace"})"));
  EXPECT_EQ(cluster.Delete({"", "v1", "namespaces"}, "", "kube-system").body["message"],
            "namespaces \"kube-system\" is forbidden: this namespace may not be deleted");
}

TEST(WorkloadStatus, CountersBoundEachOther) {
  ClusterOfKinds cluster;
  const Gvr deployments{"apps", "v1", "deployments"};
  cluster.Create({"", "v1", "namespaces"}, "", Json{{"metadata", {{"name", "f04"}}}});
  cluster.Create(
      deployments, "f04",
      Json::parse(R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"app":"a"}},
    "template":{"metadata":{"labels":{"app":"a"}},"spec":{"containers":[{"name":"c","image":"nginx"}]}}}})"));
  const auto refused = cluster.Update(deployments, "f04", "d", "status",
                                      Json::parse(R"({"status":{"replicas":-1}})"),
                                      ClusterOfKinds::PatchType::kMerge);
  EXPECT_EQ(refused.status, 422);
  EXPECT_EQ(refused.body["message"],
            "Deployment.apps \"d\" is invalid: [status.replicas: Invalid value: -1: must be "
            "greater than or equal to 0, "
            "status.updatedReplicas: Invalid value: 0: cannot be greater than status.replicas, "
            "status.readyReplicas: Invalid "
            "value: 0: cannot be greater than status.replicas, status.availableReplicas: Invalid "
            "value: 0: cannot be greater "
            "than status.replicas]");
}

TEST(Seeds, AreWellTypedAndComplete) {
  const ClusterOfKinds cluster;
  std::set<std::string> names;
  for (const KindRegistry::Seed& seed : cluster.registry().Seeds()) {
    const ResourceKind* kind = cluster.Kind(seed.gvr);
    ASSERT_NE(kind, nullptr) << seed.gvr.resource;
    Json object = seed.object;
    std::vector<std::string> unknown;
    const std::string name = seed.gvr.resource + "/" + object["metadata"].value("namespace", "") +
                             "/" + object["metadata"].value("name", "");
    EXPECT_EQ(kind->decode(object, &unknown).value_or(""), "") << name;
    EXPECT_TRUE(unknown.empty()) << name << " " << (unknown.empty() ? "" : unknown[0]);
    EXPECT_TRUE(names.insert(name).second) << name;
  }
  for (const char* name :
       {"namespaces//kube-node-lease", "services/default/kubernetes",
        "priorityclasses//system-node-critical", "clusterroles//admin",
        "clusterroles//system:controller:replicaset-controller",
        "clusterrolebindings//system:controller:clusterrole-aggregation-controller",
        "roles/kube-system/extension-apiserver-authentication-reader"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(Storage, CanonicalFormsAreStable) {
  // Storing what was stored changes nothing: an empty update is a no-op (spec C2.6).
  ClusterOfKinds cluster;
  for (const auto& kind : cluster.registry().BuiltIn()) {
    for (const Json& object : cluster.List(kind->gvr, "")) {
      Json again = object;
      if (kind->set_defaults) kind->set_defaults(again);
      if (kind->canonicalise) kind->canonicalise(again);
      EXPECT_EQ(again, object) << kind->gvr.resource << Json::diff(object, again).dump();
    }
  }
}

}  // namespace
}  // namespace kcm::devcluster::kinds
