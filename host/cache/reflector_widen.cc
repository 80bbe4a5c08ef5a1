// SPDX-License-Identifier: Apache-2.0
// Widening a reflector's mask while it works (design 5): the caller's thread lists with the wider
// mask, the reflector's thread takes the result over between two watches, and readers see the old
// store until then.
//
// The list may be older than the store (events went on arriving): then the watch starts again from
// the list's version, and events up to the store's version only exchange narrow objects for wide
// ones of the same version. Nothing goes back in time and no handler hears of a version twice.
#include <algorithm>
#include <utility>

#include "host/cache/reflector.h"

namespace kcm::host::cache {

bool Reflector::Unite(const wire::Mask& mask) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (mask_.Covers(mask)) return true;
    if (listed_) return false;
    mask_ = wire::Mask::Union(mask_, mask);
  }
  Interrupt();  // a list that runs starts over
  return true;
}

// Until the first list is published. Nothing runs before the start: then at once.
Status Reflector::WaitListed(client::Cancellation* cancel) {
  return WaitFor([this] { return published_ || !started_; }, cancel);
}

// Until every object has the fields of mask_. A widening whose caller gave up goes on.
Status Reflector::WaitFilled(client::Cancellation* cancel) {
  return WaitFor([this] { return !started_ || (published_ && Filled()); }, cancel);
}

// REQUIRES: `done` reads what mutex_ guards and wake_ tells of.
Status Reflector::WaitFor(const std::function<bool()>& done, client::Cancellation* cancel) {
  int id = 0;
  if (cancel != nullptr) {
    id = cancel->OnCancel([this] {
      std::lock_guard<std::mutex> lock(mutex_);
      wake_.notify_all();
    });
  }
  Status result = Ok();
  {
    std::unique_lock<std::mutex> lock(mutex_);
    options_.clock->Wait(lock, wake_, clock::MonoTime::Max(), [&] {
      return done() || stop_ || (cancel != nullptr && cancel->cancelled());
    });
    if (!done())
      result = stop_ ? MakeError(Code::kStopped, "the informer is stopped")
                     : MakeError(Code::kCancelled, "cancelled");
  }
  if (cancel != nullptr) cancel->Remove(id);
  return result;
}

Status Reflector::Widen(const wire::Mask& mask, client::Cancellation* cancel) {
  const std::lock_guard<std::mutex> one_at_a_time(widen_mutex_);
  if (Unite(mask)) return WaitFilled(cancel);
  // A first list that is just being published: its version counts.
  if (Status s = WaitListed(cancel); !s.ok()) return s;
  wire::Mask wide;
  std::string rv;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    wide = wire::Mask::Union(mask_, mask);
    rv = last_rv_;
  }
  std::vector<wire::ObjectPtr> items;
  bool paginated = false;
  Result<std::string> list = ListPages(
      wide, rv, cancel, [&items](wire::ObjectPtr item) { items.push_back(std::move(item)); },
      &paginated);
  if (!list.ok() && list.error().Is(Code::kExpired)) {
    items.clear();
    list = ListPages(
        wide, "", cancel, [&items](wire::ObjectPtr item) { items.push_back(std::move(item)); },
        &paginated);
  }
  if (!list.ok()) return list.error();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (stop_) return MakeError(Code::kStopped, "the informer is stopped");
    widening_ = Widening{std::move(items), *list, wide};
  }
  Interrupt();
  const Status result = WaitFilled(cancel);
  // A widening that was taken over goes on without its caller; one that was not is forgotten.
  std::lock_guard<std::mutex> lock(mutex_);
  widening_.reset();
  return result;
}

void Reflector::ApplyWidening() {
  std::optional<Widening> taken;
  std::string seen;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    taken = std::exchange(widening_, std::nullopt);
    if (!taken) return;
    if (!filling_from_) filling_from_ = mask_;
    mask_ = taken->mask;
    seen = last_rv_;
    last_rv_ = taken->rv;
  }
  const uint64_t list_version = ParseVersion(taken->rv);
  // The replay of an earlier widening may not have come as far as the store.
  const uint64_t store_version = std::max(ParseVersion(seen), replay_until_);
  if (list_version >= store_version) {
    sink_->Replace(std::move(taken->items), true, list_version);
    SetVersion(taken->rv);
    EndReplay();
    return;
  }
  narrow_.clear();
  for (const wire::ObjectPtr& object : sink_->All()) narrow_.insert(object->Key());
  for (const wire::ObjectPtr& item : taken->items) {
    const wire::ObjectPtr known = sink_->Find(item->Namespace(), item->Name());
    if (!known || known->ResourceVersionText() != item->ResourceVersionText()) continue;
    sink_->Exchange(item);
    narrow_.erase(item->Key());
  }
  replay_until_ = store_version;
  if (narrow_.empty()) {
    SetVersion(seen);
    EndReplay();
  }
}

// True when the event is older than what the store holds: then it is used up here.
bool Reflector::Replay(const wire::WatchEvent& event) {
  const uint64_t version = event.object->ResourceVersion();
  if (version > replay_until_) {
    replay_until_ = 0;
    EndReplay();
    return false;
  }
  const wire::ObjectPtr known = sink_->Find(event.object->Namespace(), event.object->Name());
  if (known && known->ResourceVersionText() == event.object->ResourceVersionText()) {
    sink_->Exchange(event.object);
    narrow_.erase(event.object->Key());
  }
  SetVersion(event.object->ResourceVersionText());
  if (narrow_.empty()) EndReplay();
  return true;
}

void Reflector::EndReplay() {
  // Events between here and replay_until_ are still known already, so replay_until_ stays until it
  // is passed.
  narrow_.clear();
  std::lock_guard<std::mutex> lock(mutex_);
  if (ParseVersion(last_rv_) >= replay_until_) replay_until_ = 0;
  filling_from_.reset();
  wake_.notify_all();
}

}  // namespace kcm::host::cache
