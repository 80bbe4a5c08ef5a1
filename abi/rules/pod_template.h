// SPDX-License-Identifier: Apache-2.0
// Pods built from a template (spec/pod-workloads.md 1.11) and the hash of a template (4.9).
// Equality of templates: equality.h.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kcm/rules/node.h"
#include "kcm/rules/owner_reference.h"

namespace kcm::rules {

// What ReplicaSet, ReplicationController and DaemonSet say about a template without labels
// (1.11.3).
inline constexpr std::string_view kNoPodLabels = "unable to create pods, no labels";

// generateName of an owner's pods: `<owner>-`, or `<owner>` when that is no valid prefix (1.11.2).
std::string PodNamePrefix(std::string_view owner_name);

bool TemplateHasLabels(Node pod_template);

// JSON of the pod to POST: labels, annotations, finalizers and spec of the template, generateName,
// the one owner reference. Nothing else of the template's metadata is copied (1.11.1).
std::string PodFromTemplate(Node pod_template, const OwnerReference& owner);

// pod-template-hash of a Deployment's template (4.9): the same across restarts and replicas of this
// product, 1 to 10 characters. It is not the Go manager's value and need not be: ReplicaSets are
// found by template equality.
std::string PodTemplateHash(Node pod_template, std::optional<int64_t> collision_count);

}  // namespace kcm::rules
