// SPDX-License-Identifier: Apache-2.0
// HealthRegistry: named checks behind /healthz (spec/host.md 9.2).
//
//   health.Add("leaderElection", [&] { return elector.Healthy(); });
// Checks run on the thread that serves the request and must be quick. Thread-safe; no lock is held
// while a check runs.
#pragma once
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/log/log.h"
#include "host/metric/registry.h"
#include "kcm/rules/result.h"

namespace kcm::host::http {

class HealthRegistry {
 public:
  using Check = std::function<Status()>;
  // `metrics` may be nullptr.
  HealthRegistry(metric::Registry* metrics, log::Logger log);

  // At the end of the list; a known name keeps its place and gets the new check.
  void Add(const std::string& name, Check check);
  void Remove(std::string_view name);

  struct Answer {
    bool healthy = true;
    std::string body;  // the whole body, verbose or not
  };
  // Runs all checks but the excluded ones; "ping" when there are none.
  Answer Evaluate(bool verbose, const std::vector<std::string>& excluded) const;

 private:
  void Observe(const std::string& name, bool healthy) const;

  const log::Logger log_;
  metric::Metric last_, total_;
  mutable std::mutex mutex_;
  std::vector<std::pair<std::string, Check>> checks_;  // guarded by mutex_
};

}  // namespace kcm::host::http
