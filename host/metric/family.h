// SPDX-License-Identifier: Apache-2.0
// Family and Cell: the series of one metric name. Internal to host/metric.
//
// Values are prometheus-cpp gauges and histograms. Its own Family is not used: it destroys a
// removed series while handles to it may still count.
#pragma once
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/metric/registry.h"

namespace kcm::host::metric {

// One series' value.
struct Cell {
  Type type = Type::kCounter;
  std::atomic<bool> visible{true};  // false between a reset and the next change
  prometheus::Gauge value;          // counters and gauges
  std::unique_ptr<prometheus::Histogram> histogram;
};

// Thread-safe.
class Family {
 public:
  Family(Type type, Description description) : type_(type), description_(std::move(description)) {}

  Type type() const { return type_; }
  const Description& description() const { return description_; }

  Series With(const std::vector<std::string>& label_values);
  void Remove(const std::vector<std::string>& label_values);
  void Allow(const std::string& label, const std::vector<std::string>& values);
  void Reset();
  // nullopt when there is nothing to show.
  std::optional<prometheus::MetricFamily> Collect() const;

 private:
  std::vector<std::string> Folded(const std::vector<std::string>& label_values) const;
  std::shared_ptr<Cell> MakeCell() const;

  const Type type_;
  const Description description_;
  mutable std::mutex mutex_;
  std::map<std::vector<std::string>, std::shared_ptr<Cell>>
      cells_;                                        // ordered: scrapes are comparable
  std::map<size_t, std::set<std::string>> allowed_;  // by index of the label
};

}  // namespace kcm::host::metric
