// SPDX-License-Identifier: Apache-2.0
// job-controller in a real host: pods, completion and failure (spec/pod-batch.md section 1).
#include "plugins/pod/job_runs.h"

namespace kcm::harness {
namespace {

using JobController = Jobs;

TEST_F(JobController, JOB_01_CreatesTrackedPods) {
  Start({{"parallelism", 2}, {"completions", 4}, {"backoffLimit", 6}});
  const std::vector<Json> pods = cluster.List("pods");
  ASSERT_EQ(pods.size(), 2u);
  int events = 0;
  for (const std::string& line : cluster.Events("Job", "j"))
    events += line.rfind("Normal SuccessfulCreate Created pod: j-", 0) == 0;
  EXPECT_EQ(events, 2);
  for (const Json& pod : pods) {
    EXPECT_EQ(pod["metadata"]["finalizers"], (Json{kTracking}));
    EXPECT_EQ(pod["metadata"]["generateName"], "j-");
    EXPECT_EQ(pod["metadata"]["ownerReferences"], (Json{{{"apiVersion", "batch/v1"},
                                                         {"kind", "Job"},
                                                         {"name", "j"},
                                                         {"uid", J()["metadata"]["uid"]},
                                                         {"controller", true},
                                                         {"blockOwnerDeletion", true}}}));
  }
  const Json status = S();
  EXPECT_EQ(status["active"], 2);
  EXPECT_EQ(status["ready"], 0);
  EXPECT_EQ(status["terminating"], 0);
  EXPECT_TRUE(status.contains("startTime"));
  EXPECT_EQ(status["uncountedTerminatedPods"], Json::object());
}

TEST_F(JobController, JOB_02_CompletesWhenEnoughPodsSucceeded) {
  Start({{"parallelism", 2}, {"completions", 4}, {"backoffLimit", 6}});
  const std::vector<std::string> first = Active();
  ASSERT_EQ(first.size(), 2u);
  for (const std::string& pod : first) Succeed(pod);
  Sync();
  EXPECT_EQ(cluster.List("pods").size(), 4u);
  EXPECT_EQ(N("succeeded"), 2);
  for (const std::string& pod : first) EXPECT_FALSE(IsTracked(pod));
  EXPECT_EQ(S()["uncountedTerminatedPods"], Json::object());

  (void)cluster.HostWrites();
  for (const std::string& pod : Active()) Succeed(pod);
  Sync();
  const Json status = S();
  ASSERT_EQ(status["conditions"].size(), 2u);
  const char* types[] = {"SuccessCriteriaMet", "Complete"};
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(status["conditions"][i]["type"], types[i]);
    EXPECT_EQ(status["conditions"][i]["status"], "True");
    EXPECT_EQ(status["conditions"][i]["reason"], "CompletionsReached");
    EXPECT_EQ(status["conditions"][i]["message"], "Reached expected number of succeeded pods");
  }
  EXPECT_EQ(status["succeeded"], 4);
  EXPECT_EQ(Number(status, "active"), 0);
  EXPECT_EQ(status["completionTime"], status["conditions"][1]["lastTransitionTime"]);
  EXPECT_TRUE(cluster.HasEvent("Job", "j", "Completed", "Job completed"));
  // The uids before the finalizers go, the count after: two writes of the status (1.19.3).
  const std::string put = "PUT /apis/batch/v1/namespaces/default/jobs/j/status";
  const std::vector<std::string> writes = cluster.HostWrites();
  ASSERT_EQ(writes.size(), 4u);
  EXPECT_EQ(writes[0], put);
  EXPECT_EQ(CountWrites(writes, "PATCH /api/v1/namespaces/default/pods/"), 2);
  EXPECT_EQ(writes[3], put);
  EXPECT_EQ(cluster.Metric("job_controller_jobs_finished_total{completion_mode=\"NonIndexed\","
                           "result=\"succeeded\",reason=\"CompletionsReached\"}"),
            1);
  EXPECT_EQ(cluster.Metric("job_controller_job_pods_finished_total{completion_mode=\"NonIndexed\","
                           "result=\"succeeded\"}"),
            4);
}

TEST_F(JobController, JOB_03_WaitsLongerAfterEachFailure) {
  Start({{"parallelism", 1}, {"completions", 1}, {"backoffLimit", 6}});
  AlignToSecond();
  Fail(TheActive());
  Sync();
  EXPECT_EQ(N("failed"), 1);
  cluster.Advance(6s);
  EXPECT_TRUE(Active().empty());
  cluster.Advance(3s);
  const std::string second = TheActive();
  AlignToSecond();
  Fail(second);
  Sync();
  EXPECT_EQ(N("failed"), 2);
  cluster.Advance(16s);
  EXPECT_TRUE(Active().empty());
  cluster.Advance(3s);
  EXPECT_EQ(Active().size(), 1u);
}

TEST_F(JobController, JOB_04_IsFailedOnlyWhenItsLastPodHasEnded) {
  Start({{"parallelism", 2}, {"completions", 2}, {"backoffLimit", 0}});
  const std::vector<std::string> pods = Active();
  ASSERT_EQ(pods.size(), 2u);
  for (const std::string& pod : pods) cluster.Bind(pod, "n1");
  Sync();
  Fail(pods[0]);
  Sync();
  EXPECT_TRUE(IsDeleting(cluster.Get("pods", pods[1])));
  EXPECT_TRUE(Is("FailureTarget", "BackoffLimitExceeded"));
  EXPECT_EQ(N("failed"), 2);
  EXPECT_EQ(N("terminating"), 1);
  EXPECT_TRUE(Condition(J(), "Failed").is_null());
  cluster.Advance(60s);
  EXPECT_TRUE(Condition(J(), "Failed").is_null());
  Gone(pods[1]);
  Sync();
  EXPECT_TRUE(Is("Failed", "BackoffLimitExceeded"));
  EXPECT_EQ(Condition(J(), "Failed")["message"], "Job has reached the specified backoff limit");
  EXPECT_EQ(Condition(J(), "FailureTarget")["message"], Condition(J(), "Failed")["message"]);
  EXPECT_EQ(N("terminating"), 0);
  EXPECT_EQ(N("failed"), 2);
  EXPECT_TRUE(cluster.HasEvent("Job", "j", "BackoffLimitExceeded",
                               "Job has reached the specified backoff limit"));
}

TEST_F(JobController, JOB_05_RestartsInPlaceCount) {
  const auto restarted = [&](const std::string& pod, int count) {
    cluster.PatchStatus("pods", pod,
                        {{"phase", "Running"},
                         {"containerStatuses",
                          {{{"name", "c"},
                            {"image", "nginx:1"},
                            {"imageID", ""},
                            {"ready", true},
                            {"restartCount", count}}}}});
  };
  Json spec{{"parallelism", 2}, {"completions", 2}, {"backoffLimit", 3}};
  spec["template"]["spec"]["restartPolicy"] = "OnFailure";
  Start(spec);
  const std::vector<std::string> pods = Active();
  ASSERT_EQ(pods.size(), 2u);
  for (const std::string& pod : pods) {
    cluster.Bind(pod, "n1");
    restarted(pod, 1);
  }
  Sync();
  EXPECT_FALSE(Is("FailureTarget"));
  EXPECT_EQ(Active().size(), 2u);
  restarted(pods[1], 2);
  Sync();
  EXPECT_TRUE(Is("FailureTarget", "BackoffLimitExceeded"));
  FinishDeletions();
  Sync();
  EXPECT_TRUE(Is("Failed", "BackoffLimitExceeded"));
}

TEST_F(JobController, JOB_06_HasADeadline) {
  Start({{"activeDeadlineSeconds", 5}});
  const std::string pod = TheActive();
  Run(pod);
  cluster.Advance(2s);
  EXPECT_FALSE(IsGoing(pod));
  cluster.Advance(1500ms);
  EXPECT_TRUE(IsGoing(pod));
  EXPECT_TRUE(Is("FailureTarget", "DeadlineExceeded"));
  FinishDeletions();
  Sync();
  EXPECT_TRUE(Is("Failed", "DeadlineExceeded"));
  EXPECT_EQ(Condition(J(), "Failed")["message"], "Job was active longer than specified deadline");
}

// Also trap 12.
TEST_F(JobController, JOB_23_AWorkQueueEndsWithItsPods) {
  Start({{"parallelism", 3}});
  const std::vector<std::string> pods = Active();
  ASSERT_EQ(pods.size(), 3u);
  Succeed(pods[0]);
  Fail(pods[1]);
  cluster.Advance(60s);
  EXPECT_EQ(cluster.List("pods").size(), 3u);
  EXPECT_FALSE(Is("Complete"));
  Fail(pods[2]);
  Sync();
  EXPECT_TRUE(Is("Complete", "CompletionsReached"));
  EXPECT_EQ(N("succeeded"), 1);
  EXPECT_EQ(N("failed"), 2);
}

TEST_F(JobController, JOB_24_ReportsRealCountsWhileItBacksOff) {
  Start({{"parallelism", 3}, {"completions", 3}});
  RunActive();
  EXPECT_EQ(N("ready"), 3);
  AlignToSecond();
  Fail(Active()[0]);
  cluster.Advance(1500ms);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(N("active"), 2);
    EXPECT_EQ(N("ready"), 2);
    EXPECT_EQ(N("failed"), 1);
    EXPECT_EQ(Active().size(), 2u);
    cluster.Advance(1s);
  }
  Sync();
  EXPECT_EQ(N("active"), 3);
}

TEST_F(JobController, JOB_22_AQuotaStopsCreation) {
  CreateQuota("q", "3");
  Settle();
  (void)cluster.HostWrites();
  AlignToSecond();
  cluster.Create(Manifest({{"parallelism", 10}, {"completions", 10}}));
  cluster.Advance(500ms);
  // 1 + 2 + 4 creates, of which 3 succeed.
  const std::string post = "POST /api/v1/namespaces/default/pods";
  EXPECT_EQ(CountWrites(cluster.HostWrites(), post), 7);
  EXPECT_EQ(cluster.List("pods").size(), 3u);
  EXPECT_EQ(N("active"), 3);
  EXPECT_TRUE(cluster.HasEvent("Job", "j", "FailedCreate", "Error creating: pods \"j-"));
  // From 1 s to 60 s: about one attempt of one pod a minute in the end.
  cluster.Advance(300s);
  (void)cluster.HostWrites();
  cluster.Advance(600s);
  const int attempts = CountWrites(cluster.HostWrites(), post);
  EXPECT_GE(attempts, 9);
  EXPECT_LE(attempts, 11);
  EXPECT_EQ(N("active"), 3);
  EXPECT_EQ(cluster.List("pods").size(), 3u);
}

TEST_F(JobController, SettledJobsCauseNoWrites) {
  Start({{"parallelism", 2}, {"completions", 4}});
  RunActive();
  cluster.Create(Manifest({{"completions", 0}}, "done"));
  Sync();
  ASSERT_EQ(cluster.StopHost(), 0);
  (void)cluster.HostWrites();
  cluster.StartHost();
  cluster.Advance(60s);
  EXPECT_EQ(cluster.HostWrites(), std::vector<std::string>());
}

TEST_F(JobController, RemovesPodsThatAreTooMany) {
  Start({{"parallelism", 3}, {"completions", 9}});
  RunActive();
  cluster.MergePatch("jobs", "j", {{"spec", {{"parallelism", 1}}}});
  Sync();
  EXPECT_EQ(Active().size(), 1u);
  EXPECT_EQ(N("active"), 1);
  EXPECT_EQ(N("terminating"), 2);
  FinishDeletions();
  Sync();
  EXPECT_EQ(N("failed"), 0) << "what was removed has not failed";
  EXPECT_EQ(N("terminating"), 0);
  EXPECT_EQ(cluster.List("pods").size(), 1u);
}

}  // namespace
}  // namespace kcm::harness
