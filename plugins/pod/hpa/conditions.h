// SPDX-License-Identifier: Apache-2.0
// The conditions of an autoscaler and their words (spec/pod-batch.md 4.8).
#pragma once
#include <string_view>

namespace kcm::pod::hpa {

inline constexpr std::string_view kAbleToScale = "AbleToScale";
inline constexpr std::string_view kScalingActive = "ScalingActive";
inline constexpr std::string_view kScalingLimited = "ScalingLimited";
inline constexpr std::string_view kScaledToZero = "ScaledToZero";

struct Wording {
  std::string_view reason, message;
  friend bool operator==(const Wording&, const Wording&) = default;
};

// AbleToScale
inline constexpr Wording kSucceededGetScale{
    "SucceededGetScale", "the HPA controller was able to get the target's current scale"};
inline constexpr Wording kReadyForNewScale{"ReadyForNewScale",
                                           "recommended size matches current size"};
inline constexpr Wording kScaleDownStabilized{
    "ScaleDownStabilized",
    "recent recommendations were higher than current one, applying the highest recent "
    "recommendation"};
inline constexpr Wording kScaleUpStabilized{
    "ScaleUpStabilized",
    "recent recommendations were lower than current one, applying the lowest recent "
    "recommendation"};

// ScalingActive
inline constexpr Wording kScalingDisabled{
    "ScalingDisabled", "scaling is disabled since the replica count of the target is zero"};
inline constexpr Wording kMissingSelector{"InvalidSelector",
                                          "the HPA target's scale is missing a selector"};

// ScalingLimited
inline constexpr Wording kDesiredWithinRange{"DesiredWithinRange",
                                             "the desired count is within the acceptable range"};
inline constexpr Wording kTooFewReplicas{
    "TooFewReplicas", "the desired replica count is less than the minimum replica count"};
inline constexpr Wording kTooManyReplicas{
    "TooManyReplicas", "the desired replica count is more than the maximum replica count"};
inline constexpr Wording kScaleUpLimit{
    "ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate"};
inline constexpr Wording kScaleDownLimit{
    "ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate"};

// ScaledToZero
inline constexpr Wording kDidScaleToZero{"ScaledToZero",
                                         "the HPA controller scaled the workload to zero"};
inline constexpr Wording kDidNotScaleToZero{
    "NotScaledToZero", "the HPA controller did not scale the workload to zero"};

}  // namespace kcm::pod::hpa
