// SPDX-License-Identifier: Apache-2.0
// Taints and tolerations (spec/pod-workloads.md 1.16). tolerationSeconds is the taint eviction
// controller's business.
//
//   if (FindUntoleratedTaint(node.Path("spec.taints"), pod.Path("spec.tolerations"),
//   kSchedulingEffects).Has()) ...
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "kcm/rules/node.h"

namespace kcm::rules {

inline constexpr std::array<std::string_view, 2> kSchedulingEffects = {"NoSchedule", "NoExecute"};
inline constexpr std::array<std::string_view, 1> kEvictionEffects = {"NoExecute"};

// Gate TaintTolerationComparisonOperators: whether the operators Lt and Gt are known.
enum class ComparisonOperators : uint8_t { kOff, kOn };

bool Tolerates(Node toleration, Node taint,
               ComparisonOperators comparison = ComparisonOperators::kOff);

// The first toleration of the list that tolerates `taint`; absent Node when none does.
Node FindToleration(Node tolerations, Node taint,
                    ComparisonOperators comparison = ComparisonOperators::kOff);

// The first taint with one of `effects` (empty: any) that no toleration of the list tolerates;
// absent Node when there is none.
Node FindUntoleratedTaint(Node taints, Node tolerations, std::span<const std::string_view> effects,
                          ComparisonOperators comparison = ComparisonOperators::kOff);

// The taint of the list with this key and effect; absent Node when there is none.
Node FindTaint(Node taints, std::string_view key, std::string_view effect);

}  // namespace kcm::rules
