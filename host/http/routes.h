// SPDX-License-Identifier: Apache-2.0
// Routes: which handler serves a path.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "host/http/server.h"

namespace kcm::host::http {

// Thread-safe.
class Routes {
 public:
  void Add(const std::string& path, PathOptions options, Handler handler);
  void Remove(const std::string& path);
  // Exact path first, then the longest prefix; nullptr when nobody serves it.
  std::shared_ptr<const Handler> Find(const std::string& path) const;
  // First segments of listed paths, sorted.
  std::vector<std::string> Listed() const;

 private:
  struct Entry {
    PathOptions options;
    std::shared_ptr<const Handler> handler;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;  // guarded by mutex_
};

// Paths that every host serves: /healthz, /metrics, /metrics/slis, /configz, /flagz, /statusz,
// /debug/flags. `options` and `health` must outlive `routes`.
void AddStandardRoutes(const ServerOptions& options, HealthRegistry* health, Routes* routes);

}  // namespace kcm::host::http
