// SPDX-License-Identifier: Apache-2.0
// A build of the probe plugin in C++ whose constructor throws, and one whose reconcile does: the
// SDK's edge turns both into codes.
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
#ifdef PROBE_THROW_CREATE
    throw std::runtime_error("can not read its configuration file /etc/probe.yaml: create it");
#endif
  }
  void OnChange(const sdk::Change& change) { context_.queue().Add(change.Key()); }
  sdk::Outcome Reconcile(sdk::Run&) { throw std::runtime_error("reconcile threw"); }

 private:
  sdk::Context& context_;
};

}  // namespace probe

KCM_PLUGIN("probe", "1.0.0", "tests", KCM_CONTROLLER(probe::Controller, probe::kDeclaration));
