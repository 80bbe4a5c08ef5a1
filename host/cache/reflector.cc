// SPDX-License-Identifier: Apache-2.0
// The reflector's states: list, watch, pause.
#include "host/cache/reflector.h"

#include <charconv>
#include <utility>

#include "host/client/api_error.h"
#include "host/client/connection_causes.h"
#include "host/client/request.h"
#include "host/client/resource_kinds.h"

namespace kcm::host::cache {
namespace {

using client::Verb;

constexpr int kPageSize = 500;
constexpr int kMaxPages = 1'000'000;
constexpr clock::Duration kVeryShort = std::chrono::seconds(1);
constexpr clock::Duration kBookmarkWarning = std::chrono::seconds(10);
constexpr double kMinTimeoutSeconds = 300;

bool IsExpiredError(const Error& e) { return e.code == Code::kExpired; }
bool IsTooLarge(const Error& e) {
  return e.cause == "ResourceVersionTooLarge" ||
         e.message.find("Too large resource version") != std::string::npos;
}
// The stream broke off: as good as its end (5.3).
bool IsCut(const Error& e) {
  if (e.http_status != 0) return false;  // an answer, if only 504
  return e.code == Code::kTimeout ||
         (e.code == Code::kTransport &&
          (e.cause == client::kCauseEof || e.cause == client::kCauseReset));
}
// Nothing is wrong with what was asked: nobody answers, or not now. A connection that was lost
// before the answer counts as a watch that has ended (7.2), hence no relist; but unlike an open one
// it is no sign of a server at work, hence the back-off (HOST-30).
bool CallsForPatience(const Error& e) {
  return e.code == Code::kTooManyRequests || IsCut(e) ||
         (e.code == Code::kTransport && e.cause == client::kCauseRefused);
}

std::string KindFor(const InformerKey& key) {
  return key.metadata_only ? "PartialObjectMetadata"
                           : std::string(client::KindOfResource(key.gvr.resource));
}

}  // namespace

Reflector::Reflector(ReflectorOptions options, ReflectorSink* sink, wire::Mask mask)
    : options_(std::move(options)),
      sink_(sink),
      expected_kind_(client::MessageOfResource(options_.key.gvr).empty() &&
                             !options_.key.metadata_only
                         ? ""
                         : KindFor(options_.key)),
      connect_back_off_(options_.random),
      list_back_off_(options_.random),
      watch_list_(options_.watch_list),
      mask_(std::move(mask)) {}

Reflector::~Reflector() { Stop(); }

void Reflector::Start() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (started_ || stop_) return;
    started_ = true;
  }
  try {
    thread_.StartBusy(*options_.clock, "r:" + options_.key.gvr.resource, kReflectorStack,
                      [this] { Run(); });
  } catch (...) {
    std::lock_guard<std::mutex> lock(mutex_);
    started_ = false;  // the next Start tries again
    throw;
  }
}

void Reflector::Stop() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
    wake_.notify_all();
  }
  Interrupt();
  thread_.Join();
}

bool Reflector::started() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return started_;
}

bool Reflector::stopped() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return stop_;
}

wire::Mask Reflector::mask() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return filling_from_ ? *filling_from_ : mask_;
}

std::string Reflector::list_error() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return list_error_;
}

void Reflector::SetListError(const Error& error) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!published_) list_error_ = error.message;
}

std::shared_ptr<client::Cancellation> Reflector::NewOperation() {
  auto operation = std::make_shared<client::Cancellation>();
  std::lock_guard<std::mutex> lock(mutex_);
  operation_ = operation;
  active_mask_ = mask_;
  if (stop_ || widening_) operation->Cancel();
  return operation;
}

void Reflector::Interrupt() {
  std::shared_ptr<client::Cancellation> operation;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    operation = operation_;
  }
  if (operation) operation->Cancel();
}

void Reflector::Run() {
  State state = First();
  while (state != State::kStopped && !stopped()) {
    switch (state) {
      case State::kWatchList:
        state = WatchList();
        break;
      case State::kList:
        state = List();
        break;
      case State::kWatch:
        state = Watch();
        break;
      case State::kPauseThenList:
        state = PauseThen(&list_back_off_, First());
        break;
      case State::kPauseThenWatchList:
        state = PauseThen(&connect_back_off_, State::kWatchList);
        break;
      case State::kPauseThenWatch:
        state = PauseThen(&connect_back_off_, State::kWatch);
        break;
      case State::kStopped:
        break;
    }
    idle_.reset();
  }
}

Reflector::State Reflector::PauseThen(BackOff* back_off, State next) {
  const clock::Duration delay = back_off->Next(options_.clock->Monotonic());
  std::unique_lock<std::mutex> lock(mutex_);
  options_.clock->WaitFor(lock, wake_, delay, [this] { return stop_; });
  return stop_ ? State::kStopped : next;
}

client::Call Reflector::MakeCall(Verb verb, const wire::Mask* mask) const {
  client::Call call;
  call.verb = verb;
  call.resource = options_.key.gvr;
  call.ns = options_.key.ns;
  call.form = options_.key.metadata_only ? client::Form::kMetadataOnly : client::Form::kObject;
  call.mask = mask->keeps_all() ? nullptr : mask;
  call.interner = options_.interner;
  call.retry_lost = false;  // every way out of a state that failed leads through PauseThen
  if (json_) call.accept = client::AcceptOf(call, true).value;
  if (!options_.key.field_selector.empty())
    call.query += "&fieldSelector=" + client::EscapeSegment(options_.key.field_selector);
  if (!options_.key.label_selector.empty())
    call.query += "&labelSelector=" + client::EscapeSegment(options_.key.label_selector);
  if (!call.query.empty()) call.query.erase(0, 1);
  return call;
}

// 5.2, 5.3, T8: "0" first, the last one seen on a relist, "" only after that was refused. During a
// replay the store is newer than what is watched.
std::string Reflector::RelistVersion() const {
  if (expired_) return "";
  std::lock_guard<std::mutex> lock(mutex_);
  if (ParseVersion(last_rv_) < replay_until_) return std::to_string(replay_until_);
  return last_rv_.empty() ? "0" : last_rv_;
}

Result<std::string> Reflector::ListPages(const wire::Mask& mask, const std::string& rv,
                                         client::Cancellation* cancel, const wire::ItemSink& sink,
                                         bool* paginated) const {
  client::Call call = MakeCall(Verb::kList, &mask);
  call.cancel = cancel;
  const std::string selectors = call.query.empty() ? "" : "&" + call.query;
  const bool limited = rv.empty() || rv == "0" || *paginated;
  const std::string version = rv.empty() ? "" : "&resourceVersion=" + rv;
  call.query = (limited           ? "limit=" + std::to_string(kPageSize) + version
                : version.empty() ? ""
                                  : version.substr(1)) +
               selectors;
  std::string list_version;
  for (int page = 0; page < kMaxPages; ++page) {
    const Result<client::ListResult> answer = options_.client->List(call, sink);
    if (!answer.ok()) return answer.error();
    if (page == 0) list_version = answer->resource_version;
    if (answer->continue_token.empty()) return list_version;
    if (rv == "0") *paginated = true;
    call.query = "limit=" + std::to_string(kPageSize) +
                 "&continue=" + client::EscapeSegment(answer->continue_token) + selectors;
  }
  return MakeError(Code::kInternal, "list does not end");
}

// While listing again most objects are unchanged: the copy in the store serves, so that a relist
// needs little memory. Not while that copy may lack fields.
wire::ObjectPtr Reflector::Reuse(wire::ObjectPtr item) const {
  if (Replaying()) return item;
  wire::ObjectPtr known = sink_->Find(item->Namespace(), item->Name());
  const bool same = known && !item->ResourceVersionText().empty() &&
                    known->ResourceVersionText() == item->ResourceVersionText() &&
                    known->Uid() == item->Uid();
  return same ? known : item;
}

// A kind that is cached whole becomes a PUT body: nothing of a newer server may be lost
// (spec/wire.md).
bool Reflector::LosesFields(const wire::ObjectPtr& object) {
  if (json_ || object->whole() || !active_mask_.keeps_all()) return false;
  json_ = true;
  options_.log.Info(
      0, "The server sends fields that this host does not know, reading this resource as JSON",
      {{"resource", options_.key.gvr.resource}});
  return true;
}

uint64_t Reflector::ParseVersion(std::string_view rv) {
  uint64_t out = 0;
  std::from_chars(rv.data(), rv.data() + rv.size(), out);
  return out;
}

void Reflector::SetVersion(std::string_view rv) {
  if (rv.empty()) return;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    last_rv_ = std::string(rv);
  }
  sink_->Reached(ParseVersion(rv));
}

bool Reflector::Listed(std::vector<wire::ObjectPtr> items, const std::string& rv) {
  {
    // One step: whoever widens the mask afterwards sees a list that it has to fill up.
    std::lock_guard<std::mutex> lock(mutex_);
    if (!active_mask_.Covers(mask_)) return false;
    listed_ = true;
  }
  sink_->Replace(std::move(items), false, ParseVersion(rv));
  expired_ = false;
  SetVersion(rv);
  replay_until_ = 0;  // also when the server was set back: what it tells from here on is news
  EndReplay();
  std::lock_guard<std::mutex> lock(mutex_);
  published_ = true;
  list_error_.clear();
  wake_.notify_all();
  return true;
}

Reflector::State Reflector::AfterCancel() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (stop_) return State::kStopped;
  // Interrupted for a wider mask: a list starts over with it, a watch takes the wider objects over.
  return listed_ ? State::kWatch : First();
}

Reflector::State Reflector::List() {
  const std::shared_ptr<client::Cancellation> operation = NewOperation();
  std::vector<wire::ObjectPtr> items;
  bool loses = false;
  const bool was_expired = expired_;
  const std::string rv = RelistVersion();
  const wire::ItemSink sink = [&](wire::ObjectPtr item) {
    loses = loses || LosesFields(item);
    items.push_back(Reuse(std::move(item)));
  };
  Result<std::string> listed = ListPages(active_mask_, rv, operation.get(), sink, &paginated_);
  // A page of a list that took too long: the whole once more, in one piece.
  if (!listed.ok() && IsExpiredError(listed.error()) && !items.empty()) {
    items.clear();
    client::Call call = MakeCall(Verb::kList, &active_mask_);
    call.cancel = operation.get();
    if (!rv.empty()) call.query += (call.query.empty() ? "" : "&") + ("resourceVersion=" + rv);
    const Result<client::ListResult> whole = options_.client->List(call, sink);
    listed = whole.ok() ? Result<std::string>(whole->resource_version)
                        : Result<std::string>(whole.error());
  }
  if (operation->cancelled()) return AfterCancel();
  if (!listed.ok()) {
    const bool at_version = !was_expired && !rv.empty();
    if ((IsExpiredError(listed.error()) || IsTooLarge(listed.error())) && at_version) {
      expired_ = true;
      return State::kList;
    }
    SetListError(listed.error());
    options_.log.Error(listed.error().message, "Failed to list",
                       {{"resource", options_.key.gvr.resource}});
    return State::kPauseThenList;
  }
  if (loses) return State::kList;
  return Listed(std::move(items), *listed) ? State::kWatch : First();
}

Reflector::State Reflector::WatchList() {
  std::string query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
  const std::string rv = RelistVersion();
  if (rv != "0" && !rv.empty()) query += "&resourceVersion=" + rv;
  collected_.clear();
  list_warning_ = options_.clock->After(kBookmarkWarning, [this] {
    options_.log.Warning("Still waiting for the end of the initial events",
                         {{"resource", options_.key.gvr.resource}});
  });
  StreamEnd end = RunStream(query, true);
  options_.clock->Cancel(list_warning_);
  std::vector<wire::ObjectPtr>().swap(collected_);
  if (end.restart) return First();
  if (end.listed) return AfterWatch(end);
  const std::optional<Error> error = end.error_event   ? end.error_event
                                     : end.status.ok() ? std::nullopt
                                                       : std::optional<Error>(end.status.error());
  if (error && error->code == Code::kCancelled) return AfterCancel();
  if (error) SetListError(*error);
  if (error && CallsForPatience(*error) && !(end.opened && IsCut(*error)))
    return State::kPauseThenWatchList;
  if (error && (IsExpiredError(*error) || IsTooLarge(*error)) && !expired_) {
    expired_ = true;
    return State::kWatchList;
  }
  if (!error && end.lasted >= kVeryShort) return State::kPauseThenList;
  options_.log.Info(2, "The watch-list request ended, falling back to LIST",
                    {{"resource", options_.key.gvr.resource},
                     {"err", error ? error->message : "stream ended early"}});
  return State::kList;
}

Reflector::State Reflector::Watch() {
  ApplyWidening();
  std::string rv;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    rv = last_rv_;
  }
  return AfterWatch(RunStream("resourceVersion=" + rv, false));
}

// The table of 5.3.
Reflector::State Reflector::AfterWatch(const StreamEnd& end) {
  if (end.restart) return State::kList;
  if (end.error_event) {
    const Error& e = *end.error_event;
    if (e.code == Code::kTooManyRequests) return State::kPauseThenWatch;
    options_.log.Info(IsExpiredError(e) ? 4 : 0, "Watch ended with an error",
                      {{"resource", options_.key.gvr.resource}, {"err", e.message}});
    return State::kPauseThenList;
  }
  if (!end.status.ok()) {
    const Error& e = end.status.error();
    if (e.code == Code::kCancelled) return AfterCancel();
    if (!end.opened && CallsForPatience(e)) return State::kPauseThenWatch;
    if (!end.opened || !IsCut(e)) {
      options_.log.Error(e.message, "Failed to watch", {{"resource", options_.key.gvr.resource}});
      return State::kPauseThenList;
    }
  }
  if (end.events == 0 && end.lasted < kVeryShort) {
    options_.log.Info(2, "Very short watch: the server ended it at once",
                      {{"resource", options_.key.gvr.resource}});
    return State::kPauseThenList;
  }
  return State::kWatch;
}

Reflector::StreamEnd Reflector::RunStream(const std::string& query, bool initial) {
  const std::shared_ptr<client::Cancellation> operation = NewOperation();
  client::Call call = MakeCall(Verb::kWatch, &active_mask_);
  // Random, or all informers would watch anew in lock step (T32).
  const auto timeout =
      std::chrono::seconds(static_cast<int64_t>(kMinTimeoutSeconds * (1 + options_.random())));
  call.query = "allowWatchBookmarks=true&" + query +
               "&timeoutSeconds=" + std::to_string(timeout.count()) +
               (call.query.empty() ? "" : "&" + call.query);
  call.timeout = timeout;
  call.rate_limited = false;
  call.cancel = operation.get();
  StreamEnd end;
  const clock::MonoTime start = options_.clock->Monotonic();
  end.status = options_.client->Watch(
      call,
      [&] {
        end.opened = true;
        if (!initial) idle_.emplace(*options_.clock);
      },
      [&](wire::WatchEvent&& event) {
        const clock::BusyScope busy(*options_.clock);
        return !operation->cancelled() && OnEvent(std::move(event), initial && !end.listed, &end);
      });
  idle_.reset();
  end.lasted = options_.clock->Monotonic() - start;
  if (operation->cancelled()) end.status = MakeError(Code::kCancelled, "interrupted");
  return end;
}

bool Reflector::IsExpected(const wire::WatchEvent& event) const {
  const std::string& kind = event.object_type.kind;
  const bool fits = expected_kind_.empty() ? kind != "Table" && kind != "Status"
                                           : kind.empty() || kind == expected_kind_;
  if (!fits || event.type == wire::EventType::kOther || !event.object) {
    options_.log.Error("unexpected object in a watch", "Skipping a watch event",
                       {{"resource", options_.key.gvr.resource}, {"kind", kind}});
    return false;
  }
  return true;
}

bool Reflector::OnEvent(wire::WatchEvent&& event, bool initial, StreamEnd* end) {
  if (event.type == wire::EventType::kError) {
    end->error_event = event.object
                           ? client::ErrorOfStatus(event.object->Node(), 0)
                           : MakeError(Code::kInternal, "the server sent an empty ERROR event");
    return false;
  }
  if (!IsExpected(event)) return true;
  ++end->events;
  if (event.type == wire::EventType::kBookmark) {
    const bool complete = initial && event.object->Node()
                                             .Path("metadata.annotations")
                                             .Get("k8s.io/initial-events-end")
                                             .String() == "true";
    const std::string rv(event.object->ResourceVersionText());
    if (complete) {
      if (!Listed(std::exchange(collected_, {}), rv)) {
        end->restart = true;
        return false;
      }
      end->listed = true;
      options_.clock->Cancel(list_warning_);
      idle_.emplace(*options_.clock);
    } else if (!initial) {
      SetVersion(rv);
    }
    return true;
  }
  if (LosesFields(event.object)) {
    end->restart = true;
    return false;
  }
  if (!initial) {
    OnChange(std::move(event));
  } else if (event.type == wire::EventType::kAdded || event.type == wire::EventType::kModified) {
    collected_.push_back(Reuse(std::move(event.object)));
  } else if (event.type == wire::EventType::kDeleted) {
    Uncollect(*event.object);
  }
  return true;
}

// What is deleted while the initial events arrive. Rare, hence no index.
void Reflector::Uncollect(const wire::Object& gone) {
  std::erase_if(collected_, [&](const wire::ObjectPtr& object) {
    return object->Name() == gone.Name() && object->Namespace() == gone.Namespace();
  });
}

void Reflector::OnChange(wire::WatchEvent&& event) {
  const std::string rv(event.object->ResourceVersionText());
  if (replay_until_ != 0 && Replay(event)) return;
  sink_->Apply(event.type, std::move(event.object));
  SetVersion(rv);
}

}  // namespace kcm::host::cache
