// SPDX-License-Identifier: Apache-2.0
// job-controller in a real host: indexes and policies (spec/pod-batch.md section 1).
#include "plugins/pod/job_runs.h"

namespace kcm::harness {
namespace {

using JobPolicy = Jobs;
using Indexes = std::set<std::string>;

constexpr char kFailureCount[] = "batch.kubernetes.io/job-index-failure-count";

Json Rule(const char* action, const char* kind, const Json& requirement) {
  return {{"action", action}, {kind, requirement}};
}
Json PolicyOf(const Json& rule) { return {{"rules", Json::array({rule})}}; }

TEST_F(JobPolicy, JOB_07_IndexesAreInThePods) {
  Start(Indexed(5, {{"parallelism", 3}}));
  EXPECT_EQ(ActiveIndexes(), (Indexes{"0", "1", "2"}));
  for (const auto& [index, name] : ActiveByIndex()) {
    const Json pod = cluster.Get("pods", name);
    EXPECT_EQ(pod["metadata"]["labels"][kIndexName], index);
    EXPECT_EQ(pod["metadata"]["generateName"], "j-" + index + "-");
    EXPECT_EQ(pod["spec"]["hostname"], "j-" + index);
    const Json env = pod["spec"]["containers"][0]["env"];
    ASSERT_EQ(env.size(), 1u);
    EXPECT_EQ(env[0]["name"], "JOB_COMPLETION_INDEX");
    EXPECT_EQ(env[0]["valueFrom"]["fieldRef"]["fieldPath"],
              "metadata.labels['batch.kubernetes.io/job-completion-index']");
  }
  Succeed(OfIndex("1"));
  Succeed(OfIndex("2"));
  Sync();
  EXPECT_EQ(ActiveIndexes(), (Indexes{"0", "3", "4"}));
  EXPECT_EQ(S()["completedIndexes"], "1,2");
  Succeed(OfIndex("0"));
  Sync();
  EXPECT_EQ(S()["completedIndexes"], "0-2");
  EXPECT_EQ(N("succeeded"), 3);
}

TEST_F(JobPolicy, JOB_08_CompletedIndexesAreIntervals) {
  Start(Indexed(10));
  for (const char* index : {"1", "3", "4", "5", "7", "8"}) Succeed(OfIndex(index));
  Sync();
  EXPECT_EQ(S()["completedIndexes"], "1,3-5,7,8");
  EXPECT_EQ(N("succeeded"), 6);
}

TEST_F(JobPolicy, JOB_09_EachIndexHasABackOffLimit) {
  Start(Indexed(2, {{"backoffLimitPerIndex", 1}}));
  const std::string first = OfIndex("0");
  EXPECT_EQ(Annotation(cluster.Get("pods", first), kFailureCount), "0");
  AlignToSecond();
  Fail(first);
  cluster.Advance(9s);
  EXPECT_EQ(ActiveIndexes(), (Indexes{"1"}));
  EXPECT_EQ(N("failed"), 0) << "counted when its replacement exists";
  EXPECT_EQ(S()["failedIndexes"], "");
  EXPECT_TRUE(IsTracked(first));
  cluster.Advance(4s);
  const std::string second = OfIndex("0");
  EXPECT_EQ(Annotation(cluster.Get("pods", second), kFailureCount), "1");
  EXPECT_EQ(N("failed"), 1);
  EXPECT_FALSE(IsTracked(first));
  EXPECT_EQ(S()["failedIndexes"], "");

  Fail(second);
  Sync();
  EXPECT_EQ(S()["failedIndexes"], "0");
  EXPECT_EQ(N("failed"), 2);
  cluster.Advance(60s);
  EXPECT_EQ(ActiveIndexes(), (Indexes{"1"}));
  EXPECT_FALSE(Is("FailureTarget"));
  Succeed(OfIndex("1"));
  Sync();
  EXPECT_TRUE(Is("Failed", "FailedIndexes"));
  EXPECT_EQ(Condition(J(), "Failed")["message"], "Job has failed indexes");
  EXPECT_EQ(S()["completedIndexes"], "1");
}

TEST_F(JobPolicy, JOB_10_TooManyFailedIndexesFailTheJob) {
  Start(Indexed(3, {{"backoffLimitPerIndex", 0}, {"maxFailedIndexes", 1}}));
  RunActive();
  const std::string last = OfIndex("2");
  Fail(OfIndex("0"));
  Fail(OfIndex("1"));
  Sync();
  EXPECT_TRUE(IsGoing(last));
  EXPECT_EQ(S()["failedIndexes"], "0,1");
  EXPECT_EQ(N("failed"), 3);
  FinishDeletions();
  Sync();
  EXPECT_TRUE(Is("Failed", "MaxFailedIndexesExceeded"));
  EXPECT_EQ(Condition(J(), "Failed")["message"],
            "Job has exceeded the specified maximal number of failed indexes");
  EXPECT_EQ(S()["failedIndexes"], "0,1");
  EXPECT_EQ(N("failed"), 3);
}

TEST_F(JobPolicy, JOB_11_AnExitCodeFailsTheJob) {
  const Json codes{{"containerName", "c"}, {"operator", "In"}, {"values", {42}}};
  Start({{"parallelism", 2},
         {"completions", 2},
         {"podFailurePolicy", PolicyOf(Rule("FailJob", "onExitCodes", codes))}});
  RunActive();
  const std::vector<std::string> pods = Active();
  ASSERT_EQ(pods.size(), 2u);
  Fail(pods[0], 42);
  Sync();
  const std::string message = "Container c for pod default/" + pods[0] +
                              " failed with exit code 42 matching FailJob rule at index 0";
  EXPECT_TRUE(Is("FailureTarget", "PodFailurePolicy"));
  EXPECT_EQ(Condition(J(), "FailureTarget")["message"], message);
  EXPECT_TRUE(IsGoing(pods[1]));
  FinishDeletions();
  Sync();
  EXPECT_TRUE(Is("Failed", "PodFailurePolicy"));
  EXPECT_EQ(Condition(J(), "Failed")["message"], message);
  EXPECT_EQ(EventText("PodFailurePolicy"), message);
}

TEST_F(JobPolicy, JOB_12_IgnoredFailuresAreNotCountedButDelay) {
  const Json target{{{"type", "DisruptionTarget"}, {"status", "True"}}};
  Start({{"backoffLimit", 0},
         {"podFailurePolicy", PolicyOf(Rule("Ignore", "onPodConditions", target))}});
  AlignToSecond();
  const std::string pod = TheActive();
  End(pod, 137, target);
  Sync();
  EXPECT_FALSE(IsTracked(pod));
  cluster.Advance(6s);
  EXPECT_TRUE(Active().empty());
  cluster.Advance(3s);
  EXPECT_EQ(Active().size(), 1u);
  EXPECT_EQ(N("failed"), 0);
  EXPECT_FALSE(Is("FailureTarget"));
  EXPECT_FALSE(Is("Failed"));
  EXPECT_EQ(cluster.Metric(
                "job_controller_pod_failures_handled_by_failure_policy_total{action=\"Ignore\"}"),
            1);
}

TEST_F(JobPolicy, JOB_13_ReplacesATerminatingPodAsThePolicySays) {
  const auto start = [&](const char* policy) {
    Start({{"podReplacementPolicy", policy}});
    const std::string pod = TheActive();
    Run(pod);
    Sync();
    AlignToSecond();
    cluster.Delete("pods", pod, {{"gracePeriodSeconds", 300}});
    Sync();
    return pod;
  };
  std::string pod = start("Failed");
  cluster.Advance(60s);
  EXPECT_EQ(Active().size(), 0u);
  EXPECT_EQ(N("terminating"), 1);
  EXPECT_EQ(N("active"), 0);
  EXPECT_EQ(N("failed"), 0);
  AlignToSecond();
  Fail(pod);
  Sync();
  EXPECT_EQ(N("failed"), 1);
  cluster.Advance(6s);
  EXPECT_EQ(Active().size(), 0u);
  cluster.Advance(3s);
  EXPECT_EQ(Active().size(), 1u);
  cluster.Delete("jobs", "j", {{"propagationPolicy", "Background"}});
  Sync();
  for (const Json& p : cluster.List("pods")) Gone(Name(p));
  Sync();

  pod = start("TerminatingOrFailed");
  EXPECT_EQ(N("failed"), 1);
  EXPECT_FALSE(IsTracked(pod));
  EXPECT_TRUE(IsDeleting(cluster.Get("pods", pod)));
  cluster.Advance(6s);
  EXPECT_EQ(Active().size(), 0u) << "the back-off begins when the deletion was asked for";
  cluster.Advance(3s);
  EXPECT_EQ(Active().size(), 1u);
}

TEST_F(JobPolicy, JOB_16_ASuccessPolicyEndsTheJobEarly) {
  const Json rule{{"succeededIndexes", "1-3"}, {"succeededCount", 2}};
  Start(Indexed(5, {{"successPolicy", PolicyOf(rule)}}));
  RunActive();
  Succeed(OfIndex("1"));
  Sync();
  EXPECT_FALSE(Is("SuccessCriteriaMet"));
  Succeed(OfIndex("3"));
  Sync();
  EXPECT_TRUE(Is("SuccessCriteriaMet", "SuccessPolicy"));
  EXPECT_EQ(Condition(J(), "SuccessCriteriaMet")["message"], "Matched rules at index 0");
  EXPECT_TRUE(Active().empty());
  EXPECT_FALSE(Is("Complete"));
  FinishDeletions();
  Sync();
  EXPECT_TRUE(Is("Complete", "SuccessPolicy"));
  EXPECT_EQ(Condition(J(), "Complete")["message"], "Matched rules at index 0");
  EXPECT_EQ(N("failed"), 0);
  EXPECT_EQ(N("succeeded"), 2);
}

TEST_F(JobPolicy, JOB_17_FailureComesBeforeSuccess) {
  const Json codes{{"operator", "In"}, {"values", {1}}};
  Start(Indexed(2, {{"successPolicy", PolicyOf({{"succeededCount", 1}})},
                    {"podFailurePolicy", PolicyOf(Rule("FailJob", "onExitCodes", codes))}}));
  const std::string good = OfIndex("0"), bad = OfIndex("1");
  ASSERT_EQ(cluster.StopHost(), 0);
  Succeed(good);
  Fail(bad, 1);
  cluster.StartHost();
  Sync();
  EXPECT_TRUE(Is("Failed", "PodFailurePolicy"));
  EXPECT_TRUE(Condition(J(), "SuccessCriteriaMet").is_null());
}

TEST_F(JobPolicy, JOB_21_IndexedJobsAreElastic) {
  Start(Indexed(3));
  RunActive();
  Succeed(OfIndex("2"));
  Sync();
  EXPECT_EQ(S()["completedIndexes"], "2");
  const std::string zero = OfIndex("0"), one = OfIndex("1");
  cluster.MergePatch("jobs", "j", {{"spec", {{"completions", 2}, {"parallelism", 2}}}});
  Sync();
  EXPECT_FALSE(S().contains("completedIndexes"));
  EXPECT_EQ(N("succeeded"), 0);
  EXPECT_EQ(OfIndex("0"), zero);
  EXPECT_EQ(OfIndex("1"), one);
  cluster.MergePatch("jobs", "j", {{"spec", {{"completions", 3}, {"parallelism", 3}}}});
  Sync();
  EXPECT_EQ(ActiveIndexes(), (Indexes{"0", "1", "2"}));
  EXPECT_EQ(OfIndex("0"), zero);
  EXPECT_EQ(OfIndex("1"), one);
}

TEST_F(JobPolicy, FailIndexFailsAnIndexAtOnce) {
  const Json codes{{"operator", "In"}, {"values", {7}}};
  Start(Indexed(2, {{"backoffLimitPerIndex", 5},
                    {"podFailurePolicy", PolicyOf(Rule("FailIndex", "onExitCodes", codes))}}));
  Fail(OfIndex("0"), 7);
  Sync();
  EXPECT_EQ(S()["failedIndexes"], "0");
  EXPECT_EQ(N("failed"), 1);
  cluster.Advance(60s);
  EXPECT_EQ(ActiveIndexes(), (Indexes{"1"}));
}

}  // namespace
}  // namespace kcm::harness
