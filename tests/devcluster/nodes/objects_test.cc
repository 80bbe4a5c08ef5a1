// SPDX-License-Identifier: Apache-2.0
// What is read from watch events and lists.
#include "devcluster/nodes/objects.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace kcm::devcluster::nodes {
namespace {

TEST(PodEvents, AreReadAsFarAsNodesNeedThem) {
  std::string line =
      R"({"type":"MODIFIED","object":{"kind":"Pod","metadata":{"name":"p","namespace":"n","uid":"u",
    "resourceVersion":"42","annotations":{"sim/ready-after":"2","other":"x"},"deletionTimestamp":"2030-01-01T00:00:00Z",
    "labels":{"batch.kubernetes.io/job-completion-index":"3"},"ownerReferences":[{"kind":"Job","name":"j"}]},
    "spec":{"schedulerName":"default-scheduler","schedulingGates":[{"name":"g"}],"nodeSelector":{"a":"b"},
    "containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"250m","memory":"1Gi"}}}],
    "volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"data"}},{"name":"e","ephemeral":{}}]},
    "status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","message":"why"}]}}})";
  Decoder<Pod> decoder;
  const Result<WatchEvent<Pod>> event = decoder.Event(&line);
  ASSERT_TRUE(event.ok()) << event.error().message;
  EXPECT_EQ(event->change, Change::kModified);
  const Pod& pod = event->object;
  EXPECT_EQ(pod.uid, "u");
  EXPECT_EQ(pod.ns, "n");
  EXPECT_EQ(pod.name, "p");
  EXPECT_EQ(pod.resource_version, 42u);
  EXPECT_EQ(pod.annotations, (Strings{{"sim/ready-after", "2"}}));
  EXPECT_EQ(pod.completion_index, "3");
  EXPECT_TRUE(pod.owned_by_job);
  EXPECT_TRUE(pod.deleting);
  EXPECT_TRUE(pod.gated);
  EXPECT_EQ(pod.milli_cpu, 250);
  EXPECT_EQ(pod.memory, int64_t{1} << 30);
  EXPECT_EQ(pod.claims, (std::vector<std::string>{"data", "p-e"}));
  EXPECT_EQ(pod.scheduled_message, "why");
  ASSERT_EQ(pod.containers.size(), 1u);
  EXPECT_EQ(pod.containers[0].image, "i");
  EXPECT_EQ(*pod.scheduling, nlohmann::json({{"nodeSelector", {{"a", "b"}}}}));
}

TEST(PodRequests, CountInitContainersAsTheyRun) {
  const auto container = [](const std::string& cpu, const std::string& more = "") {
    return R"({"name":"c",)" + more + R"("resources":{"requests":{"cpu":")" + cpu + "\"}}}";
  };
  const std::string sidecar = R"("restartPolicy":"Always",)";
  const struct {
    const char* name;
    std::string init, containers, overhead;
    int64_t want;
  } rows[] = {
      {"containers add up", "", container("100m") + "," + container("200m"), "", 300},
      {"a big init container counts alone", container("1"), container("100m"), "", 1000},
      {"init containers run one by one", container("300m") + "," + container("400m"),
       container("100m"), "", 400},
      {"sidecars run on", container("300m", sidecar), container("100m"), "", 400},
      {"and beside later init containers", container("300m", sidecar) + "," + container("500m"),
       container("100m"), "", 800},
      {"overhead comes on top", "", container("100m"), R"("overhead":{"cpu":"50m"},)", 150},
      {"nonsense is nothing", "", container("lots"), "", 0},
  };
  Decoder<Pod> decoder;
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    std::string line = R"({"type":"ADDED","object":{"metadata":{},"spec":{)" + row.overhead +
                       R"("initContainers":[)" + row.init + R"(],"containers":[)" + row.containers +
                       "]}}}";
    const auto event = decoder.Event(&line);
    ASSERT_TRUE(event.ok()) << event.error().message;
    EXPECT_EQ(event->object.milli_cpu, row.want);
  }
}

TEST(NodeEvents, CarryWhatSchedulingNeeds) {
  std::string line =
      R"({"type":"ADDED","object":{"metadata":{"name":"a","uid":"u","labels":{"x":"y"},
    "annotations":{"sim/fail":"true"}},"spec":{"unschedulable":true,"taints":[{"key":"k","effect":"NoSchedule"}]},
    "status":{"allocatable":{"cpu":"4","memory":"1Ki","pods":"110"},"capacity":{"cpu":"8"}}}})";
  Decoder<NodeObject> decoder;
  const auto event = decoder.Event(&line);
  ASSERT_TRUE(event.ok());
  const NodeObject& node = event->object;
  EXPECT_TRUE(node.unschedulable);
  EXPECT_EQ(node.milli_cpu, 4000);
  EXPECT_EQ(node.memory, 1024);
  EXPECT_EQ(node.pods, 110);
  EXPECT_EQ(node.annotations.at("sim/fail"), "true");
  ASSERT_NE(node.taints, nullptr);
  EXPECT_EQ((*node.taints)[0]["key"], "k");
}

TEST(NodeEvents, NotReadyTaintCountsUntilTheNodeIsReady) {
  Decoder<NodeObject> decoder;
  for (const bool ready : {false, true}) {
    std::string line =
        std::string(R"({"type":"ADDED","object":{"metadata":{"name":"a"},"spec":{"taints":[
      {"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"}]},"status":{"conditions":[{"type":"Ready","status":")") +
        (ready ? "True" : "False") + "\"}]}}}";
    const auto event = decoder.Event(&line);
    ASSERT_TRUE(event.ok()) << event.error().message;
    EXPECT_EQ(event->object.taints == nullptr, ready);
  }
}

TEST(WatchEvents, BookmarksErrorsAndNonsense) {
  Decoder<Pod> decoder;
  std::string bookmark = R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7"}}})";
  const auto b = decoder.Event(&bookmark);
  ASSERT_TRUE(b.ok());
  EXPECT_EQ(b->change, Change::kBookmark);
  EXPECT_EQ(b->object.resource_version, 7u);
  std::string gone = R"({"type":"ERROR","object":{"kind":"Status","code":410}})";
  const auto g = decoder.Event(&gone);
  ASSERT_TRUE(g.ok());
  EXPECT_EQ(g->change, Change::kError);
  EXPECT_EQ(g->error_code, 410);
  for (std::string text : {"", "{", "[]", "{\"type\":\"ADDED\"}", "null"}) {
    SCOPED_TRACE(text);
    EXPECT_FALSE(decoder.Event(&text).ok());
  }
}

TEST(Lists, GiveVersionAndNextPage) {
  std::string body =
      R"({"metadata":{"resourceVersion":"9","continue":"t"},"items":[{"metadata":{"name":"a","uid":"1"},
    "status":{"phase":"Bound"}},{"metadata":{"name":"b"}}]})";
  Decoder<Claim> decoder;
  const auto page = decoder.List(&body);
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->resource_version, 9u);
  EXPECT_EQ(page->continue_token, "t");
  ASSERT_EQ(page->objects.size(), 2u);
  EXPECT_TRUE(page->objects[0].bound);
  EXPECT_FALSE(page->objects[1].bound);
  std::string empty = R"({"metadata":{},"items":null})";
  EXPECT_TRUE(decoder.List(&empty).ok());
}

}  // namespace
}  // namespace kcm::devcluster::nodes
