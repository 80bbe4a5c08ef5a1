// SPDX-License-Identifier: Apache-2.0
// Series of one metric: counting, folding of label values, what a scrape sees.
#include "host/metric/family.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace kcm::host::metric {
namespace {

constexpr const char* kUnexpected = "unexpected";

// HELP is one line; prometheus-cpp writes it as it is.
std::string EscapedHelp(const Description& d) {
  std::string help = d.stability.empty() ? "" : "[" + d.stability + "] ";
  for (const char c : d.help) {
    if (c == '\\') {
      help += "\\\\";
    } else if (c == '\n') {
      help += "\\n";
    } else {
      help += c;
    }
  }
  return help;
}

prometheus::MetricType PrometheusType(Type type) {
  switch (type) {
    case Type::kCounter:
      return prometheus::MetricType::Counter;
    case Type::kGauge:
      return prometheus::MetricType::Gauge;
    case Type::kHistogram:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

void CheckLabelCount(const Description& d, size_t given) {
  if (given == d.labels.size()) return;
  std::fprintf(stderr, "metric %s: %zu label values given, it has %zu labels: fix the caller\n",
               d.name.c_str(), given, d.labels.size());
  std::abort();
}

}  // namespace

void Series::Add(double delta) const {
  if (cell_ == nullptr || cell_->type == Type::kHistogram) return;
  if (cell_->type == Type::kCounter && !(delta >= 0)) return;
  cell_->value.Increment(delta);
  cell_->visible.store(true, std::memory_order_relaxed);
}

void Series::Set(double value) const {
  if (cell_ == nullptr || cell_->type == Type::kHistogram) return;
  cell_->value.Set(value);
  cell_->visible.store(true, std::memory_order_relaxed);
}

void Series::Observe(double value) const {
  if (cell_ == nullptr || cell_->histogram == nullptr) return;
  cell_->histogram->Observe(value);
}

double Series::Value() const {
  if (cell_ == nullptr) return 0;
  if (cell_->histogram != nullptr) return cell_->histogram->Collect().histogram.sample_sum;
  return cell_->value.Value();
}

Series Metric::With(const std::vector<std::string>& label_values) const {
  return family_ == nullptr ? Series() : family_->With(label_values);
}

void Metric::Remove(const std::vector<std::string>& label_values) const {
  if (family_ != nullptr) family_->Remove(label_values);
}

Series Family::With(const std::vector<std::string>& label_values) {
  CheckLabelCount(description_, label_values.size());
  std::lock_guard lock(mutex_);
  std::shared_ptr<Cell>& cell = cells_[allowed_.empty() ? label_values : Folded(label_values)];
  if (cell == nullptr) cell = MakeCell();
  return Series(cell);
}

void Family::Remove(const std::vector<std::string>& label_values) {
  CheckLabelCount(description_, label_values.size());
  std::lock_guard lock(mutex_);
  cells_.erase(Folded(label_values));
}

void Family::Allow(const std::string& label, const std::vector<std::string>& values) {
  std::lock_guard lock(mutex_);
  for (size_t i = 0; i < description_.labels.size(); ++i) {
    if (description_.labels[i] == label)
      allowed_[i] = std::set<std::string>(values.begin(), values.end());
  }
}

void Family::Reset() {
  std::lock_guard lock(mutex_);
  for (const auto& [labels, cell] : cells_) {
    cell->value.Set(0);
    cell->visible.store(false, std::memory_order_relaxed);
  }
}

std::optional<prometheus::MetricFamily> Family::Collect() const {
  prometheus::MetricFamily family;
  family.name = description_.name;
  family.help = EscapedHelp(description_);
  family.type = PrometheusType(type_);
  std::lock_guard lock(mutex_);
  for (const auto& [labels, cell] : cells_) {
    if (!cell->visible.load(std::memory_order_relaxed)) continue;
    prometheus::ClientMetric metric;
    if (cell->histogram != nullptr) {
      metric = cell->histogram->Collect();
    } else {
      metric.counter.value = metric.gauge.value = cell->value.Value();
    }
    for (size_t i = 0; i < labels.size(); ++i)
      metric.label.push_back({description_.labels[i], labels[i]});
    family.metric.push_back(std::move(metric));
  }
  if (family.metric.empty()) return std::nullopt;
  return family;
}

std::vector<std::string> Family::Folded(const std::vector<std::string>& label_values) const {
  std::vector<std::string> folded = label_values;
  for (const auto& [index, values] : allowed_) {
    if (!values.contains(folded[index])) folded[index] = kUnexpected;
  }
  return folded;
}

std::shared_ptr<Cell> Family::MakeCell() const {
  auto cell = std::make_shared<Cell>();
  cell->type = type_;
  if (type_ == Type::kHistogram)
    cell->histogram = std::make_unique<prometheus::Histogram>(description_.buckets);
  return cell;
}

}  // namespace kcm::host::metric
