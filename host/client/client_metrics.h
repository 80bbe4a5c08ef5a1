// SPDX-License-Identifier: Apache-2.0
// rest_client_* metrics (spec/host.md 10.2). Series are looked up once and kept: a request costs no
// label handling.
#pragma once
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "host/clock/clock.h"
#include "host/metric/registry.h"

namespace kcm::host::client {

// Thread-safe. Does nothing without a registry.
class ClientMetrics {
 public:
  ClientMetrics(metric::Registry* registry, std::string host);

  // One attempt: `code` 0 = no answer.
  void Attempt(std::string_view method, int code, clock::Duration took, size_t request_bytes);
  void ResponseSize(std::string_view method, uint64_t bytes);
  void Throttled(std::string_view method, clock::Duration waited);
  void Retry(std::string_view method, int code);

 private:
  struct PerMethod {
    metric::Series latency, throttle, request_size, response_size;
    std::map<int, metric::Series> requests, retries;
  };
  PerMethod& Of(std::string_view method);  // REQUIRES: mutex_ held

  const bool on_;
  const std::string host_;
  metric::Metric requests_, latency_, throttle_, request_size_, response_size_, retries_;
  std::mutex mutex_;
  std::map<std::string, PerMethod, std::less<>> methods_;  // guarded by mutex_
};

}  // namespace kcm::host::client
