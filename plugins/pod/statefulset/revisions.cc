// SPDX-License-Identifier: Apache-2.0
// Which revision the set's template is, and which one its pods came from (spec/pod-workloads.md
// 5.1).
#include <nlohmann/json.hpp>

#include "kcm/rules/controller_revision.h"
#include "kcm/rules/json_node.h"
#include "plugins/pod/resources.h"
#include "plugins/pod/revisions/served_data.h"
#include "plugins/pod/statefulset/reconciler.h"

namespace kcm::pod::statefulset {
namespace {

// Nobody has that many revisions of other data under our names by chance; the next reconcile would
// go on.
constexpr int kMostCollisions = 100;

}  // namespace

Status Reconciler::ChooseRevisions() {
  collision_count_ = StatusOf(set_.root).collision_count;
  const std::string data = rules::RevisionData(set_.Template());
  if (IsNewestKnownToFit(data)) {
    update_ = history_.size() - 1;
  } else {
    const Result<size_t> chosen = ChooseUpdateRevision(data);
    if (!chosen.ok()) return chosen.error();
    update_ = *chosen;
  }
  memory_.chosen.Remember(set_.uid, history_.name(update_), data);
  current_ = history_.Find(set_.root.Path("status.currentRevision").String()).value_or(update_);
  return Ok();
}

// The spec has not changed since the newest revision was chosen for it, by whichever manager, or
// its template has not: what the revision's bytes say now is the servers' doing. A false difference
// would replace every pod.
bool Reconciler::IsNewestKnownToFit(std::string_view data) const {
  if (history_.size() == 0) return false;
  const std::string_view newest = history_.name(history_.size() - 1);
  const rules::Node status = set_.root.Get("status");
  const bool observed =
      status.Get("observedGeneration").Has() &&
      status.Get("observedGeneration").Int() == set_.root.Path("metadata.generation").Int();
  if (observed && status.Get("updateRevision").String() == newest) return true;
  return memory_.chosen.For(set_.uid, data) == newest;
}

Result<size_t> Reconciler::ChooseUpdateRevision(const std::string& data) {
  const nlohmann::json parsed = nlohmann::json::parse(data);
  const std::vector<rules::Node> nodes = history_.nodes();
  const rules::RevisionChoice choice =
      rules::ChooseRevision(nodes, rules::JsonNode(parsed), features_.semantic_revisions);
  if (choice.type == rules::RevisionChoice::Type::kCreate) return CreateRevision();
  if (choice.type == rules::RevisionChoice::Type::kKeep) return choice.place;
  const Status numbered = history_.Renumber(choice.place, rules::NextRevision(nodes));
  if (!numbered.ok()) return numbered.error();
  return history_.size() - 1;
}

// Another name while the one at hand belongs to other data.
Result<size_t> Reconciler::CreateRevision() {
  const Result<std::string> data = ServedRevisionData(run_, kStatefulSets, object_);
  if (!data.ok()) return data.error();
  const std::string hash = rules::RevisionHash(*data, collision_count_);
  rules::NewRevision fresh{.ns = set_.ns,
                           .labels = set_.Template().Path("metadata.labels"),
                           .hash_label = rules::kRevisionHashLabel,
                           .hash = hash,
                           .annotations = set_.root.Path("metadata.annotations"),
                           .owner = history_.Reference(),
                           .data = *data,
                           .revision = rules::NextRevision(history_.nodes())};
  for (int i = 0; i < kMostCollisions; ++i) {
    fresh.name = rules::RevisionName(set_.name, rules::RevisionHash(*data, collision_count_));
    const Result<History::Posted> posted = history_.Create(fresh);
    if (!posted.ok()) return posted.error();
    if (*posted == History::Posted::kUsable) return history_.size() - 1;
    ++collision_count_;
  }
  return MakeError(Code::kAlreadyExists, "every name tried for a revision of statefulset " +
                                             object_.Key() + " is taken, the last one is " +
                                             fresh.name);
}

}  // namespace kcm::pod::statefulset
