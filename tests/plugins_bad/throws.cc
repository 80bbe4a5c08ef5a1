// SPDX-License-Identifier: Apache-2.0
// Builds of the probe plugin in C++ whose constructor throws (at once, or after it armed a timer),
// whose reconcile does, and whose condition of a wait does: the SDK's edge turns all into codes.
#include <atomic>
#include <chrono>
#include <stdexcept>

#include "kcm/sdk/controller.h"

namespace probe {
using namespace kcm;

constexpr sdk::Watch kWatches[] = {{.resource = "v1/configmaps", .flags = KCM_WATCH_METADATA_ONLY}};
constexpr sdk::Queue kQueues[] = {{.name = "probe", .workers = 2}};
inline constexpr sdk::Declaration kDeclaration{.name = "probe-controller",
                                               .client_name = "probe-controller",
                                               .watches = kWatches,
                                               .queues = kQueues};

class Controller {
 public:
  explicit Controller(sdk::Context& context) : context_(context) {
#ifdef PROBE_THROW_ARMED
    // Outlives the controller: a timer that fires too early must be seen, not crash.
    static std::atomic<bool> fired{false};
    (void)context_.clock().After(sdk::Duration(0), [] { fired = true; });
    (void)sdk::Run(context_, nullptr).Wait(std::chrono::seconds(1), [] { return fired.load(); });
    throw std::runtime_error(fired ? "its timer fired before create was over" : "its timer waits");
#endif
#ifdef PROBE_THROW_CREATE
    throw std::runtime_error("can not read its configuration file /etc/probe.yaml: create it");
#endif
  }
  void OnChange(const sdk::Change& change) { context_.queue().Add(change.Key()); }
  sdk::Outcome Reconcile([[maybe_unused]] sdk::Run& run) {
#ifdef PROBE_THROW_READY
    (void)run.Wait(std::chrono::seconds(1),
                   []() -> bool { throw std::runtime_error("condition threw"); });
#endif
    throw std::runtime_error("reconcile threw");
  }

 private:
  sdk::Context& context_;
};

}  // namespace probe

KCM_PLUGIN("probe", "1.0.0", "tests", KCM_CONTROLLER(probe::Controller, probe::kDeclaration));
