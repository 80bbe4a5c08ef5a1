// SPDX-License-Identifier: Apache-2.0
// Registers and feeds rest_client_* metrics.
#include "host/client/client_metrics.h"

#include <vector>

namespace kcm::host::client {
namespace {

std::vector<double> LatencyBuckets() {
  return {0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60};
}

std::vector<double> SizeBuckets() {
  return {64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216};
}

double Seconds(clock::Duration d) { return std::chrono::duration<double>(d).count(); }

std::string CodeLabel(int code) { return code == 0 ? "<error>" : std::to_string(code); }

}  // namespace

ClientMetrics::ClientMetrics(metric::Registry* registry, std::string host)
    : on_(registry != nullptr), host_(std::move(host)) {
  if (!on_) return;
  const std::vector<std::string> verb_host = {"verb", "host"};
  requests_ = registry->Counter(
      {.name = "rest_client_requests_total",
       .help = "Number of HTTP requests, partitioned by status code, method, and host.",
       .labels = {"code", "method", "host"},
       .buckets = {}});
  latency_ =
      registry->Histogram({.name = "rest_client_request_duration_seconds",
                           .help = "Request latency in seconds. Broken down by verb, and host.",
                           .labels = verb_host,
                           .buckets = LatencyBuckets()});
  throttle_ = registry->Histogram(
      {.name = "rest_client_rate_limiter_duration_seconds",
       .help = "Client side rate limiter latency in seconds. Broken down by verb, and host.",
       .labels = verb_host,
       .buckets = LatencyBuckets()});
  request_size_ =
      registry->Histogram({.name = "rest_client_request_size_bytes",
                           .help = "Request size in bytes. Broken down by verb and host.",
                           .labels = verb_host,
                           .buckets = SizeBuckets()});
  response_size_ =
      registry->Histogram({.name = "rest_client_response_size_bytes",
                           .help = "Response size in bytes. Broken down by verb and host.",
                           .labels = verb_host,
                           .buckets = SizeBuckets()});
  retries_ = registry->Counter(
      {.name = "rest_client_request_retries_total",
       .help = "Number of request retries, partitioned by status code, verb, and host.",
       .labels = {"code", "verb", "host"},
       .buckets = {}});
}

ClientMetrics::PerMethod& ClientMetrics::Of(std::string_view method) {
  if (const auto it = methods_.find(method); it != methods_.end()) return it->second;
  const std::string name(method);
  PerMethod& out = methods_[name];
  out.latency = latency_.With({name, host_});
  out.throttle = throttle_.With({name, host_});
  out.request_size = request_size_.With({name, host_});
  out.response_size = response_size_.With({name, host_});
  return out;
}

void ClientMetrics::Attempt(std::string_view method, int code, clock::Duration took,
                            size_t request_bytes) {
  if (!on_) return;
  metric::Series requests, latency, size;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    PerMethod& m = Of(method);
    auto it = m.requests.find(code);
    if (it == m.requests.end()) {
      it = m.requests.emplace(code, requests_.With({CodeLabel(code), std::string(method), host_}))
               .first;
    }
    requests = it->second;
    latency = m.latency;
    size = m.request_size;
  }
  requests.Add();
  latency.Observe(Seconds(took));
  if (request_bytes > 0) size.Observe(static_cast<double>(request_bytes));
}

void ClientMetrics::ResponseSize(std::string_view method, uint64_t bytes) {
  if (!on_) return;
  metric::Series series;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    series = Of(method).response_size;
  }
  series.Observe(static_cast<double>(bytes));
}

void ClientMetrics::Throttled(std::string_view method, clock::Duration waited) {
  if (!on_) return;
  metric::Series series;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    series = Of(method).throttle;
  }
  series.Observe(Seconds(waited));
}

void ClientMetrics::Retry(std::string_view method, int code) {
  if (!on_) return;
  metric::Series series;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    PerMethod& m = Of(method);
    auto it = m.retries.find(code);
    if (it == m.retries.end()) {
      it = m.retries.emplace(code, retries_.With({CodeLabel(code), std::string(method), host_}))
               .first;
    }
    series = it->second;
  }
  series.Add();
}

}  // namespace kcm::host::client
