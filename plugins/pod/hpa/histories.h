// SPDX-License-Identifier: Apache-2.0
// Histories: what is remembered of each autoscaler between reconciles (spec/pod-batch.md 4.3).
// After a restart the first reconcile begins anew.
#pragma once
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "plugins/pod/hpa/normalization.h"

namespace kcm::pod::hpa {

// Thread-safe; a history itself is the worker's that has its key.
class Histories {
 public:
  // Made when there is none. Valid until Drop() of the key.
  History& Of(std::string_view key);
  void Drop(std::string_view key);

  // For the build that follows this one: windows and rates go on. Only while no key is worked on.
  std::string Save() const;
  void Load(std::string_view state);

 private:
  mutable std::mutex mutex_;
  std::map<std::string, History, std::less<>> histories_;  // by key; the map guarded by mutex_
};

}  // namespace kcm::pod::hpa
