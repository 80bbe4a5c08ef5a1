// SPDX-License-Identifier: Apache-2.0
// Revisions and copied annotations.
#include "plugins/pod/deployment/revision.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "kcm/rules/decimal_int64.h"

namespace kcm::pod::deployment {
namespace {

using rules::Node;

constexpr std::array<std::string_view, 6> kNotCopied = {
    "kubectl.kubernetes.io/last-applied-configuration",
    kRevision,
    kRevisionHistory,
    kDesiredReplicas,
    kMaxReplicas,
    kRollbackTo};

// Copies what is to be copied; true when something differs.
bool CopyAnnotations(Node from, Annotations& to) {
  bool changed = false;
  for (const auto [name, value] : from.Get("metadata").Get("annotations").Entries()) {
    if (!IsCopied(name)) continue;
    const auto it = to.find(name);
    if (it != to.end() && it->second == value.String()) continue;
    to.insert_or_assign(std::string(name), std::string(value.String()));
    changed = true;
  }
  return changed;
}

}  // namespace

Annotations AnnotationsOf(Node object) {
  Annotations out;
  for (const auto [name, value] : object.Get("metadata").Get("annotations").Entries())
    out.emplace(name, value.String());
  return out;
}

std::string_view AnnotationOf(Node object, std::string_view name) {
  return object.Get("metadata").Get("annotations").Get(name).String();
}

bool IsCopied(std::string_view annotation) {
  return std::find(kNotCopied.begin(), kNotCopied.end(), annotation) == kNotCopied.end();
}

std::optional<int64_t> RevisionOf(Node object) {
  const std::string_view text = AnnotationOf(object, kRevision);
  return text.empty() ? std::optional<int64_t>(0) : rules::ParseInt64(text);
}

int64_t MaxOldRevision(const Rollout& rollout) {
  int64_t highest = 0;
  for (size_t i = 0; i < rollout.sets.size(); ++i) {
    if (rollout.IsOld(i)) highest = std::max(highest, RevisionOf(rollout.sets[i].root).value_or(0));
  }
  return highest;
}

int64_t LastRevision(const Rollout& rollout) {
  int64_t highest = 0, second = 0;
  for (const ReplicaSet& s : rollout.sets) {
    const int64_t revision = RevisionOf(s.root).value_or(0);
    if (revision >= highest) {
      second = std::exchange(highest, revision);
    } else if (revision > second) {
      second = revision;
    }
  }
  return second;
}

std::optional<int64_t> SizeAnnotation(Node replica_set, std::string_view name) {
  const std::string_view text = AnnotationOf(replica_set, name);
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  const std::optional<int64_t> size = rules::ParseInt64(text);
  return size && *size <= std::numeric_limits<int32_t>::max() ? size : std::nullopt;
}

std::optional<std::string> AppendRevision(std::string_view history, std::string_view old_revision,
                                          size_t limit) {
  if (history.empty() || history.front() == ',') return std::string(old_revision);
  while (history.size() + 1 + old_revision.size() > limit) {
    const size_t comma = history.find(',');
    if (comma == std::string_view::npos) {
      // Not even the old revision alone fits.
      if (old_revision.size() > limit) return std::nullopt;
      return std::string(old_revision);
    }
    history.remove_prefix(comma + 1);
  }
  return std::string(history) + "," + std::string(old_revision);
}

AnnotationChange AnnotateNew(Node deployment, Node replica_set, int64_t new_revision) {
  AnnotationChange out{.annotations = AnnotationsOf(replica_set)};
  out.changed = CopyAnnotations(deployment, out.annotations);
  const auto it = out.annotations.find(kRevision);
  const bool existed = it != out.annotations.end();
  const std::string old_text = existed ? it->second : std::string();
  const std::optional<int64_t> old_revision =
      old_text.empty() ? std::optional<int64_t>(0) : rules::ParseInt64(old_text);
  if (!old_revision) {
    out.changed = false;
    return out;
  }
  if (*old_revision >= new_revision) return out;
  out.annotations[std::string(kRevision)] = std::to_string(new_revision);
  out.changed = true;
  if (!existed) return out;
  if (const auto history = AppendRevision(AnnotationOf(replica_set, kRevisionHistory), old_text))
    out.annotations[std::string(kRevisionHistory)] = *history;
  return out;
}

Annotations AnnotationsOfNew(const Deployment& deployment, int64_t new_revision) {
  Annotations out;
  CopyAnnotations(deployment.root, out);
  out[std::string(kRevision)] = std::to_string(new_revision);
  out[std::string(kDesiredReplicas)] = std::to_string(deployment.replicas);
  out[std::string(kMaxReplicas)] = std::to_string(deployment.MaxReplicas());
  return out;
}

Annotations AnnotationsAfterRollback(Node deployment, Node replica_set) {
  Annotations out;
  for (auto& [name, value] : AnnotationsOf(deployment)) {
    if (!IsCopied(name) && name != kRollbackTo) out.emplace(name, value);
  }
  CopyAnnotations(replica_set, out);
  return out;
}

}  // namespace kcm::pod::deployment
