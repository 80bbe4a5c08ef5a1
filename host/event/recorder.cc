// SPDX-License-Identifier: Apache-2.0
// The pipeline behind Record: a bounded queue and one writing thread with its retries.
#include "host/event/recorder.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <mutex>
#include <random>
#include <thread>

#include "host/clock/thread.h"
#include "host/event/event_body.h"
#include "kcm/rules/error_class.h"

namespace kcm::host::event {
namespace {

// spec/host.md 8.6.
constexpr int kMaxTries = 12;
constexpr clock::Duration kRetrySleep = std::chrono::seconds(10);
// Virtual time stands still while a controller works, and two controllers may name an object in the
// same instant: names start from a nanosecond of their own. Below what a clock resolves in
// practice, so it tells nobody anything wrong.
constexpr uint64_t kNameSpread = 100000;

std::string RefText(const std::string& namespace_, const std::string& name) {
  return namespace_.empty() ? name : namespace_ + "/" + name;
}

// No answer: the server may not have seen the write (8.6).
bool IsTransportError(const Error& e) {
  return e.http_status == 0 &&
         (e.Is(Code::kTransport) || e.Is(Code::kTimeout) || e.Is(Code::kUnavailable));
}

bool IsOurEnd(const Error& e) {
  return e.Is(Code::kFenced) || e.Is(Code::kStopped) || e.Is(Code::kCancelled);
}

}  // namespace

struct EventRecorder::Impl {
  explicit Impl(RecorderOptions o)
      : options(std::move(o)),
        name_offset(
            static_cast<int64_t>(std::hash<std::string>()(options.component) % kNameSpread)) {
    if (options.correlator == nullptr) options.correlator = std::make_shared<Correlator>();
    writer =
        clock::StartBusyThread(*options.clock, "events of " + options.component, [this] { Run(); });
  }

  // Unique within this recorder also while time stands still.
  std::string FreshName(const std::string& involved, clock::WallTime now) {
    std::lock_guard lock(mutex);
    last_nanos = std::max(now.time_since_epoch().count() + name_offset, last_nanos + 1);
    return EventName(involved, last_nanos);
  }

  bool Enqueue(Event event) {
    {
      std::lock_guard lock(mutex);
      if (stopping || ended) return true;
      if (queue.size() >= options.queue_limit) return false;
      queue.push_back(std::move(event));
    }
    changed.notify_one();
    return true;
  }

  void Run() {
    for (;;) {
      Event event;
      {
        std::unique_lock lock(mutex);
        options.clock->Wait(lock, changed, clock::MonoTime::Max(),
                            [this] { return stopping || finishing || !queue.empty(); });
        if (stopping || queue.empty()) {
          ended = true;
          return;
        }
        event = std::move(queue.front());
        queue.pop_front();
        writing = true;
      }
      const std::string involved = event.involved.name;
      const Decision decision =
          options.correlator->Correlate(std::move(event), options.clock->Monotonic(),
                                        [&] { return FreshName(involved, options.clock->Now()); });
      if (decision.write != Decision::Write::kSkip) Write(decision);
      const std::lock_guard lock(mutex);
      writing = false;
    }
  }

  void Join() {
    std::lock_guard lock(join_mutex);
    if (!writer.joinable()) return;
    const clock::BusyPause pause(*options.clock);  // the writer may wait on the clock
    writer.join();
  }

  // Tries until written, refused, stopped or out of tries.
  void Write(const Decision& decision) {
    for (int tries = 1;; ++tries) {
      const Result<Unit> result = TryOnce(decision);
      if (result.ok()) return;
      const Error& error = result.error();
      if (IsOurEnd(error)) return;
      const std::string event = RefText(decision.event.namespace_, decision.event.name);
      if (!IsTransportError(error)) {
        LogRefusal(error, event);
        return;
      }
      if (tries == kMaxTries) {
        options.log.Error(error.message, "Unable to write event (retry limit exceeded!)",
                          {{"event", event}});
        return;
      }
      options.log.Error(error.message, "Unable to write event (may retry after sleeping)",
                        {{"event", event}});
      if (!SleepUnlessStopped(tries == 1 ? RandomSleep() : kRetrySleep)) return;
    }
  }

  Result<Unit> TryOnce(const Decision& decision) {
    const Event& e = decision.event;
    if (decision.write == Decision::Write::kPatch) {
      Result<Unit> patched = options.sink->Patch(e.namespace_, e.name, PatchBody(e));
      // Expired on the server: made again under its name, with the count it had (8.4, trap T19).
      if (patched.ok() || !patched.error().Is(Code::kNotFound)) return patched;
    }
    return options.sink->Post(e.namespace_, PostBody(e));
  }

  void LogRefusal(const Error& error, const std::string& event) const {
    constexpr const char* kMessage = "Server rejected event (will not retry!)";
    if (error.Is(Code::kAlreadyExists) || rules::IsNamespaceTerminating(error)) {
      options.log.Info(5, kMessage, {{"err", error.message}, {"event", event}});
    } else {
      options.log.Error(error.message, kMessage, {{"event", event}});
    }
  }

  bool SleepUnlessStopped(clock::Duration d) {
    std::unique_lock lock(mutex);
    return !options.clock->WaitFor(lock, changed, d, [this] { return stopping; });
  }

  // Spreads the retries of many recorders after an outage.
  clock::Duration RandomSleep() {
    return clock::Duration(std::uniform_int_distribution<int64_t>(0, kRetrySleep.count())(random));
  }

  RecorderOptions options;
  const int64_t name_offset;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::deque<Event> queue;
  bool stopping = false, finishing = false;
  bool writing = false;  // an event is out of the queue and not written yet
  bool ended = false;    // the writer is gone
  int64_t last_nanos = 0;
  std::mt19937_64 random{std::random_device()()};  // writer thread only
  std::mutex join_mutex;
  std::thread writer;  // last: runs on the members above
};

EventRecorder::EventRecorder(RecorderOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}

EventRecorder::~EventRecorder() { Stop(); }

void EventRecorder::Record(const ObjectReference& involved, EventType type, std::string_view reason,
                           std::string_view message, const Annotations& annotations) {
  Record(involved, type == EventType::kNormal ? "Normal" : "Warning", reason, message, annotations);
}

void EventRecorder::Record(const ObjectReference& involved, std::string_view type,
                           std::string_view reason, std::string_view message,
                           const Annotations& annotations) {
  const RecorderOptions& options = impl_->options;
  const std::string object = RefText(involved.namespace_, involved.name);
  if (type != "Normal" && type != "Warning") {
    options.log.Error("", "Unsupported event type",
                      {{"eventType", type}, {"object", object}, {"reason", reason}});
    return;
  }
  Event event;
  event.namespace_ = involved.namespace_.empty() ? "default" : involved.namespace_;
  event.annotations = annotations;
  event.involved = involved;
  event.type = type;
  event.reason = reason;
  event.message = message;
  event.component = event.reporting_component = options.component;
  event.first = event.last = options.clock->Now();
  event.name = impl_->FreshName(involved.name, event.first);
  if (!impl_->Enqueue(std::move(event))) {
    options.log.Error(
        "", "Unable to record event: too many queued events, dropped event",
        {{"object", object}, {"type", type}, {"reason", reason}, {"message", message}});
    return;
  }
  options.log.Info(options.log_level, "Event occurred",
                   {{"object", object},
                    {"fieldPath", involved.field_path},
                    {"kind", involved.kind},
                    {"apiVersion", involved.api_version},
                    {"type", type},
                    {"reason", reason},
                    {"message", message}});
}

void EventRecorder::Stop() {
  {
    std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
    impl_->queue.clear();
  }
  impl_->changed.notify_all();
  impl_->options.sink->Cancel();
  impl_->Join();
}

void EventRecorder::Finish() {
  {
    std::lock_guard lock(impl_->mutex);
    impl_->finishing = true;
  }
  impl_->changed.notify_all();
  impl_->Join();
}

bool EventRecorder::Idle() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->queue.empty() && !impl_->writing;
}

size_t EventRecorder::Queued() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->queue.size();
}

}  // namespace kcm::host::event
