// SPDX-License-Identifier: Apache-2.0
// Registry: metric families of one host with upstream names, text exposition over prometheus-cpp
// (spec/host.md 10).
//
//   auto adds = registry.Counter({.name = "workqueue_adds_total", .help = "...", .labels =
//   {"name"}}); adds.With({"deployment"}).Add();
// Registering a name twice with the same shape returns the same family (two plugin generations
// share it); another shape is an error reported through the Result of Try*; the plain forms die on
// it (our own bug).
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kcm/rules/result.h"

namespace kcm::host::metric {

enum class Type : uint8_t { kCounter, kGauge, kHistogram };
struct Description {
  std::string name;
  std::string help;  // without the stability tag
  std::string stability =
      "ALPHA";  // ALPHA, BETA, STABLE: printed as "[ALPHA] " in front of help; "": no tag
  std::vector<std::string> labels = {};
  std::vector<double> buckets = {};  // histograms
};

class Family;
struct Cell;
// One time series. Cheap to copy, thread-safe, never dangles; after Metric::Remove it counts on
// unseen.
class Series {
 public:
  Series() = default;                // does nothing
  void Add(double delta = 1) const;  // counters (negative: ignored) and gauges
  void Set(double value)
      const;  // gauges; counters whose value is kept elsewhere (process_cpu_seconds_total)
  void Observe(double value) const;  // histograms
  double Value() const;  // counters and gauges; sum of a histogram. For tests and /healthz

 private:
  friend class Family;
  explicit Series(std::shared_ptr<Cell> cell) : cell_(std::move(cell)) {}
  std::shared_ptr<Cell> cell_;
};

class Metric {
 public:
  Metric() = default;
  // The series of these label values, made at 0 when new. REQUIRES: as many as labels. A look-up
  // with a lock: keep the result.
  Series With(const std::vector<std::string>& label_values) const;
  void Remove(const std::vector<std::string>& label_values) const;

 private:
  friend class Registry;
  std::shared_ptr<Family> family_;
};

// Thread-safe.
class Registry {
 public:
  Registry();
  ~Registry();
  Metric Counter(const Description& d) { return Must(Type::kCounter, d); }
  Metric Gauge(const Description& d) { return Must(Type::kGauge, d); }
  Metric Histogram(const Description& d) { return Must(Type::kHistogram, d); }
  Result<Metric> Try(Type type, const Description& d);
  // Runs before each scrape (sets gauges: process_*, unfinished work, ...). Returns an id for
  // RemoveCollector, after whose return `collect` is not running. `collect` must not add or remove
  // collectors.
  int AddCollector(std::function<void()> collect);
  void RemoveCollector(int id);
  // Families to drop / label values to fold into "unexpected" (--disabled-metrics,
  // --allow-metric-labels). Both also hold for families registered later; existing series keep
  // their labels, so call them first.
  void Disable(const std::vector<std::string>& names);
  void AllowLabels(const std::string& metric, const std::string& label,
                   const std::vector<std::string>& values);

  // Prometheus text 0.0.4, or OpenMetrics 1.0. `slis_only`: /metrics/slis. Families without series
  // are left out.
  std::string Expose(bool open_metrics, bool slis_only) const;
  // DELETE /metrics/slis: health check series vanish and start again from 0 with their next change.
  void ResetSlis();

  // How many families are shown (by stability) and disabled.
  struct Counts {
    std::map<std::string, int> registered;
    int disabled = 0;
  };
  Counts Counted() const;

 private:
  Metric Must(Type type, const Description& d);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kcm::host::metric
