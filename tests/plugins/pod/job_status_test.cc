// SPDX-License-Identifier: Apache-2.0
// How a Job ends, what its status becomes and what its pods look like, as tables
// (spec/pod-batch.md 1.4 steps 14 to 18, 1.5.6, 1.10).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "plugins/pod/job/memory.h"
#include "plugins/pod/job/orphan_key.h"
#include "plugins/pod/job/pod_body.h"
#include "plugins/pod/job/status.h"
#include "plugins/pod/job/tracking.h"
#include "plugins/pod/job/verdict.h"
#include "plugins/pod/job_pods.h"

namespace kcm::pod::job {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Type = Verdict::Type;

TestJson Condition(const std::string& type, const std::string& status,
                   const std::string& reason = "R", const std::string& message = "m") {
  return {{"type", type}, {"status", status}, {"reason", reason}, {"message", message}};
}
TestJson WithConditions(const std::vector<TestJson>& conditions) {
  return {{"conditions", conditions}};
}

TEST(JobVerdict, FollowsTheOrderOfTheRules) {
  const TestJson limit{{"backoffLimit", 1}, {"completions", 5}};
  const TestJson deadline = Merged(limit, {{"activeDeadlineSeconds", 60}});
  const TestJson in_place = Merged(
      limit, {{"backoffLimit", 3}, {"template", {{"spec", {{"restartPolicy", "OnFailure"}}}}}});
  const TestJson policy{
      {"podFailurePolicy",
       {{"rules",
         {{{"action", "FailJob"}, {"onExitCodes", {{"operator", "In"}, {"values", {42}}}}}}}}}};
  const auto restarts = [](int n) {
    return TestJson{{"status", {{"containerStatuses", {{{"name", "c"}, {"restartCount", n}}}}}}};
  };
  const TestJson exit_42{{"status", {{"containerStatuses", {Exited("c", 42)}}}}};
  const struct {
    const char* name;
    TestJson spec, status;
    std::vector<TestJson> pods;
    int64_t failed, now;
    Type want;
    const char* reason;
  } rows[] = {
      {"nothing", limit, {}, {}, 1, 10, Type::kNone, ""},
      {"too many failures", limit, {}, {}, 2, 10, Type::kFailureTarget, "BackoffLimitExceeded"},
      {"success recorded is final",
       limit,
       WithConditions({Condition("SuccessCriteriaMet", "True")}),
       {},
       9,
       10,
       Type::kSuccessCriteriaMet,
       "R"},
      {"failure recorded is final",
       limit,
       WithConditions({Condition("FailureTarget", "True")}),
       {},
       0,
       10,
       Type::kFailed,
       "R"},
      {"False ones do not count",
       limit,
       WithConditions({Condition("FailureTarget", "False")}),
       {},
       0,
       10,
       Type::kNone,
       ""},
      {"nor hide a True one",
       limit,
       WithConditions(
           {Condition("FailureTarget", "False"), Condition("FailureTarget", "True", "S")}),
       {},
       0,
       10,
       Type::kFailed,
       "S"},
      {"FailJob before the limit",
       Merged(limit, policy),
       {},
       {Pod("p", "Failed", exit_42)},
       9,
       10,
       Type::kFailureTarget,
       "PodFailurePolicy"},
      {"restarts in place",
       in_place,
       {},
       {Pod("a", "Running", restarts(1)), Pod("b", "Pending", restarts(2))},
       0,
       10,
       Type::kFailureTarget,
       "BackoffLimitExceeded"},
      {"not so many",
       in_place,
       {},
       {Pod("a", "Running", restarts(1)), Pod("b", "Running", restarts(1))},
       0,
       10,
       Type::kNone,
       ""},
      {"those of ended pods do not count",
       in_place,
       {},
       {Pod("a", "Failed", restarts(9))},
       0,
       10,
       Type::kNone,
       ""},
      {"only where pods restart them",
       limit,
       {},
       {Pod("a", "Running", restarts(9))},
       0,
       10,
       Type::kNone,
       ""},
      {"limit 0: the first restart",
       Merged(in_place, {{"backoffLimit", 0}}),
       {},
       {Pod("a", "Running", restarts(1))},
       0,
       10,
       Type::kFailureTarget,
       "BackoffLimitExceeded"},
      {"deadline", deadline, {}, {}, 0, 60, Type::kFailureTarget, "DeadlineExceeded"},
      {"before it", deadline, {}, {}, 0, 59, Type::kNone, ""},
      {"suspended", Merged(deadline, {{"suspend", true}}), {}, {}, 0, 99, Type::kNone, ""},
      {"about to be resumed",
       deadline,
       WithConditions({Condition("Suspended", "True")}),
       {},
       0,
       99,
       Type::kNone,
       ""},
      {"failures count while suspended",
       Merged(limit, {{"suspend", true}}),
       {},
       {},
       2,
       10,
       Type::kFailureTarget,
       "BackoffLimitExceeded"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Objects objects;
    const Features features;
    const JobSpec spec = objects.Spec(row.spec);
    const std::vector<JobPod> pods = objects.Pods(spec, row.pods);
    const Evidence evidence{.spec = spec,
                            .features = features,
                            .status = objects.Node(row.status),
                            .pods = pods,
                            .failed = row.failed,
                            .start_time = At(0),
                            .now = At(row.now)};
    const Verdict verdict = Judge(evidence);
    EXPECT_EQ(verdict.type, row.want);
    EXPECT_EQ(verdict.reason, row.reason);
  }
}

TEST(JobDeadline, HoldsAnyNumberAndAnyStart) {
  using rules::WallTime;
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  constexpr std::chrono::seconds kCentury(int64_t{1} << 32);
  const struct {
    const char* name;
    WallTime start;
    int64_t seconds;
    std::chrono::nanoseconds want;
  } rows[] = {
      {"some is left", At(40), 100, std::chrono::seconds(40)},
      {"passed", At(0), 60, std::chrono::seconds(-40)},
      {"more seconds than nanoseconds can be", At(40), 9'300'000'000,
       kCentury - std::chrono::seconds(60)},
      {"the greatest", At(100), kMax, kCentury},
      {"a start in the future", At(130), 60, std::chrono::seconds(60)},
      {"at the end of time", WallTime::max(), kMax, kCentury},
      {"none", At(100), 0, std::chrono::seconds(0)},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(LeftOfDeadline(row.start, row.seconds, At(100)), row.want);
  }
  EXPECT_LT(LeftOfDeadline(WallTime::min(), kMax, At(100)).count(), 0);
}

TEST(JobVerdict, JudgesIndexes) {
  const struct {
    const char* name;
    TestJson spec;
    const char* succeeded;
    const char* failed;
    Type want;
    const char* reason;
  } rows[] = {
      {"too many failed",
       {{"backoffLimitPerIndex", 0}, {"maxFailedIndexes", 1}},
       "",
       "0,1",
       Type::kFailureTarget,
       "MaxFailedIndexesExceeded"},
      {"as many as may",
       {{"backoffLimitPerIndex", 0}, {"maxFailedIndexes", 1}},
       "",
       "0",
       Type::kNone,
       ""},
      {"all done, one failed",
       {{"backoffLimitPerIndex", 0}},
       "0,2",
       "1",
       Type::kFailureTarget,
       "FailedIndexes"},
      {"one still runs", {{"backoffLimitPerIndex", 0}}, "0", "1", Type::kNone, ""},
      {"success policy",
       {{"successPolicy", {{"rules", {{{"succeededCount", 1}}}}}}},
       "2",
       "",
       Type::kSuccessCriteriaMet,
       "SuccessPolicy"},
      {"failure before success",
       {{"backoffLimitPerIndex", 0},
        {"maxFailedIndexes", 0},
        {"successPolicy", {{"rules", {{{"succeededCount", 1}}}}}}},
       "2",
       "0",
       Type::kFailureTarget,
       "MaxFailedIndexesExceeded"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Objects objects;
    const Features features;
    const JobSpec spec = objects.Spec(IndexedSpec(3, row.spec));
    const TestJson status{{"completedIndexes", row.succeeded}, {"failedIndexes", row.failed}};
    const Indexes indexes = IndexesOf(spec, objects.Node(status), {});
    const Verdict verdict = Judge({.spec = spec,
                                   .features = features,
                                   .status = objects.Node(status),
                                   .pods = {},
                                   .indexes = &indexes,
                                   .now = At(0)});
    EXPECT_EQ(verdict.type, row.want);
    EXPECT_EQ(verdict.reason, row.reason);
  }
}

TEST(JobVerdict, OlderServersGetTheFinalConditionAtOnce) {
  Objects objects;
  const JobSpec spec = objects.Spec({{"backoffLimit", 0}});
  const Features old{.success_policy = false, .delayed_terminal_condition = false};
  EXPECT_EQ(Judge({.spec = spec, .features = old, .status = {}, .pods = {}, .failed = 1}).type,
            Type::kFailed);
  EXPECT_EQ(CompletionsReached(old), (Verdict{Type::kComplete, "", ""}));
  EXPECT_EQ(CompletionsReached({}), (Verdict{Type::kSuccessCriteriaMet, "CompletionsReached",
                                             "Reached expected number of succeeded pods"}));
}

TEST(JobVerdict, CompletesWhenEnoughSucceededAndNoneIsActive) {
  Objects objects;
  const JobSpec three = objects.Spec({{"completions", 3}}),
                queue = objects.Spec(TestJson::object());
  EXPECT_TRUE(IsComplete(three, 3, 0));
  EXPECT_FALSE(IsComplete(three, 3, 1));
  EXPECT_FALSE(IsComplete(three, 2, 0));
  EXPECT_TRUE(IsComplete(queue, 1, 0));
  EXPECT_FALSE(IsComplete(queue, 0, 0));
  EXPECT_FALSE(IsComplete(queue, 1, 1));
}

TEST(JobStatus, ShowsCountsAsTheApiDoes) {
  TestJson status = TestJson::object();
  EXPECT_TRUE(SetPodCounts(status, {0, 0, 0}, {}));
  EXPECT_EQ(status, (TestJson{{"ready", 0}, {"terminating", 0}}));
  EXPECT_FALSE(SetPodCounts(status, {0, 0, 0}, {}));
  EXPECT_TRUE(SetPodCounts(status, {2, 1, 0}, {}));
  EXPECT_EQ(status, (TestJson{{"active", 2}, {"ready", 1}, {"terminating", 0}}));
  EXPECT_TRUE(SetPodCounts(status, {2, 1, 0}, {.pod_replacement_policy = false}));
  EXPECT_EQ(status, (TestJson{{"active", 2}, {"ready", 1}}));

  EXPECT_TRUE(SetIndexes(status, "", 0, ""));
  EXPECT_EQ(status["failedIndexes"], "") << "there as soon as the limit is per index";
  EXPECT_FALSE(SetIndexes(status, "", 0, ""));
  EXPECT_TRUE(SetIndexes(status, "1,2", 2, ""));
  EXPECT_EQ(status["succeeded"], 2);
  EXPECT_TRUE(SetIndexes(status, "", 0, std::nullopt));
  EXPECT_EQ(status, (TestJson{{"active", 2}, {"ready", 1}}));
}

TEST(JobStatus, NotesSuspensionAndResumption) {
  const Features features;
  TestJson status{{"startTime", Time(0)}};
  EXPECT_EQ(NoteSuspension(status, false, features, At(5)), Suspension::kUnchanged)
      << "a condition that is False is never added";
  EXPECT_EQ(status, (TestJson{{"startTime", Time(0)}}));
  EXPECT_EQ(NoteSuspension(status, true, features, At(10)), Suspension::kSuspended);
  EXPECT_FALSE(status.contains("startTime"));
  EXPECT_EQ(NoteSuspension(status, true, features, At(11)), Suspension::kUnchanged);
  EXPECT_EQ(status["conditions"], (TestJson::array({{{"type", "Suspended"},
                                                     {"status", "True"},
                                                     {"reason", "JobSuspended"},
                                                     {"message", "Job suspended"},
                                                     {"lastProbeTime", Time(10)},
                                                     {"lastTransitionTime", Time(10)}}})));
  EXPECT_EQ(NoteSuspension(status, false, features, At(20)), Suspension::kResumed);
  EXPECT_EQ(status["startTime"], Time(20));
  EXPECT_EQ(status["conditions"][0]["status"], "False");
  EXPECT_EQ(status["conditions"][0]["reason"], "JobResumed");
  EXPECT_EQ(status["conditions"][0]["lastTransitionTime"], Time(20));
  EXPECT_EQ(NoteSuspension(status, true, {.clears_start_time = false}, At(30)),
            Suspension::kSuspended);
  EXPECT_EQ(status["startTime"], Time(20));
}

TEST(JobStatus, RecordsTheTargetOnceAndFinishesWhenAllIsCounted) {
  Objects objects;
  const Features features;
  const JobSpec spec = objects.Spec({{"completions", 1}});
  TestJson status{{"startTime", Time(0)}};
  Verdict verdict{Type::kSuccessCriteriaMet, "SuccessPolicy", "m"};
  EXPECT_TRUE(RecordTarget(status, verdict, At(1)));
  EXPECT_EQ(verdict.type, Type::kComplete);
  verdict.type = Type::kSuccessCriteriaMet;
  EXPECT_FALSE(RecordTarget(status, verdict, At(2)));
  EXPECT_EQ(status["conditions"].size(), 1u);

  EXPECT_FALSE(Finish(status, spec, features, {}, 0, At(3))) << "no verdict";
  EXPECT_FALSE(Finish(status, spec, features, verdict, 1, At(3))) << "one is terminating";
  AddUncounted(status, "failed", "u");
  EXPECT_FALSE(Finish(status, spec, features, verdict, 0, At(3))) << "one is not counted";
  EXPECT_TRUE(CountReleased(status, {}));
  EXPECT_EQ(Counter(status, "failed"), 1);
  EXPECT_TRUE(Finish(status, spec, features, verdict, 0, At(4)));
  EXPECT_EQ(status["conditions"][1]["type"], "Complete");
  EXPECT_EQ(status["conditions"][1]["reason"], "SuccessPolicy");
  EXPECT_EQ(status["completionTime"], Time(4));
  EXPECT_EQ(status["completionTime"], status["conditions"][1]["lastTransitionTime"]);
}

TEST(JobStatus, AddsAFailureTargetBesideOneThatIsFalse) {
  TestJson status = WithConditions({Condition("FailureTarget", "False")});
  Verdict verdict{Type::kFailureTarget, "DeadlineExceeded", "late"};
  EXPECT_TRUE(RecordTarget(status, verdict, At(1)));
  EXPECT_EQ(verdict.type, Type::kFailed);
  EXPECT_EQ(status["conditions"].size(), 2u);
  EXPECT_TRUE(HasTrueCondition(status, "FailureTarget"));
}

TEST(JobStatus, FinishedJobsHaveAStartTimeUnlessTheyHadNothingToDo) {
  Objects objects;
  const Verdict verdict{Type::kComplete, "CompletionsReached", "m"};
  const struct {
    const char* name;
    TestJson spec;
    bool want;
  } rows[] = {{"suspended, nothing to do", {{"completions", 0}, {"suspend", true}}, false},
              {"suspended later", {{"completions", 1}, {"suspend", true}}, true},
              {"nothing to do", {{"completions", 0}}, true}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    TestJson status = TestJson::object();
    EXPECT_TRUE(Finish(status, objects.Spec(row.spec), {}, verdict, 0, At(1)));
    EXPECT_EQ(status.contains("startTime"), row.want);
  }
}

std::vector<std::string> Released(const Tracking& tracking) {
  std::vector<std::string> out;
  for (const JobPod* pod : tracking.release) out.emplace_back(pod->name);
  return out;
}

TEST(JobTracking, RecordsBeforeItReleases) {
  Objects objects;
  const JobSpec spec = objects.Spec({{"completions", 9}});
  std::vector<JobPod> pods =
      objects.Pods(spec, {Pod("ok", "Succeeded"), Pod("bad", "Failed"), Pod("runs", "Running"),
                          Pod("flipped", "Succeeded"), Pod("asked", "Failed"),
                          Pod("legacy", "Failed", {{"metadata", {{"finalizers", nullptr}}}})});
  pods[4].tracked = false;  // its finalizer's removal was asked for
  TestJson status{{"failed", 1},
                  {"uncountedTerminatedPods",
                   {{"failed", {"flipped", "asked", "gone"}}, {"succeeded", {"vanished"}}}}};
  const Tracking tracking = TrackFinishedPods(status, {.spec = spec, .pods = pods}, {});
  EXPECT_TRUE(tracking.changed);
  EXPECT_FALSE(tracking.limit_reached);
  EXPECT_THAT(Released(tracking), ElementsAre("ok", "bad", "flipped"));
  EXPECT_THAT(tracking.holding, ElementsAre("bad", "flipped", "ok", "runs"));
  // Those without a pod that holds the finalizer are counted; what has failed stays a failure.
  EXPECT_EQ(status, (TestJson{{"failed", 3},
                              {"succeeded", 1},
                              {"uncountedTerminatedPods",
                               {{"failed", {"flipped", "bad"}}, {"succeeded", {"ok"}}}}}));
  EXPECT_FALSE(TrackFinishedPods(status, {.spec = spec, .pods = pods}, {}).changed)
      << "nothing is recorded twice";
}

TEST(JobTracking, TheEndDecidesWhatUnfinishedPodsAre) {
  Objects objects;
  const JobSpec spec = objects.Spec({{"completions", 9}});
  const std::vector<JobPod> pods = objects.Pods(spec, {Pod("runs", "Running")});
  const struct {
    const char* name;
    Verdict verdict;
    bool deleting, released, failed;
  } rows[] = {
      {"it goes on", {}, false, false, false},
      {"the Job is being deleted", {}, true, true, false},
      {"failed", {Type::kFailureTarget, "R", "m"}, false, true, true},
      {"failed before", {Type::kFailed, "R", "m"}, false, true, true},
      {"successful", {Type::kSuccessCriteriaMet, "R", "m"}, false, true, false},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    TestJson status{{"uncountedTerminatedPods", TestJson::object()}};
    const Tracking tracking = TrackFinishedPods(
        status, {.spec = spec, .pods = pods, .deleting = row.deleting}, row.verdict);
    EXPECT_EQ(tracking.release.size(), row.released ? 1u : 0u);
    EXPECT_EQ(Uncounted(status, "failed").size(), row.failed ? 1u : 0u);
    EXPECT_EQ(tracking.changed, row.failed);
  }
}

TEST(JobTracking, IgnoredFailuresAreReleasedAndNotRecorded) {
  Objects objects;
  const TestJson policy{
      {"rules", {{{"action", "Ignore"}, {"onExitCodes", {{"operator", "In"}, {"values", {9}}}}}}}};
  const JobSpec spec = objects.Spec({{"completions", 9}, {"podFailurePolicy", policy}});
  const std::vector<JobPod> pods = objects.Pods(
      spec, {Pod("p", "Failed", {{"status", {{"containerStatuses", {Exited("c", 9)}}}}})});
  TestJson status{{"uncountedTerminatedPods", TestJson::object()}};
  const Tracking tracking = TrackFinishedPods(status, {.spec = spec, .pods = pods}, {});
  EXPECT_FALSE(tracking.changed);
  EXPECT_THAT(Released(tracking), ElementsAre("p"));
  EXPECT_EQ(tracking.handled.at(FailureAction::kIgnore), 1);
}

TEST(JobTracking, IndexesAreEnoughToCountASuccess) {
  Objects objects;
  const JobSpec spec = objects.Spec(IndexedSpec(4, {{"backoffLimitPerIndex", 3}}));
  const std::vector<JobPod> pods = objects.Pods(
      spec, {Pod("2", "Succeeded", OfIndex("2")), Pod("1 again", "Succeeded", OfIndex("1")),
             Pod("0", "Failed", OfIndex("0")), Pod("9", "Failed", OfIndex("9"))});
  TestJson status{{"completedIndexes", "1"}, {"uncountedTerminatedPods", TestJson::object()}};
  const Indexes indexes = IndexesOf(spec, objects.Node(status), pods);
  const Tracking tracking =
      TrackFinishedPods(status, {.spec = spec, .pods = pods, .indexes = &indexes}, {});
  EXPECT_TRUE(tracking.changed);
  // In the order of indexes; 0 keeps its finalizer until it is replaced.
  EXPECT_THAT(Released(tracking), ElementsAre("1 again", "2", "9"));
  EXPECT_FALSE(HasUncounted(status)) << "an index out of bounds is not counted";
}

TEST(JobTracking, StopsAtItsLimit) {
  Objects objects;
  const JobSpec spec = objects.Spec({{"completions", 900}});
  std::vector<TestJson> many;
  for (int i = 0; i < 700; ++i) many.push_back(Pod("p" + std::to_string(i), "Succeeded"));
  const std::vector<JobPod> pods = objects.Pods(spec, many);
  TestJson status{{"uncountedTerminatedPods", TestJson::object()}};
  const Tracking tracking = TrackFinishedPods(status, {.spec = spec, .pods = pods}, {});
  EXPECT_TRUE(tracking.limit_reached);
  EXPECT_EQ(tracking.release.size(), 500u);
  EXPECT_EQ(Uncounted(status, "succeeded").size(), 500u);
}

TEST(JobPodBody, OfAnIndexedJobCarriesItsIndex) {
  Objects objects;
  const TestJson job{
      {"metadata", {{"name", "j"}, {"uid", "u"}}},
      {"spec",
       IndexedSpec(3,
                   {{"backoffLimitPerIndex", 1},
                    {"template",
                     {{"metadata", {{"labels", {{"a", "b"}}}, {"finalizers", {"example.com/x"}}}},
                      {"spec",
                       {{"hostname", "mine"},
                        {"initContainers", {{{"name", "i"}}}},
                        {"containers",
                         {{{"name", "c"}},
                          {{"name", "d"},
                           {"env", {{{"name", "JOB_COMPLETION_INDEX"}, {"value", "x"}}}}}}}}}}}})}};
  const rules::Node node = objects.Node(job);
  const JobSpec spec = SpecOf(node, {});
  const TestJson pod = TestJson::parse(PodBodies(node, spec).OfIndex(2, IndexFailures{1, 0}));
  const TestJson& metadata = pod["metadata"];
  EXPECT_EQ(metadata["generateName"], "j-2-");
  EXPECT_EQ(metadata["labels"],
            (TestJson{{"a", "b"}, {"batch.kubernetes.io/job-completion-index", "2"}}));
  EXPECT_EQ(metadata["annotations"],
            (TestJson{{"batch.kubernetes.io/job-completion-index", "2"},
                      {"batch.kubernetes.io/job-index-failure-count", "1"}}));
  EXPECT_EQ(metadata["finalizers"],
            (TestJson{"example.com/x", "batch.kubernetes.io/job-tracking"}));
  EXPECT_EQ(metadata["ownerReferences"][0]["kind"], "Job");
  EXPECT_EQ(metadata["ownerReferences"][0]["apiVersion"], "batch/v1");
  EXPECT_EQ(pod["spec"]["hostname"], "j-2");
  const TestJson variable{
      {"name", "JOB_COMPLETION_INDEX"},
      {"valueFrom",
       {{"fieldRef",
         {{"fieldPath", "metadata.labels['batch.kubernetes.io/job-completion-index']"}}}}}};
  EXPECT_EQ(pod["spec"]["containers"][0]["env"], TestJson::array({variable}));
  EXPECT_EQ(pod["spec"]["initContainers"][0]["env"], TestJson::array({variable}));
  EXPECT_EQ(pod["spec"]["containers"][1]["env"][0]["value"], "x") << "the user's own stays";
  EXPECT_EQ(pod["spec"]["containers"][1]["env"].size(), 1u);
  const TestJson ignored = TestJson::parse(PodBodies(node, spec).OfIndex(0, IndexFailures{0, 2}));
  EXPECT_EQ(
      ignored["metadata"]["annotations"]["batch.kubernetes.io/job-index-ignored-failure-count"],
      "2");
}

TEST(JobPodBody, PrefixesLeaveRoomForTheSuffix) {
  const std::string name(63, 'a');
  EXPECT_EQ(IndexedNamePrefix("j", 7), "j-7-");
  EXPECT_EQ(IndexedNamePrefix(name, 12), std::string(54, 'a') + "-12-");
  EXPECT_EQ(IndexedNamePrefix(name, 123456).size(), 58u);
}

TEST(JobMemory, IsKeptByUid) {
  Memory memory;
  memory.ExpectRelease("job", {"a", "b"});
  memory.ExpectRelease("job", {"c"});
  EXPECT_THAT(memory.Releasing("job"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(memory.Releasing("other"), IsEmpty());
  memory.ReleaseObserved("job", "b");
  EXPECT_THAT(memory.Releasing("job"), ElementsAre("a", "c"));
  memory.SetBackOff("job", {2, At(7)});
  memory.MarkFinished("job");
  EXPECT_TRUE(memory.IsMarkedFinished("job"));

  Memory next;
  next.Load(memory.Save());
  EXPECT_EQ(next.BackOff("job"), (BackOffRecord{2, At(7)}));
  next.Load("garbage\nmore 1");
  EXPECT_EQ(next.BackOff("more"), BackOffRecord());

  memory.Forget("job");
  EXPECT_THAT(memory.Releasing("job"), IsEmpty());
  EXPECT_EQ(memory.BackOff("job"), BackOffRecord());
  EXPECT_FALSE(memory.IsMarkedFinished("job"));
  EXPECT_EQ(memory.Save(), "");
}

TEST(OrphanKey, TellsAPodFromASelector) {
  const rules::LabelSelector selector = *rules::LabelSelector::Parse("a in (b,c),!d");
  const std::string key = OrphansKey("ns", selector);
  const std::string name = key.substr(3);
  ASSERT_TRUE(SelectorIn(name));
  EXPECT_EQ(*rules::LabelSelector::Parse(*SelectorIn(name)), selector);
  EXPECT_EQ(OrphanPodKey("ns", "p"), "ns/p");
  EXPECT_FALSE(SelectorIn("p"));
  EXPECT_TRUE(SelectorIn(OrphansKey("ns", rules::LabelSelector::Everything()).substr(3)));
}

}  // namespace
}  // namespace kcm::pod::job
