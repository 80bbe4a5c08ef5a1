// SPDX-License-Identifier: Apache-2.0
// job-controller in a real host: suspension, ownership, deletion and interruptions
// (spec/pod-batch.md section 1).
#include "plugins/pod/job_runs.h"

namespace kcm::harness {
namespace {

using JobLifecycle = Jobs;

TEST_F(JobLifecycle, JOB_14_SuspendsAndResumes) {
  Start({{"parallelism", 3}, {"completions", 3}});
  RunActive();
  const std::string started = S()["startTime"];
  cluster.MergePatch("jobs", "j", {{"spec", {{"suspend", true}}}});
  Sync();
  EXPECT_TRUE(Active().empty());
  EXPECT_EQ(N("terminating"), 3);
  EXPECT_TRUE(Is("Suspended", "JobSuspended"));
  EXPECT_EQ(Condition(J(), "Suspended")["message"], "Job suspended");
  EXPECT_FALSE(S().contains("startTime"));
  EXPECT_TRUE(cluster.HasEvent("Job", "j", "Suspended", "Job suspended"));
  FinishDeletions();
  Sync();
  EXPECT_TRUE(cluster.List("pods").empty());
  EXPECT_EQ(N("failed"), 0);

  cluster.Advance(10s);
  cluster.MergePatch("jobs", "j", {{"spec", {{"suspend", false}}}});
  Sync();
  EXPECT_EQ(Active().size(), 3u);
  EXPECT_EQ(Condition(J(), "Suspended")["status"], "False");
  EXPECT_EQ(Condition(J(), "Suspended")["reason"], "JobResumed");
  EXPECT_TRUE(cluster.HasEvent("Job", "j", "Resumed", "Job resumed"));
  EXPECT_GT(S()["startTime"].get<std::string>(), started);
  EXPECT_EQ(N("failed"), 0);
}

TEST_F(JobLifecycle, JOB_15_ASuspendedJobWithNothingToDoIsComplete) {
  Start({{"suspend", true}, {"completions", 0}});
  EXPECT_TRUE(Is("Complete", "CompletionsReached"));
  EXPECT_FALSE(S().contains("startTime"));
  EXPECT_TRUE(cluster.List("pods").empty());
}

TEST_F(JobLifecycle, JOB_18_LeavesJobsOfOthersAlone) {
  Start({{"managedBy", "example.com/x"}});
  Json pod = Orphan("theirs", J()["spec"]["template"]["metadata"]["labels"]);
  pod["metadata"]["finalizers"] = {kTracking};
  pod["metadata"]["ownerReferences"] = {{{"apiVersion", "batch/v1"},
                                         {"kind", "Job"},
                                         {"name", "j"},
                                         {"uid", J()["metadata"]["uid"]},
                                         {"controller", true}}};
  cluster.Create(pod);
  Succeed("theirs");
  cluster.Advance(10s);
  cluster.MergePatch("jobs", "j", {{"metadata", {{"labels", {{"a", "b"}}}}}});
  cluster.Advance(10s);
  EXPECT_EQ(cluster.List("pods").size(), 1u);
  EXPECT_TRUE(IsTracked(std::string("theirs")));
  EXPECT_TRUE(S().empty());
  EXPECT_EQ(cluster.Metric("job_controller_jobs_by_external_controller_total{controller_name="
                           "\"example.com/x\"}"),
            1);
}

TEST_F(JobLifecycle, JOB_19_AdoptsAMatchingPod) {
  cluster.Create(Orphan("orphan", {{"app", "x"}}));
  Run("orphan");
  Settle();
  (void)cluster.HostWrites();
  Json spec{{"manualSelector", true}, {"selector", {{"matchLabels", {{"app", "x"}}}}}};
  spec["template"]["metadata"]["labels"] = {{"app", "x"}};
  Start(spec);
  EXPECT_EQ(cluster.List("pods").size(), 1u);
  const Json pod = cluster.Get("pods", "orphan");
  EXPECT_EQ(Controller(pod)["uid"], J()["metadata"]["uid"]);
  EXPECT_TRUE(IsTracked(pod));
  EXPECT_EQ(CountWrites(cluster.HostWrites(), "PATCH /api/v1/namespaces/default/pods/orphan"), 1);
  EXPECT_EQ(N("active"), 1);
}

// The garbage collector's part of the deletion is done by the test, as it does it.
TEST_F(JobLifecycle, JOB_20_OrphanedPodsLoseTheFinalizer) {
  Start({{"parallelism", 5}, {"completions", 5}});
  RunActive();
  const std::vector<std::string> pods = Active();
  ASSERT_EQ(pods.size(), 5u);
  cluster.Delete("jobs", "j", {{"propagationPolicy", "Orphan"}});
  Settle();
  for (const std::string& pod : pods)
    cluster.MergePatch("pods", pod, {{"metadata", {{"ownerReferences", nullptr}}}});
  cluster.MergePatch("jobs", "j", {{"metadata", {{"finalizers", nullptr}}}});
  Sync();
  EXPECT_FALSE(cluster.Find("jobs", "j"));
  for (const std::string& pod : pods) {
    EXPECT_FALSE(IsTracked(pod));
    EXPECT_FALSE(IsGoing(pod));
  }
}

// Trap 15: what was orphaned while no controller ran.
TEST_F(JobLifecycle, OrphansOfAnotherTimeLoseTheFinalizer) {
  Start({{"parallelism", 2}, {"completions", 2}});
  const std::vector<std::string> pods = Active();
  ASSERT_EQ(cluster.StopHost(), 0);
  for (const std::string& pod : pods)
    cluster.MergePatch("pods", pod, {{"metadata", {{"ownerReferences", nullptr}}}});
  cluster.Delete("jobs", "j", {{"propagationPolicy", "Background"}});
  cluster.StartHost();
  Sync();
  for (const std::string& pod : pods) EXPECT_FALSE(IsTracked(pod));
}

// Also 1.19.7: what runs is neither a failure nor a success.
TEST_F(JobLifecycle, ForegroundDeletionReleasesPodsUncounted) {
  Start({{"parallelism", 1}});
  RunActive();
  const std::string pod = TheActive();
  cluster.Delete("jobs", "j", {{"propagationPolicy", "Foreground"}});
  Sync();
  EXPECT_FALSE(IsTracked(pod));
  EXPECT_FALSE(IsGoing(pod));
  EXPECT_EQ(N("failed"), 0);
  EXPECT_EQ(N("succeeded"), 0);
}

TEST_F(JobLifecycle, JOB_25_AFinishedJobHasNoTrackedPods) {
  Start(Json::object());
  const std::string pod = TheActive();
  Succeed(pod);
  Sync();
  ASSERT_TRUE(Is("Complete"));
  cluster.MergePatch("pods", pod, {{"metadata", {{"finalizers", {kTracking}}}}});
  Sync();
  ASSERT_TRUE(IsTracked(pod));
  cluster.MergePatch("jobs", "j", {{"metadata", {{"labels", {{"a", "b"}}}}}});
  Sync();
  EXPECT_FALSE(IsTracked(pod));
  EXPECT_EQ(N("succeeded"), 1);
}

// Trap 14.
TEST_F(JobLifecycle, AJobMadeAnewInheritsNothing) {
  Start({{"backoffLimit", 6}});
  Fail(TheActive());
  Sync();
  cluster.Delete("jobs", "j", {{"propagationPolicy", "Background"}});
  for (const Json& p : cluster.List("pods")) Gone(Name(p));
  cluster.Create(Manifest({{"backoffLimit", 6}}));
  Sync();
  EXPECT_EQ(Active().size(), 1u) << "the back-off of the old one";
  EXPECT_EQ(N("failed"), 0);
}

class JobOnOldServer : public Jobs {
 protected:
  JobOnOldServer()
      : Jobs({.plugins = {"pod"},
              .nodes = 0,
              .scheduler = false,
              .watch_list = false,
              .server_version = "v1.28.15"}) {}
};

TEST_F(JobOnOldServer, FailsAtOnceAndReportsNoTerminatingPods) {
  Start({{"parallelism", 2}, {"completions", 2}, {"backoffLimit", 0}});
  RunActive();
  EXPECT_FALSE(S().contains("terminating"));
  Fail(Active()[0]);
  Sync();
  EXPECT_TRUE(Is("Failed", "BackoffLimitExceeded")) << "although one is still terminating";
  EXPECT_TRUE(Condition(J(), "FailureTarget").is_null());
  EXPECT_EQ(N("failed"), 2);
}

// The host is ended again and again, each time after so many writes of the controller; of the next
// one it does not learn whether it was done (trap 2).
class JobInterrupted : public Jobs, public ::testing::WithParamInterface<int> {
 protected:
  // Lets `GetParam()` writes pass, cuts the connection after the next one, refuses all others.
  void CutWrites() {
    devcluster::Server::Fault fault;
    fault.path_regex =
        "^/api/v1/namespaces/default/pods(/j-[a-z0-9]*)?([?]|$)|^/apis/batch/v1/.*/jobs/j/status";
    const auto add = [&](devcluster::Server::Fault::Kind kind, int times) {
      fault.kind = kind;
      fault.times = times;
      cluster.server().AddFault(fault);
    };
    add(devcluster::Server::Fault::Kind::kSlow, GetParam());
    add(devcluster::Server::Fault::Kind::kDropAfter, 1);
    add(devcluster::Server::Fault::Kind::kDropBefore, -1);
  }
};

TEST_P(JobInterrupted, LosesNothingAndCountsNothingTwice) {
  AlignToSecond();
  ASSERT_EQ(cluster.StopHost(), 0);
  cluster.Create(Manifest({{"parallelism", 2}, {"completions", 4}, {"backoffLimit", 6}}));
  std::set<std::string> ended;
  int rounds = 0, cuts = 0;
  for (; rounds < 80 && !Is("Complete"); ++rounds) {
    for (const std::string& pod : Active())
      if (ended.size() < 5 && ended.insert(pod).second) End(pod, ended.size() == 1 ? 1 : 0);
    CutWrites();
    (void)cluster.HostWrites();
    cluster.StartHost();
    cluster.Advance(1500ms);
    ASSERT_EQ(cluster.StopHost(), 0);
    cluster.server().ClearFaults();
    cuts += std::ssize(cluster.HostWrites()) > GetParam();
  }
  // It needs 13 writes at least: 5 pods created, 5 released, 3 times the status.
  EXPECT_GE(cuts * (GetParam() + 1), 6) << "hardly interrupted: " << cuts << " times";
  EXPECT_TRUE(Is("Complete"));
  EXPECT_EQ(N("succeeded"), 4);
  EXPECT_EQ(N("failed"), 1);
  EXPECT_EQ(cluster.List("pods").size(), 5u);
  for (const Json& pod : cluster.List("pods")) EXPECT_FALSE(IsTracked(pod));
  EXPECT_EQ(S()["uncountedTerminatedPods"], Json::object());
}

INSTANTIATE_TEST_SUITE_P(AfterWrites, JobInterrupted, ::testing::Values(1, 2, 3, 5));

}  // namespace
}  // namespace kcm::harness
