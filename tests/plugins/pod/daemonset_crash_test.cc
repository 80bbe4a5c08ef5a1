// SPDX-License-Identifier: Apache-2.0
// daemonset-controller cut off in the middle of its work (spec/pod-workloads.md section 6): after n
// of its writes it loses the server, is ended and started anew, for every n until it gets through.
#include "plugins/pod/daemon_workloads.h"
#include "plugins/pod/write_cut.h"

namespace kcm::harness {
namespace {

enum class DaemonWork : uint8_t { kCreate, kUpdate, kSurge };
struct DaemonCutCase {
  const char* name;
  DaemonWork work;
  // Whether the write on which the connection breaks is done: nobody learns of it.
  WriteCut::FaultKind cut;
};
std::ostream& operator<<(std::ostream& out, const DaemonCutCase& c) { return out << c.name; }

// What the controller writes. The kubelet of these tests takes other paths, or a query.
constexpr char kDaemonWrites[] =
    "^/api/v1/namespaces/default/pods(/[a-z0-9-]+)?$|"
    "^/apis/apps/v1/namespaces/default/(controllerrevisions(/[a-z0-9-]+)?|daemonsets/d/status)$";

class DaemonSetCut : public DaemonWorkloads, public ::testing::WithParamInterface<DaemonCutCase> {
 protected:
  DaemonSetCut()
      : DaemonWorkloads({.plugins = {"pod"}, .start_host = false, .nodes = 0, .scheduler = false}) {
    CreateNodes(3);
  }
  static bool Is(DaemonWork work) { return GetParam().work == work; }
  // Pods have no names before they are made: by the node they are made for.
  static std::string NameOf(const Json& body) {
    return body["kind"] == "Pod" ? NodeOf(body) : "revision";
  }

  // Starts what is there, ends what is to go. False: there was nothing to do.
  bool ActAsKubelet() {
    bool busy = false;
    for (const Json& pod : PodsSeen(cluster)) {
      if (!IsDeleting(pod) && IsReady(pod)) continue;
      busy = true;
      IsDeleting(pod) ? EndPod(cluster, Name(pod)) : Start(pod);
    }
    return busy;
  }

  void Prepare() {
    cluster.StartHost();
    if (!Is(DaemonWork::kCreate))
      CreateReady(Daemon(Is(DaemonWork::kSurge) ? Rolling(0, 1) : Rolling(1)));
    for (const Json& pod : PodsOf("d")) before_[NodeOf(pod)] = Name(pod);
    ASSERT_EQ(before_.size(), Is(DaemonWork::kCreate) ? 0u : 3u);
  }
  void Begin() {
    if (Is(DaemonWork::kCreate)) {
      cluster.Create(Daemon());
      return;
    }
    cluster.MergePatch("daemonsets", "d",
                       {{"spec", {{"template", PodTemplate({{"app", "x"}}, "nginx:2")}}}});
  }

  // Whether the cut came before the work was done.
  bool RunCutAfter(int writes) {
    before_.clear();
    Prepare();
    return cut_.RunCutAfter(
        writes, GetParam().cut, [&] { Begin(); }, [&] { Settle(); }, [&] { return ActAsKubelet(); },
        [&] {
          Settle();
          PlayToTheEnd();
        });
  }

  void ExpectTheEnd() {
    const bool updated = !Is(DaemonWork::kCreate);
    const Json set = SetNow();
    EXPECT_EQ(set["status"], (Json{{"observedGeneration", set["metadata"]["generation"]},
                                   {"currentNumberScheduled", 3},
                                   {"desiredNumberScheduled", 3},
                                   {"updatedNumberScheduled", 3},
                                   {"numberMisscheduled", 0},
                                   {"numberReady", 3},
                                   {"numberAvailable", 3}}));
    EXPECT_EQ(Revisions().size(), updated ? 2u : 1u);
    EXPECT_EQ(cluster.List("pods").size(), 3u);
    for (const char* node : {"n1", "n2", "n3"}) {
      SCOPED_TRACE(node);
      const Json pod = PodOn(node);
      EXPECT_EQ(ImageOf(pod), updated ? "nginx:2" : "nginx:1");
      // Once, however often it was tried. A pod that is on its way out may be deleted again: the
      // count of expected deletions is not per pod, so a late event may lower a later one.
      EXPECT_EQ(cut_.Done("POST", node), 1);
      if (updated) {
        EXPECT_GE(cut_.Done("DELETE", before_[node]), 1);
      }
    }
    EXPECT_EQ(cut_.Done("POST", "revision"), 1);
    EXPECT_EQ(cut_.Distinct("DELETE "), updated ? 3u : 0u);
  }

  // For the next run: nothing is left of this one.
  void CleanUp() {
    EXPECT_EQ(cluster.StopHost(), 0);
    cluster.Delete("daemonsets", "d", {{"propagationPolicy", "Background"}});
    for (const Json& pod : cluster.List("pods")) Gone(Name(pod));
    for (const Json& revision : cluster.List("controllerrevisions"))
      cluster.Delete("controllerrevisions", Name(revision));
  }

  WriteCut cut_{cluster, kDaemonWrites, &DaemonSetCut::NameOf};
  std::map<std::string, std::string> before_;  // node: name of its pod before the work began
};

TEST_P(DaemonSetCut, EverythingIsDoneOnce) {
  cut_.AfterEachWrite(
      Is(DaemonWork::kCreate) ? 5u : 8u, [this](int writes) { return RunCutAfter(writes); },
      [this] { ExpectTheEnd(); }, [this] { CleanUp(); });
}

INSTANTIATE_TEST_SUITE_P(
    AfterEachWrite, DaemonSetCut,
    ::testing::Values(
        DaemonCutCase{"CreateUndone", DaemonWork::kCreate, WriteCut::FaultKind::kDropBefore},
        DaemonCutCase{"CreateDone", DaemonWork::kCreate, WriteCut::FaultKind::kDropAfter},
        DaemonCutCase{"UpdateUndone", DaemonWork::kUpdate, WriteCut::FaultKind::kDropBefore},
        DaemonCutCase{"UpdateDone", DaemonWork::kUpdate, WriteCut::FaultKind::kDropAfter},
        DaemonCutCase{"SurgeUndone", DaemonWork::kSurge, WriteCut::FaultKind::kDropBefore},
        DaemonCutCase{"SurgeDone", DaemonWork::kSurge, WriteCut::FaultKind::kDropAfter}),
    [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace kcm::harness
