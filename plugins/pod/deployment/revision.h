// SPDX-License-Identifier: Apache-2.0
// Annotations that a Deployment and its ReplicaSets carry: revisions, their history, sizes, and
// what is copied (spec/pod-workloads.md 4.1). Pure.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "kcm/rules/node.h"
#include "plugins/pod/deployment/rollout.h"

namespace kcm::pod::deployment {

inline constexpr std::string_view kRevision = "deployment.kubernetes.io/revision";
inline constexpr std::string_view kRevisionHistory = "deployment.kubernetes.io/revision-history";
inline constexpr std::string_view kDesiredReplicas = "deployment.kubernetes.io/desired-replicas";
inline constexpr std::string_view kMaxReplicas = "deployment.kubernetes.io/max-replicas";
inline constexpr std::string_view kRollbackTo = "deprecated.deployment.rollback.to";
// Longest revision-history, in characters.
inline constexpr size_t kHistoryLimit = 2000;

using Annotations = std::map<std::string, std::string, std::less<>>;
Annotations AnnotationsOf(rules::Node object);
std::string_view AnnotationOf(rules::Node object, std::string_view name);

// Neither the controller's own annotations nor kubectl's last-applied-configuration go from a
// Deployment to its ReplicaSets.
bool IsCopied(std::string_view annotation);

// The revision annotation: absent and empty are 0; nullopt when it is no number.
std::optional<int64_t> RevisionOf(rules::Node object);
// Highest revision of the old ReplicaSets, 0 without any.
int64_t MaxOldRevision(const Rollout& rollout);
// Second highest revision of all, 0 when there is none.
int64_t LastRevision(const Rollout& rollout);

// desired-replicas or max-replicas: 0..2147483647, nullopt when absent or anything else.
std::optional<int64_t> SizeAnnotation(rules::Node replica_set, std::string_view name);

// `history` with `old_revision` appended; oldest entries are dropped to keep the limit. nullopt:
// does not fit, leave it.
std::optional<std::string> AppendRevision(std::string_view history, std::string_view old_revision,
                                          size_t limit = kHistoryLimit);

// What an existing new ReplicaSet's annotations are to be (4.1.2 a-b). `changed` false: they are
// not worth a write, though a write for another reason carries them.
struct AnnotationChange {
  Annotations annotations;
  bool changed = false;
};
AnnotationChange AnnotateNew(rules::Node deployment, rules::Node replica_set, int64_t new_revision);

// Those of a ReplicaSet that is about to be created (4.1.4).
Annotations AnnotationsOfNew(const Deployment& deployment, int64_t new_revision);

// A Deployment's annotations after its template was taken back from `replica_set` (4.7.2), the
// request itself left out.
Annotations AnnotationsAfterRollback(rules::Node deployment, rules::Node replica_set);

}  // namespace kcm::pod::deployment
