// SPDX-License-Identifier: Apache-2.0
// InformerFactory: one informer per (resource, scope), started together, resynced by one thread.
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
    for (const auto& [key, informer] : informers) out.push_back(informer);
    return out;
  }

  void Collect() const {
    constexpr uint64_t kDigits = 1'000'000'000'000'000;  // a double holds 15 exactly
    for (const auto& informer : All()) {
      const client::Gvr& gvr = informer->key().gvr;
      const std::vector<std::string> labels = {"kube-controller-manager", gvr.group, gvr.version,
                                               gvr.resource};
      queued.With(labels).Set(static_cast<double>(informer->Backlog()));
      version.With(labels).Set(static_cast<double>(informer->ResourceVersion() % kDigits));
    }
  }

  // Wakes at the smallest period that any handler asked for (5.6).
  void ResyncLoop() {
    for (;;) {
      uint64_t seen = 0;
      {
        std::lock_guard<std::mutex> lock(signal->mutex);
        seen = signal->changes;
      }
      clock::Duration period{0};
      for (const auto& informer : All()) {
        const clock::Duration wanted = informer->SmallestResync();
        if (wanted.count() > 0 && (period.count() == 0 || wanted < period)) period = wanted;
      }
      const clock::MonoTime due =
          period.count() > 0 ? options.clock->Monotonic() + period : clock::MonoTime::Max();
      {
        std::unique_lock<std::mutex> lock(signal->mutex);
        const bool changed = options.clock->Wait(
            lock, signal->wake, due, [&] { return signal->stopped || signal->changes != seen; });
        if (signal->stopped) return;
        if (changed) continue;
      }
      for (const auto& informer : All()) {
        if (informer->HasSynced()) informer->Resync();
      }
    }
  }

  FactoryOptions options;
  metric::Metric queued, version;
  int collector = 0;
  mutable std::mutex mutex;
  std::map<InformerKey, std::shared_ptr<InformerImpl>> informers;  // guarded by mutex
  bool started = false;                                            // guarded by mutex
  bool stopped = false;                                            // guarded by mutex
  const std::shared_ptr<ResyncSignal> signal = std::make_shared<ResyncSignal>();
  SmallThread resync;
};

InformerFactory::InformerFactory(FactoryOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}

InformerFactory::~InformerFactory() { Stop(); }

std::shared_ptr<Informer> InformerFactory::For(const InformerKey& key, const wire::Mask& mask) {
  std::shared_ptr<InformerImpl> found;
  {
    std::lock_guard<std::mutex> lock(impl_->mutex);
    std::shared_ptr<InformerImpl>& informer = impl_->informers[key];
    if (!informer)
      informer = std::make_shared<InformerImpl>(key, impl_->options, mask, impl_->signal);
    found = informer;
  }
  // Before the start this only unites masks.
  if (!found->started()) (void)found->Widen(mask, nullptr);
  return found;
}

void InformerFactory::Start() {
  std::vector<std::shared_ptr<InformerImpl>> all = impl_->All();
  {
    std::lock_guard<std::mutex> lock(impl_->mutex);
    if (impl_->stopped) return;
    if (!std::exchange(impl_->started, true)) {
      impl_->resync.StartBusy(*impl_->options.clock, "resync", kReflectorStack,
                              [this] { impl_->ResyncLoop(); });
    }
  }
  for (const auto& informer : all) informer->Start();
}

void InformerFactory::Remove(const InformerKey& key) {
  std::shared_ptr<InformerImpl> gone;
  {
    std::lock_guard<std::mutex> lock(impl_->mutex);
    const auto it = impl_->informers.find(key);
    if (it == impl_->informers.end()) return;
    gone = std::move(it->second);
    impl_->informers.erase(it);
  }
  gone->Stop();
}

void InformerFactory::Stop() {
  {
    std::lock_guard<std::mutex> lock(impl_->mutex);
    impl_->stopped = true;
  }
  impl_->signal->Stop();
  if (impl_->collector != 0)
    impl_->options.metrics->RemoveCollector(std::exchange(impl_->collector, 0));
  impl_->resync.Join();
  for (const auto& informer : impl_->All()) informer->Stop();
}

std::vector<std::shared_ptr<Informer>> InformerFactory::All() const {
  const auto all = impl_->All();
  return {all.begin(), all.end()};
}

}  // namespace kcm::host::cache
