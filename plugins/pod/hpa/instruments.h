// SPDX-License-Identifier: Apache-2.0
// The metrics of horizontal-pod-autoscaler-controller (spec/pod-batch.md 4.11).
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kcm/sdk/context.h"

namespace kcm::pod::hpa {

// The label `action`.
inline constexpr std::string_view kScaleUp = "scale_up";
inline constexpr std::string_view kScaleDown = "scale_down";
inline constexpr std::string_view kNoAction = "none";
// The label `error`.
inline constexpr std::string_view kSpecError = "spec";  // the spec can not be understood
inline constexpr std::string_view kInternalError = "internal";
inline constexpr std::string_view kNoError = "none";

// What a change of replicas is.
std::string_view ActionOf(int64_t from, int64_t to);

// Copies share the host's metrics. Thread-safe.
class Instruments {
 public:
  // Registers them; throws what DefineMetric throws.
  explicit Instruments(const sdk::Context& context);

  void Reconciled(std::string_view action, std::string_view error,
                  std::chrono::nanoseconds duration) const;
  // `type`: of the metric's spec.
  void Computed(std::string_view action, std::string_view error, std::string_view type,
                std::chrono::nanoseconds duration) const;
  void Autoscalers(size_t count) const;
  void Desired(std::string_view ns, std::string_view name, int64_t replicas) const;

 private:
  sdk::Metric reconciliations_, reconciliation_seconds_, computations_, computation_seconds_,
      autoscalers_, desired_;
};

}  // namespace kcm::pod::hpa
