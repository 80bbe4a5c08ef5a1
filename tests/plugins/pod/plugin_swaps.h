// SPDX-License-Identifier: Apache-2.0
// PluginSwaps: a run of the pod plugin in which no build gets further than one write: then it is
// replaced by the next.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "build_paths.h"
#include "harness/cluster.h"
#include "host/plugin/manager.h"
#include "plugins/pod/write_cut.h"

namespace kcm::harness {

class PluginSwaps {
 public:
  // What a build learns of its one write.
  enum class Answer : uint8_t {
    kArrives,  // that it is done; the next one fails
    kIsLost,   // nothing: the connection breaks after it was done
  };
  // `resource` and `name` are of the object that the controllers work for ("jobs", "j"). `kubelet`
  // does what is to be done to pods by now, by the test's own way to them.
  PluginSwaps(Cluster& cluster, WriteCut& cut, std::string resource, std::string name,
              std::function<void()> kubelet)
      : cluster_(cluster),
        cut_(cut),
        resource_(std::move(resource)),
        name_(std::move(name)),
        kubelet_(std::move(kubelet)) {}

  // Until the controllers rest. How many swaps that took.
  int AfterEachWrite(Answer answer) {
    const size_t heard = answer == Answer::kArrives ? 1 : 0;
    const int first = count_;
    for (;;) {
      const size_t before = cut_.asked().size();
      cut_.After(static_cast<int>(heard),
                 heard == 0 ? WriteCut::FaultKind::kDropAfter : WriteCut::FaultKind::kDropBefore);
      Touch();
      WaitForMoreThan(before + heard);
      const bool rests = cut_.asked().size() == before;
      Swap();
      cut_.Mend();
      cut_.Look();
      if (rests || ::testing::Test::HasFailure()) return count_ - first;
      if (count_ - first > 60) {
        ADD_FAILURE() << "the controllers do not come to rest: "
                      << ::testing::PrintToString(cut_.asked());
        return count_ - first;
      }
    }
  }

 private:
  // The build looks at once, not after the back-off that it inherits, and before the kubelet has
  // done what the build before asked for.
  void Touch() {
    cluster_.MergePatch(
        resource_, name_,
        {{"metadata", {{"annotations", {{"test.kcm/touched", std::to_string(count_)}}}}}});
    cluster_.Advance(500ms);
    cut_.Look();
  }
  // For longer than the longest back-off (1 000 s): it outlives the builds and grows with each of
  // them. What a build has asked for in its first look is left to the next to see: the kubelet
  // comes after that.
  void WaitForMoreThan(size_t writes) {
    std::chrono::milliseconds step{500};
    for (std::chrono::milliseconds passed{0}; passed < 1200s; passed += step) {
      if (cut_.asked().size() > writes) return;
      kubelet_();
      cluster_.Advance(step);
      cut_.Look();
      step = std::min<std::chrono::milliseconds>(step * 2, 60s);
    }
  }
  void Swap() {
    const std::string file = std::string(KCM_BUILD_DIR) +
                             (count_ % 2 == 0 ? "/probes/kcm-pod-other.so" : "/plugins/kcm-pod.so");
    std::atomic<bool> done{false};
    Status result = Ok();
    std::thread thread = host::clock::StartBusyThread(cluster_.clock(), [&] {
      result = cluster_.host().manager()->SwapFile(file);
      done = true;
    });
    cluster_.Until(
        "swap to " + file, [&] { return done.load(); }, 3min, 10ms);
    thread.join();
    if (!result.ok()) ADD_FAILURE() << result.error().message;
    ++count_;
  }

  Cluster& cluster_;
  WriteCut& cut_;
  const std::string resource_, name_;
  const std::function<void()> kubelet_;
  int count_ = 0;
};

}  // namespace kcm::harness
