// SPDX-License-Identifier: Apache-2.0
// Instance: one generation of one controller: the plugin's object, the host's side of it
// (kcm_context), its watches, timers, submitted calls and scopes. A Controller (controller.h) owns
// the instance that is active and the one being prepared.
#pragma once
#include <kcm/kcm.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "host/plugin/control_calls.h"
#include "host/plugin/environment.h"
#include "host/plugin/image.h"
#include "host/plugin/last_errors.h"
#include "host/plugin/object_handle.h"
#include "host/plugin/write_ledger.h"
#include "host/queue/workqueue.h"

namespace kcm::host::plugin {

class Instance;

// What the instances of one controller share. Outlives each of them: an instance whose plugin does
// not return keeps it.
struct Shared {
  Environment* environment = nullptr;
  std::string plugin_name;
  std::string controller_name;
  log::Logger log;  // named after the controller
  // Over `queues` as a vector: held (shared) around every use by a plugin's own threads,
  // exclusively while a swap exchanges them. Innermost.
  mutable std::shared_mutex queues_mutex;
  std::vector<std::unique_ptr<queue::WorkQueue>> queues;
  WriteLedger ledger;
  LastErrors errors;
};

// How an instance reaches the API server: as its build declares it. Kept over a swap where both
// builds declare the same.
struct Services {
  std::shared_ptr<client::Client> client;          // null: none yet, the lease was not won before
  std::shared_ptr<event::EventRecorder> recorder;  // null: the controller writes no Events
};

// One watch of an instance: cache, readable fields, subscription.
struct WatchState {
  WatchDeclaration declaration;
  std::shared_ptr<cache::Informer>
      informer;  // null: an optional resource that the server does not have
  std::shared_ptr<const ReadMask> mask;
  std::vector<int> indexes;  // the plugin's index numbers -> the informer's
  std::unique_ptr<cache::Handler> handler;
  std::shared_ptr<cache::Subscription> subscription;
  std::atomic<bool> removed{false};  // a runtime watch that ended: nothing more is delivered
  // Since when an on_event is in the plugin, as nanoseconds of the clock; 0: none is. For reports.
  std::atomic<int64_t> event_since{0};
};

enum class State : uint8_t {
  kPreparing,  // created; gets events; keys it adds are kept aside; may not write
  kActive,     // started; its keys go to the queues; may write
  kStopped,    // nothing more is done for it
};

// Thread-safe where the ABI says [any]; life cycle calls from one thread. Create, Start, Health,
// SaveState and LoadState give a call of the plugin up when it does not return in time (the swap
// timeout for create and start, a third of it for the others). After that the instance is of no
// use: it is to be fenced, and stopped where Stop may take for ever (Retired). The last owner must
// not let go of it before Stop has returned then.
class Instance : public client::Fence,
                 public WriteLedger::Caches,
                 public std::enable_shared_from_this<Instance> {
 public:
  // REQUIRES: made as a shared_ptr.
  Instance(std::shared_ptr<Shared> shared, std::shared_ptr<Image> image,
           const ControllerDeclaration* declaration, uint32_t generation);
  ~Instance() override;  // Stop and destroy, if that was not done

  // Before start(), at best before Create: requests of create() then have an identity.
  void UseServices(Services services);
  Services services() const {
    const std::lock_guard lock(services_mutex_);
    return services_;
  }

  // create(), then caches, masks and subscriptions of every watch. Blocks for a widened cache (a
  // minute at most), not for the first sync.
  Status Create(client::Cancellation* cancel);
  // Every watch synced and its first objects delivered.
  bool Synced() const;
  // False: cancelled, stopped, or `limit` passed.
  bool WaitSynced(client::Cancellation* cancel, clock::Duration limit = clock::Duration::max());
  // Watched resources that are not synced, each with what the server answered if it refuses; for
  // messages.
  std::string Unsynced() const;
  // start() and, when it agrees, Active: keys kept aside are added.
  Status Start();
  // Nothing more is done for it: it may not write, adds no keys, and its waits end. Does not block.
  void Fence();
  // Fence; ends timers, submitted calls, subscriptions; stop(); destroy(). Idempotent. Takes as
  // long as the plugin does.
  void Stop();
  // The call of the plugin that a life cycle operation would wait for now.
  std::optional<OpenCall> Open() const;
  // A life cycle call was given up and has not returned.
  bool Hangs() const { return control_.Late().has_value(); }

  // Asks every running reconcile and task to end, and what begins before AllowScopes; the instance
  // stays active.
  void CancelScopes();
  void AllowScopes();
  // The same for good, waits in the instance's own scope and for life cycle calls too: what comes
  // next is Stop.
  void CancelAll();

  // Hand-over: stops event delivery; fills in per watch the last delivered sequence. Not empty: an
  // on_event of this watch has not returned by `deadline` (delivery is to be resumed then).
  std::string PauseEvents(clock::MonoTime deadline, std::vector<uint64_t>* sequences);
  void ResumeEvents();
  // No timer fires from here to ReleaseTimers or Stop.
  void HoldTimers();
  void ReleaseTimers();
  // Waits for callbacks that are in the plugin: what has not returned by `deadline`, for messages;
  // "" when nothing is left. REQUIRES: timers are held.
  std::string WaitCallbacks(clock::MonoTime deadline);
  // Waits until this instance has been given every notification up to `sequences` (by place of
  // equal resources in `other`).
  bool WaitDelivered(const Instance& other, const std::vector<uint64_t>& sequences,
                     clock::Duration limit);

  // `late`: save_state has not returned in time; without a state then.
  std::string SaveState(bool* late);
  void LoadState(const std::string& state);
  Status Health();

  // Whether the caches show what earlier builds wrote for this key; until then it is not to run.
  // May ask the server (creates of unknown outcome).
  bool MayRun(const std::string& key);
  // One run for one key. Fills `error` unless the outcome is done or after; kCancelled: the run was
  // asked to end (CancelScopes, Stop).
  kcm_outcome Reconcile(uint32_t queue, const std::string& key, int failures, Error* error);
  Status RunTask(uint32_t task);

  // ---- what tables use (tables.h) ----
  Status AddKey(uint32_t queue, std::string_view key, clock::Duration delay, bool rate_limited);
  // Fence of the generation: only an active instance writes.
  Status Check(clock::MonoTime* deadline) const override;
  uint64_t Seen(const client::Gvr& gvr) const override;
  clock::MonoTime Now() const override { return shared_->environment->clock->Monotonic(); }
  // The caches of all watches, those of run time too, are at least at the version that `at_least`
  // gives for "apps/v1/deployments".
  bool CachesAtLeast(const std::function<uint64_t(const std::string&)>& at_least) const;
  bool Holds(const client::Gvr& gvr, std::string_view ns, std::string_view name,
             std::string_view uid) const override;
  // Null for an unknown id. A runtime watch lives on while somebody reads it.
  std::shared_ptr<WatchState> Watch(uint32_t id);
  bool WatchSynced(uint32_t id);  // false for an unknown id
  // Throws clock::ThreadError; nothing was added then.
  Result<uint32_t> AddRuntimeWatch(const client::Gvr& gvr);
  Status RemoveRuntimeWatch(uint32_t id);
  uint64_t AddTimer(clock::Duration delay, void (*fire)(void*), void* data);
  bool CancelTimer(uint64_t id);
  Status Submit(kcm_scope* scope, client::Call call, const kcm_request& request,
                kcm_completion done, void* data);
  kcm_answer* Send(kcm_scope* scope, client::Call& call, uint32_t flags);
  int32_t WaitReady(kcm_scope* scope, int64_t timeout_ns, uint32_t (*ready)(void*), void* data);
  void Wake();
  kcm_metric* KeepMetric(metric::Metric metric, metric::Type type, size_t labels);
  kcm_str KeepText(const std::string& name, std::string text);

  Shared& shared() { return *shared_; }
  const Shared& shared() const { return *shared_; }
  Environment& env() { return *shared_->environment; }
  const ControllerDeclaration& declaration() const { return *declaration_; }
  const Image& image() const { return *image_; }
  std::shared_ptr<Image> image_ptr() const { return image_; }
  HandleCount handles() const { return image_->handles(); }
  uint32_t generation() const { return generation_; }
  State state() const { return state_.load(std::memory_order_acquire); }
  client::Cancellation& cancel() { return cancel_; }

 private:
  friend class WatchHandler;
  struct CallPool;
  struct TimerThread;

  Status PrepareWatch(const WatchDeclaration& declaration, uint32_t id, WatchState* out,
                      client::Cancellation* cancel);
  void Deliver(uint32_t watch, WatchState& state, const cache::Notification& n);
  void EndRuntimeWatches();
  void SubscribeRuntimeWatches();
  // A run's scope is known to Stop from here to there; EndScope waits for calls that the plugin
  // submitted and did not await.
  void BeginScope(kcm_scope* scope);
  std::string EndScope(kcm_scope* scope);  // gives its failed_request
  // `call` as in the ABI. `step` and `after` (see ControlCalls) may outlive the caller.
  Status Control(const std::string& call, clock::Duration limit,
                 std::function<int32_t(kcm_error*)> step, std::function<void(int32_t)> after = {});
  clock::Duration ShortLimit() const { return shared_->environment->swap_timeout / 3; }
  void AddAsideKeys();
  void CountCompletion(int change);
  std::shared_ptr<cache::Subscription> SubscribeTo(const WatchState& watch);
  // Of the object that is about to be deleted; "" when it is not cached.
  std::string UidToDelete(const kcm_scope* scope, const client::Call& call) const;
  void RecordWrite(kcm_scope* scope, const client::Call& call, const Result<client::Answer>& answer,
                   const std::string& uid);
  // The version that the cache of this resource must have reached to show every object which the
  // server has there now.
  Result<uint64_t> NewestIn(const WriteLedger::Place& place);

  std::shared_ptr<Shared> shared_;
  std::shared_ptr<Image> image_;
  const ControllerDeclaration* declaration_;
  uint32_t generation_;
  kcm_host_api host_api_{};
  kcm_context* context_;  // this object, as the plugin sees it
  // Set before the first event, reset after the last. Both are written by life cycle calls and by
  // Stop after them, one at a time (control_ orders them).
  kcm_controller* controller_ = nullptr;
  bool started_ = false;
  std::atomic<bool> ending_{false};  // Stop has begun; no order needed
  std::atomic<State> state_{
      State::kPreparing};  // release/acquire: keys kept aside are seen by who sees kActive
  client::Cancellation cancel_;
  mutable std::mutex services_mutex_;
  Services services_;  // guarded by services_mutex_

  std::vector<std::unique_ptr<WatchState>> watches_;  // fixed after Create
  std::atomic<bool> watches_made_{false};  // release/acquire: watches_ may be read by anybody
  mutable std::mutex runtime_mutex_;
  std::map<uint32_t, std::shared_ptr<WatchState>> runtime_watches_;  // guarded by runtime_mutex_
  using Retired = std::pair<std::shared_ptr<WatchState>, std::shared_ptr<cache::Subscription>>;
  // Removed from inside on_event while the instance stops: end with it.
  std::vector<Retired> retired_watches_;       // guarded by runtime_mutex_
  bool events_may_come_ = false;               // create has returned; guarded by runtime_mutex_
  uint32_t next_runtime_watch_ = 0x80000000u;  // guarded by runtime_mutex_

  // Keys added before the instance is active. As in a work queue each waits once, the earliest
  // moment counts, and keys of one moment stay in their order.
  struct Aside {
    clock::MonoTime due;
    uint64_t place = 0;
    bool rate_limited = false;  // due when the queue's back-off says so
  };
  std::mutex aside_mutex_;
  std::vector<std::unordered_map<std::string, Aside>> aside_;  // by queue; guarded by aside_mutex_
  uint64_t next_place_ = 0;                                    // guarded by aside_mutex_

  std::mutex wait_mutex_;
  std::condition_variable wait_cv_;
  uint64_t wakes_ = 0;   // of WaitReady. Guarded by wait_mutex_
  int completions_ = 0;  // in the plugin, of calls without a scope. Guarded by wait_mutex_

  std::mutex scopes_mutex_;
  std::set<kcm_scope*> scopes_;    // guarded by scopes_mutex_
  bool scopes_cancelled_ = false;  // also those that begin now. Guarded by scopes_mutex_

  std::unique_ptr<CallPool> calls_;
  std::unique_ptr<TimerThread> timers_;
  ControlCalls control_;

  std::mutex kept_mutex_;
  std::vector<std::unique_ptr<kcm_metric>> metrics_;  // guarded by kept_mutex_
  std::map<std::string, std::string> texts_;          // guarded by kept_mutex_
};

inline Instance& InstanceOf(kcm_context* context) { return *reinterpret_cast<Instance*>(context); }

void ReleaseAnswer(kcm_answer* answer);

// The table with this id; NULL when there is none.
const void* TableById(std::string_view id);

}  // namespace kcm::host::plugin

// A reconcile or task run. Lives on the stack of the thread that runs it.
struct kcm_scope {
  kcm::host::plugin::Instance* instance = nullptr;
  std::string key;  // empty: a task
  kcm::host::client::Cancellation cancel;
  std::atomic<int> submitted{0};  // calls under way; changes under the instance's wait mutex
  std::string failed_request;     // why the last one that failed did so; under the same mutex
};

struct kcm_metric {
  kcm::host::metric::Metric metric;
  kcm::host::metric::Type type;
  size_t labels;
};
