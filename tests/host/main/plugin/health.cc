// SPDX-License-Identifier: Apache-2.0
// A plugin for tests whose controller counts how often the host asks for its health.
#include "kcm/sdk/controller.h"

namespace kcm::testing {

constexpr sdk::Queue kQueues[] = {{.name = "patient", .workers = 1}};
inline constexpr sdk::Declaration kDeclaration{
    .name = "patient-controller", .client_name = "patient-controller", .queues = kQueues};

class Patient {
 public:
  explicit Patient(sdk::Context& context)
      : asked_(context.DefineMetric({.name = "test_health_asked_total",
                                     .help = "How often the host asked for the health."})) {}

  void OnChange(const sdk::Change&) {}
  sdk::Outcome Reconcile(sdk::Run&) { return sdk::Outcome::Done(); }

  Status Health() {
    asked_.Add();
    return Ok();
  }

 private:
  sdk::Metric asked_;
};

}  // namespace kcm::testing

KCM_PLUGIN("test-health", "1.0.0", "kcm-host tests",
           KCM_CONTROLLER(kcm::testing::Patient, kcm::testing::kDeclaration));
