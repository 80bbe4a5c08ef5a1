// SPDX-License-Identifier: Apache-2.0
// Objects with absurd but legal content go through caches and come back in PUTs without loss: a PUT
// of a status takes labels, annotations and finalizers from its body.
#include <gtest/gtest.h>

#include "harness/cluster.h"

namespace kcm::harness {
namespace {

// Wherever the API takes any text: planes beyond the first, right-to-left marks, combining
// characters, noncharacters, controls, the byte 0.
const std::string& AnyText() {
  static const std::string text = std::string("\0", 1) +
                                  "\x01\x1f\x7f \"\\/\b\f\n\r\t"
                                  "\xc3\xa9 e\xcc\x81 \xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d "
                                  "\xe2\x80\xae\xe2\x80\xa8 \xe6\xbc\xa2\xe5\xad\x97 "
                                  "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb "
                                  "\xef\xbf\xbf\xef\xbf\xbd\xf4\x8f\xbf\xbd end";
  return text;
}

Json Metadata(const std::string& name) {
  Json annotations{{"example.com/text", AnyText()},
                   {"example.com/empty", ""},
                   {"example.com/Number", "1e400"},
                   {"example.com/json", R"({"a":[null,true,{}]})"}};
  // Together just below the server's limit of 256 KiB.
  for (int i = 0; i < 25; ++i)
    annotations["example.com/big-" + std::to_string(i)] = std::string(10 << 10, 'x');
  Json finalizers = Json::array();
  for (int i = 0; i < 10'000; ++i)
    finalizers.push_back("example.com/finalizer-" + std::to_string(i));
  return {{"name", name},
          {"labels", {{"app", name}, {"empty", ""}}},
          {"annotations", annotations},
          {"finalizers", finalizers},
          {"creationTimestamp", nullptr},
          {"ownerReferences", nullptr}};
}

Json Template(const std::string& name) {
  Json pod = PodTemplate({{"app", name}});
  pod["metadata"]["creationTimestamp"] = nullptr;
  pod["metadata"]["annotations"] = {{"example.com/text", AnyText()}};
  Json& container = pod["spec"]["containers"][0];
  container["args"] = {AnyText(), "", "$(not expanded)"};
  container["env"] = {{{"name", "TEXT"}, {"value", AnyText()}}, {{"name", "NONE"}, {"value", ""}}};
  container["resources"] = {{"requests", {{"cpu", "0.5"}, {"memory", "1e3"}}}};
  container["livenessProbe"] = nullptr;
  pod["spec"]["volumes"] = nullptr;
  pod["spec"]["nodeSelector"] = Json::object();
  return pod;
}

class Content : public ::testing::TestWithParam<const char*> {
 protected:
  Cluster cluster{{.plugins = {"pod"}, .nodes = 0, .scheduler = false}};
};

// What `wanted` holds must be in `have` unchanged; the controller may add annotations.
void ExpectKept(const Json& wanted, const Json& have) {
  for (const auto& [key, value] : wanted["metadata"]["annotations"].items())
    EXPECT_TRUE(have["metadata"]["annotations"].value(key, Json()) == value) << key;
  EXPECT_TRUE(wanted["metadata"]["labels"] == have["metadata"]["labels"]);
  EXPECT_TRUE(wanted["metadata"]["finalizers"] == have["metadata"]["finalizers"])
      << have["metadata"]["finalizers"].size() << " finalizers are left";
  EXPECT_EQ(wanted["spec"], have["spec"]);
}

TEST_P(Content, GoesThroughCacheAndPutWithoutLoss) {
  const std::string kind = GetParam();
  const std::string resource = kind == "Deployment" ? "deployments" : "replicasets";
  cluster.Create({{"apiVersion", "v1"},
                  {"kind", "ServiceAccount"},
                  {"metadata", {{"name", "default"}}}});  // admission wants it for pods
  const Json created = cluster.Create({{"apiVersion", "apps/v1"},
                                       {"kind", kind},
                                       {"metadata", Metadata("absurd")},
                                       {"spec",
                                        {{"replicas", 1},
                                         {"selector", {{"matchLabels", {{"app", "absurd"}}}}},
                                         {"template", Template("absurd")}}}});
  ASSERT_EQ(created["metadata"]["annotations"]["example.com/text"], AnyText());
  cluster.Until("the pod", [&] { return cluster.List("pods").size() == 1; });
  const Json pod = cluster.List("pods")[0];
  EXPECT_EQ(pod["metadata"]["annotations"]["example.com/text"], AnyText());
  EXPECT_EQ(pod["spec"]["containers"][0]["args"],
            created["/spec/template/spec/containers/0/args"_json_pointer]);
  EXPECT_EQ(pod["spec"]["containers"][0]["env"],
            created["/spec/template/spec/containers/0/env"_json_pointer]);
  cluster.MakeAllReady();
  cluster.Until("the status", [&] {
    return cluster.Get(resource, "absurd").value("/status/readyReplicas"_json_pointer, 0) == 1;
  });
  int puts = 0;
  for (const auto& e : cluster.Audit())
    puts += e.method == "PUT" && e.uri.find("/" + resource + "/absurd") != std::string::npos &&
            e.user_agent.find("kube-controller-manager/") == 0;
  EXPECT_GE(puts, 1);
  ExpectKept(created, cluster.Get(resource, "absurd"));
}

INSTANTIATE_TEST_SUITE_P(Kinds, Content, ::testing::Values("ReplicaSet", "Deployment"),
                         [](const auto& row) { return std::string(row.param); });

}  // namespace
}  // namespace kcm::harness
