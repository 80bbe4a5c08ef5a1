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
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "host/plugin/environment.h"
#include "host/plugin/image.h"
#include "host/plugin/object_handle.h"
#include "host/plugin/write_ledger.h"
#include "host/queue/workqueue.h"

namespace kcm::host::plugin {

class Instance;

// What the instances of one controller share and what outlives each of them.
struct Shared {
  Environment* environment = nullptr;
  std::string plugin_name;
  std::string controller_name;
  log::Logger log;  // named after the controller
  // Null until the controller is activated the first time (its credentials may need writes). Set
  // through SetClient.
  std::shared_ptr<client::Client> Client() const {
    const std::lock_guard lock(client_mutex);
    return client;
  }
  mutable std::mutex client_mutex;
  std::shared_ptr<client::Client> client;          // guarded by client_mutex
  std::unique_ptr<event::EventRecorder> recorder;  // may be null
  std::vector<std::unique_ptr<queue::WorkQueue>> queues;
  WriteLedger ledger;
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
};

enum class State : uint8_t {
  kPreparing,  // created; gets events; keys it adds are kept aside; may not write
  kActive,     // started; its keys go to the queues; may write
  kStopped,    // nothing more is done for it
};

// Thread-safe where the ABI says [any]; life cycle calls from one thread.
class Instance : public client::Fence, public WriteLedger::Caches {
 public:
  Instance(Shared* shared, std::shared_ptr<Image> image, const ControllerDeclaration* declaration,
           uint32_t generation);
  ~Instance() override;  // Stop and destroy, if that was not done

  // create(), then caches, masks and subscriptions of every watch. Blocks for a widened cache, not
  // for the first sync.
  Status Create(client::Cancellation* cancel);
  // Every watch synced and its first objects delivered.
  bool Synced() const;
  // False: cancelled, stopped, or `limit` passed.
  bool WaitSynced(client::Cancellation* cancel, clock::Duration limit = clock::Duration::max());
  // Watched resources that are not synced, for messages.
  std::string Unsynced() const;
  // start() and, when it agrees, Active: keys kept aside are added.
  Status Start();
  // Ends scopes, timers, submitted calls; stop(); ends subscriptions; destroy(). Idempotent.
  void Stop();

  // Asks every running reconcile and task to end; the instance stays active.
  void CancelScopes();
  // The same for good, waits in the instance's own scope too: what comes next is Stop.
  void CancelAll();

  // Hand-over: stops event delivery; returns per watch the last delivered sequence.
  std::vector<uint64_t> PauseEvents();
  void ResumeEvents();
  // Waits until this instance has been given every notification up to `sequences` (by place of
  // equal resources in `other`).
  bool WaitDelivered(const Instance& other, const std::vector<uint64_t>& sequences,
                     clock::Duration limit);

  std::string SaveState();
  void LoadState(const std::string& state);
  Status Health();

  // One run for one key. Fills `error` unless the outcome is done or after; kCancelled: the run was
  // asked to end (CancelScopes, Stop).
  kcm_outcome Reconcile(uint32_t queue, const std::string& key, int failures, Error* error);
  Status RunTask(uint32_t task);

  // ---- what tables use (tables.h) ----
  Status AddKey(uint32_t queue, std::string_view key, clock::Duration delay, bool rate_limited);
  // Fence of the generation: only an active instance writes.
  Status Check(clock::MonoTime* deadline) const override;
  uint64_t Seen(const client::Gvr& gvr) const override;
  bool Holds(const client::Gvr& gvr, std::string_view ns, std::string_view name,
             std::string_view uid) const override;
  // Null for an unknown id. A runtime watch lives on while somebody reads it.
  std::shared_ptr<WatchState> Watch(uint32_t id);
  bool WatchSynced(uint32_t id);  // false for an unknown id
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
  // create() has succeeded and destroy() was not called yet.
  bool created() {
    const std::lock_guard lock(life_mutex_);
    return controller_ != nullptr;
  }

 private:
  friend class WatchHandler;
  struct CallPool;
  struct TimerThread;

  Status PrepareWatch(const WatchDeclaration& declaration, uint32_t id, WatchState* out,
                      client::Cancellation* cancel);
  void Deliver(uint32_t watch, const WatchState& state, const cache::Notification& n);
  void EndRuntimeWatches();
  void SubscribeRuntimeWatches();
  // A run's scope is known to Stop from here to there; EndScope waits for calls that the plugin
  // submitted and did not await.
  void BeginScope(kcm_scope* scope);
  void EndScope(kcm_scope* scope);
  template <class Step>
  Status Control(const char* what, Step step);
  // What the caches showed just before a write was sent.
  struct Before {
    uint64_t seen = UINT64_MAX;  // version of the resource's cache, of a create
    std::string uid;             // of the object to be deleted; empty: not cached
  };
  Before LookBefore(const kcm_scope* scope, const client::Call& call) const;
  void RecordWrite(kcm_scope* scope, const client::Call& call, const Result<client::Answer>& answer,
                   const Before& before);

  Shared* shared_;
  std::shared_ptr<Image> image_;
  const ControllerDeclaration* declaration_;
  uint32_t generation_;
  kcm_host_api host_api_{};
  kcm_context* context_;  // this object, as the plugin sees it
  // Life cycle calls, health among them: one at a time. Not held while events, runs, tasks or
  // timers are in the plugin.
  std::mutex life_mutex_;
  kcm_controller* controller_ =
      nullptr;  // set before the first event, reset after the last; changed under life_mutex_
  bool started_ = false;  // guarded by life_mutex_
  std::atomic<State> state_{
      State::kPreparing};  // release/acquire: keys kept aside are seen by who sees kActive
  client::Cancellation cancel_;

  std::vector<std::unique_ptr<WatchState>> watches_;  // fixed after Create
  mutable std::mutex runtime_mutex_;
  std::map<uint32_t, std::shared_ptr<WatchState>> runtime_watches_;  // guarded by runtime_mutex_
  // Removed from inside on_event, where the end of their thread can not be waited for: end with the
  // instance.
  std::vector<std::pair<std::shared_ptr<WatchState>, std::shared_ptr<cache::Subscription>>>
      retired_watches_;                        // guarded by runtime_mutex_
  bool events_may_come_ = false;               // create has returned; guarded by runtime_mutex_
  uint32_t next_runtime_watch_ = 0x80000000u;  // guarded by runtime_mutex_

  // Keys added before the instance is active, with the moment they are due.
  std::mutex aside_mutex_;
  std::map<std::pair<uint32_t, std::string>, clock::MonoTime> aside_;  // guarded by aside_mutex_

  std::mutex wait_mutex_;
  std::condition_variable wait_cv_;  // WaitReady

  std::mutex scopes_mutex_;
  std::set<kcm_scope*> scopes_;  // guarded by scopes_mutex_

  std::unique_ptr<CallPool> calls_;
  std::unique_ptr<TimerThread> timers_;

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
};

struct kcm_metric {
  kcm::host::metric::Metric metric;
  kcm::host::metric::Type type;
  size_t labels;
};
