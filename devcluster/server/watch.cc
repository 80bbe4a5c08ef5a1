// SPDX-License-Identifier: Apache-2.0
// Watches (spec/apiserver E). Each runs in its connection's thread and reads the table's history
// from a cursor of its own.
#include <algorithm>
#include <random>

#include "devcluster/kinds/wire_forms.h"
#include "devcluster/server/convert.h"
#include "devcluster/server/core.h"
#include "devcluster/server/list_options.h"
#include "devcluster/server/table.h"

namespace kcm::devcluster {

using host::clock::Duration;
using host::clock::MonoTime;
using host::wire::Object;
using host::wire::ObjectPtr;
using host::wire::TypeMeta;

namespace {

constexpr size_t kBatch = 256;
constexpr size_t kFlushBytes = 64 * 1024;
constexpr size_t kIdleBytes = 16 * 1024;
// A watch sends every event at once, up to this many times in a row; then once per period, with all
// that came in meanwhile. At 2 000 events a second that is a tenth of the writes and wake-ups.
constexpr int kBurst = 20;
constexpr Duration kGatherPeriod = std::chrono::milliseconds(5);
constexpr Duration kBookmarkEvery = std::chrono::minutes(1);
constexpr Duration kBookmarkBeforeEnd = std::chrono::seconds(2);

const char* TypeText(StoreEvent::Type type) {
  switch (type) {
    case StoreEvent::Type::kAdded:
      return "ADDED";
    case StoreEvent::Type::kModified:
      return "MODIFIED";
    default:
      return "DELETED";
  }
}

class Watch {
 public:
  Watch(const State& state, Request& request, const Media& media, ListOptions options)
      : state_(state),
        request_(request),
        resource_(*request.resource),
        media_(media),
        options_(std::move(options)),
        include_(media.as == Media::As::kTable ? IncludeObjectOf(request) : IncludeObject::kNone) {}

  void Run();

 private:
  void Start();
  bool SendInitial();
  bool Deliver(const StoreEvent& event);
  bool SendObject(const char* type, const ObjectPtr& object, const StoreEvent* shared);
  bool SendBookmark(uint64_t revision, bool initial_end);
  bool SendExpired(uint64_t floor);
  bool SendError(const ApiError& error);
  void AppendBody(const ObjectPtr& object, std::string* out);
  bool SendFrame(const char* type, std::string_view object_bytes);
  bool SendHalf(size_t begin);
  bool Relevant(const Object& object) const;
  bool Flush();
  bool Gather();
  void SetTimer(MonoTime when);
  MonoTime NextDeadline() const;
  bool OnTime();

  const State& state_;
  Request& request_;
  const Resource& resource_;
  const Media media_;
  const ListOptions options_;
  const IncludeObject include_;
  Waker waker_;
  uint64_t cursor_ = 0;
  uint64_t told_ = 0;  // the client knows of everything up to here
  bool initial_ = false;
  bool begun_ = false;  // history reached back to where it begins
  bool columns_sent_ = false;
  bool ended_cleanly_ = true;
  MonoTime end_, bookmark_;
  MonoTime sent_at_;  // start of the period that the next send belongs to
  int burst_ = kBurst;
  host::clock::TimerId timer_ = 0;
  MonoTime timer_at_ = MonoTime::Max();
  std::string buffer_ =
      std::string(Connection::kChunkRoom, ' ');  // frames behind the room of a chunk
};

bool Watch::Relevant(const Object& object) const {
  if (!request_.info.ns.empty() && object.Namespace() != request_.info.ns) return false;
  if (!request_.info.name.empty() && object.Name() != request_.info.name) return false;
  return true;
}

void Watch::Start() {
  const std::string& rv = options_.resource_version;
  cursor_ = RevisionParameter(rv, 500);
  initial_ = options_.send_initial_events ||
             (rv.empty() && request_.query.Get("sendInitialEvents").empty()) || rv == "0";
  if (rv.empty() && !initial_) cursor_ = state_.store->revision();
  const MonoTime now = state_.clock->Monotonic();
  int64_t seconds = options_.timeout_seconds;
  if (seconds <= 0) {
    // Spread, so that the watches of one start do not all end at once.
    seconds = 1800 + static_cast<int64_t>(std::random_device{}() % 1800);
  }
  end_ = now + std::chrono::seconds(seconds);
  bookmark_ = std::min(now + kBookmarkEvery, end_ + -kBookmarkBeforeEnd);
}

bool Watch::SendInitial() {
  // A list at least as new as a revision of the future: refused, as a list itself is.
  if (const uint64_t newest = state_.store->revision(); cursor_ > newest) {
    SendError(TooLargeResourceVersion(cursor_, newest));
    return false;
  }
  Store::Listed listed = state_.store->List(*resource_.table, request_.info.ns, "", 0);
  for (const ObjectPtr& item : listed.items) {
    if (!Relevant(*item)) continue;
    const ObjectPtr shown = resource_.stored_form ? item : InVersion(resource_, item);
    if (!options_.Matches(*shown, *resource_.kind)) continue;
    if (!SendObject("ADDED", shown, nullptr)) return false;
  }
  cursor_ = told_ = listed.revision;
  if (options_.send_initial_events && options_.bookmarks && !SendBookmark(cursor_, true))
    return false;
  return Flush();
}

void Watch::AppendBody(const ObjectPtr& object, std::string* out) {
  if (media_.as == Media::As::kTable) {
    std::string table = TableOfOne(state_, request_, resource_, *object, media_, !columns_sent_);
    if (!table.empty() && table.back() == '\n') table.pop_back();
    columns_sent_ = true;
    *out += table;
    return;
  }
  const bool partial = media_.as == Media::As::kPartial || media_.as == Media::As::kPartialList;
  const TypeMeta type =
      partial ? TypeMeta{"meta.k8s.io/" + media_.version, "PartialObjectMetadata"} : resource_.type;
  const ObjectPtr shown = partial ? host::wire::MetadataOnly(*object) : object;
  if (media_.protobuf()) {
    std::string raw;
    (void)host::wire::EncodeProtobuf(partial ? "meta.v1.PartialObjectMetadata" : resource_.message,
                                     shown->Root(), &raw)
        .ok();
    *out += raw;
  } else {
    host::wire::EncodeJson(shown->Root(), &type, out);
  }
}

// The fault kWatchCut: of the frame from `begin` on the first half goes out, and nothing more.
bool Watch::SendHalf(size_t begin) {
  buffer_.resize(begin + (buffer_.size() - begin) / 2);
  Flush();
  ended_cleanly_ = false;
  return false;
}

bool Watch::SendFrame(const char* type, std::string_view object_bytes) {
  const size_t begin = buffer_.size();
  if (media_.protobuf()) {
    const bool partial = media_.as == Media::As::kPartial || media_.as == Media::As::kPartialList;
    const bool status = std::string_view(type) == "ERROR";
    const TypeMeta meta = status ? TypeMeta{"v1", "Status"}
                          : partial
                              ? TypeMeta{"meta.k8s.io/" + media_.version, "PartialObjectMetadata"}
                              : resource_.type;
    host::wire::EncodeProtobufWatchFrame(type, meta, object_bytes, &buffer_);
  } else {
    buffer_.append("{\"type\":\"")
        .append(type)
        .append("\",\"object\":")
        .append(object_bytes)
        .append("}\n");
  }
  if (request_.cut_watch && std::string_view(type) != "BOOKMARK") return SendHalf(begin);
  return buffer_.size() < kFlushBytes || Flush();
}

bool Watch::Flush() { return request_.connection->ChunkInPlace(&buffer_); }

bool Watch::SendObject(const char* type, const ObjectPtr& object, const StoreEvent* shared) {
  const bool table = media_.as == Media::As::kTable;
  if (shared != nullptr && resource_.stored_form && !table && media_.version == "v1" &&
      shared->object == object) {
    const bool partial = media_.as != Media::As::kObject;
    const StoreEvent::Form form =
        media_.protobuf() ? (partial ? StoreEvent::kPartialProtobuf : StoreEvent::kProtobuf)
                          : (partial ? StoreEvent::kPartialJson : StoreEvent::kJson);
    const auto bytes = shared->Encoded(form, [&](std::string* out) { AppendBody(object, out); });
    return SendFrame(type, *bytes);
  }
  std::string bytes;
  AppendBody(object, &bytes);
  return SendFrame(type, bytes);
}

bool Watch::Deliver(const StoreEvent& event) {
  cursor_ = event.revision;
  if (!Relevant(*event.object)) return true;
  if (!options_.selects()) {
    const ObjectPtr shown =
        resource_.stored_form ? event.object : InVersion(resource_, event.object);
    told_ = cursor_;
    return SendObject(TypeText(event.type), shown, &event);
  }
  const ObjectPtr now = InVersion(resource_, event.object);
  const ObjectPtr before = event.previous ? InVersion(resource_, event.previous) : ObjectPtr();
  const bool did = before && options_.Matches(*before, *resource_.kind);
  const bool does =
      event.type != StoreEvent::Type::kDeleted && options_.Matches(*now, *resource_.kind);
  if (!did && !does) return true;
  told_ = cursor_;
  if (does) return SendObject(did ? "MODIFIED" : "ADDED", now, &event);
  if (event.type == StoreEvent::Type::kDeleted) return SendObject("DELETED", now, &event);
  // Left the selection: the old content under the revision at which it left (spec/apiserver E4).
  return SendObject("DELETED", ToFlat(Editable(*before, resource_.type), event.revision), nullptr);
}

bool Watch::SendBookmark(uint64_t revision, bool initial_end) {
  told_ = std::max(told_, revision);
  Json object = {{"kind", resource_.type.kind},
                 {"apiVersion", resource_.type.api_version},
                 {"metadata", {{"resourceVersion", std::to_string(revision)}}}};
  if (initial_end) object["metadata"]["annotations"] = {{"k8s.io/initial-events-end", "true"}};
  if (resource_.kind->decode && media_.as == Media::As::kObject) {
    if (const Json members = kinds::EmptyMembers(resource_.gvr()); members.is_object())
      object.merge_patch(members);
    (void)resource_.kind->decode(object, nullptr);
  }
  const ObjectPtr flat = ToFlat(object);
  return SendObject("BOOKMARK", flat, nullptr);
}

bool Watch::SendExpired(uint64_t floor) {
  return SendError(Expired("too old resource version: " + std::to_string(cursor_) + " (" +
                           std::to_string(floor + 1) + ")"));
}

bool Watch::SendError(const ApiError& error) {
  std::string bytes;
  if (media_.protobuf()) {
    const ObjectPtr flat = ToFlat(ToStatus(error));
    (void)host::wire::EncodeProtobuf("meta.v1.Status", flat->Root(), &bytes).ok();
  } else {
    bytes = ToStatusText(error);
  }
  return SendFrame("ERROR", bytes) && Flush();
}

void Watch::SetTimer(MonoTime when) {
  if (when == timer_at_) return;
  if (timer_ != 0) state_.clock->Cancel(timer_);
  timer_at_ = when;
  timer_ = state_.clock->After(when - state_.clock->Monotonic(), [this] { waker_.Wake(); });
}

MonoTime Watch::NextDeadline() const {
  return options_.bookmarks ? std::min(bookmark_, end_) : end_;
}

// After a batch was sent: waits when there were too many of late. False: the client is gone.
bool Watch::Gather() {
  if (!state_.gather_events) return true;
  const MonoTime now = state_.clock->Monotonic();
  const auto periods = std::max<int64_t>(0, (now - sent_at_) / kGatherPeriod);
  if (periods > 0) {
    burst_ = static_cast<int>(std::min<int64_t>(kBurst, burst_ + periods));
    sent_at_ = now;
  }
  if (burst_ > 0) {
    --burst_;
    return true;
  }
  // Wakes of writers do not shorten this: the waker is not armed.
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(kGatherPeriod - (now - sent_at_));
  waker_.Drain();
  return request_.connection->AwaitWake(waker_.fd(), static_cast<int>(left.count()));
}

// False: the watch's time is over.
bool Watch::OnTime() {
  const MonoTime now = state_.clock->Monotonic();
  if (options_.bookmarks && now >= bookmark_) {
    // The table has nothing newer than the cursor, so everything up to the store's revision at that
    // look is known.
    if (cursor_ > told_ && !SendBookmark(cursor_, false)) return false;
    bookmark_ = bookmark_ < end_ + -kBookmarkBeforeEnd
                    ? std::min(now + kBookmarkEvery, end_ + -kBookmarkBeforeEnd)
                    : end_;
  }
  return now < end_;
}

void Watch::Run() {
  Start();
  Connection& c = *request_.connection;
  // Before the client can know of the watch: a closing of all watches that it causes must end this
  // one too.
  const uint64_t epoch = state_.watch_epoch.load();
  c.BeginChunked(200, media_.WatchContentType(), WarningHeaders(request_.warnings));
  state_.store->AddWaker(*resource_.table, &waker_);
  bool good = !initial_ || SendInitial();
  told_ = std::max(told_, cursor_);
  if (request_.settled) request_.settled();
  std::vector<StoreEventPtr> events;
  while (good) {
    if (state_.stopping || state_.watch_epoch.load() != epoch) break;
    waker_.Drain();
    waker_.Arm();
    events.clear();
    if (!resource_.table->held()) {
      const uint64_t seen = state_.store->revision();
      uint64_t floor = 0;
      if (!state_.store->EventsAfter(*resource_.table, cursor_, begun_, kBatch, &events, &floor)) {
        SendExpired(floor);
        break;
      }
      begun_ = true;
      for (const StoreEventPtr& event : events) {
        good = good && Deliver(*event);
      }
      if (!good) break;
      if (events.size() == kBatch) continue;
      // Everything of this table up to `seen` has been looked at: writers publish before they
      // release the table.
      if (events.empty() && resource_.table->revision() <= seen) cursor_ = std::max(cursor_, seen);
    }
    good = OnTime() && Flush();
    if (!good) break;
    SetTimer(NextDeadline());
    if (!events.empty()) {
      waker_.Disarm();
      good = Gather();
      ended_cleanly_ = good;
      continue;
    }
    // Nothing to do: a watch that waits keeps no large buffer.
    if (buffer_.capacity() > kIdleBytes) buffer_.shrink_to_fit();
    if (state_.stopping || state_.watch_epoch.load() != epoch) break;
    good = c.AwaitWake(waker_.fd(), -1);
    ended_cleanly_ = good;
  }
  state_.store->RemoveWaker(*resource_.table, &waker_);
  if (timer_ != 0) state_.clock->Cancel(timer_);
  Flush();
  // A restart of the server ends connections too; clients must not reuse this one.
  if (ended_cleanly_) c.EndChunked();
  if (!ended_cleanly_ || state_.watch_epoch.load() != epoch) c.CloseAfter();
}

}  // namespace

Answer HandleWatch(const State& state, Request& request) {
  const Resource& r = *request.resource;
  Offer offer = OfferFor(r);
  offer.yaml = false;
  Media media;
  try {
    media = Negotiate(request.http->Header("Accept"), offer);
  } catch (const Failure&) {
    Fail(
        NotAcceptable("only the following media types are accepted: application/json;stream=watch, "
                      "application/vnd.kubernetes.protobuf;stream=watch"));
  }
  ListOptions options = ReadListOptions(state, request, true);
  RevisionParameter(options.resource_version, 500);
  Watch watch(state, request, media, std::move(options));
  watch.Run();
  Answer a;
  a.sent = true;
  return a;
}

}  // namespace kcm::devcluster
