// SPDX-License-Identifier: Apache-2.0
// InformerFactory: one informer per (resource, scope), started together; one thread starts resyncs
// and ends informers that nobody uses any more.
#include <algorithm>
#include <map>
#include <mutex>
#include <random>
#include <utility>

#include "host/cache/informer_impl.h"

namespace kcm::host::cache {
namespace {

// Random numbers when the caller injects none.
std::function<double()> DefaultRandom() {
  struct State {
    std::mutex mutex;
    std::minstd_rand engine{std::random_device{}()};
  };
  auto state = std::make_shared<State>();
  return [state] {
    std::lock_guard<std::mutex> lock(state->mutex);
    return std::uniform_real_distribution<double>(0, 1)(state->engine);
  };
}

}  // namespace

struct InformerFactory::Impl {
  explicit Impl(FactoryOptions given) : options(std::move(given)) {
    if (!options.random) options.random = DefaultRandom();
    if (!options.interner) options.interner = std::make_shared<wire::Interner>();
    if (options.resync_period.count() > 0)
      options.resync_period = Times(1 + options.random(), options.resync_period);
    if (options.metrics != nullptr) {
      const std::vector<std::string> labels = {"name", "group", "version", "resource"};
      queued = options.metrics->Gauge({.name = "informer_queued_items",
                                       .help = "Number of items currently queued in the FIFO.",
                                       .labels = labels,
                                       .buckets = {}});
      version = options.metrics->Gauge(
          {.name = "informer_store_resource_version",
           .help = "The last 15 digits of the resource version of the store.",
           .labels = labels,
           .buckets = {}});
      collector = options.metrics->AddCollector([this] { Collect(); });
    }
  }

  static clock::Duration Times(double factor, clock::Duration d) {
    return clock::Duration(static_cast<int64_t>(static_cast<double>(d.count()) * factor));
  }

  std::vector<std::shared_ptr<InformerImpl>> All() const {
    std::lock_guard<std::mutex> lock(mutex);
    std::vector<std::shared_ptr<InformerImpl>> out;
    for (const auto& [key, slot] : informers) out.push_back(slot.informer);
    return out;
  }

  // A user is gone.
  void Release(const InformerImpl& informer) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      const auto it = informers.find(informer.key());
      if (it == informers.end() || it->second.informer.get() != &informer) return;
      if (--it->second.users > 0) return;
      it->second.unused_since = options.clock->Monotonic();
    }
    signal->Changed();
  }

  // Stops informers that nobody has used for a while; returns when the next one may be due.
  clock::MonoTime StopUnused(clock::MonoTime now) {
    clock::MonoTime next = clock::MonoTime::Max();
    std::vector<std::shared_ptr<InformerImpl>> gone;
    {
      std::lock_guard<std::mutex> lock(mutex);
      for (auto it = informers.begin(); it != informers.end();) {
        const Slot& slot = it->second;
        const clock::MonoTime due =
            slot.users > 0 ? clock::MonoTime::Max() : slot.unused_since + kUnusedFor;
        if (now < due) {
          next = std::min(next, due);
          ++it;
        } else {
          gone.push_back(slot.informer);
          it = informers.erase(it);
        }
      }
    }
    for (const auto& informer : gone) {
      options.log.Info(2, "Nobody reads this resource any more, its cache ends",
                       {{"resource", informer->key().gvr.resource}});
      RemoveSeries(*informer);
      {
        const clock::BusyPause pause(*options.clock);  // its threads may wait on the clock
        informer->Stop();
      }
      RemoveSeries(*informer);  // of a collection that was under way
    }
    return next;
  }

  void RemoveSeries(const InformerImpl& informer) {
    if (options.metrics == nullptr) return;
    queued.Remove(Labels(informer));
    version.Remove(Labels(informer));
  }

  static std::vector<std::string> Labels(const InformerImpl& informer) {
    const client::Gvr& gvr = informer.key().gvr;
    return {"kube-controller-manager", gvr.group, gvr.version, gvr.resource};
  }

  void Collect() const {
    constexpr uint64_t kDigits = 1'000'000'000'000'000;  // a double holds 15 exactly
    for (const auto& informer : All()) {
      const std::vector<std::string> labels = Labels(*informer);
      queued.With(labels).Set(static_cast<double>(informer->Backlog()));
      version.With(labels).Set(static_cast<double>(informer->ResourceVersion() % kDigits));
    }
  }

  void Upkeep() {
    for (;;) {
      uint64_t seen = 0;
      {
        std::lock_guard<std::mutex> lock(signal->mutex);
        if (signal->stopped) return;
        seen = signal->changes;
      }
      const clock::MonoTime now = options.clock->Monotonic();
      clock::MonoTime due = StopUnused(now);
      for (const auto& informer : All()) due = std::min(due, informer->Resync(now));
      std::unique_lock<std::mutex> lock(signal->mutex);
      options.clock->Wait(lock, signal->wake, due,
                          [&] { return signal->stopped || signal->changes != seen; });
    }
  }

  struct Slot {
    std::shared_ptr<InformerImpl> informer;
    int users = 0;
    clock::MonoTime unused_since{};
  };
  FactoryOptions options;
  metric::Metric queued, version;
  int collector = 0;
  mutable std::mutex mutex;
  std::map<InformerKey, Slot> informers;  // guarded by mutex
  bool started = false;                   // guarded by mutex
  bool stopped = false;                   // guarded by mutex
  const std::shared_ptr<UpkeepSignal> signal = std::make_shared<UpkeepSignal>();
  SmallThread upkeep;
};

InformerFactory::InformerFactory(FactoryOptions options)
    : impl_(std::make_shared<Impl>(std::move(options))) {}

InformerFactory::~InformerFactory() { Stop(); }

std::shared_ptr<Informer> InformerFactory::For(const InformerKey& key, const wire::Mask& mask) {
  std::shared_ptr<InformerImpl> found;
  {
    std::lock_guard<std::mutex> lock(impl_->mutex);
    Impl::Slot& slot = impl_->informers[key];
    if (!slot.informer)
      slot.informer = std::make_shared<InformerImpl>(key, impl_->options, mask, impl_->signal);
    ++slot.users;
    found = slot.informer;
  }
  (void)found->Unite(mask);
  InformerImpl* const informer = found.get();
  return {informer, [factory = std::weak_ptr<Impl>(impl_), found = std::move(found)](Informer*) {
            if (const std::shared_ptr<Impl> alive = factory.lock()) alive->Release(*found);
          }};
}

void InformerFactory::Start() {
  std::vector<std::shared_ptr<InformerImpl>> all = impl_->All();
  {
    std::lock_guard<std::mutex> lock(impl_->mutex);
    if (impl_->stopped) return;
    if (!impl_->started) {
      impl_->upkeep.StartBusy(*impl_->options.clock, "informer-upkeep", kReflectorStack,
                              [impl = impl_.get()] { impl->Upkeep(); });
      impl_->started = true;
    }
  }
  for (const auto& informer : all) informer->Start();
}

void InformerFactory::Stop() {
  {
    std::lock_guard<std::mutex> lock(impl_->mutex);
    impl_->stopped = true;
  }
  impl_->signal->Stop();
  if (impl_->collector != 0)
    impl_->options.metrics->RemoveCollector(std::exchange(impl_->collector, 0));
  impl_->upkeep.Join();
  for (const auto& informer : impl_->All()) informer->Stop();
}

std::vector<std::shared_ptr<Informer>> InformerFactory::All() const {
  const auto all = impl_->All();
  return {all.begin(), all.end()};
}

}  // namespace kcm::host::cache
