// SPDX-License-Identifier: Apache-2.0
// Selectors of devices and the search for them.
#include "devcluster/nodes/device_choice.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "devcluster/nodes/device_selector.h"
#include "kcm/rules/json_node.h"

namespace kcm::devcluster::nodes {
namespace {

using nlohmann::json;

JsonObject ObjectOf(const std::string& ns, const std::string& name, json body) {
  JsonObject o;
  o.uid = name + "-uid";
  o.ns = ns;
  o.name = name;
  body["metadata"]["name"] = name;
  o.body = std::make_shared<const json>(std::move(body));
  return o;
}

TEST(DeviceSelectors, CompareDriverAndAttributes) {
  const json device = json::parse(
      R"({"name":"d","attributes":{"model":{"string":"a100"},"other.io/index":{"int":3},"fast":{"bool":true}}})");
  const struct {
    const char* expression;
    bool matches;
  } rows[] = {
      {R"(device.driver == "gpu.io")", true},
      {R"(device.driver == 'x')", false},
      {R"(device.driver != "x")", true},
      {R"(device.attributes["gpu.io"].model == "a100")", true},
      {R"(device.attributes["gpu.io"]["model"] == 'a100')", true},
      {R"(device.attributes["gpu.io"].model != "a100")", false},
      {R"(device.attributes["other.io"].index == 3)", true},
      {R"(device.attributes["other.io"].index == "3")", false},
      {R"(device.attributes["gpu.io"].fast == true)", true},
      {R"(device.attributes["gpu.io"].absent != "x")", false},
      {R"(device.driver == "gpu.io" && device.attributes["gpu.io"].model == "a100")", true},
      {R"(device.driver == "gpu.io" && device.attributes["gpu.io"].model == "v100")", false},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.expression);
    const auto s = DeviceSelector::Parse(row.expression);
    ASSERT_TRUE(s.ok()) << s.error().message;
    EXPECT_EQ(s->Matches("gpu.io", rules::JsonNode(device)), row.matches);
  }
  for (const char* beyond : {"true", "device.driver.startsWith(\"x\")", "", "device.driver == x"}) {
    SCOPED_TRACE(beyond);
    const auto s = DeviceSelector::Parse(beyond);
    ASSERT_FALSE(s.ok());
    EXPECT_NE(s.error().message.find("beyond this simulator"), std::string::npos);
  }
}

// Two nodes with devices even-0, odd-1, even-2, odd-3 each, one class of all of them.
class DeviceSearch : public ::testing::Test {
 protected:
  DeviceSearch() {
    for (NodeObject* node : {&n1, &n2}) {
      json devices = json::array();
      for (int i = 0; i < 4; ++i) {
        devices.push_back({{"name", (i % 2 == 0 ? "even-" : "odd-") + std::to_string(i)},
                           {"attributes", {{"parity", {{"int", i % 2}}}}}});
      }
      AddSlice(node->name, node->name, 1, devices);
    }
    books.classes["all"] = ObjectOf(
        "", "all",
        {{"spec",
          {{"selectors", json::array({{{"cel", {{"expression", "device.driver == \"d\""}}}}})}}}});
  }
  static NodeObject NodeOf(const std::string& name) {
    NodeObject node;
    node.name = name;
    node.identity = std::make_shared<const json>(json{{"metadata", {{"name", name}}}});
    return node;
  }
  void AddSlice(const std::string& name, const std::string& node, int generation, json devices) {
    books.slices[name] = ObjectOf("", name,
                                  {{"spec",
                                    {{"driver", "d"},
                                     {"nodeName", node},
                                     {"pool", {{"name", node}, {"generation", generation}}},
                                     {"devices", std::move(devices)}}}});
  }
  static json Exactly(const std::string& name, const json& more) {
    json exactly = {{"deviceClassName", "all"}};
    exactly.update(more);
    return {{"name", name}, {"exactly", exactly}};
  }
  void Claim(const json& requests, const json& constraints = json::array()) {
    books.claims["ns/c"] =
        ObjectOf("ns", "c",
                 {{"spec", {{"devices", {{"requests", requests}, {"constraints", constraints}}}}}});
  }
  // "even-0 odd-1", or why not.
  std::string On(const NodeObject& node) {
    Pod pod;
    pod.ns = "ns";
    pod.device_claims = {{"e", "c"}};
    const DeviceChoice choice(pod, books);
    if (choice.missing()) return *choice.missing();
    if (const std::string why = choice.Against(node); !why.empty()) return why;
    std::string out;
    for (const ClaimAllocation& a : choice.Allocations(node)) {
      for (const json& r : (*a.allocation)["devices"]["results"]) {
        out += (out.empty() ? "" : " ") + r["request"].get<std::string>() + ":" +
               r["device"].get<std::string>();
      }
    }
    return out;
  }

  NodeObject n1 = NodeOf("n1"), n2 = NodeOf("n2"), bare = NodeOf("bare");
  DeviceBooks books;
};

TEST_F(DeviceSearch, TakesFreeDevicesInOrder) {
  Claim(json::array({Exactly("r", {{"count", 2}})}));
  EXPECT_EQ(On(n1), "r:even-0 r:odd-1");
  EXPECT_EQ(On(bare), "cannot allocate all claims");
  books.promised["ns/other"] = {"d/n1/even-0"};
  books.claims["ns/third"] = ObjectOf(
      "ns", "third",
      json::parse(
          R"({"status":{"allocation":{"devices":{"results":[{"driver":"d","pool":"n1","device":"odd-1"}]}}}})"));
  EXPECT_EQ(On(n1), "r:even-2 r:odd-3");
  Claim(json::array({Exactly("r", {{"count", 3}})}));
  EXPECT_EQ(On(n1), "cannot allocate all claims");
  EXPECT_EQ(On(n2), "r:even-0 r:odd-1 r:even-2");
}

TEST_F(DeviceSearch, AllModeNeedsEveryDeviceFree) {
  Claim(json::array({Exactly("r", {{"allocationMode", "All"}})}));
  EXPECT_EQ(On(n1), "r:even-0 r:odd-1 r:even-2 r:odd-3");
  books.promised["ns/other"] = {"d/n1/odd-3"};
  EXPECT_EQ(On(n1), "cannot allocate all claims");
  Claim(json::array({Exactly("r", {{"allocationMode", "All"}, {"adminAccess", true}})}));
  EXPECT_EQ(On(n1), "r:even-0 r:odd-1 r:even-2 r:odd-3")
      << "an administrator may look at used ones";
}

TEST_F(DeviceSearch, ConstraintsHoldAcrossRequests) {
  Claim(json::array({Exactly("x", json::object()), Exactly("y", json::object())}),
        json::array({{{"matchAttribute", "d/parity"}}}));
  EXPECT_EQ(On(n1), "x:even-0 y:even-2");
  Claim(json::array({Exactly("x", {{"count", 3}})}),
        json::array({{{"matchAttribute", "d/parity"}, {"requests", json::array({"x"})}}}));
  EXPECT_EQ(On(n1), "cannot allocate all claims");
}

TEST_F(DeviceSearch, FirstAvailableAlternativeWins) {
  const json wide = {{"name", "wide"}, {"deviceClassName", "all"}, {"count", 9}};
  const json slim = {{"name", "slim"}, {"deviceClassName", "all"}, {"count", 1}};
  Claim(json::array({{{"name", "r"}, {"firstAvailable", json::array({wide, slim})}}}));
  EXPECT_EQ(On(n1), "r/slim:even-0");
}

TEST_F(DeviceSearch, OnlyTheNewestGenerationOfAPoolCounts) {
  AddSlice("n1-new", "n1", 2, json::array({{{"name", "new"}}}));
  Claim(json::array({Exactly("r", json::object())}));
  EXPECT_EQ(On(n1), "r:new");
}

TEST_F(DeviceSearch, SaysWhatIsMissing) {
  EXPECT_EQ(On(n1), "resourceclaim \"c\" not found");
  Claim(json::array({{{"name", "r"}, {"exactly", {{"deviceClassName", "none"}}}}}));
  EXPECT_EQ(On(n1), "resourceclaim \"c\": device class none does not exist");
  Pod pod;
  pod.ns = "ns";
  pod.device_claims = {{"e", ""}};
  EXPECT_EQ(*DeviceChoice(pod, books).missing(),
            "waiting for the resource claim of \"e\" to be made");
  pod.device_claims = {{"e", "", true}};
  EXPECT_FALSE(DeviceChoice(pod, books).missing());
}

}  // namespace
}  // namespace kcm::devcluster::nodes
