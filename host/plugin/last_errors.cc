// SPDX-License-Identifier: Apache-2.0
#include "host/plugin/last_errors.h"

namespace kcm::host::plugin {

// Names of queues are declared and hold no NUL.
std::string LastErrors::NameOf(std::string_view queue, std::string_view key) {
  std::string name(queue);
  name += '\0';
  name += key;
  return name;
}

void LastErrors::Failed(std::string_view queue, std::string_view key, std::string_view text) {
  std::string name = NameOf(queue, key);
  const std::lock_guard lock(mutex_);
  if (texts_.size() >= kKeys && !texts_.contains(name)) return;
  texts_[std::move(name)] = text.substr(0, kText);
  size_.store(texts_.size(), std::memory_order_release);
}

void LastErrors::Ended(std::string_view queue, std::string_view key) {
  // One key is run by one thread at a time, so that its own entry is seen.
  if (size_.load(std::memory_order_acquire) == 0) return;
  const std::lock_guard lock(mutex_);
  texts_.erase(NameOf(queue, key));
  size_.store(texts_.size(), std::memory_order_release);
}

std::string LastErrors::Of(std::string_view queue, std::string_view key) const {
  const std::lock_guard lock(mutex_);
  const auto found = texts_.find(NameOf(queue, key));
  return found == texts_.end() ? std::string() : found->second;
}

}  // namespace kcm::host::plugin
