// SPDX-License-Identifier: Apache-2.0
// statefulset-controller whose plugin is swapped after each of its writes (spec/pod-workloads.md
// section 5; spec/host.md, swaps): no build gets further than one write.
#include "plugins/pod/plugin_swaps.h"
#include "plugins/pod/stateful_workloads.h"
#include "plugins/pod/write_cut.h"

namespace kcm::harness {
namespace {

struct SetSwapCase {
  const char* name;
  const char* policy;
  PluginSwaps::Answer answer;
};
std::ostream& operator<<(std::ostream& out, const SetSwapCase& c) { return out << c.name; }

constexpr char kSetWrites[] =
    "^/api/v1/namespaces/default/(pods|persistentvolumeclaims)(/[a-z0-9-]+)?$|"
    "^/apis/apps/v1/namespaces/default/(controllerrevisions(/[a-z0-9-]+)?|statefulsets/web/"
    "status)$";

class StatefulSetSwapped : public StatefulWorkloads,
                           public ::testing::WithParamInterface<SetSwapCase> {
 protected:
  // Starts what is there, ends what is to go.
  void ActAsKubelet() {
    for (const Json& pod : PodsSeen(cluster)) {
      if (IsDeleting(pod)) {
        EndPod(cluster, Name(pod));
      } else if (!IsReady(pod)) {
        if (!pod["spec"].contains("nodeName")) cluster.Bind(Name(pod), "n1");
        cluster.MakeReady(Name(pod));
      }
    }
  }
  int SwapAfterEachWrite() { return swaps_.AfterEachWrite(GetParam().answer); }
  void ExpectWeb(int replicas, const std::string& image) {
    const Json set = WebNow();
    const std::map<int, std::string> revisions = Revisions();
    ASSERT_FALSE(revisions.empty());
    EXPECT_EQ(set["status"], (Json{{"observedGeneration", set["metadata"]["generation"]},
                                   {"replicas", replicas},
                                   {"readyReplicas", replicas},
                                   {"availableReplicas", replicas},
                                   {"currentReplicas", replicas},
                                   {"updatedReplicas", replicas},
                                   {"currentRevision", revisions.rbegin()->second},
                                   {"updateRevision", revisions.rbegin()->second},
                                   {"collisionCount", 0}}));
    EXPECT_EQ(cluster.List("pods").size(), static_cast<size_t>(replicas));
    for (const Json& pod : cluster.List("pods")) EXPECT_EQ(ImageOf(pod), image) << Name(pod);
    EXPECT_EQ(Claims(), (Names{"data-web-0", "data-web-1", "data-web-2"}));
  }

  WriteCut cut_{cluster, kSetWrites, &StatefulSetSwapped::Name};
  PluginSwaps swaps_{cluster, cut_, "statefulsets", "web", [this] { ActAsKubelet(); }};
};

TEST_P(StatefulSetSwapped, EverythingIsDoneOnce) {
  Json spec = Retention("Delete", "Delete");
  spec["podManagementPolicy"] = GetParam().policy;
  cluster.Create(Web(3, spec));
  // A revision, three claims and as many pods, and what the status says of it at least once.
  EXPECT_GE(SwapAfterEachWrite(), 8);
  ExpectWeb(3, "nginx:1");
  EXPECT_EQ(Revisions().size(), 1u);
  for (const char* pod : {"web-0", "web-1", "web-2"}) {
    EXPECT_EQ(cut_.Done("POST", pod), 1) << pod;
    EXPECT_EQ(cut_.Done("POST", std::string("data-") + pod), 1) << pod;
    EXPECT_EQ(cut_.Done("DELETE", pod), 0) << pod;
  }

  cut_.Forget();
  cluster.MergePatch("statefulsets", "web",
                     {{"spec", {{"template", PodTemplate({{"app", "x"}}, "nginx:2")}}}});
  // A revision, three pods deleted and made anew, and the status.
  EXPECT_GE(SwapAfterEachWrite(), 8);
  ExpectWeb(3, "nginx:2");
  EXPECT_EQ(Revisions().size(), 2u);
  for (const char* pod : {"web-0", "web-1", "web-2"}) {
    EXPECT_EQ(cut_.Done("POST", pod), 1) << pod;
    EXPECT_EQ(cut_.Done("DELETE", pod), 1) << pod;
  }
  EXPECT_EQ(cut_.DoneAll("POST data-"), 0);

  cut_.Forget();
  cluster.MergePatch("statefulsets", "web", {{"spec", {{"replicas", 1}}}});
  // Two claims get their pods as owners, two pods go, and the status says so.
  EXPECT_GE(SwapAfterEachWrite(), 5);
  ExpectWeb(1, "nginx:2");
  EXPECT_EQ(cut_.Done("DELETE", "web-2"), 1);
  EXPECT_EQ(cut_.Done("DELETE", "web-1"), 1);
  EXPECT_EQ(cut_.Done("DELETE", "web-0"), 0);
  EXPECT_EQ(cut_.DoneAll("POST "), 0);
  EXPECT_EQ(cut_.DoneAll("DELETE "), 2);
}

INSTANTIATE_TEST_SUITE_P(
    AfterEachWrite, StatefulSetSwapped,
    ::testing::Values(SetSwapCase{"AnswerArrives", "OrderedReady", PluginSwaps::Answer::kArrives},
                      SetSwapCase{"AnswerIsLost", "OrderedReady", PluginSwaps::Answer::kIsLost},
                      SetSwapCase{"ParallelAnswerIsLost", "Parallel",
                                  PluginSwaps::Answer::kIsLost}),
    [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace kcm::harness
