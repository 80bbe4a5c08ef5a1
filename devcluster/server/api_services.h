// SPDX-License-Identifier: Apache-2.0
// APIServices that name a backend: their group-version belongs to an aggregated API server, which
// this server does not forward to. It is announced and never available: aggregated discovery marks
// it stale, its paths answer 503, the APIService's condition Available says why.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "devcluster/server/core.h"

namespace kcm::devcluster {

// Thread-safe.
class ApiServices {
 public:
  explicit ApiServices(State* state) : state_(state) {}
  // After an APIService was stored (created, changed or loaded).
  void Serve(const std::string& name);
  // After it was removed.
  void Drop(const std::string& name);
  // What is served, and a version without resources for each that is announced only.
  std::shared_ptr<const ResourceSet> Announced() const;

 private:
  State* state_;
  mutable std::mutex mutex_;
  std::map<std::string, std::pair<std::string, std::string>> versions_;  // guarded by mutex_
};

// What the server announces now.
std::shared_ptr<const ResourceSet> Announced(const State& state);
inline bool IsUnavailable(const GroupVersionResources& v) { return v.resources.empty(); }
// 503 `service unavailable`, as a proxy without a backend answers.
Answer BackendUnavailable();

}  // namespace kcm::devcluster
