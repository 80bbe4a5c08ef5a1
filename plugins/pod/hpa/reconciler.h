// SPDX-License-Identifier: Apache-2.0
// Reconciler: one reconcile of one autoscaler (spec/pod-batch.md 4.4). One thread; used once.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kcm/rules/node.h"
#include "kcm/rules/result.h"
#include "kcm/sdk/context.h"
#include "plugins/pod/hpa/conditions.h"
#include "plugins/pod/hpa/histories.h"
#include "plugins/pod/hpa/instruments.h"
#include "plugins/pod/hpa/metrics_client.h"
#include "plugins/pod/hpa/normalization.h"
#include "plugins/pod/hpa/proposals.h"
#include "plugins/pod/hpa/selectors.h"
#include "plugins/pod/hpa/settings.h"

namespace kcm::pod::hpa {

// What the reconciles of one controller share. Thread-safe.
struct Shared {
  explicit Shared(const sdk::Context& c)
      : context(c),
        settings(Settings::Of(c.config())),
        instruments(c),
        custom_api(settings.sync_period) {}

  const sdk::Context& context;
  const Settings settings;
  const Instruments instruments;
  Selectors selectors;
  Histories histories;
  CustomApi custom_api;
};

class Reconciler {
 public:
  Reconciler(Shared& shared, const sdk::Run& run, sdk::WholeRef autoscaler);
  // Also counts and times it. An error has been told by Events and conditions.
  Status Run();

 private:
  // What is to be done.
  struct Decision {
    int64_t replicas = 0;
    std::string reason = {};           // of a change
    nlohmann::json metrics = nullptr;  // status.currentMetrics
    // Of metrics that failed beside others that did not.
    std::optional<Error> failed = std::nullopt;
  };
  // What the metrics propose together.
  struct Proposed {
    std::optional<int64_t> replicas;  // nullopt: they can not be relied on, `failed` says why
    std::string metric;
    nlohmann::json statuses = nullptr;
    std::optional<Error> failed;
  };
  struct MatchingPods;

  Status Sync();
  Status FindScale();
  Result<sdk::ServedResource> MapTarget();
  Result<Decision> Decide();
  Result<Decision> DecideByMetrics();
  Normalized Normalize(int64_t proposal);
  Proposed Propose();
  // The selector, registered, and its pods.
  Status FindPods(MatchingPods* pods);
  Computed ComputeOne(const Proposals& proposals, rules::Node metric) const;
  Status Rescale(const Decision& decision);
  Status PutScale(int64_t replicas);
  void NoteScaledToZero(int64_t replicas);
  Status WriteStatus();
  // Ends with `error`: what is known by now is written first.
  Error GiveUp(Error error);
  // As above, with the counts.
  Error GiveUp(Error error, nlohmann::json metrics);

  void Condition(std::string_view type, bool holds, const Wording& words);
  void Condition(std::string_view type, bool holds, std::string_view reason,
                 std::string_view message);
  void Warn(std::string_view reason, std::string_view message) const;
  nlohmann::json& StatusJson();

  Shared& shared_;
  const sdk::Run& run_;
  const sdk::Client client_;
  const rules::WallTime now_;
  const sdk::WholeRef object_;
  const rules::Node spec_;  // of object_
  const Bounds bounds_;
  std::optional<Behavior> behavior_;
  History& history_;
  sdk::Edit edit_;             // its status becomes the new one
  nlohmann::json old_status_;  // as read
  std::optional<sdk::ServedResource> target_;
  std::optional<sdk::WholeRef> scale_;
  int64_t current_ = 0;
  std::string_view action_ = kNoAction;
  bool by_spec_ = false;  // the error that is returned
};

}  // namespace kcm::pod::hpa
