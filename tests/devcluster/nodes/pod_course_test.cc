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

}  // namespace
}  // namespace kcm::devcluster::nodes
