// SPDX-License-Identifier: Apache-2.0
// job-controller whose plugin is swapped after each of its writes (spec/pod-batch.md section 1;
// spec/host.md, swaps): no build gets further than one write.
#include "plugins/pod/job_runs.h"
#include "plugins/pod/plugin_swaps.h"
#include "plugins/pod/write_cut.h"

namespace kcm::harness {
namespace {

struct JobSwapCase {
  const char* name;
  Json spec;
  PluginSwaps::Answer answer;
};
std::ostream& operator<<(std::ostream& out, const JobSwapCase& c) { return out << c.name; }

// What the controller writes. The kubelet of these tests takes other paths, and what the host reads
// of a create without an answer has a query.
constexpr char kJobWrites[] =
    "^/api/v1/namespaces/default/pods(/j-[a-z0-9-]+)?$|"
    "^/apis/batch/v1/namespaces/default/jobs/j/status$";

class JobSwapped : public Jobs, public ::testing::WithParamInterface<JobSwapCase> {
 protected:
  // All pods end at once, the very first of them with an error.
  void EndPods() {
    for (const Json& pod : PodsSeen(cluster)) {
      const std::string phase = pod["status"].value("phase", "");
      if (IsDeleting(pod) || phase == "Succeeded" || phase == "Failed") continue;
      End(Name(pod), ended_.empty() ? 1 : 0);
      ended_.insert(Name(pod));
    }
  }
  int SwapAfterEachWrite() { return swaps_.AfterEachWrite(GetParam().answer); }

  std::set<std::string> ended_;
  WriteCut cut_{cluster, kJobWrites, [](const Json&) { return std::string("pod"); }};
  PluginSwaps swaps_{cluster, cut_, "jobs", "j", [this] { EndPods(); }};
};

TEST_P(JobSwapped, NothingIsCreatedOrCountedTwice) {
  AlignToSecond();
  cluster.Create(Manifest(GetParam().spec));
  // Five pods are made and released, and the status is written: three times at least.
  EXPECT_GE(SwapAfterEachWrite(), 13);
  EXPECT_TRUE(Is("Complete"));
  EXPECT_EQ(N("succeeded"), 4);
  EXPECT_EQ(N("failed"), 1);
  EXPECT_EQ(N("active"), 0);
  EXPECT_EQ(S()["uncountedTerminatedPods"], Json::object());
  EXPECT_EQ(cut_.Done("POST", "pod"), 5);
  EXPECT_EQ(cut_.DoneAll("DELETE "), 0);
  EXPECT_EQ(cluster.List("pods").size(), 5u);
  for (const Json& pod : cluster.List("pods")) {
    EXPECT_FALSE(IsTracked(pod)) << Name(pod);
    EXPECT_EQ(cut_.Done("PATCH", Name(pod)), 1) << "the finalizer of " << Name(pod);
  }
  if (S().contains("completedIndexes")) {
    EXPECT_EQ(S()["completedIndexes"], "0-3");
  }
}

INSTANTIATE_TEST_SUITE_P(
    AfterEachWrite, JobSwapped,
    ::testing::Values(JobSwapCase{"AnswerArrives",
                                  {{"parallelism", 2}, {"completions", 4}, {"backoffLimit", 6}},
                                  PluginSwaps::Answer::kArrives},
                      JobSwapCase{"AnswerIsLost",
                                  {{"parallelism", 2}, {"completions", 4}, {"backoffLimit", 6}},
                                  PluginSwaps::Answer::kIsLost},
                      JobSwapCase{"IndexedAnswerIsLost",
                                  {{"parallelism", 2},
                                   {"completions", 4},
                                   {"completionMode", "Indexed"},
                                   {"backoffLimit", 6}},
                                  PluginSwaps::Answer::kIsLost}),
    [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace kcm::harness
