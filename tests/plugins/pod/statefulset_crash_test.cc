// SPDX-License-Identifier: Apache-2.0
// statefulset-controller cut off in the middle of its work (spec/pod-workloads.md section 5): after
// n of its writes it loses the server, is ended and started anew, for every n until it gets
// through.
#include "plugins/pod/stateful_workloads.h"
#include "plugins/pod/write_cut.h"

namespace kcm::harness {
namespace {

using FaultKind = WriteCut::FaultKind;

enum class Work : uint8_t { kCreate, kScaleDown, kUpdate };
struct CutCase {
  const char* name;
  Work work;
  const char* policy;
  // Whether the write on which the connection breaks is done: nobody learns of it.
  FaultKind cut;
};
std::ostream& operator<<(std::ostream& out, const CutCase& c) { return out << c.name; }

// What the controller writes. The kubelet of these tests takes other paths, or a query.
constexpr char kWritten[] =
    "^/api/v1/namespaces/default/(pods|persistentvolumeclaims)(/[a-z0-9-]+)?$|"
    "^/apis/apps/v1/namespaces/default/(controllerrevisions(/[a-z0-9-]+)?|statefulsets/web/"
    "status)$";

class StatefulSetCut : public StatefulWorkloads, public ::testing::WithParamInterface<CutCase> {
 protected:
  StatefulSetCut()
      : StatefulWorkloads(
            {.plugins = {"pod"}, .start_host = false, .nodes = 0, .scheduler = false}) {}

  // ---- the kubelet, while requests of the controller may be broken ----

  // Starts what is there, ends what is to go. False: there was nothing to do.
  bool ActAsKubelet() {
    bool busy = false;
    for (const Json& pod : PodsSeen(cluster)) {
      if (!IsDeleting(pod) && IsReady(pod)) continue;
      busy = true;
      if (IsDeleting(pod)) {
        EndPod(cluster, Name(pod));
        continue;
      }
      if (!pod["spec"].contains("nodeName")) cluster.Bind(Name(pod), "n1");
      cluster.MakeReady(Name(pod));
    }
    return busy;
  }

  // ---- one run ----

  static Json Original() {
    Json spec = Retention("Delete", "Delete");
    spec["podManagementPolicy"] = GetParam().policy;
    return Web(3, spec);
  }
  static bool Is(Work work) { return GetParam().work == work; }

  void Prepare() {
    cluster.StartHost();
    if (Is(Work::kCreate)) return;
    CreateReady(Original());
    for (const std::string& claim : Claims())
      claims_[claim] = UidOf(cluster.Get("persistentvolumeclaims", claim));
    for (const Json& pod : PodsOf("web")) pods_[Name(pod)] = UidOf(pod);
    ASSERT_EQ(claims_.size(), 3u);
  }
  void Begin() {
    const auto patch = [&](const Json& spec) {
      cluster.MergePatch("statefulsets", "web", {{"spec", spec}});
    };
    if (Is(Work::kCreate)) cluster.Create(Original());
    if (Is(Work::kScaleDown)) patch({{"replicas", 1}});
    if (Is(Work::kUpdate)) patch({{"template", PodTemplate({{"app", "x"}}, "nginx:2")}});
  }

  // Whether the cut came before the work was done.
  bool RunCutAfter(int writes) {
    claims_.clear();
    pods_.clear();
    Prepare();
    return cut_.RunCutAfter(
        writes, GetParam().cut, [&] { Begin(); }, [&] { Settle(); }, [&] { return ActAsKubelet(); },
        [&] { PlayKubelet(); });
  }

  // ---- what is left ----

  void ExpectTheEnd() {
    const int replicas = Is(Work::kScaleDown) ? 1 : 3;
    const Json set = WebNow(), status = set["status"];
    const std::map<int, std::string> revisions = Revisions();
    const std::string newest = revisions.empty() ? "" : revisions.rbegin()->second;
    EXPECT_EQ(revisions.size(), Is(Work::kUpdate) ? 2u : 1u);
    EXPECT_EQ(revisions.rbegin()->first, Is(Work::kUpdate) ? 2 : 1);
    EXPECT_EQ(status, (Json{{"observedGeneration", set["metadata"]["generation"]},
                            {"replicas", replicas},
                            {"readyReplicas", replicas},
                            {"availableReplicas", replicas},
                            {"currentReplicas", replicas},
                            {"updatedReplicas", replicas},
                            {"currentRevision", newest},
                            {"updateRevision", newest},
                            {"collisionCount", 0}}));
    ASSERT_EQ(cluster.List("pods").size(), static_cast<size_t>(replicas));
    for (int i = 0; i < 3; ++i) ExpectPlace(i, set, newest);
    EXPECT_EQ(Claims(), (Names{"data-web-0", "data-web-1", "data-web-2"}));
    EXPECT_EQ(cut_.DoneAll("DELETE data-"), 0);
    EXPECT_EQ(cut_.DoneAll("POST web-"), Is(Work::kScaleDown) ? 0 : 4) << "three pods, a revision";
  }
  void ExpectPlace(int ordinal, const Json& set, const std::string& revision) {
    const std::string pod = "web-" + std::to_string(ordinal), claim = "data-" + pod;
    SCOPED_TRACE(pod);
    const bool goes = Is(Work::kScaleDown) && ordinal > 0;
    const bool is_new = !Is(Work::kScaleDown);
    // In every respect once, however often it was tried.
    EXPECT_EQ(cut_.Done("POST", pod), is_new ? 1 : 0);
    EXPECT_EQ(cut_.Done("DELETE", pod), goes || Is(Work::kUpdate) ? 1 : 0);
    EXPECT_EQ(cut_.Done("POST", claim), Is(Work::kCreate) ? 1 : 0);
    const Json claimed = cluster.Get("persistentvolumeclaims", claim);
    EXPECT_FALSE(IsDeleting(claimed));
    if (!Is(Work::kCreate)) {
      EXPECT_EQ(UidOf(claimed), claims_[claim]);
    }
    Json owner = OwnerOf("apps/v1", "StatefulSet", set);
    if (goes) owner = OwnerOf("v1", "Pod", {{"metadata", {{"name", pod}, {"uid", pods_[pod]}}}});
    EXPECT_EQ(ClaimOwners(claim), Json::array({owner}));
    if (goes) return;
    const Json now = cluster.Get("pods", pod);
    EXPECT_EQ(now["metadata"]["labels"]["controller-revision-hash"], revision);
    EXPECT_EQ(ImageOf(now), Is(Work::kUpdate) ? "nginx:2" : "nginx:1");
    if (Is(Work::kScaleDown)) {
      EXPECT_EQ(UidOf(now), pods_[pod]);
    }
  }

  // For the next run: nothing is left of this one.
  void CleanUp() {
    EXPECT_EQ(cluster.StopHost(), 0);
    cluster.Delete("statefulsets", "web", {{"propagationPolicy", "Background"}});
    for (const Json& pod : cluster.List("pods")) Gone(Name(pod));
    for (const std::string& claim : Claims()) RemoveClaim(claim);
    for (const Json& revision : cluster.List("controllerrevisions"))
      cluster.Delete("controllerrevisions", Name(revision));
  }

  WriteCut cut_{cluster, kWritten, &StatefulSetCut::Name};
  std::map<std::string, std::string> claims_, pods_;  // uids before the work began
};

TEST_P(StatefulSetCut, EverythingIsDoneOnce) {
  cut_.AfterEachWrite(
      Is(Work::kScaleDown) ? 6u : 9u, [this](int writes) { return RunCutAfter(writes); },
      [this] { ExpectTheEnd(); }, [this] { CleanUp(); });
}

INSTANTIATE_TEST_SUITE_P(
    AfterEachWrite, StatefulSetCut,
    ::testing::Values(
        CutCase{"CreateUndone", Work::kCreate, "OrderedReady", FaultKind::kDropBefore},
        CutCase{"CreateDone", Work::kCreate, "OrderedReady", FaultKind::kDropAfter},
        CutCase{"ScaleDownUndone", Work::kScaleDown, "OrderedReady", FaultKind::kDropBefore},
        CutCase{"ScaleDownDone", Work::kScaleDown, "OrderedReady", FaultKind::kDropAfter},
        CutCase{"UpdateUndone", Work::kUpdate, "OrderedReady", FaultKind::kDropBefore},
        CutCase{"UpdateDone", Work::kUpdate, "OrderedReady", FaultKind::kDropAfter},
        CutCase{"ParallelCreateDone", Work::kCreate, "Parallel", FaultKind::kDropAfter},
        CutCase{"ParallelScaleDownDone", Work::kScaleDown, "Parallel", FaultKind::kDropAfter}),
    [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace kcm::harness
