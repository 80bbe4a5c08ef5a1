// SPDX-License-Identifier: Apache-2.0
// Decisions of job-controller as tables: features, finish times, policies, back-off, indexes, the
// choice of pods and the verdict (spec/pod-batch.md 1.4 to 1.9, 1.13).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugins/pod/job/back_off.h"
#include "plugins/pod/job/failure_policy.h"
#include "plugins/pod/job/features.h"
#include "plugins/pod/job/indexes.h"
#include "plugins/pod/job/metrics.h"
#include "plugins/pod/job/removal.h"
#include "plugins/pod/job/verdict.h"
#include "plugins/pod/job_pods.h"

namespace kcm::pod::job {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

std::vector<std::string> NamesOf(const std::vector<const JobPod*>& pods) {
  std::vector<std::string> out;
  for (const JobPod* pod : pods) out.emplace_back(pod->name);
  return out;
}
std::vector<const JobPod*> Pointers(const std::vector<JobPod>& pods) {
  std::vector<const JobPod*> out;
  for (const JobPod& pod : pods) out.push_back(&pod);
  return out;
}

TEST(JobFeatures, FollowGatesAndServers) {
  const struct {
    const char* name;
    int minor;
    const char* off;  // the gate that is off
    const char* flag;
    Features want;
  } rows[] = {
      {"1.36", 36, "", "", {}},
      {"1.28 knows no terminating count and no delayed condition",
       28,
       "",
       "",
       {.pod_replacement_policy = false,
        .success_policy = false,
        .delayed_terminal_condition = false}},
      {"unless told so",
       28,
       "",
       ":JobPodReplacementPolicy=true",
       {.success_policy = false, .delayed_terminal_condition = false}},
      {"in another form",
       28,
       "",
       "kube:JobPodReplacementPolicy=false,kube:JobSuccessPolicy=1",
       {.pod_replacement_policy = false, .delayed_terminal_condition = false}},
      {"without a component",
       28,
       "",
       "JobPodReplacementPolicy=true",
       {.success_policy = false, .delayed_terminal_condition = false}},
      {"1.30", 30, "", "", {.success_policy = false, .delayed_terminal_condition = false}},
      {"1.31", 31, "", "", {}},
      {"either gate delays", 36, "JobPodReplacementPolicy", "", {.pod_replacement_policy = false}},
      {"start time",
       36,
       "MutableSchedulingDirectivesForSuspendedJobs",
       "",
       {.clears_start_time = false}},
      {"own writes", 36, "StaleControllerConsistencyJob", "", {.reads_own_writes = false}},
      {"off wins over the flag's text",
       28,
       "JobSuccessPolicy",
       ":JobSuccessPolicy=true",
       {.pod_replacement_policy = false,
        .success_policy = false,
        .delayed_terminal_condition = false}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const Features got =
        FeaturesOf([&](std::string_view gate) { return gate != row.off; }, row.flag, row.minor);
    EXPECT_EQ(got.pod_replacement_policy, row.want.pod_replacement_policy);
    EXPECT_EQ(got.success_policy, row.want.success_policy);
    EXPECT_EQ(got.delayed_terminal_condition, row.want.delayed_terminal_condition);
    EXPECT_EQ(got.clears_start_time, row.want.clears_start_time);
    EXPECT_EQ(got.reads_own_writes, row.want.reads_own_writes);
  }
}

TEST(JobSpecOf, AppliesGatesAndDefaults) {
  Objects objects;
  const TestJson per_index{{"backoffLimitPerIndex", 1}, {"maxFailedIndexes", 2}};
  EXPECT_TRUE(objects.Spec(IndexedSpec(2, per_index)).PerIndex());
  EXPECT_FALSE(
      objects.Spec(IndexedSpec(2, per_index), {.backoff_limit_per_index = false}).PerIndex());
  const TestJson failed{{"podReplacementPolicy", "Failed"}};
  EXPECT_TRUE(objects.Spec(failed).only_replace_failed);
  EXPECT_FALSE(objects.Spec(failed, {.pod_replacement_policy = false}).only_replace_failed);
  EXPECT_TRUE(objects
                  .Spec({{"podFailurePolicy", {{"rules", TestJson::array()}}}},
                        {.pod_replacement_policy = false})
                  .only_replace_failed);
  const JobSpec none = objects.Spec(TestJson::object());
  EXPECT_EQ(none.parallelism, 1);
  EXPECT_EQ(none.completions, std::nullopt);
  EXPECT_EQ(none.backoff_limit, 6);
  EXPECT_EQ(objects.Spec({{"completions", 0}}).completions, 0);
  const auto manager = [&](const char* name, bool gate) {
    return std::string(ExternalManager(objects.Node({{"spec", {{"managedBy", name}}}}), gate));
  };
  EXPECT_EQ(manager("example.com/x", true), "example.com/x");
  EXPECT_EQ(manager("example.com/x", false), "");
  EXPECT_EQ(manager("kubernetes.io/job-controller", true), "");
}

TEST(JobPod, FinishesAsWellAsCanBeTold) {
  const auto containers = [](TestJson statuses) {
    return TestJson{{"status", {{"containerStatuses", std::move(statuses)}}}};
  };
  const TestJson deleted{
      {"metadata", {{"deletionTimestamp", Time(130)}, {"deletionGracePeriodSeconds", 30}}}};
  const TestJson patient{
      {"metadata",
       {{"deletionTimestamp", Time(100)}, {"deletionGracePeriodSeconds", int64_t{1} << 62}}}};
  const TestJson sidecar{
      {"spec", {{"initContainers", {{{"name", "s"}, {"restartPolicy", "Always"}}}}}}};
  const auto inits = [](TestJson statuses) {
    return TestJson{{"status", {{"initContainerStatuses", std::move(statuses)}}}};
  };
  const TestJson running{{"name", "x"}, {"state", {{"running", TestJson::object()}}}};
  const struct {
    const char* name;
    TestJson pod;
    int64_t want;
  } rows[] = {
      {"the last container", containers({Exited("a", 1, 40), Exited("b", 0, 50)}), 50},
      {"one still runs: not ready since",
       Merged(containers({Exited("a", 1, 40), running}), ReadyAt(60, "False")), 60},
      {"ready: no time", Merged(ReadyAt(60), deleted), 100},
      {"deletion less grace", deleted, 100},
      {"a grace period longer than time", patient, 100 - (int64_t{1} << 32)},
      {"nothing: created", TestJson::object(), 0},
      {"a sidecar that ended later",
       Merged(Merged(containers({Exited("a", 1, 40)}), sidecar), inits({Exited("s", 0, 45)})), 45},
      {"a sidecar that runs",
       Merged(Merged(Merged(containers({Exited("a", 1, 40)}), sidecar),
                     inits({{{"name", "s"}, {"state", TestJson::object()}}})),
              deleted),
       100},
      {"other init containers do not count",
       Merged(containers({Exited("a", 1, 40)}), inits({Exited("i", 0, 45)})), 40},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const TestJson pod = Pod("p", "Failed", row.pod);
    EXPECT_EQ(FinishTime(rules::JsonNode(pod)), At(row.want));
  }
}

TEST(JobPod, FailsWhenDeletedUnlessOnlyFailedOnesAreReplaced) {
  Objects objects;
  const TestJson deleting{{"metadata", {{"deletionTimestamp", Time(1)}}}};
  const JobSpec plain = objects.Spec(TestJson::object());
  const JobSpec strict = objects.Spec({{"podReplacementPolicy", "Failed"}});
  const struct {
    const char* phase;
    bool deleting, plain, strict;
  } rows[] = {{"Running", false, false, false},  {"Running", true, true, false},
              {"Pending", true, true, false},    {"Failed", false, true, true},
              {"Failed", true, true, true},      {"Succeeded", true, false, false},
              {"Succeeded", false, false, false}};
  for (const auto& row : rows) {
    SCOPED_TRACE(std::string(row.phase) + (row.deleting ? " deleting" : ""));
    const TestJson pod = Pod("p", row.phase, row.deleting ? deleting : TestJson::object());
    EXPECT_EQ(PodOf(rules::JsonNode(pod), plain, false).failed, row.plain);
    EXPECT_EQ(PodOf(rules::JsonNode(pod), strict, false).failed, row.strict);
    EXPECT_FALSE(PodOf(rules::JsonNode(pod), plain, true).tracked);
  }
}

TEST(JobPod, HasAnIndexOnlyWithinTheBound) {
  Objects objects;
  const JobSpec spec = objects.Spec(IndexedSpec(3));
  const struct {
    const char* annotation;
    int64_t index;
    bool countable;
  } rows[] = {{"0", 0, true},          {"2", 2, true},         {"3", 3, false},
              {"-1", kNoIndex, false}, {"x", kNoIndex, false}, {"", kNoIndex, false}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.annotation);
    const JobPod pod = objects.Pods(spec, {Pod("p", "Running", OfIndex(row.annotation))})[0];
    EXPECT_EQ(pod.index, row.index);
    EXPECT_EQ(pod.countable, row.countable);
  }
}

TEST(FailurePolicy, TakesTheFirstRuleThatMatches) {
  const TestJson fail_42{
      {"action", "FailJob"},
      {"onExitCodes", {{"containerName", "main"}, {"operator", "In"}, {"values", {42, 43}}}}};
  const TestJson not_in{{"action", "Count"},
                        {"onExitCodes", {{"operator", "NotIn"}, {"values", {1, 2}}}}};
  const TestJson ignore{{"action", "Ignore"},
                        {"onPodConditions", {{{"type", "DisruptionTarget"}, {"status", "True"}}}}};
  const TestJson fail_index{{"action", "FailIndex"},
                            {"onExitCodes", {{"operator", "In"}, {"values", {7}}}}};
  const TestJson fail_condition{
      {"action", "FailJob"}, {"onPodConditions", {{{"type", "ConfigIssue"}, {"status", "True"}}}}};
  const auto exited = [](TestJson statuses) {
    return TestJson{{"status", {{"containerStatuses", std::move(statuses)}}}};
  };
  const auto condition = [](const char* type, const char* status) {
    return TestJson{{"status", {{"conditions", {{{"type", type}, {"status", status}}}}}}};
  };
  const struct {
    const char* name;
    std::vector<TestJson> rules;
    TestJson pod;
    FailureAction want;
    const char* message;
    bool per_index_gate = true;
  } rows[] = {
      {"no rule", {}, exited({Exited("main", 42)}), FailureAction::kNone, ""},
      {"exit code",
       {ignore, fail_42},
       exited({Exited("main", 42)}),
       FailureAction::kFailJob,
       "Container main for pod ns/p failed with exit code 42 matching FailJob rule at index 1"},
      {"another container", {fail_42}, exited({Exited("side", 42)}), FailureAction::kNone, ""},
      {"the first container that matches",
       {fail_42},
       exited({Exited("side", 1), Exited("main", 43)}),
       FailureAction::kFailJob,
       "Container main for pod ns/p failed with exit code 43 matching FailJob rule at index 0"},
      {"init containers, too",
       {fail_42},
       {{"status", {{"initContainerStatuses", {Exited("main", 42)}}}}},
       FailureAction::kFailJob,
       "Container main for pod ns/p failed with exit code 42 matching FailJob rule at index 0"},
      {"NotIn", {not_in}, exited({Exited("x", 3)}), FailureAction::kCount, ""},
      {"NotIn, listed", {not_in}, exited({Exited("x", 2)}), FailureAction::kNone, ""},
      {"exit code 0 never matches", {not_in}, exited({Exited("x", 0)}), FailureAction::kNone, ""},
      {"a running container never matches",
       {not_in},
       exited({{{"name", "x"}}}),
       FailureAction::kNone,
       ""},
      {"condition",
       {fail_42, ignore},
       condition("DisruptionTarget", "True"),
       FailureAction::kIgnore,
       ""},
      {"condition of another status",
       {ignore},
       condition("DisruptionTarget", "False"),
       FailureAction::kNone,
       ""},
      {"condition fails the Job",
       {fail_condition},
       condition("ConfigIssue", "True"),
       FailureAction::kFailJob,
       "Pod ns/p has condition ConfigIssue matching FailJob rule at index 0"},
      {"the order of rules decides",
       {ignore, fail_condition},
       {{"status",
         {{"conditions",
           {{{"type", "ConfigIssue"}, {"status", "True"}},
            {{"type", "DisruptionTarget"}, {"status", "True"}}}}}}},
       FailureAction::kIgnore,
       ""},
      {"FailIndex", {fail_index}, exited({Exited("x", 7)}), FailureAction::kFailIndex, ""},
      {"FailIndex unknown",
       {fail_index, not_in},
       exited({Exited("x", 7)}),
       FailureAction::kCount,
       "",
       false},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Objects objects;
    const JobSpec spec = objects.Spec({{"podFailurePolicy", {{"rules", row.rules}}}},
                                      {.backoff_limit_per_index = row.per_index_gate});
    const FailureMatch match = MatchFailurePolicy(spec, objects.Node(Pod("p", "Failed", row.pod)));
    EXPECT_EQ(match.action, row.want);
    EXPECT_EQ(match.message, row.message);
    EXPECT_EQ(match.Counts(), row.want != FailureAction::kIgnore);
  }
}

TEST(JobBackOff, CountsFailuresAfterTheLastSuccess) {
  using Times = std::vector<rules::WallTime>;
  const BackOffRecord two{2, At(50)};
  const struct {
    const char* name;
    BackOffRecord before;
    Times successes, failures;
    BackOffRecord want;
  } rows[] = {
      {"nothing new", two, {}, {}, two},
      {"failures add up", two, {}, {At(70), At(60)}, {4, At(70)}},
      {"a success ends it", two, {At(60)}, {}, {}},
      {"only those after the success count",
       two,
       {At(65), At(60)},
       {At(64), At(65), At(66), At(70)},
       {2, At(70)}},
      {"none after it", two, {At(65)}, {At(64)}, {}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(AfterFinished(row.before, row.successes, row.failures), row.want);
  }
}

TEST(JobBackOff, DoublesFromTenSecondsToTenMinutes) {
  const struct {
    int64_t failures;
    int64_t now;
    std::chrono::seconds want;
  } rows[] = {{0, 100, 0s},  {1, 100, 10s}, {1, 104, 6s},   {1, 110, 0s},    {1, 999, 0s},
              {2, 100, 20s}, {3, 100, 40s}, {7, 100, 600s}, {90, 100, 600s}, {1, 95, 15s}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.failures);
    EXPECT_EQ(RemainingBackOff(row.failures, At(100), At(row.now)), row.want);
  }
  EXPECT_EQ(RemainingBackOff(3, std::nullopt, At(0)), 0s);
}

TEST(JobIndexes, KnowsWhatSucceededFailedAndWaits) {
  Objects objects;
  const JobSpec spec = objects.Spec(IndexedSpec(6, {{"backoffLimitPerIndex", 1}}));
  const auto failures = [](const char* count) {
    return TestJson{{std::string(kIndexFailureCount), count}};
  };
  const TestJson no_finalizer{{"metadata", {{"finalizers", nullptr}}}};
  const std::vector<JobPod> pods =
      objects.Pods(spec, {Pod("done", "Succeeded", OfIndex("1")),
                          Merged(Pod("counted", "Succeeded", OfIndex("5")), no_finalizer),
                          Pod("beyond", "Succeeded", OfIndex("6")),
                          Pod("lost", "Failed", OfIndex("2", failures("1"))),
                          Pod("first", "Failed", OfIndex("3", failures("0"))),
                          Pod("again", "Running", OfIndex("4", failures("1"))),
                          Pod("replaced", "Failed", OfIndex("4", failures("0")))});
  const Indexes indexes =
      IndexesOf(spec, objects.Node({{"completedIndexes", "0"}, {"failedIndexes", ""}}), pods);
  EXPECT_EQ(indexes.previous.Text(), "0");
  EXPECT_EQ(indexes.succeeded.Text(), "0,1");
  ASSERT_TRUE(indexes.failed);
  EXPECT_EQ(indexes.failed->Text(), "2");
  ASSERT_EQ(indexes.delayed.size(), 1u);
  EXPECT_EQ(indexes.delayed.at(3)->name, "first");
  EXPECT_FALSE(IndexesOf(objects.Spec(IndexedSpec(6)), objects.Node(nullptr), pods).failed);
}

TEST(JobIndexes, FailByRuleOrByCount) {
  Objects objects;
  const TestJson rules{
      {{"action", "FailIndex"}, {"onExitCodes", {{"operator", "In"}, {"values", {7}}}}},
      {{"action", "Ignore"}, {"onExitCodes", {{"operator", "In"}, {"values", {8}}}}}};
  const JobSpec spec = objects.Spec(
      IndexedSpec(9, {{"backoffLimitPerIndex", 1}, {"podFailurePolicy", {{"rules", rules}}}}));
  const auto failed = [&](const char* index, int code, const char* count) {
    return Merged(Pod("p" + std::string(index), "Failed",
                      OfIndex(index, {{std::string(kIndexFailureCount), count}})),
                  {{"status", {{"containerStatuses", {Exited("c", code)}}}}});
  };
  const std::vector<JobPod> pods = objects.Pods(
      spec, {failed("0", 7, "0"), failed("1", 8, "5"), failed("2", 1, "0"), failed("3", 1, "1"),
             failed("4", 1, "-1"), failed("5", 1, "x"), failed("6", 1, "99999999999")});
  const Indexes indexes = IndexesOf(spec, objects.Node(nullptr), pods);
  EXPECT_EQ(indexes.failed->Text(), "0,3");
  EXPECT_EQ(FailuresAfter(spec, nullptr), (IndexFailures{0, 0}));
  EXPECT_EQ(FailuresAfter(spec, &pods[1]), (IndexFailures{5, 1}));
  EXPECT_EQ(FailuresAfter(spec, &pods[2]), (IndexFailures{1, 0}));
}

TEST(JobIndexes, KeepTheFailedPodThatSaysMost) {
  Objects objects;
  const JobSpec spec = objects.Spec(IndexedSpec(1, {{"backoffLimitPerIndex", 9}}));
  const auto failed = [&](const char* name, const char* count, const char* ignored, int64_t end) {
    return Merged(Pod(name, "Failed",
                      OfIndex("0", {{std::string(kIndexFailureCount), count},
                                    {std::string(kIndexIgnoredFailureCount), ignored}})),
                  ReadyAt(end, "False"));
  };
  const struct {
    const char* name;
    std::vector<TestJson> pods;
    const char* want;
  } rows[] = {
      {"more failures", {failed("a", "2", "0", 1), failed("b", "1", "0", 9)}, "a"},
      {"ignored ones count", {failed("a", "1", "0", 9), failed("b", "0", "2", 1)}, "b"},
      {"later", {failed("a", "1", "0", 9), failed("b", "1", "0", 8)}, "a"},
      {"last seen", {failed("a", "1", "0", 9), failed("b", "1", "0", 9)}, "b"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const std::vector<JobPod> pods = objects.Pods(spec, row.pods);
    const Indexes indexes = IndexesOf(spec, objects.Node(nullptr), pods);
    EXPECT_EQ(indexes.delayed.at(0)->name, row.want);
    for (const JobPod& pod : pods) EXPECT_EQ(IsDelayed(indexes, pod), pod.name == row.want);
  }
}

TEST(JobIndexes, PlanTheLowestThatMayStart) {
  Objects objects;
  const JobSpec spec = objects.Spec(IndexedSpec(6, {{"backoffLimitPerIndex", 9}}));
  const std::vector<JobPod> pods = objects.Pods(
      spec, {Pod("runs", "Running", OfIndex("1")),
             Pod("waits", "Failed", Merged(OfIndex("0"), ReadyAt(95, "False"))),
             Pod("going", "Running",
                 Merged(OfIndex("3"), {{"metadata", {{"deletionTimestamp", Time(90)}}}}))});
  const Indexes indexes = IndexesOf(spec, objects.Node({{"completedIndexes", "2"}}), pods);
  const auto plan = [&](int64_t count, int64_t now, const JobSpec& s) {
    return PlanIndexes(s, indexes, pods, count, At(now));
  };
  // One that backs off takes a place.
  EXPECT_THAT(plan(1, 100, spec).create, IsEmpty());
  EXPECT_EQ(plan(1, 100, spec).wait, 5s);
  EXPECT_THAT(plan(3, 100, spec).create, ElementsAre(3, 4));
  EXPECT_THAT(plan(1, 105, spec).create, ElementsAre(0));
  JobSpec strict = spec;
  strict.only_replace_failed = true;
  EXPECT_THAT(plan(9, 105, strict).create, ElementsAre(0, 4, 5)) << "3 is still terminating";
}

TEST(SuccessPolicy, IsMetByIndexesOrByCount) {
  const auto rule = [](const char* indexes, int count) {
    TestJson out = TestJson::object();
    if (*indexes != 0) out["succeededIndexes"] = indexes;
    if (count > 0) out["succeededCount"] = count;
    return out;
  };
  const struct {
    const char* name;
    std::vector<TestJson> rules;
    const char* succeeded;
    const char* want;
  } rows[] = {
      {"nothing succeeded", {rule("", 1)}, "", ""},
      {"all of the indexes", {rule("1-3", 0)}, "0-3", "Matched rules at index 0"},
      {"not all", {rule("1-3", 0)}, "1,3", ""},
      {"enough of them", {rule("1-3", 2)}, "1,3", "Matched rules at index 0"},
      {"not enough of them", {rule("1-3", 2)}, "0,1,4", ""},
      {"a count alone", {rule("", 3)}, "0,2,4", "Matched rules at index 0"},
      {"the second rule", {rule("4", 0), rule("", 1)}, "0", "Matched rules at index 1"},
      {"out of bounds is no rule", {rule("7-9", 0)}, "0", ""},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Objects objects;
    const TestJson policy{{"successPolicy", {{"rules", row.rules}}}};
    const JobSpec spec = objects.Spec(IndexedSpec(5, policy));
    const rules::IndexSet succeeded = rules::IndexSet::Parse(row.succeeded, 5);
    EXPECT_EQ(MatchSuccessPolicy(spec, succeeded).value_or(""), row.want);
    const JobSpec off = objects.Spec(IndexedSpec(5, policy), {.success_policy = false});
    EXPECT_EQ(MatchSuccessPolicy(off, succeeded), std::nullopt);
  }
}

TEST(JobRemoval, PrefersPodsThatDidLeast) {
  Objects objects;
  const JobSpec spec = objects.Spec(TestJson::object());
  const TestJson bound{{"spec", {{"nodeName", "n"}}}};
  const auto restarted = [](int n) {
    return TestJson{{"status", {{"containerStatuses", {{{"name", "c"}, {"restartCount", n}}}}}}};
  };
  const auto created = [](int64_t at) {
    return TestJson{{"metadata", {{"creationTimestamp", Time(at)}}}};
  };
  const auto running = [&](const char* name, const TestJson& more) {
    return Pod(name, "Running", Merged(bound, more));
  };
  std::vector<JobPod> pods = objects.Pods(
      spec, {running("old", Merged(ReadyAt(10), created(1))),
             running("young", Merged(ReadyAt(10), created(2))),
             running("restarted", Merged(Merged(ReadyAt(10), created(1)), restarted(3))),
             running("ready later", Merged(ReadyAt(20), created(1))),
             running("not ready", ReadyAt(5, "False")), Pod("pending", "Pending", bound),
             Pod("unknown", "Unknown", bound), Pod("unbound", "Running")});
  std::vector<const JobPod*> order = Pointers(pods);
  SortByDeletionPreference(order);
  EXPECT_THAT(NamesOf(order), ElementsAre("unbound", "pending", "unknown", "not ready",
                                          "ready later", "restarted", "young", "old"));
  EXPECT_THAT(NamesOf(PodsToRemove(spec, Pointers(pods), 6)), ElementsAre("unbound", "pending"));
  EXPECT_THAT(PodsToRemove(spec, Pointers(pods), 8), IsEmpty());
  EXPECT_EQ(PodsToRemove(spec, Pointers(pods), 0).size(), 8u);
}

TEST(JobRemoval, TakesSuperfluousIndexesFirst) {
  Objects objects;
  const JobSpec spec = objects.Spec(IndexedSpec(3));
  const TestJson bound{{"spec", {{"nodeName", "n"}}}};
  const std::vector<JobPod> pods = objects.Pods(
      spec, {Pod("0 bound", "Running", Merged(OfIndex("0"), bound)),
             Pod("0 unbound", "Pending", OfIndex("0")), Pod("1", "Running", OfIndex("1")),
             Pod("3", "Running", OfIndex("3")), Pod("none", "Running")});
  EXPECT_THAT(NamesOf(PodsToRemove(spec, Pointers(pods), 5)),
              ElementsAre("none", "0 unbound", "3"));
  EXPECT_THAT(NamesOf(PodsToRemove(spec, Pointers(pods), 1)),
              ElementsAre("none", "0 unbound", "3", "1"));
}

TEST(JobRemoval, WantsWhatIsLeftToDo) {
  Objects objects;
  const struct {
    const char* name;
    TestJson spec;
    int64_t active, succeeded, want;
  } rows[] = {
      {"parallelism", {{"parallelism", 2}, {"completions", 9}}, 0, 0, 2},
      {"the last ones", {{"parallelism", 4}, {"completions", 9}}, 4, 8, 1},
      {"too many succeeded", {{"parallelism", 4}, {"completions", 2}}, 1, 3, 0},
      {"a work queue", {{"parallelism", 3}}, 1, 0, 3},
      {"a work queue after a success", {{"parallelism", 3}}, 1, 1, 1},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(WantedActive(objects.Spec(row.spec), row.active, row.succeeded), row.want);
  }
}

TEST(JobMetrics, NameTheReasonOfACreation) {
  Objects objects;
  const JobSpec plain = objects.Spec(TestJson::object());
  const JobSpec strict = objects.Spec({{"podReplacementPolicy", "Failed"}});
  EXPECT_EQ(CreationReason(plain, 0, 0), "new");
  EXPECT_EQ(CreationReason(plain, 1, 0), "recreate_terminating_or_failed");
  EXPECT_EQ(CreationReason(plain, 0, 1), "recreate_terminating_or_failed");
  EXPECT_EQ(CreationReason(strict, 1, 0), "recreate_failed");
}

}  // namespace
}  // namespace kcm::pod::job
