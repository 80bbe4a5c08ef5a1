// SPDX-License-Identifier: Apache-2.0
// A plugin for tests with a controller called job-controller: one pod for every Job. What it is
// about is the host: which controllers it runs, how often it asks one for its health.
#include <string>

#include "kcm/sdk/controller.h"

namespace kcm::testing {

constexpr sdk::Resource kPods{"", "v1", "pods", "Pod"};
constexpr std::string_view kFields[] = {"metadata.name"};
constexpr sdk::Watch kWatches[] = {{.resource = "batch/v1/jobs", .fields = kFields}};
constexpr sdk::Queue kQueues[] = {{.name = "job", .workers = 1}};
constexpr std::string_view kAliases[] = {"job"};
inline constexpr sdk::Declaration kDeclaration{.name = "job-controller",
                                               .aliases = kAliases,
                                               .client_name = "job-controller",
                                               .watches = kWatches,
                                               .queues = kQueues};

class Jobs {
 public:
  explicit Jobs(sdk::Context& context)
      : context_(context),
        asked_(context.DefineMetric({.name = "test_health_asked_total",
                                     .help = "How often the host asked for the health."})) {}

  void OnChange(const sdk::Change& change) {
    if (change.type() != sdk::Change::Type::kDelete) context_.queue().Add(change.Key());
  }

  sdk::Outcome Reconcile(sdk::Run& run) {
    const std::string key(run.key());
    const size_t slash = key.find('/');
    const std::string name = key.substr(slash + 1);
    const Result<sdk::WholeRef> made = run.client().CreateText(
        kPods, key.substr(0, slash),
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
            R"("},"spec":{"containers":[{"name":"c","image":"nginx:1"}]}})");
    if (made.ok() || made.code() == Code::kAlreadyExists) return sdk::Outcome::Done();
    return sdk::Outcome::Retry(made.error());
  }

  Status Health() {
    asked_.Add();
    return Ok();
  }

 private:
  sdk::Context& context_;
  sdk::Metric asked_;
};

}  // namespace kcm::testing

KCM_PLUGIN("test-jobs", "1.0.0", "kcm-host tests",
           KCM_CONTROLLER(kcm::testing::Jobs, kcm::testing::kDeclaration));
