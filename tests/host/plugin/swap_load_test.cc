// SPDX-License-Identifier: Apache-2.0
// 200 swaps of the pod plugin, with all its controllers, while workloads of every kind roll out: no
// key lost, no pod twice, nothing left mapped, memory bounded.
#include <gtest/gtest.h>
#include <malloc.h>

#include <map>
#include <set>
#include <sstream>

#include "build_paths.h"
#include "host/plugin/plugin_cluster.h"

namespace kcm::test {
namespace {

#ifdef KCM_SANITIZED  // each mapping leaves records behind: ever slower
constexpr int kSwaps = 50;
#else
constexpr int kSwaps = 200;
#endif
constexpr int kIdleSwaps = 40;
constexpr int kNodes = 2;
constexpr int kReplicas = 3;

// Bytes of this process that are allocated now. Not what the allocator holds: that depends on which
// threads happened to run side by side.
size_t InUseKb() {
  const struct mallinfo2 info = ::mallinfo2();
  return (info.uordblks + info.hblkhd) / 1024;
}

// A workload that is given new work whenever it has done what it had.
struct Load {
  const char* resource;
  const char* kind;
  const char* name;
  int pods = kReplicas;  // of one rollout
  int begun = 0;         // rollouts, the first one included
};

class RollingPods : public testing::Test {
 protected:
  RollingPods()
      // kcm-namespace makes the service account that pods run as.
      : cluster({std::string(KCM_BUILD_DIR) + "/plugins/kcm-pod.so",
                 std::string(KCM_BUILD_DIR) + "/plugins/kcm-namespace.so"},
                {"--plugin-probation-period=5s", "-v=0"}, kNodes) {}

  // ---- the work ----

  static Json Manifest(const Load& load) {
    const Json labels{{"app", load.name}};
    Json spec{{"replicas", kReplicas},
              {"selector", {{"matchLabels", labels}}},
              {"template", harness::PodTemplate(labels)}};
    if (load.kind == std::string("StatefulSet")) spec["serviceName"] = "s";
    if (load.kind == std::string("DaemonSet")) {
      spec.erase("replicas");
      // Of new nodes, which only node-lifecycle-controller takes away.
      spec["template"]["spec"]["tolerations"] =
          Json::array({{{"key", "node.kubernetes.io/not-ready"}, {"operator", "Exists"}}});
    }
    return {{"apiVersion", "apps/v1"},
            {"kind", load.kind},
            {"metadata", {{"name", load.name}}},
            {"spec", spec}};
  }
  static Json JobSpec() {
    Json pod = harness::PodTemplate(Json::object());
    pod["spec"]["restartPolicy"] = "Never";
    return {{"completions", 2}, {"parallelism", 2}, {"template", pod}};
  }
  void CreateJob() {
    cluster.Create({{"apiVersion", "batch/v1"},
                    {"kind", "Job"},
                    {"metadata", {{"name", "job-" + std::to_string(++jobs)}}},
                    {"spec", JobSpec()}});
  }
  void CreateAll() {
    for (Load& load : loads) {
      cluster.Create(Manifest(load));
      ++load.begun;
    }
    cluster.Create({{"apiVersion", "v1"},
                    {"kind", "ReplicationController"},
                    {"metadata", {{"name", "rc"}}},
                    {"spec",
                     {{"replicas", rc_size},
                      {"selector", {{"app", "rc"}}},
                      {"template", harness::PodTemplate({{"app", "rc"}})}}}});
    CreateJob();
    cluster.Create({{"apiVersion", "batch/v1"},
                    {"kind", "CronJob"},
                    {"metadata", {{"name", "cron"}}},
                    {"spec",
                     {{"schedule", "* * * * *"},
                      {"successfulJobsHistoryLimit", 1000},
                      {"jobTemplate", {{"spec", JobSpec()}}}}}});
    cluster.Create(
        {{"apiVersion", "policy/v1"},
         {"kind", "PodDisruptionBudget"},
         {"metadata", {{"name", "pdb"}}},
         {"spec",
          {{"maxUnavailable", 1}, {"selector", {{"matchLabels", {{"app", loads[0].name}}}}}}}});
  }
  bool RolledOut(const Load& load) {
    const Json object = cluster.Get(load.resource, load.name);
    const Json s = object.value("status", Json::object());
    if (s.value("observedGeneration", 0) != object["metadata"]["generation"]) return false;
    if (load.kind == std::string("DaemonSet")) {
      return s.value("desiredNumberScheduled", 0) == kNodes &&
             s.value("updatedNumberScheduled", 0) == kNodes &&
             s.value("numberAvailable", 0) == kNodes;
    }
    return s.value("updatedReplicas", 0) == kReplicas && s.value("replicas", 0) == kReplicas &&
           s.value("availableReplicas", 0) == kReplicas &&
           s.value("currentRevision", "") == s.value("updateRevision", "");
  }
  bool IsScaled() {
    const Json s = cluster.Get("replicationcontrollers", "rc").value("status", Json::object());
    return s.value("replicas", -1) == rc_size && s.value("availableReplicas", 0) == rc_size;
  }
  bool JobIsDone() {
    const Json s = cluster.Get("jobs", "job-" + std::to_string(jobs));
    return s["status"].value("succeeded", 0) == 2 && s["status"].contains("completionTime");
  }
  // So that every swap meets work: what is done begins anew.
  void GoOn(int n) {
    for (Load& load : loads) {
      if (!RolledOut(load)) continue;
      cluster.MergePatch(
          load.resource, load.name,
          {{"spec",
            {{"template", {{"metadata", {{"annotations", {{"rev", std::to_string(n)}}}}}}}}}});
      ++load.begun;
    }
    if (IsScaled()) {
      rc_size = rc_size == 1 ? kReplicas : 1;
      if (rc_size > 1) rc_pods += kReplicas - 1;
      cluster.MergePatch("replicationcontrollers", "rc", {{"spec", {{"replicas", rc_size}}}});
    }
    if (JobIsDone()) CreateJob();
  }
  bool AllIsDone() {
    for (const Load& load : loads)
      if (!RolledOut(load)) return false;
    return IsScaled() && JobIsDone();
  }

  // ---- what came of it ----

  // Creations by resource and owner: "pods DaemonSet/d".
  void CountWrites() {
    for (const auto& e : cluster.Audit()) {
      if (e.user_agent.find("kube-controller-manager/") != 0 || e.method != "POST" || e.code != 201)
        continue;
      const std::string path = e.uri.substr(0, e.uri.find('?'));
      const std::string resource = path.substr(path.rfind('/') + 1);
      if (resource == "events") continue;
      const Json owners = Json::parse(e.body)["metadata"].value("ownerReferences", Json::array());
      if (owners.empty()) continue;
      std::string owner = owners[0]["name"];
      const std::string kind = owners[0]["kind"];
      // Those are named after the one that made them.
      if (kind == "ReplicaSet") owner = owner.substr(0, owner.rfind('-'));
      if (kind == "Job") owner = owner.substr(0, owner.rfind('-'));
      ++created[resource + " " + kind + "/" + owner];
    }
  }
  void ExpectCountsAreExact() {
    int rollouts = 0;
    for (const Load& load : loads) {
      SCOPED_TRACE(load.name);
      const std::string kind = load.kind, name = load.name;
      const bool has_sets = kind == "Deployment";
      EXPECT_EQ(created["pods " + (has_sets ? "ReplicaSet" : kind) + "/" + name],
                load.begun * load.pods);
      EXPECT_EQ(created[(has_sets ? "replicasets " : "controllerrevisions ") + kind + "/" + name],
                load.begun);
      rollouts += load.begun;
    }
    EXPECT_GT(rollouts, kSwaps / 5) << "the swaps met too little work";
    EXPECT_EQ(created["pods ReplicationController/rc"], rc_pods);
    EXPECT_GT(rc_pods, kSwaps / 20);
    EXPECT_EQ(created["pods Job/job"], jobs * 2);
    EXPECT_GT(jobs, kSwaps / 20);
    // One a minute.
    std::set<std::string> times;
    int cron_jobs = 0;
    for (const Json& job : cluster.List("jobs")) {
      EXPECT_EQ(job["status"].value("succeeded", 0), 2) << job["metadata"]["name"];
      const Json annotations = job["metadata"].value("annotations", Json::object());
      if (!annotations.contains("batch.kubernetes.io/cronjob-scheduled-timestamp")) continue;
      ++cron_jobs;
      times.insert(annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"]);
    }
    EXPECT_GE(cron_jobs, 1);
    EXPECT_EQ(times.size(), static_cast<size_t>(cron_jobs));
    EXPECT_EQ(created["jobs CronJob/cron"], cron_jobs);
    EXPECT_EQ(created["pods Job/cron"], cron_jobs * 2);

    std::map<std::string, int> pods;
    for (const Json& p : cluster.List("pods"))
      ++pods[p["metadata"].value("labels", Json::object()).value("app", "")];
    for (const Load& load : loads)
      EXPECT_EQ(pods[load.name], load.kind == std::string("DaemonSet") ? kNodes : kReplicas);
    EXPECT_EQ(pods["rc"], rc_size);
    EXPECT_EQ(pods[""], (jobs + cron_jobs) * 2);
    const Json budget = cluster.Get("poddisruptionbudgets", "pdb")["status"];
    EXPECT_EQ(budget["currentHealthy"], kReplicas);
    EXPECT_EQ(budget["disruptionsAllowed"], 1);
  }
  void SwapTo(int n) {
    ASSERT_EQ(MessageOf(cluster.SwapFile(builds[n % 2])), "") << n;
    ASSERT_EQ(cluster.Plugin("pod")["buildId"] == "other", n % 2 == 1);
  }

  PluginCluster cluster;
  const std::string builds[2] = {std::string(KCM_BUILD_DIR) + "/plugins/kcm-pod.so",
                                 Probe("kcm-pod-other")};
  Load loads[4] = {{"deployments", "Deployment", "web"},
                   {"deployments", "Deployment", "api"},
                   {"statefulsets", "StatefulSet", "db"},
                   {"daemonsets", "DaemonSet", "agent", kNodes}};
  int rc_size = kReplicas, rc_pods = kReplicas, jobs = 0;
  std::map<std::string, int> created;
};

TEST_F(RollingPods, TwoHundredSwapsLoseNothingAndDoNothingTwice) {
  CreateAll();
  size_t warm_kb = 0;
  std::map<double, int> pauses_ms;
  for (int n = 1; n <= kSwaps; ++n) {
    GoOn(n);
    SwapTo(n);
    if (HasFatalFailure()) return;
    ++pauses_ms[cluster.Plugin("pod")["lastPauseMs"].get<double>()];
    cluster.Advance(500ms);
    if (n == kSwaps / 4) warm_kb = InUseKb();
    if (n % 20 == 0) CountWrites();
  }
  cluster.MergePatch("cronjobs", "cron", {{"spec", {{"suspend", true}}}});
  cluster.Until(
      "all is rolled out", [&] { return AllIsDone(); }, std::chrono::minutes(3), 1s);
  cluster.Advance(10s);  // the last probation, the last Jobs
  CountWrites();
  // Each rollout runs to its end before the next of the same workload begins: so many pods, sets
  // and revisions, and not one more.
  ExpectCountsAreExact();

  EXPECT_EQ(cluster.Plugin("pod")["swaps"], kSwaps);
  EXPECT_EQ(cluster.Metric("kcm_plugin_images_kept"), 0);
  EXPECT_GT(cluster.Mapped("kcm-pod.so"), 0);
  EXPECT_EQ(cluster.Mapped("kcm-pod-other.so"), 0);
  const Json pod = cluster.Plugin("pod");
  for (const Json& controller : pod["controllers"])
    EXPECT_EQ(controller["generation"], kSwaps + 1) << controller["name"];
  // What swaps under work leave. The server's history of every write is not the swaps'; what it
  // stores (Events above all) grows with the rollouts.
  const size_t events = cluster.List("events").size();
  cluster.server().Compact();
  const size_t end_kb = InUseKb();
  // What swaps alone leave: each replays all objects, and nothing else happens.
  cluster.Advance(60s);  // watches begin anew
  const size_t idle_kb = InUseKb();
  for (int n = 1; n <= kIdleSwaps; ++n) {
    SwapTo(n);
    if (HasFatalFailure()) return;
    cluster.Advance(500ms);
  }
  cluster.Advance(10s);
  const size_t idle_end_kb = InUseKb();
#ifndef KCM_SANITIZED  // where freed memory is kept on purpose
  EXPECT_LT(end_kb, warm_kb + 16 * 1024)
      << "from " << warm_kb << " kB after " << kSwaps / 4 << " swaps";
  EXPECT_LT(idle_end_kb, idle_kb + 4 * 1024) << "from " << idle_kb << " kB";
#endif
  std::ostringstream text;
  for (const auto& [ms, count] : pauses_ms) text << ms << " ms: " << count << "  ";
  RecordProperty("pauses", text.str());
  for (const auto& [what, count] : created) std::cout << what << ": " << count << "; ";
  std::cout << "virtual pauses " << text.str() << "; in use " << warm_kb << " -> " << end_kb
            << " kB with " << events << " Events, " << kIdleSwaps << " idle swaps " << idle_kb
            << " -> " << idle_end_kb << " kB\n";
}

}  // namespace
}  // namespace kcm::test
