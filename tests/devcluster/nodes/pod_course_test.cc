// SPDX-License-Identifier: Apache-2.0
// What annotations make of a pod.
#include "devcluster/nodes/pod_course.h"

#include <gtest/gtest.h>

namespace kcm::devcluster::nodes {
namespace {

using namespace std::chrono_literals;
using host::clock::Duration;

TEST(PodCourse, FollowsTheAnnotations) {
  const struct {
    const char* name;
    Strings annotations;
    bool job;
    const char* index;
    bool ready_at_once;
    std::optional<Duration> ready_after, exit_after;
    int exit_code;
  } rows[] = {
      {"plain", {}, false, "", true, {}, {}, 0},
      {"ready later", {{"sim/ready-after", "1.5"}}, false, "", false, 1500ms, {}, 0},
      {"never ready wins",
       {{"sim/never-ready", "true"}, {"sim/ready-after", "1"}},
       false,
       "",
       false,
       {},
       {},
       0},
      {"nonsense is 0", {{"sim/ready-after", "soon"}}, false, "", true, {}, {}, 0},
      {"negative is 0", {{"sim/ready-after", "-3"}}, false, "", true, {}, {}, 0},
      {"exit", {{"sim/exit-after", "2"}, {"sim/exit-code", "4"}}, false, "", true, {}, 2s, 4},
      {"job", {}, true, "", true, {}, 1s, 0},
      {"job that runs on", {{"sim/run-forever", "true"}}, true, "", true, {}, {}, 0},
      {"by index", {{"sim/exit-code-by-index", "1=3,12=5"}}, true, "12", true, {}, 1s, 5},
      {"index not listed",
       {{"sim/exit-code-by-index", "12=5"}, {"sim/exit-code", "2"}},
       true,
       "2",
       true,
       {},
       1s,
       2},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Pod pod;
    pod.annotations = row.annotations;
    pod.owned_by_job = row.job;
    pod.completion_index = row.index;
    const PodCourse c = CourseOf(pod);
    EXPECT_EQ(c.ready_at_once, row.ready_at_once);
    EXPECT_EQ(c.ready_after, row.ready_after);
    EXPECT_EQ(c.exit_after, row.exit_after);
    EXPECT_EQ(c.exit_code, row.exit_code);
  }
}

TEST(PodCourse, EndsOfContainers) {
  const struct {
    const char* name;
    Strings annotations;
    int code;
    const char* reason;
    int sidekick_code;
    const char* sidekick_reason;
  } rows[] = {
      {"all well", {}, 0, "Completed", 0, "Completed"},
      {"one code for all", {{"sim/exit-code", "2"}}, 2, "Error", 2, "Error"},
      {"out of memory", {{"sim/exit-reason", "OOMKilled"}}, 137, "OOMKilled", 137, "OOMKilled"},
      {"one of its own", {{"sim/exit-code.sidekick", "3"}}, 0, "Completed", 3, "Error"},
      {"one out of memory",
       {{"sim/exit-reason.sidekick", "OOMKilled"}, {"sim/exit-code", "1"}},
       1,
       "Error",
       137,
       "OOMKilled"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Pod pod;
    pod.annotations = row.annotations;
    pod.containers = {{"main", "i"}, {"sidekick", "i"}};
    const PodCourse c = CourseOf(pod);
    ASSERT_EQ(c.ends.size(), 2u);
    EXPECT_EQ(c.ends[0].code, row.code);
    EXPECT_EQ(c.ends[0].reason, row.reason);
    EXPECT_EQ(c.ends[1].code, row.sidekick_code);
    EXPECT_EQ(c.ends[1].reason, row.sidekick_reason);
  }
}

TEST(PodCourse, RestartsWhereThePolicyAllowsThem) {
  const struct {
    const char *policy, *code;
    bool restarts;
  } rows[] = {{"Always", "0", true},
              {"OnFailure", "1", true},
              {"OnFailure", "0", false},
              {"Never", "1", false}};
  for (const auto& row : rows) {
    SCOPED_TRACE(std::string(row.policy) + row.code);
    Pod pod;
    pod.restart_policy = row.policy;
    pod.containers = {{"c", "i"}};
    pod.annotations = {
        {"sim/restart-after", "5"}, {"sim/exit-code", row.code}, {"sim/restarts", "2"}};
    const PodCourse c = CourseOf(pod);
    EXPECT_EQ(c.restart_after.has_value(), row.restarts);
    EXPECT_EQ(c.exit_after.has_value(), !row.restarts);
    EXPECT_EQ(c.restarts, row.restarts ? 2 : 0);
  }
}

TEST(PodCourse, BackOffDoublesUpToFiveMinutes) {
  EXPECT_EQ(RestartDelay(1), 0s);
  EXPECT_EQ(RestartDelay(2), 10s);
  EXPECT_EQ(RestartDelay(3), 20s);
  EXPECT_EQ(RestartDelay(6), 160s);
  EXPECT_EQ(RestartDelay(7), 300s);
  EXPECT_EQ(RestartDelay(1000), 300s);
}

TEST(DeletionTime, IsAskedForOrTheGracePeriod) {
  Pod pod;
  pod.grace_seconds = 30;
  EXPECT_EQ(DeletionTime(pod), 0s);
  pod.annotations = {{"sim/delete-after", "2"}};
  EXPECT_EQ(DeletionTime(pod), 2s);
  pod.annotations = {{"sim/delete-after", "grace"}};
  EXPECT_EQ(DeletionTime(pod), 30s);
}

}  // namespace
}  // namespace kcm::devcluster::nodes
