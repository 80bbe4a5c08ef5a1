// SPDX-License-Identifier: Apache-2.0
// Limits of what the kinds accept (spec/apiserver C7), where accepting too little is as wrong as
// accepting too much.
#include <gtest/gtest.h>

#include "devcluster/kinds/cluster_of_kinds.h"

namespace kcm::devcluster::kinds {
namespace {

const Gvr kDeploymentKind{"apps", "v1", "deployments"}, kDaemonSetKind{"apps", "v1", "daemonsets"},
    kBudgetKind{"policy", "v1", "poddisruptionbudgets"}, kCronJobKind{"batch", "v1", "cronjobs"},
    kEventKind{"", "v1", "events"}, kGroupEventKind{"events.k8s.io", "v1", "events"};

// What follows `Kind.group "x" is invalid: `; "" when the object is created.
std::string WhyRefused(ClusterOfKinds& cluster, const Gvr& gvr, Json object,
                       const std::string& ns = "default") {
  object["metadata"]["name"] = "x";
  const ClusterOfKinds::Outcome out = cluster.Create(gvr, ns, std::move(object), true);
  if (out.status == 201) return "";
  const std::string message = out.body.value("message", "");
  const size_t head = message.find(" is invalid: ");
  return head == std::string::npos ? message : message.substr(head + 13);
}

Json Workload(const char* strategy, const char* rolling) {
  Json object = Json::parse(R"({"spec":{"selector":{"matchLabels":{"app":"a"}},
      "template":{"metadata":{"labels":{"app":"a"}},
                  "spec":{"containers":[{"name":"c","image":"nginx"}]}}}})");
  object["spec"][strategy] = {{"type", "RollingUpdate"}, {"rollingUpdate", Json::parse(rolling)}};
  return object;
}

TEST(Percents, AreLimitedWhereTheApiServerLimitsThem) {
  ClusterOfKinds cluster;
  const struct {
    const Gvr& gvr;
    const char* strategy;
    const char* rolling;
    const char* why;
  } rows[] = {
      {kDeploymentKind, "strategy", R"({"maxSurge":"150%"})", ""},
      {kDeploymentKind, "strategy", R"({"maxSurge":"1000%","maxUnavailable":"0050%"})", ""},
      {kDeploymentKind, "strategy", R"({"maxUnavailable":"101%"})",
       "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"101%\": must not be greater "
       "than 100%"},
      {kDeploymentKind, "strategy", R"({"maxUnavailable":"99999999999999999999%"})",
       "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"99999999999999999999%\": must "
       "not be greater than 100%"},
      {kDeploymentKind, "strategy", R"({"maxSurge":"00%","maxUnavailable":0})",
       "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` "
       "is 0"},
      {kDaemonSetKind, "updateStrategy", R"({"maxUnavailable":"0050%"})", ""},
      {kDaemonSetKind, "updateStrategy", R"({"maxUnavailable":0,"maxSurge":"101%"})",
       "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: \"101%\": must not be greater "
       "than 100%"},
      {kDaemonSetKind, "updateStrategy", R"({"maxUnavailable":"101%","maxSurge":"101%"})",
       "[spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: \"101%\": must not be "
       "greater than 100%, spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: \"101%\": "
       "must not be greater than 100%, spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: "
       "\"101%\": may not be set when maxUnavailable is non-zero]"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.rolling);
    EXPECT_EQ(WhyRefused(cluster, row.gvr, Workload(row.strategy, row.rolling)), row.why);
  }
  EXPECT_EQ(WhyRefused(cluster, kBudgetKind, Json::parse(R"({"spec":{"minAvailable":"101%"}})")),
            "spec.minAvailable: Invalid value: \"101%\": must not be greater than 100%");
  EXPECT_EQ(WhyRefused(cluster, kBudgetKind, Json::parse(R"({"spec":{"maxUnavailable":"0100%"}})")),
            "");
}

TEST(Schedules, AreReadAsTheControllerReadsThem) {
  ClusterOfKinds cluster;
  const struct {
    const char* schedule;
    const char* why;  // behind `spec.schedule: Invalid value: "...": `
  } rows[] = {
      {"*/5 6-16/4 ? jan-mar mon,fri", ""},
      {"@every 90m", ""},
      {"0-59/0 * * * *", "step of range should be a positive number: 0-59/0"},
      {"60 * * * *", "end of range (60) above maximum (59): 60"},
      {"5-3 * * * *", "beginning of range (5) beyond end of range (3): 5-3"},
      {"* * * * xyz",
       "failed to parse int from xyz: strconv.Atoi: parsing \"xyz\": invalid syntax"},
      {"@every soon", "failed to parse duration @every soon: time: invalid duration \"soon\""},
      {"nope", "expected exactly 5 fields, found 1: [nope]"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.schedule);
    Json cron = Json::parse(R"({"spec":{"jobTemplate":{"spec":{"template":{"spec":{
        "restartPolicy":"Never","containers":[{"name":"c","image":"nginx"}]}}}}}})");
    cron["spec"]["schedule"] = row.schedule;
    const std::string head = "spec.schedule: Invalid value: " + GoQuote(row.schedule) + ": ";
    EXPECT_EQ(WhyRefused(cluster, kCronJobKind, cron), *row.why == 0 ? "" : head + row.why);
  }
}

TEST(Payloads, AreMeasuredAsTheyWillBeUsed) {
  ClusterOfKinds cluster;
  const auto payload = [](const char* member, size_t bytes) {
    Json object;
    object[member]["k"] = std::string(bytes, 'A');
    return object;
  };
  const Gvr maps{"", "v1", "configmaps"}, secrets{"", "v1", "secrets"};
  constexpr size_t kMiB = 1024 * 1024;
  EXPECT_EQ(WhyRefused(cluster, maps, payload("data", kMiB)), "");
  EXPECT_NE(WhyRefused(cluster, maps, payload("data", kMiB + 1)), "");
  EXPECT_EQ(WhyRefused(cluster, maps, payload("binaryData", kMiB / 3 * 4)), "");
  EXPECT_NE(WhyRefused(cluster, maps, payload("binaryData", kMiB / 3 * 4 + 8)), "");
  EXPECT_EQ(WhyRefused(cluster, secrets, payload("data", kMiB / 3 * 4)), "");
  EXPECT_NE(WhyRefused(cluster, secrets, payload("data", kMiB / 3 * 4 + 8)), "");
}

TEST(Nodes, PodRangeStaysHoweverItIsWritten) {
  ClusterOfKinds cluster;
  const Gvr nodes{"", "v1", "nodes"};
  using Type = ClusterOfKinds::PatchType;
  const Json node = Json::parse(R"({"metadata":{"name":"n"},"spec":{"podCIDR":"10.1.0.0/24"}})");
  ASSERT_EQ(cluster.Create(nodes, "", node).status, 201);
  const auto patched = [&](const char* patch) {
    return cluster.Update(nodes, "", "n", "", Json::parse(patch), Type::kMerge);
  };
  EXPECT_GE(patched(R"({"spec":{"podCIDR":"10.2.0.0/24"}})").status, 400);
  EXPECT_GE(patched(R"({"spec":{"podCIDRs":["10.2.0.0/24"]}})").status, 400);
  EXPECT_EQ(patched(R"({"spec":{"podCIDR":null,"podCIDRs":null}})").status, 422);
  const ClusterOfKinds::Outcome kept = patched(R"({"spec":{"podCIDR":null}})");
  EXPECT_EQ(kept.status, 200) << kept.body.dump();
  EXPECT_EQ(kept.body["spec"]["podCIDR"], "10.1.0.0/24");
}

TEST(Pods, ImageMayChangeButNotGo) {
  ClusterOfKinds cluster;
  const Gvr pods{"", "v1", "pods"};
  cluster.Create({"", "v1", "serviceaccounts"}, "default",
                 Json::parse(R"({"metadata":{"name":"default"}})"));
  const Json pod = Json::parse(R"({"metadata":{"name":"p"},
      "spec":{"containers":[{"name":"c","image":"nginx"}]}})");
  const ClusterOfKinds::Outcome made = cluster.Create(pods, "default", pod);
  ASSERT_EQ(made.status, 201) << made.body.dump();
  const auto with = [&](const char* image) {
    return cluster.Update(
        pods, "default", "p", "",
        {{"spec", {{"containers", Json::array({{{"name", "c"}, {"image", image}}})}}}},
        ClusterOfKinds::PatchType::kStrategic);
  };
  const ClusterOfKinds::Outcome none = with("");
  EXPECT_EQ(none.status, 422);
  EXPECT_EQ(none.body.value("message", ""),
            "Pod \"p\" is invalid: spec.containers[0].image: Required value");
  EXPECT_EQ(with(" nginx").status, 422);
  EXPECT_EQ(with("nginx:2").status, 200);
}

TEST(Events, BelongToTheNamespaceOfTheirSubject) {
  ClusterOfKinds cluster;
  cluster.Create({"", "v1", "namespaces"}, "", Json::parse(R"({"metadata":{"name":"n"}})"));
  const std::string mismatch =
      "involvedObject.namespace: Invalid value: \"\": does not match event.namespace";
  const Json plain = Json::parse(R"({"involvedObject":{"kind":"Node","name":"a"}})");
  EXPECT_EQ(WhyRefused(cluster, kEventKind, plain, "default"), "");
  EXPECT_EQ(WhyRefused(cluster, kEventKind, plain, "n"), mismatch);
  Json timed = plain;
  timed["eventTime"] = "2026-11-30T00:00:00.000000Z";
  EXPECT_EQ(WhyRefused(cluster, kEventKind, timed, "kube-system"),
            "[reportingComponent: Required value, reportingComponent: Invalid value: \"\": name "
            "part must be non-empty, reportingComponent: Invalid value: \"\": name part must "
            "consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
            "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
            "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'), reportingInstance: "
            "Required value, action: Required value, reason: Required value]");
  timed.update({{"reportingComponent", "c"},
                {"reportingInstance", "i"},
                {"action", "Act"},
                {"reason", "Because"}});
  EXPECT_EQ(WhyRefused(cluster, kEventKind, timed, "kube-system"), "");
  EXPECT_EQ(WhyRefused(cluster, kEventKind, timed, "n"), mismatch);
}

TEST(Events, OfTheGroupCarryWhatItDemands) {
  ClusterOfKinds cluster;
  const Json full = Json::parse(R"({"eventTime":"2026-11-30T00:00:00.000000Z","type":"Normal",
      "reportingController":"c","reportingInstance":"i","action":"Act","reason":"Because",
      "regarding":{"kind":"Pod","name":"p","namespace":"default"}})");
  EXPECT_EQ(WhyRefused(cluster, kGroupEventKind, full), "");
  const auto without = [&](const char* member) {
    Json less = full;
    less.erase(member);
    return WhyRefused(cluster, kGroupEventKind, less);
  };
  EXPECT_EQ(without("action"), "action: Required value");
  EXPECT_EQ(without("reason"), "reason: Required value");
  EXPECT_EQ(without("reportingInstance"), "reportingInstance: Required value");
  EXPECT_EQ(without("reportingController").find("[reportingController: Required value"), 0u);
  EXPECT_EQ(without("type"), "type: Invalid value: \"\": has invalid value: ");
  Json old = full;
  old["deprecatedCount"] = 2;
  EXPECT_EQ(WhyRefused(cluster, kGroupEventKind, old),
            "count: Invalid value: \"\": needs to be unset");
}

}  // namespace
}  // namespace kcm::devcluster::kinds
