// SPDX-License-Identifier: Apache-2.0
// Which revision the set's template is (spec/pod-workloads.md 6.4).
#include <nlohmann/json.hpp>

#include "kcm/rules/controller_revision.h"
#include "kcm/rules/error_class.h"
#include "kcm/rules/json_node.h"
#include "kcm/rules/json_text.h"
#include "kcm/rules/pod.h"
#include "kcm/rules/pod_template.h"
#include "plugins/pod/daemonset/old_revisions.h"
#include "plugins/pod/daemonset/reconciler.h"
#include "plugins/pod/resources.h"
#include "plugins/pod/revisions/served_data.h"

namespace kcm::pod::daemonset {
namespace {

std::optional<int64_t> CollisionCount(rules::Node set) {
  const rules::Node count = set.Path("status.collisionCount");
  return count.Has() ? std::optional(count.Int()) : std::nullopt;
}

}  // namespace

Status Reconciler::ChooseRevision() {
  if (const Status labelled = LabelRevisions(); !labelled.ok()) return labelled;
  const nlohmann::json data = nlohmann::json::parse(rules::RevisionData(set_.Template()));
  std::vector<size_t> fitting;
  std::vector<rules::Node> old;
  for (size_t place = 0; place < history_.size(); ++place) {
    const rules::Node revision = history_.node(place);
    if (rules::RevisionDataEqual(revision.Get("data"), rules::JsonNode(data))) {
      fitting.push_back(place);
      fitting_.emplace(history_.name(place));
    } else {
      old.push_back(revision);
    }
  }
  const int64_t number = rules::NextRevision(old);
  if (fitting.empty()) return CreateRevision(number);
  const size_t kept = fitting.back();  // the highest
  hash_ = HashOf(history_.node(kept));
  if (const Status one = KeepOne(fitting); !one.ok()) return one;
  if (history_.node(kept).Get("revision").Int() >= number) return Ok();
  return history_.Renumber(kept, number);
}

// The name says as much as a hash, and can not collide.
Status Reconciler::LabelRevisions() {
  for (size_t place = 0; place < history_.size(); ++place) {
    if (history_.node(place).Path("metadata.labels").Get(rules::kPodRevisionLabel).Has()) continue;
    const std::string name(history_.name(place));
    const Status labelled = history_.SetLabel(place, rules::kPodRevisionLabel, name);
    if (!labelled.ok()) return labelled;
  }
  return Ok();
}

Status Reconciler::CreateRevision(int64_t number) {
  const Result<std::string> data = ServedRevisionData(run_, kDaemonSets, object_);
  if (!data.ok()) return data.error();
  const std::string hash = rules::PodTemplateHash(set_.Template(), CollisionCount(set_.root));
  const Result<History::Posted> posted =
      history_.Create({.name = std::string(set_.name) + "-" + hash,
                       .ns = set_.ns,
                       .labels = set_.Template().Path("metadata.labels"),
                       .hash_label = rules::kPodRevisionLabel,
                       .hash = hash,
                       .annotations = set_.root.Path("metadata.annotations"),
                       .owner = history_.Reference(),
                       .data = *data,
                       .revision = number});
  if (!posted.ok()) return posted.error();
  if (*posted == History::Posted::kTaken) return RaiseCollisionCount();
  const size_t made = history_.size() - 1;
  fitting_.emplace(history_.name(made));
  hash_ = HashOf(history_.node(made));
  return Ok();
}

// The name belongs to another template: the next reconcile takes another hash. Always an error.
Status Reconciler::RaiseCollisionCount() {
  const Result<sdk::WholeRef> live = client_.Get(kDaemonSets, set_.ns, set_.name);
  if (!live.ok()) return live.error();
  const std::optional<int64_t> count = CollisionCount(set_.root);
  if (live->Uid() != set_.uid || CollisionCount(live->Root()) != count) {
    return MakeError(Code::kConflict, "the collision count of daemonset " + object_.Key() +
                                          " has changed: its cache is behind");
  }
  sdk::Edit edit(*live);
  edit.json()["status"]["collisionCount"] = count.value_or(0) + 1;
  const Result<sdk::WholeRef> answer = client_.UpdateStatus(kDaemonSets, edit);
  if (!answer.ok()) return answer.error();
  Wrote(kDaemonSets, answer->ResourceVersion());
  return MakeError(Code::kAlreadyExists, "the name for a revision of daemonset " + object_.Key() +
                                             " is taken: another hash is tried next");
}

// Pods first: a pod must not name a revision that is gone.
Status Reconciler::KeepOne(const std::vector<size_t>& fitting) {
  if (fitting.size() == 1) return Ok();
  if (const Status relabelled = RelabelPods(hash_); !relabelled.ok()) return relabelled;
  for (size_t i = 0; i + 1 < fitting.size(); ++i) {
    if (const Status gone = history_.Delete(fitting[i]); !gone.ok()) return gone;
  }
  return Ok();
}

Status Reconciler::RelabelPods(std::string_view hash) {
  std::string patch = R"({"metadata":{"labels":{"controller-revision-hash":)";
  rules::AppendJsonString(patch, hash);
  patch += "}}}";
  for (sdk::ObjectRef& pod : pods_) {
    if (HashOf(pod.Root()) == hash) continue;
    Result<sdk::WholeRef> answer =
        client_.PatchObject(kPods, set_.ns, pod.Name(), sdk::Patch::kMerge, patch);
    if (answer.ok()) {
      Wrote(kPods, answer->ResourceVersion());
      pod = std::move(*answer);
    } else if (!rules::IsNotFound(answer.error())) {
      return answer.error();
    }
  }
  return Ok();
}

Status Reconciler::CleanUpHistory() {
  std::set<std::string_view> in_use;
  for (const rules::Node pod : fleet_.pods) in_use.insert(HashOf(pod));
  std::vector<size_t> places;
  std::vector<rules::Node> old;
  for (size_t place = 0; place < history_.size(); ++place) {
    if (fitting_.contains(std::string(history_.name(place)))) continue;
    places.push_back(place);
    old.push_back(history_.node(place));
  }
  for (const size_t number : OldRevisionsToDelete(old, in_use, set_.history_limit)) {
    if (rules::HasDeletionTimestamp(old[number])) continue;
    if (const Status gone = history_.Delete(places[number]); !gone.ok()) return gone;
  }
  return Ok();
}

}  // namespace kcm::pod::daemonset
