// SPDX-License-Identifier: Apache-2.0
// EventRecorder: the events of one controller, from Record to the API server (spec/host.md 8):
// logged, queued, correlated and written one after the other by one thread.
//
//   EventRecorder recorder({.component = "deployment-controller", .sink = sink, .clock = &clock,
//   .log = log}); recorder.Record(reference, EventType::kNormal, "ScalingReplicaSet", "Scaled up
//   replica set web-1 to 3");
//
// Guarantees: Record never waits for the server; what does not fit the queue is dropped and logged.
// Stop and the process' end abandon what is still queued; Finish writes it.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "host/clock/clock.h"
#include "host/event/correlator.h"
#include "host/event/event.h"
#include "host/log/log.h"
#include "kcm/rules/result.h"

namespace kcm::host::event {

// Where Events go: the host implements it over its client. Called on the recorder's thread, one
// call at a time. An answer of the server has Error::http_status; without one (and
// Code::kTransport, kTimeout or kUnavailable) the write is tried again. Fenced, Stopped and
// Cancelled end it silently.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual Result<Unit> Post(const std::string& namespace_, const std::string& json) = 0;
  // Strategic merge patch.
  virtual Result<Unit> Patch(const std::string& namespace_, const std::string& name,
                             const std::string& json) = 0;
  // Ends the call that runs now, also while it waits for its turn at the client's rate limiter, and
  // every later one, as Cancelled. From any thread, any number of times.
  virtual void Cancel() = 0;
};

struct RecorderOptions {
  std::string component;            // source.component and reportingComponent
  std::shared_ptr<EventSink> sink;  // REQUIRES: not null
  clock::Clock* clock = nullptr;    // REQUIRES: not null, outlives the recorder
  log::Logger log;
  int log_level = 3;  // of "Event occurred": 0 for leader election
  size_t queue_limit = 1000;
  std::shared_ptr<Correlator>
      correlator;  // null: an own one. Shared, counts go on over a swap of builds
};

// Thread-safe.
class EventRecorder {
 public:
  explicit EventRecorder(RecorderOptions options);
  ~EventRecorder();  // Stop

  void Record(const ObjectReference& involved, EventType type, std::string_view reason,
              std::string_view message, const Annotations& annotations = {});
  // For events that cross the ABI: a type other than "Normal" and "Warning" is logged as an error
  // and dropped.
  void Record(const ObjectReference& involved, std::string_view type, std::string_view reason,
              std::string_view message, const Annotations& annotations = {});

  // Abandons queued events and the write under way, cancels the sink and joins the thread. Later
  // events are dropped.
  void Stop();
  // Writes what is queued, with the usual retries, then ends and joins. Stop from another thread
  // cuts it short. Later events are dropped.
  void Finish();
  size_t Queued() const;
  // Nothing is queued and no write is under way.
  bool Idle() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kcm::host::event
