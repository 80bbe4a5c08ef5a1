// SPDX-License-Identifier: Apache-2.0
// The list and watch loop.
#include "devcluster/nodes/reflector.h"

#include <Poco/URI.h>
#include <pthread.h>
#include <signal.h>

#include <condition_variable>
#include <iterator>
#include <mutex>
#include <optional>
#include <utility>

namespace kcm::devcluster::nodes {
namespace {

using host::clock::BusyScope;
using host::clock::Clock;
using host::clock::Duration;

constexpr Duration kPauseOfWatch = std::chrono::seconds(1);
constexpr char kPageSize[] = "500";  // 100 000 pods in one answer would be half a gigabyte of text

}  // namespace

template <class Object>
struct Reflector<Object>::Impl {
  Clock& clock;
  ApiConnection requests;  // of lists
  ApiConnection stream;    // of the watch
  const std::string path;
  const Listener listener;
  Decoder<Object> decoder;
  std::atomic<uint64_t> seen{0};
  std::mutex mu;
  std::condition_variable cv;
  bool stopping = false;  // guarded by mu
  std::thread thread;

  Impl(Clock& c, const std::shared_ptr<ApiServer>& s, std::string p, Listener l)
      : clock(c), requests(s), stream(s), path(std::move(p)), listener(std::move(l)) {}

  bool Stopping() {
    const std::lock_guard lock(mu);
    return stopping;
  }
  void Pause(const std::string& why) {
    std::unique_lock lock(mu);
    if (stopping) return;
    lock.unlock();
    if (listener.log) listener.log(path + ": " + why);
    lock.lock();
    clock.WaitFor(lock, cv, kPauseOfWatch, [this] { return stopping; });
  }
  void Run();
  std::optional<uint64_t> List();
  bool Watch(uint64_t* from);
};

// All pages; nullopt when one failed (after a pause).
template <class Object>
std::optional<uint64_t> Reflector<Object>::Impl::List() {
  std::vector<Object> all;
  std::string token;
  uint64_t version = 0;
  do {
    std::string query = path + "?limit=" + kPageSize;
    if (!token.empty()) {
      std::string escaped;
      Poco::URI::encode(token, "+/=&?#", escaped);
      query += "&continue=" + escaped;
    }
    Answer answer = requests.Call("GET", query);
    if (!answer.ok()) {
      Pause("list: " + answer.Describe());
      return std::nullopt;
    }
    Result<Page<Object>> page = decoder.List(&answer.body);
    if (!page.ok()) {
      Pause(page.error().message);
      return std::nullopt;
    }
    std::move(page->objects.begin(), page->objects.end(), std::back_inserter(all));
    token = page->continue_token;
    version = page->resource_version;
  } while (!token.empty());
  const BusyScope busy(clock);
  listener.listed(std::move(all));
  seen.store(version, std::memory_order_release);
  return version;
}

// One watch connection. False when the history is gone and a list is needed.
template <class Object>
bool Reflector<Object>::Impl::Watch(uint64_t* from) {
  const Answer answer = stream.OpenStream(
      path + "?watch=1&allowWatchBookmarks=true&timeoutSeconds=300&resourceVersion=" +
      std::to_string(*from));
  if (answer.status == 410) return false;
  if (!answer.ok()) {
    Pause("watch: " + answer.Describe());
    return true;
  }
  std::string line;
  while (stream.ReadLine(&line)) {
    if (line.empty()) continue;
    const BusyScope busy(clock);
    Result<WatchEvent<Object>> event = decoder.Event(&line);
    if (!event.ok() || event->change == Change::kError) return false;
    const uint64_t version = event->object.resource_version;
    if (event->change != Change::kBookmark) {
      listener.changed(event->change, std::move(event->object));
    }
    // Release: whoever reads the version sees what the listener did.
    if (version > *from) *from = version;
    seen.store(*from, std::memory_order_release);
  }
  return true;
}

template <class Object>
void Reflector<Object>::Impl::Run() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::optional<uint64_t> from;
  while (!Stopping()) {
    if (!from) {
      from = List();
      continue;
    }
    if (!Watch(&*from)) from.reset();
  }
}

template <class Object>
Reflector<Object>::Reflector(Clock& clock, std::shared_ptr<ApiServer> server, std::string path,
                             Listener listener)
    : impl_(std::make_unique<Impl>(clock, server, std::move(path), std::move(listener))) {}

template <class Object>
Reflector<Object>::~Reflector() {
  Stop();
}

template <class Object>
void Reflector<Object>::Start() {
  impl_->thread = std::thread([impl = impl_.get()] { impl->Run(); });
}

template <class Object>
void Reflector<Object>::Stop() {
  {
    const std::lock_guard lock(impl_->mu);
    impl_->stopping = true;
    impl_->cv.notify_all();
  }
  impl_->requests.Abort();
  impl_->stream.Abort();
  if (impl_->thread.joinable()) impl_->thread.join();
}

template <class Object>
uint64_t Reflector<Object>::Seen() const {
  return impl_->seen.load(std::memory_order_acquire);
}

template class Reflector<Pod>;
template class Reflector<NodeObject>;
template class Reflector<Claim>;
template class Reflector<JsonObject>;

}  // namespace kcm::devcluster::nodes
