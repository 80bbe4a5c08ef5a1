// SPDX-License-Identifier: Apache-2.0
// The workqueue_* series: see the header.
#include "host/queue/queue_metrics.h"

#include <chrono>
#include <utility>

namespace kcm::host::queue {
namespace {

double Seconds(clock::Duration d) { return std::chrono::duration<double>(d).count(); }

metric::Description Describe(const char* name, const char* help) {
  metric::Description d;
  d.name = name;
  d.help = help;
  d.labels = {"name"};
  return d;
}

metric::Description DescribeDuration(const char* name, const char* help) {
  metric::Description d = Describe(name, help);
  d.buckets = {1e-08, 1e-07, 1e-06, 1e-05, 1e-04, 1e-03, 0.01, 0.1, 1, 10};  // spec/host.md 10.2
  return d;
}

}  // namespace

QueueMetrics::QueueMetrics(metric::Registry* registry, const std::string& name,
                           std::function<Running()> running)
    : registry_(name.empty() ? nullptr : registry) {
  if (registry_ == nullptr) return;
  metric::Registry& r = *registry_;
  depth_ = r.Gauge(Describe("workqueue_depth", "Current depth of workqueue")).With({name});
  adds_ = r.Counter(Describe("workqueue_adds_total", "Total number of adds handled by workqueue"))
              .With({name});
  retries_ =
      r.Counter(Describe("workqueue_retries_total", "Total number of retries handled by workqueue"))
          .With({name});
  queue_duration_ =
      r.Histogram(DescribeDuration(
                      "workqueue_queue_duration_seconds",
                      "How long in seconds an item stays in workqueue before being requested."))
          .With({name});
  work_duration_ =
      r.Histogram(DescribeDuration("workqueue_work_duration_seconds",
                                   "How long in seconds processing an item from workqueue takes."))
          .With({name});
  unfinished_ = r.Gauge(Describe("workqueue_unfinished_work_seconds",
                                 "How many seconds of work has been done that is in progress and "
                                 "has not been observed by "
                                 "work_duration; large values indicate stuck threads."))
                    .With({name});
  longest_ =
      r.Gauge(Describe(
                  "workqueue_longest_running_processor_seconds",
                  "How many seconds has the longest running processor for workqueue been running."))
          .With({name});
  collector_ = r.AddCollector([this, running = std::move(running)] {
    const Running now = running();
    unfinished_.Set(Seconds(now.total));
    longest_.Set(Seconds(now.longest));
  });
}

QueueMetrics::~QueueMetrics() {
  if (registry_ == nullptr) return;
  registry_->RemoveCollector(collector_);
  unfinished_.Set(0);
  longest_.Set(0);
}

void QueueMetrics::Added() const {
  adds_.Add();
  depth_.Add();
}

void QueueMetrics::Taken(clock::Duration waited) const {
  depth_.Add(-1);
  queue_duration_.Observe(Seconds(waited));
}

void QueueMetrics::Finished(clock::Duration worked) const {
  work_duration_.Observe(Seconds(worked));
}

void QueueMetrics::Retried() const { retries_.Add(); }

void QueueMetrics::Dropped(size_t keys) const { depth_.Add(-static_cast<double>(keys)); }

}  // namespace kcm::host::queue
