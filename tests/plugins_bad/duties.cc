// SPDX-License-Identifier: Apache-2.0
// A plugin in C++ whose builds and ConfigMaps show what a host owes a controller beside reconciles:
// tasks, resyncs, watches at run time, identity. ConfigMaps that matter, by name:
//   "deaf"      the task waits an hour and does not listen to cancellation
//   "patient"   the task waits until it is asked to end
//   "stuck"     its reconcile waits an hour and does not listen to cancellation
//   "secrets"   a watch of secrets runs as long as it is there; its events end it when "from-event"
//               is there, too
// Every other ConfigMap is stamped with the build's id and gets an Event.
//   DUTIES_BUILD, DUTIES_NAME   build id; name of client and event source
//   DUTIES_RESYNC_S             resync period of the watch in seconds
//   DUTIES_REQUIRES_JOBS        batch/v1/jobs must be served
#include <chrono>
#include <mutex>
#include <optional>

#include "kcm/sdk/controller.h"

#ifndef DUTIES_BUILD
#define DUTIES_BUILD "a"
#endif
#ifndef DUTIES_NAME
#define DUTIES_NAME "duties-a"
#endif
#ifndef DUTIES_RESYNC_S
#define DUTIES_RESYNC_S 0
#endif

namespace duties {
using namespace kcm;
using namespace std::chrono_literals;

constexpr sdk::MaskedWatch kConfigMaps{0};
constexpr sdk::Resource kResource{"", "v1", "configmaps", "ConfigMap"};
constexpr sdk::Watch kWatches[] = {{.resource = "v1/configmaps",
                                    .flags = KCM_WATCH_METADATA_ONLY,
                                    .resync_ns = DUTIES_RESYNC_S * INT64_C(1000000000)}};
constexpr sdk::Queue kQueues[] = {{.name = "duties", .workers = 2}};
constexpr sdk::Task kTasks[] = {
    {.name = "sweep", .period_ns = INT64_C(60000000000), .first_after_ns = INT64_C(5000000000)}};
#ifdef DUTIES_REQUIRES_JOBS
constexpr std::string_view kRequired[] = {"batch/v1/jobs"};
#endif
inline constexpr sdk::Declaration kDeclaration{.name = "duties-controller",
                                               .client_name = DUTIES_NAME,
                                               .event_source = DUTIES_NAME,
#ifdef DUTIES_REQUIRES_JOBS
                                               .required_resources = kRequired,
#endif
                                               .watches = kWatches,
                                               .queues = kQueues,
                                               .tasks = kTasks};

class Controller {
 public:
  explicit Controller(sdk::Context& context) : context_(context) {}

  void OnChange(const sdk::Change& change) {
    if (change.resync())
      context_.log().Info(0, "Resync", {{"object", change.Key()}, {"build", DUTIES_BUILD}});
    if (change.watch() == kConfigMaps.number) {
      context_.queue().Add(change.Key());
    } else if (Exists("default/from-event")) {
      EndSecrets();
    }
  }

  sdk::Outcome Reconcile(sdk::Run& run) {
    const std::optional<sdk::ObjectRef> map = context_.cache().Get(kConfigMaps, run.key());
    if (run.name() == "secrets") {
      if (!map) {
        EndSecrets();
        return sdk::Outcome::Done();
      }
      const Result<uint32_t> watch = context_.cache().AddWatch("", "v1", "secrets");
      if (!watch.ok()) return sdk::Outcome::Retry(watch.error());
      const std::lock_guard lock(mutex_);
      secrets_ = *watch;
      return sdk::Outcome::Done();
    }
    if (map && run.name() == "stuck")
      (void)sdk::Run(context_, nullptr).Wait(1h, [] { return false; });
    if (!map || run.name() == "stuck" || run.name() == "deaf" || run.name() == "patient" ||
        run.name() == "from-event")
      return sdk::Outcome::Done();
    const auto stamp = map->Root().Get("metadata").Get("annotations").Get("kcm.test/build");
    if (stamp.String() == DUTIES_BUILD) return sdk::Outcome::Done();
    const auto patched = run.client().PatchObject(
        kResource, run.ns(), run.name(), sdk::Patch::kMerge,
        R"({"metadata":{"annotations":{"kcm.test/build":")" DUTIES_BUILD R"("}}})", {});
    if (!patched.ok()) return sdk::Outcome::Retry(patched.error());
    context_.events().Record(*map, kResource, sdk::EventType::kNormal, "Stamped", "by a build");
    return sdk::Outcome::Done();
  }

  Status OnTask(uint32_t, sdk::Run& run) {
    context_.log().Info(0, "Sweep begins", {{"build", DUTIES_BUILD}});
    const auto never = [] { return false; };
    if (Exists("default/deaf")) (void)sdk::Run(context_, nullptr).Wait(1h, never);
    if (Exists("default/patient")) (void)run.Wait(1h, never);
    return Ok();
  }

 private:
  bool Exists(std::string_view key) const {
    return context_.cache().Get(kConfigMaps, key).has_value();
  }
  void EndSecrets() {
    std::optional<uint32_t> watch;
    {
      const std::lock_guard lock(mutex_);
      watch.swap(secrets_);
    }
    if (watch) context_.cache().RemoveWatch(*watch);
  }

  sdk::Context& context_;
  std::mutex mutex_;
  std::optional<uint32_t> secrets_;  // runtime watch; guarded by mutex_
};

}  // namespace duties

KCM_PLUGIN("duties", "1.0.0", "tests", KCM_CONTROLLER(duties::Controller, duties::kDeclaration));
