// SPDX-License-Identifier: Apache-2.0
// The workqueue_* series of one queue (spec/host.md 10.2). Does nothing without a registry or a
// name.
#pragma once
#include <functional>
#include <string>

#include "host/clock/clock.h"
#include "host/metric/registry.h"

namespace kcm::host::queue {

class QueueMetrics {
 public:
  struct Running {
    clock::Duration total{};  // sum of the ages of running keys
    clock::Duration longest{};
  };
  // `running` is asked at each scrape. Two queues of one name share their series.
  QueueMetrics(metric::Registry* registry, const std::string& name,
               std::function<Running()> running);
  ~QueueMetrics();
  QueueMetrics(const QueueMetrics&) = delete;
  QueueMetrics& operator=(const QueueMetrics&) = delete;

  void Added() const;
  void Taken(clock::Duration waited) const;
  void Finished(clock::Duration worked) const;
  void Retried() const;
  void Dropped(size_t keys) const;  // left the queue without being taken

 private:
  metric::Registry* registry_;  // nullptr: no metrics
  int collector_ = 0;
  metric::Series depth_, adds_, retries_, queue_duration_, work_duration_, unfinished_, longest_;
};

}  // namespace kcm::host::queue
