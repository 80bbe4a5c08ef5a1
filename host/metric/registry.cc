// SPDX-License-Identifier: Apache-2.0
// Registry: registration, flags that change what is shown, scrapes.
#include "host/metric/registry.h"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>

#include "host/metric/family.h"
#include "host/metric/open_metrics.h"

namespace kcm::host::metric {
namespace {

// /metrics/slis (spec/host.md 10.1); the start time is shown there but not reset.
constexpr std::array<std::string_view, 2> kResettableSlis = {"kubernetes_healthcheck",
                                                             "kubernetes_healthchecks_total"};
constexpr std::string_view kStartTime = "process_start_time_seconds";

bool IsResettableSli(std::string_view name) {
  return std::find(kResettableSlis.begin(), kResettableSlis.end(), name) != kResettableSlis.end();
}

bool IsName(std::string_view name, bool colons) {
  const auto letter = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (colons && c == ':');
  };
  if (name.empty() || !letter(name[0])) return false;
  return std::all_of(name.begin(), name.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

// Empty when `d` can be registered.
std::string Flaw(Type type, const Description& d) {
  if (!IsName(d.name, true))
    return "the name has characters outside [a-zA-Z0-9_:] or starts with a digit";
  for (const std::string& label : d.labels) {
    if (!IsName(label, false) || label.starts_with("__"))
      return "label \"" + label + "\" is not a valid name";
    if (label == "le" && type == Type::kHistogram) return "label \"le\" belongs to the buckets";
    if (std::count(d.labels.begin(), d.labels.end(), label) != 1)
      return "label \"" + label + "\" is given twice";
  }
  if (type != Type::kHistogram) return d.buckets.empty() ? "" : "only histograms have buckets";
  if (d.buckets.empty()) return "a histogram needs buckets";
  const auto disorder = std::adjacent_find(d.buckets.begin(), d.buckets.end(),
                                           [](double x, double y) { return !(x < y); });
  return disorder == d.buckets.end() ? "" : "buckets must ascend";
}

}  // namespace

struct Registry::Impl {
  // One collector. The lock is held while it runs, so that RemoveCollector can wait for it.
  struct Collector {
    std::mutex mutex;
    std::function<void()> collect;
  };

  mutable std::mutex mutex;
  std::map<std::string, std::shared_ptr<Family>, std::less<>> families;
  std::set<std::string, std::less<>> disabled;
  std::map<std::string, std::map<std::string, std::vector<std::string>>>
      allowed;  // metric -> label -> values
  std::map<int, std::shared_ptr<Collector>> collectors;
  int last_collector = 0;

  void RunCollectors() const {
    std::vector<std::shared_ptr<Collector>> all;
    {
      std::lock_guard lock(mutex);
      for (const auto& [id, collector] : collectors) all.push_back(collector);
    }
    for (const auto& collector : all) {
      std::lock_guard lock(collector->mutex);
      if (collector->collect) collector->collect();
    }
  }

  std::vector<std::shared_ptr<Family>> Shown(bool slis_only) const {
    std::lock_guard lock(mutex);
    std::vector<std::shared_ptr<Family>> shown;
    for (const auto& [name, family] : families) {
      if (disabled.contains(name)) continue;
      if (slis_only && name != kStartTime && !IsResettableSli(name)) continue;
      shown.push_back(family);
    }
    return shown;
  }
};

Registry::Registry() : impl_(std::make_unique<Impl>()) {}
Registry::~Registry() = default;

Result<Metric> Registry::Try(Type type, const Description& d) {
  if (const std::string flaw = Flaw(type, d); !flaw.empty()) {
    return MakeError(Code::kInvalid, "register metric \"" + d.name + "\": " + flaw);
  }
  std::lock_guard lock(impl_->mutex);
  std::shared_ptr<Family>& family = impl_->families[d.name];
  if (family == nullptr) {
    family = std::make_shared<Family>(type, d);
    if (const auto rules = impl_->allowed.find(d.name); rules != impl_->allowed.end()) {
      for (const auto& [label, values] : rules->second) family->Allow(label, values);
    }
  } else if (family->type() != type || family->description().labels != d.labels ||
             family->description().buckets != d.buckets) {
    return MakeError(Code::kAlreadyExists,
                     "register metric \"" + d.name +
                         "\": registered already with another type, labels or buckets: choose "
                         "another name, or the same shape");
  }
  Metric metric;
  metric.family_ = family;
  return metric;
}

Metric Registry::Must(Type type, const Description& d) {
  Result<Metric> metric = Try(type, d);
  if (!metric.ok()) {
    std::fprintf(stderr, "%s\n", metric.error().message.c_str());
    std::abort();
  }
  return *metric;
}

int Registry::AddCollector(std::function<void()> collect) {
  auto collector = std::make_shared<Impl::Collector>();
  collector->collect = std::move(collect);
  std::lock_guard lock(impl_->mutex);
  impl_->collectors.emplace(++impl_->last_collector, std::move(collector));
  return impl_->last_collector;
}

void Registry::RemoveCollector(int id) {
  std::shared_ptr<Impl::Collector> collector;
  {
    std::lock_guard lock(impl_->mutex);
    const auto it = impl_->collectors.find(id);
    if (it == impl_->collectors.end()) return;
    collector = std::move(it->second);
    impl_->collectors.erase(it);
  }
  std::lock_guard lock(collector->mutex);  // a scrape may be in it
  collector->collect = nullptr;
}

void Registry::Disable(const std::vector<std::string>& names) {
  std::lock_guard lock(impl_->mutex);
  impl_->disabled.insert(names.begin(), names.end());
}

void Registry::AllowLabels(const std::string& metric, const std::string& label,
                           const std::vector<std::string>& values) {
  std::lock_guard lock(impl_->mutex);
  impl_->allowed[metric][label] = values;
  if (const auto it = impl_->families.find(metric); it != impl_->families.end())
    it->second->Allow(label, values);
}

std::string Registry::Expose(bool open_metrics, bool slis_only) const {
  impl_->RunCollectors();
  std::vector<prometheus::MetricFamily> families;
  for (const auto& family : impl_->Shown(slis_only)) {
    if (auto collected = family->Collect()) families.push_back(std::move(*collected));
  }
  return open_metrics ? OpenMetricsText(families)
                      : prometheus::TextSerializer().Serialize(families);
}

void Registry::ResetSlis() {
  std::lock_guard lock(impl_->mutex);
  for (const auto& [name, family] : impl_->families) {
    if (IsResettableSli(name)) family->Reset();
  }
}

Registry::Counts Registry::Counted() const {
  std::lock_guard lock(impl_->mutex);
  Counts counts;
  for (const auto& [name, family] : impl_->families) {
    if (impl_->disabled.contains(name)) {
      ++counts.disabled;
    } else {
      ++counts.registered[family->description().stability];
    }
  }
  return counts;
}

}  // namespace kcm::host::metric
