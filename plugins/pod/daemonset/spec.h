// SPDX-License-Identifier: Apache-2.0
// Spec: what the decisions read of a DaemonSet, with the API's defaults for what is not there.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "kcm/rules/int_or_percent.h"
#include "kcm/rules/node.h"
#include "kcm/rules/result.h"

namespace kcm::pod::daemonset {

// The label of a pod, and the annotation of a DaemonSet, that count the changes of the template.
// The API server keeps the annotation.
inline constexpr std::string_view kGenerationLabel = "pod-template-generation";
inline constexpr std::string_view kGenerationAnnotation =
    "deprecated.daemonset.template.generation";

// Views live as long as the object.
struct Spec {
  rules::Node root;
  std::string_view name, ns, uid;
  int64_t generation = 0;
  int64_t observed_generation = 0;
  int64_t min_ready_seconds = 0;
  int64_t history_limit = 10;
  bool rolls = true;                                 // update strategy RollingUpdate
  std::optional<int64_t> template_generation = {};   // when the annotation is a number
  rules::Node max_surge = {}, max_unavailable = {};  // with `rolls`

  rules::Node Template() const { return root.Path("spec.template"); }
};
Spec SpecOf(rules::Node set);

// Whether a node may have an old and a new pod at once.
bool AllowsSurge(const Spec& set);
// How many nodes may be without an available pod, or have one too many, while `desired` are to have
// one. An error names the value that can not be read.
Result<rules::RollingLimits> LimitsOf(const Spec& set, int64_t desired);

// Whether the pod was made from the present template: by the hash of its revision, or by the
// generation of the template, which outlives the hash function of another manager.
bool IsUpdated(const Spec& set, rules::Node pod, std::string_view hash);
// The hash of the revision that made the pod; empty when it has none.
std::string_view HashOf(rules::Node object);

}  // namespace kcm::pod::daemonset
