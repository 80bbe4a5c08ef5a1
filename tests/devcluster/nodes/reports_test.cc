// SPDX-License-Identifier: Apache-2.0
// Bodies that a simulated kubelet sends.
#include "devcluster/nodes/reports.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace kcm::devcluster::nodes {
namespace {

using nlohmann::json;

constexpr rules::WallTime kReported{std::chrono::seconds(1893456000) +
                                    std::chrono::microseconds(5)};

TEST(NodeReports, ConditionsCanBeForced) {
  const json status = json::parse(
      NodeReport("MemoryPressure=True,Ready=False,nonsense", false, kReported))["status"];
  ASSERT_EQ(status.size(), 1u) << "conditions only";
  const json& c = status["conditions"];
  ASSERT_EQ(c.size(), 4u);
  EXPECT_EQ(c[0]["type"], "MemoryPressure");
  EXPECT_EQ(c[0]["status"], "True");
  EXPECT_EQ(c[0]["reason"], "Simulated");
  EXPECT_EQ(c[1]["status"], "False");
  EXPECT_EQ(c[1]["reason"], "KubeletHasNoDiskPressure");
  EXPECT_EQ(c[3]["type"], "Ready");
  EXPECT_EQ(c[3]["status"], "False");
  EXPECT_EQ(c[3]["lastHeartbeatTime"], "2030-01-01T00:00:00Z");
}

TEST(NodeReports, RegistrationSpreadsZonesAndAddresses) {
  const json labels = json::parse(NodeBody("sim-4", 4, 3))["metadata"]["labels"];
  EXPECT_EQ(labels["topology.kubernetes.io/zone"], "zone-1");
  EXPECT_EQ(labels["topology.kubernetes.io/region"], "r1");
  EXPECT_EQ(labels["kubernetes.io/hostname"], "sim-4");
  const json status = json::parse(NodeRegistration(251, kReported))["status"];
  EXPECT_EQ(status["addresses"][0]["address"], "10.1.1.2");
  EXPECT_EQ(status["allocatable"]["pods"], "500");
  EXPECT_EQ(status["nodeInfo"]["kubeletVersion"], "v1.36.2");
}

TEST(Leases, CarryMicrosecondsAndTheirNode) {
  const json renewal = json::parse(LeaseRenewal("n", kReported));
  EXPECT_EQ(renewal["spec"]["renewTime"], "2030-01-01T00:00:00.000005Z");
  EXPECT_EQ(renewal["spec"]["leaseDurationSeconds"], 40);
  EXPECT_FALSE(json::parse(LeaseBody("n", "", kReported))["metadata"].contains("ownerReferences"));
  EXPECT_EQ(json::parse(LeaseBody("n", "u", kReported))["metadata"]["ownerReferences"][0]["uid"],
            "u");
}

TEST(PodReports, ReadyClearsTheReasonAndNamesTheUid) {
  const RunningPod pod{"u", "ns", "p", "10.64.0.10", "2030-01-01T00:00:00Z", {{"c", "i"}}};
  const json waiting = json::parse(RunningReport(pod, false, kReported));
  EXPECT_EQ(waiting["metadata"]["uid"], "u");
  EXPECT_EQ(waiting["status"]["conditions"][2]["reason"], "ContainersNotReady");
  const json ready = json::parse(RunningReport(pod, true, kReported))["status"];
  EXPECT_EQ(ready["phase"], "Running");
  EXPECT_EQ(ready["podIP"], "10.64.0.10");
  EXPECT_TRUE(ready["conditions"][2]["reason"].is_null()) << "a merge removes the old reason";
  EXPECT_EQ(ready["containerStatuses"][0]["state"]["running"]["startedAt"], "2030-01-01T00:00:00Z");
}

TEST(PodReports, ExitCodeDecidesThePhase) {
  const RunningPod pod{"u", "ns", "p", "10.64.0.10", "2030-01-01T00:00:00Z", {{"c", "i"}}};
  const json done = json::parse(ExitedReport(pod, 0, kReported))["status"];
  EXPECT_EQ(done["phase"], "Succeeded");
  EXPECT_EQ(done["conditions"][0]["reason"], "PodCompleted");
  const json failed = json::parse(ExitedReport(pod, 3, kReported))["status"];
  EXPECT_EQ(failed["phase"], "Failed");
  EXPECT_EQ(failed["containerStatuses"][0]["state"]["terminated"]["exitCode"], 3);
  EXPECT_EQ(failed["containerStatuses"][0]["state"]["terminated"]["reason"], "Error");
}

}  // namespace
}  // namespace kcm::devcluster::nodes
