// SPDX-License-Identifier: Apache-2.0
// Reading and writing ControllerRevisions.
#include "plugins/pod/revisions/history.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kcm/rules/error_class.h"
#include "kcm/rules/json_node.h"
#include "kcm/rules/pod.h"
#include "plugins/pod/conflict_retry.h"
#include "plugins/pod/ownership/claim.h"
#include "plugins/pod/ownership/live_owner.h"
#include "plugins/pod/resources.h"

namespace kcm::pod {

using rules::Node;

void History::Read(const rules::LabelSelector& selector) {
  items_.clear();
  const std::string orphans = OrphansIn(owner_.Namespace());
  for (const std::string_view owner : {owner_.Uid(), std::string_view(orphans)}) {
    sdk::ObjectList<sdk::WholeRef> found = CachedOf(owner);
    for (sdk::WholeRef& revision : found.items()) {
      if (selector.Matches(revision.Root().Path("metadata.labels")))
        items_.push_back(std::move(revision));
    }
  }
  Sort();
}

sdk::ObjectList<sdk::WholeRef> History::CachedOf(std::string_view owner) const {
  return source_.cache.List(
      source_.watch,
      {.index = source_.by_controller, .index_value = owner, .ns = owner_.Namespace()});
}

void History::Sort() {
  std::sort(items_.begin(), items_.end(),
            [](const auto& x, const auto& y) { return rules::RevisionBefore(x.Root(), y.Root()); });
}

Status History::Claim(const rules::LabelSelector& selector) {
  items_.clear();
  Claimer claimer(run_, owner_resource_, kControllerRevisions, owner_.Root());
  claimer.ClaimAll(source_.cache, source_.watch, source_.by_controller, selector, items_);
  Sort();
  return claimer.result();
}

Status History::Adopt() {
  if (rules::HasDeletionTimestamp(owner_.Root())) return Ok();
  bool asked = false;
  std::vector<Error> errors;
  std::vector<sdk::WholeRef> kept;
  for (sdk::WholeRef& revision : items_) {
    const Node root = revision.Root();
    if (rules::ControllerOf(root).Has() || rules::HasDeletionTimestamp(root)) {
      kept.push_back(std::move(revision));
      continue;
    }
    if (!asked) {
      if (const Status live = CheckLiveOwner(run_.client(), owner_resource_, owner_.Root());
          !live.ok()) {
        Error error = live.error();
        error.message = "can't adopt ControllerRevisions: " + error.message;
        return error;
      }
      asked = true;
    }
    Result<sdk::WholeRef> answer = run_.client().PatchObject(
        kControllerRevisions, owner_.Namespace(), revision.Name(), sdk::Patch::kStrategic,
        rules::AdoptPatch(Reference(), revision.Uid()));
    if (answer.ok()) {
      kept.push_back(std::move(*answer));
    } else if (!rules::IsNotFound(answer.error())) {  // gone meanwhile: no part of the history
      if (rules::IsShuttingDown(answer.error())) return answer.error();
      errors.push_back(answer.error());
    }
  }
  items_ = std::move(kept);
  return errors.empty() ? Ok() : Status(Aggregate(errors));
}

std::vector<Node> History::nodes() const {
  std::vector<Node> out;
  out.reserve(items_.size());
  for (const sdk::WholeRef& item : items_) out.push_back(item.Root());
  return out;
}

std::optional<size_t> History::Find(std::string_view name) const {
  for (size_t i = 0; i < items_.size(); ++i) {
    if (items_[i].Name() == name) return i;
  }
  return std::nullopt;
}

Result<History::Posted> History::Create(const rules::NewRevision& fresh) {
  Result<sdk::WholeRef> answer = run_.client().CreateText(kControllerRevisions, owner_.Namespace(),
                                                          rules::RevisionBody(fresh));
  if (!answer.ok()) {
    if (!rules::IsAlreadyExists(answer.error())) return answer.error();
    // Ours from an attempt whose answer was lost or that the cache does not show yet, or another
    // one's.
    answer = run_.client().Get(kControllerRevisions, owner_.Namespace(), fresh.name);
    if (!answer.ok()) return answer.error();
    const nlohmann::json data = nlohmann::json::parse(fresh.data);
    if (!rules::RevisionDataEqual(answer->Root().Get("data"), rules::JsonNode(data)))
      return Posted::kTaken;
  }
  items_.push_back(std::move(*answer));
  return Posted::kUsable;
}

Status History::Renumber(size_t place, int64_t revision) {
  const std::string key = items_[place].Key();
  const std::string uid(items_[place].Uid());
  const auto write = [&](int attempt) -> Status {
    if (attempt > 0) {
      std::optional<sdk::WholeRef> fresh = source_.cache.Get(source_.watch, key);
      if (!fresh || fresh->Uid() != uid)
        return MakeError(Code::kNotFound, "controllerrevision " + key + " is gone");
      items_[place] = std::move(*fresh);
    }
    if (items_[place].Root().Get("revision").Int() == revision) return Ok();
    sdk::Edit edit(items_[place]);
    edit.json()["revision"] = revision;
    Result<sdk::WholeRef> answer = run_.client().Update(kControllerRevisions, edit);
    if (!answer.ok()) return answer.error();
    items_[place] = std::move(*answer);
    return Ok();
  };
  if (const Status written = RetryOnConflict(run_, clock_, kPatientRetry, write); !written.ok())
    return written;
  std::rotate(items_.begin() + static_cast<std::ptrdiff_t>(place),
              items_.begin() + static_cast<std::ptrdiff_t>(place) + 1, items_.end());
  return Ok();
}

Status History::SetLabel(size_t place, std::string_view label, std::string_view value) {
  sdk::Edit edit(items_[place]);
  edit.json()["metadata"]["labels"][std::string(label)] = value;
  Result<sdk::WholeRef> answer = run_.client().Update(kControllerRevisions, edit);
  if (!answer.ok()) return answer.error();
  items_[place] = std::move(*answer);
  return Ok();
}

Status History::Delete(size_t place) {
  Status gone = run_.client().Delete(kControllerRevisions, owner_.Namespace(), name(place),
                                     {.uid = items_[place].Uid()});
  return !gone.ok() && rules::IsNotFound(gone.error()) ? Ok() : gone;
}

Status History::Truncate(const std::function<bool(std::string_view name)>& is_live, int64_t limit) {
  for (const size_t place : rules::RevisionsToDelete(nodes(), is_live, limit)) {
    if (rules::HasDeletionTimestamp(node(place))) continue;
    if (const Status gone = Delete(place); !gone.ok()) return gone;
  }
  return Ok();
}

rules::OwnerReference History::Reference() const {
  return {.api_version = api_version_,
          .kind = owner_resource_.kind,
          .name = owner_.Name(),
          .uid = owner_.Uid()};
}

}  // namespace kcm::pod
