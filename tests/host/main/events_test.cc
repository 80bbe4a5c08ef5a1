// SPDX-License-Identifier: Apache-2.0
// Events from a plugin's report to what the API server gets (spec/host.md 8).
#include <gtest/gtest.h>

#include "harness/cluster.h"

namespace kcm::harness {
namespace {

class EventPath : public ::testing::Test {
 protected:
  // Reports `events` ("Reason|message") about `about` ("v1/Pod/default/p") now.
  void Report(const std::string& about, const std::vector<std::string>& events) {
    Json data{{"about", about}};
    for (size_t i = 0; i < events.size(); ++i) data[std::to_string(1000 + i)] = events[i];
    cluster.Create({{"apiVersion", "v1"},
                    {"kind", "ConfigMap"},
                    {"metadata", {{"name", "report-" + std::to_string(++reports_)}}},
                    {"data", data}});
    cluster.Settle();
  }
  // Writes of Events since the last call.
  int EventWrites() {
    int n = 0;
    for (const auto& e : cluster.Audit())
      n += (e.method == "POST" || e.method == "PATCH") &&
           e.uri.find("/namespaces/default/events") != std::string::npos &&
           e.user_agent.find("kube-controller-manager/") == 0;
    return n;
  }
  Cluster cluster{{.plugins = {"test-events"},
                   .nodes = 0,
                   .scheduler = false,
                   .service_account_credentials = false}};

 private:
  int reports_ = 0;
};

TEST_F(EventPath, HOST_35_RepeatedEventIsCounted) {
  const std::string first = cluster.Now();
  std::string last;
  for (int i = 0; i < 5; ++i) {
    if (i > 0) cluster.Advance(10s);
    last = cluster.Now();
    Report("v1/Pod/default/p", {"Tested|the same"});
  }
  const std::vector<Json> events = cluster.List("events");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["count"], 5);
  EXPECT_EQ(events[0]["firstTimestamp"], first);
  EXPECT_EQ(events[0]["lastTimestamp"], last);
}

TEST_F(EventPath, HOST_36_SimilarEventsAreCombined) {
  for (int i = 0; i < 15; ++i) {
    Report("v1/Pod/default/p", {"Tested|message " + std::to_string(i)});
    cluster.Advance(4s);
  }
  int single = 0, combined = 0;
  for (const Json& e : cluster.List("events")) {
    const std::string message = e["message"];
    if (message.find("(combined from similar events): ") == 0) {
      ++combined;
      EXPECT_EQ(e["count"], 6);
    } else {
      ++single;
      EXPECT_EQ(e["count"], 1);
    }
  }
  EXPECT_EQ(single, 9);
  EXPECT_EQ(combined, 1);
}

TEST_F(EventPath, HOST_37_SpamIsHeldBack) {
  (void)EventWrites();
  for (int part = 0; part < 10; ++part) {
    std::vector<std::string> events;
    for (int i = 0; i < 10; ++i)
      events.push_back("Reason" + std::to_string(part * 10 + i) + "|message");
    Report("v1/Pod/default/p", events);
    cluster.Advance(900ms);
  }
  const int written = EventWrites();
  EXPECT_LE(written, 25);
  EXPECT_GE(written, 20);  // and not silence
  cluster.Advance(300s);
  (void)EventWrites();
  Report("v1/Pod/default/p", {"OneMore|message"});
  EXPECT_EQ(EventWrites(), 1);
  EXPECT_TRUE(cluster.HasEvent("Pod", "p", "OneMore"));
}

TEST_F(EventPath, HOST_38_EventsOfClusterScopedObjectsAreInDefault) {
  Report("v1/Node//n1", {"Tested|message"});
  const std::vector<Json> events = cluster.List("events", "");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["metadata"]["namespace"], "default");
  EXPECT_EQ(events[0]["metadata"]["name"].get<std::string>().rfind("n1.", 0), 0u)
      << events[0]["metadata"]["name"];
  EXPECT_EQ(events[0]["involvedObject"]["kind"], "Node");
}

}  // namespace
}  // namespace kcm::harness
