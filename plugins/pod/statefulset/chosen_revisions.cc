// SPDX-License-Identifier: Apache-2.0
// Remembering choices.
#include "plugins/pod/statefulset/chosen_revisions.h"

namespace kcm::pod::statefulset {

void ChosenRevisions::Remember(std::string_view uid, std::string_view revision,
                               std::string_view data) {
  const std::lock_guard lock(mutex_);
  Choice& choice = choices_[std::string(uid)];
  choice.revision = revision;
  if (choice.data != data) choice.data = data;
}

std::string ChosenRevisions::For(std::string_view uid, std::string_view data) const {
  const std::lock_guard lock(mutex_);
  const auto it = choices_.find(uid);
  return it == choices_.end() || it->second.data != data ? std::string() : it->second.revision;
}

void ChosenRevisions::Forget(std::string_view uid) {
  const std::lock_guard lock(mutex_);
  const auto it = choices_.find(uid);
  if (it != choices_.end()) choices_.erase(it);
}

}  // namespace kcm::pod::statefulset
