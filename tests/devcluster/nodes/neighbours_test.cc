// SPDX-License-Identifier: Apache-2.0
// Pod affinity, anti-affinity and topology spread.
#include "devcluster/nodes/neighbours.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace kcm::devcluster::nodes {
namespace {

using nlohmann::json;

// Nodes a1, a2 in zone a, b1 in zone b, and one without a zone.
class NeighbourRules : public ::testing::Test {
 protected:
  static NodeObject NodeIn(const std::string& name, const std::string& zone) {
    NodeObject node;
    node.name = name;
    json labels = {{"host", name}};
    if (!zone.empty()) labels["zone"] = zone;
    node.identity = std::make_shared<const json>(
        json{{"metadata", {{"name", name}, {"labels", std::move(labels)}}}});
    return node;
  }
  static Pod PodWith(const Strings& labels, const json& scheduling = json::object()) {
    Pod pod;
    pod.ns = "default";
    pod.labels = labels;
    pod.scheduling = std::make_shared<const json>(scheduling);
    const json::json_pointer anti(
        "/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution");
    if (scheduling.contains(anti)) {
      pod.anti_affinity = std::make_shared<const json>(scheduling.at(anti));
    }
    return pod;
  }
  static json Near(const char* side, const char* key, const Strings& labels) {
    return {{"affinity",
             {{side,
               {{"requiredDuringSchedulingIgnoredDuringExecution",
                 json::array(
                     {{{"topologyKey", key}, {"labelSelector", {{"matchLabels", labels}}}}})}}}}}};
  }
  static json Spread(const char* key, int skew, const json& more = json::object()) {
    json constraint = {{"topologyKey", key},
                       {"maxSkew", skew},
                       {"whenUnsatisfiable", "DoNotSchedule"},
                       {"labelSelector", {{"matchLabels", {{"app", "web"}}}}}};
    constraint.update(more);
    return {{"topologySpreadConstraints", json::array({constraint})}};
  }
  void Place(const Pod& pod, const NodeObject& node) {
    pods.push_back(std::make_unique<Pod>(pod));
    placed.push_back({pods.back().get(), &node});
  }
  // The nodes that will do, as "a1 b1".
  std::string Where(const Pod& pod) const {
    const Placement placement(pod);
    const Neighbours neighbours(pod, placement, placed, {&a1, &a2, &b1, &bare});
    std::string out;
    for (const NodeObject* node : {&a1, &a2, &b1, &bare}) {
      if (!neighbours.Against(*node).empty()) continue;
      out += (out.empty() ? "" : " ") + node->name;
    }
    return out;
  }

  NodeObject a1 = NodeIn("a1", "a"), a2 = NodeIn("a2", "a"), b1 = NodeIn("b1", "b"),
             bare = NodeIn("bare", "");
  std::vector<std::unique_ptr<Pod>> pods;
  std::vector<PlacedPod> placed;
};

TEST_F(NeighbourRules, AffinityWantsTheSameDomain) {
  const Pod pod = PodWith({}, Near("podAffinity", "zone", {{"app", "db"}}));
  EXPECT_EQ(Where(pod), "") << "nobody to be near to";
  Place(PodWith({{"app", "db"}}), a1);
  EXPECT_EQ(Where(pod), "a1 a2");
}

TEST_F(NeighbourRules, FirstOfAGroupMayStartAnywhereWithTheKey) {
  EXPECT_EQ(Where(PodWith({{"app", "db"}}, Near("podAffinity", "zone", {{"app", "db"}}))),
            "a1 a2 b1");
}

TEST_F(NeighbourRules, AntiAffinityWorksBothWays) {
  const json apart = Near("podAntiAffinity", "host", {{"app", "web"}});
  Place(PodWith({{"app", "web"}}), a1);
  EXPECT_EQ(Where(PodWith({}, apart)), "a2 b1 bare");
  Place(PodWith({{"app", "shy"}}, Near("podAntiAffinity", "zone", {{"app", "loud"}})), b1);
  EXPECT_EQ(Where(PodWith({{"app", "loud"}})), "a1 a2 bare") << "b1 is defended";
}

TEST_F(NeighbourRules, TermsLookAtTheirNamespacesOnly) {
  Pod other = PodWith({{"app", "web"}});
  other.ns = "other";
  Place(other, a1);
  json apart = Near("podAntiAffinity", "host", {{"app", "web"}});
  EXPECT_EQ(Where(PodWith({}, apart)), "a1 a2 b1 bare");
  json& term =
      apart["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0];
  term["namespaceSelector"] = json::object();
  EXPECT_EQ(Where(PodWith({}, apart)), "a2 b1 bare") << "an empty selector is all namespaces";
  EXPECT_TRUE(MindsOtherNamespaces(PodWith({}, apart)));
  term["namespaceSelector"] = {{"matchLabels", {{"kubernetes.io/metadata.name", "third"}}}};
  EXPECT_EQ(Where(PodWith({}, apart)), "a1 a2 b1 bare");
  term.erase("namespaceSelector");
  term["namespaces"] = json::array({"other"});
  EXPECT_EQ(Where(PodWith({}, apart)), "a2 b1 bare");
}

TEST_F(NeighbourRules, SpreadKeepsTheSkew) {
  const Pod pod = PodWith({{"app", "web"}}, Spread("zone", 1));
  EXPECT_EQ(Where(pod), "a1 a2 b1");
  Place(PodWith({{"app", "web"}}), a1);
  EXPECT_EQ(Where(pod), "b1");
  Place(PodWith({{"app", "web"}}), b1);
  EXPECT_EQ(Where(pod), "a1 a2 b1");
  Pod going = PodWith({{"app", "web"}});
  going.deleting = true;
  Place(going, a2);
  EXPECT_EQ(Where(pod), "a1 a2 b1") << "pods that go do not count";
}

TEST_F(NeighbourRules, SpreadCountsOnlyNodesThatThePodSelects) {
  Place(PodWith({{"app", "web"}}), a1);
  json scheduling = Spread("zone", 1);
  scheduling["nodeSelector"] = {{"zone", "a"}};
  EXPECT_EQ(Where(PodWith({{"app", "web"}}, scheduling)), "a1 a2 b1")
      << "zone b is no domain then; the node selector itself is not checked here";
  json ignoring = Spread("zone", 1, {{"nodeAffinityPolicy", "Ignore"}});
  ignoring["nodeSelector"] = {{"zone", "a"}};
  EXPECT_EQ(Where(PodWith({{"app", "web"}}, ignoring)), "b1");
}

TEST_F(NeighbourRules, TooFewDomainsCountAsEmpty) {
  Place(PodWith({{"app", "web"}}), a1);
  Place(PodWith({{"app", "web"}}), b1);
  EXPECT_EQ(Where(PodWith({{"app", "web"}}, Spread("zone", 1, {{"minDomains", 3}}))), "");
}

TEST_F(NeighbourRules, PreferencesMakeNodesLikedLess) {
  Place(PodWith({{"app", "web"}}), a1);
  const Pod spread =
      PodWith({{"app", "web"}}, Spread("zone", 1, {{"whenUnsatisfiable", "ScheduleAnyway"}}));
  const Neighbours soft(spread, Placement(spread), placed, {&a1, &a2, &b1, &bare});
  EXPECT_EQ(soft.Against(a1), "");
  EXPECT_GT(soft.Dislike(a2), soft.Dislike(b1));
  const Pod near = PodWith(
      {}, {{"affinity",
            {{"podAffinity",
              {{"preferredDuringSchedulingIgnoredDuringExecution",
                json::array({{{"weight", 50},
                              {"podAffinityTerm",
                               {{"topologyKey", "host"},
                                {"labelSelector", {{"matchLabels", {{"app", "web"}}}}}}}}})}}}}}});
  const Neighbours liking(near, Placement(near), placed, {&a1, &a2, &b1, &bare});
  EXPECT_LT(liking.Dislike(a1), liking.Dislike(a2));
}

}  // namespace
}  // namespace kcm::devcluster::nodes
