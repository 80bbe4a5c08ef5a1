// SPDX-License-Identifier: Apache-2.0
// Client-side rate limits of whole controllers (spec/host.md 7.1 and 16).
#include <gtest/gtest.h>

#include "harness/cluster.h"

namespace kcm::harness {
namespace {

TEST(Throttle, HOST_32_AControllerKeepsToItsOwnShareAndNobodyElseWaits) {
  Cluster cluster({.plugins = {"pod", "namespace"},
                   .flags = {"--kube-api-qps=20", "--kube-api-burst=30"},
                   .nodes = 0,
                   .scheduler = false});
  cluster.Advance(10s);  // the start's requests are paid for
  (void)cluster.Audit();
  for (int i = 0; i < 300; ++i) {
    const std::string name = "web-" + std::to_string(i);
    cluster.Create({{"apiVersion", "apps/v1"},
                    {"kind", "Deployment"},
                    {"metadata", {{"name", name}}},
                    {"spec",
                     {{"replicas", i % 3 == 0 ? 1 : 0},  // one that scales up has an Event to tell
                      {"selector", {{"matchLabels", {{"app", name}}}}},
                      {"template", PodTemplate({{"app", name}})}}}});
  }
  int sent = 0;
  const auto count = [&] {
    for (const auto& e : cluster.Audit())
      sent += e.user == "system:serviceaccount:kube-system:deployment-controller" &&
              e.uri.find("watch=true") == std::string::npos;
    return sent;
  };
  cluster.Settle();
  EXPECT_LE(count(), 30);
  for (int tenths = 1; tenths <= 150; ++tenths) {
    cluster.Advance(100ms);
    ASSERT_LE(count(), 30 + 2 * tenths) << tenths << " tenths of a second after the start";
    if (tenths != 50) continue;
    // Another controller's work in the middle of it: done before time moves on.
    cluster.Create(
        {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "other"}}}});
    cluster.Settle();
    EXPECT_TRUE(cluster.Find("serviceaccounts", "default", "other"));
  }
  EXPECT_GE(sent, 300) << "what it may send it sends";
  // Requests and events wait for tokens that come only with time: a stop must not wait for them.
  EXPECT_EQ(cluster.StopHost(), 0);
}

}  // namespace
}  // namespace kcm::harness
