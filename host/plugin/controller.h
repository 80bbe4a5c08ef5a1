// SPDX-License-Identifier: Apache-2.0
// Controller: one controller of a loaded plugin over all its generations. Owns what survives a swap
// (queues with keys, delays and failure counts; ledger of writes; client and event recorder as long
// as builds declare the same ones) and the instance that is active.
//
// Phases: Prepare (instance made, caches filling; before the lease is won) -> Activate (lease held,
// caches synced: workers run)
//         -> Swap* (another build takes over) -> Stop.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "host/clock/thread.h"
#include "host/plugin/instance.h"
#include "host/plugin/retired.h"

namespace kcm::host::plugin {

// While it is there, `cancel` ends the waits of `instance` and for it.
class EndsWith {
 public:
  EndsWith(client::Cancellation* cancel, std::shared_ptr<Instance> instance)
      : cancel_(cancel),
        id_(cancel->OnCancel([instance = std::move(instance)] { instance->CancelAll(); })) {}
  ~EndsWith() { cancel_->Remove(id_); }
  EndsWith(const EndsWith&) = delete;
  EndsWith& operator=(const EndsWith&) = delete;

 private:
  client::Cancellation* cancel_;
  int id_;
};

// Runs a step that may find no thread for what it begins; that is an error like any other then.
template <class Step>
auto OrNoThread(Step step) -> decltype(step()) {
  try {
    return step();
  } catch (const clock::ThreadError& e) {
    return MakeError(Code::kUnavailable, e.what());
  }
}

// What a generation has done so far; the probation of a new build looks at it.
struct RunCounts {
  uint64_t runs = 0;
  uint64_t retries = 0;  // passing failures
  uint64_t errors = 0;   // KCM_OUTCOME_ERROR and exceptions
};

// Error::reason of a swap that was given up because something of the running build did not end;
// Error::cause says what.
inline constexpr char kSwapHeld[] = "SwapHeld";

struct SwapReport {
  clock::Duration pause{0};  // queues stood still
  size_t keys_kept = 0;
  // Calls of the old build ("save_state()", "stop()") that did not return in time: the hand-over
  // went on without them.
  std::vector<std::string> given_up;
};

// Life cycle calls one at a time (whoever holds the plugin's claim, see manager.h); the rest
// thread-safe. No life cycle call waits for the plugin without limit but Stop: give that to
// `retired`, or to a thread that may wait.
class Controller : public std::enable_shared_from_this<Controller> {
 public:
  // `environment` and `retired` outlive it.
  Controller(Environment* environment, Retired* retired, std::string plugin_name,
             std::shared_ptr<Image> image, const ControllerDeclaration* declaration);
  ~Controller();

  // Makes the first instance. kUnsupported: the controller skips itself.
  Status Prepare(client::Cancellation* cancel);
  // Blocks until the caches are synced; then client, start(), workers, tasks.
  Status Activate(client::Cancellation* cancel);
  // Everything of the present generation ends; joins. Takes as long as the plugin does.
  void Stop();
  // Stop, waited for no longer than the swap timeout; its Events are written still. What has not
  // ended by then is fenced and goes on ending in `retired`, which keeps the controller. REQUIRES:
  // owned by a shared_ptr.
  void StopInTime();

  // Another build takes over (design 9). On an error the old one is at work again, as before. The
  // new image's declaration of this controller is `declaration`. When this controller was not
  // active yet only the instance is exchanged.
  Result<SwapReport> Swap(std::shared_ptr<Image> image, const ControllerDeclaration* declaration,
                          client::Cancellation* cancel);

  Status Health() const;
  // What of the plugin a life cycle operation of this controller waits for.
  struct Waiting {
    std::string build;
    OpenCall open;
  };
  std::optional<Waiting> WaitsFor() const;
  bool active() const { return active_.load(std::memory_order_acquire); }
  const std::string& name() const { return shared_.controller_name; }
  uint32_t generation() const { return generation_.load(std::memory_order_relaxed); }
  RunCounts counts() const;
  void ResetCounts();
  // Whether the caches of all its watches have reached `at_least` (version of a resource); for
  // tests.
  bool CachesAtLeast(const std::function<uint64_t(const std::string&)>& at_least) const;
  struct QueueReport {
    std::string name;
    size_t ready, waiting, processing;
    std::vector<queue::WorkQueue::KeyState> keys;
    int workers;               // 0: nothing of it is reconciled
    std::string workers_flag;  // without dashes; "" when no flag sets their number
  };
  std::vector<QueueReport> Queues(size_t keys) const;
  // Caches that are not filled yet, "" when all are: what an activation waits for.
  std::string Unsynced() const;
  // What the last failed run of this key said; "" when none is known.
  std::string LastError(const std::string& queue, const std::string& key) const {
    return shared_.errors.Of(queue, key);
  }

 private:
  std::unique_ptr<queue::WorkQueue> MakeQueue(const QueueDeclaration& d) const;
  static queue::RateLimit LimitOf(const QueueDeclaration& d);
  int Workers(const QueueDeclaration& d) const;
  clock::Duration Period(const TaskDeclaration& d) const;
  // Throws clock::ThreadError; those that were to be had run then.
  void StartThreads(const std::shared_ptr<Instance>& instance);
  void JoinThreads();
  // `number`: of the queue, in the instance's declaration.
  void Work(Instance& instance, uint32_t number, queue::WorkQueue& queue);
  void Settle(Instance& instance, uint32_t number, queue::WorkQueue& queue, const std::string& key,
              const kcm_outcome& outcome, const Error& error);
  void RunTasks(Instance& instance, uint32_t task, clock::Duration period, clock::Duration first);
  Status StartInstance(const std::shared_ptr<Instance>& instance);
  // Client and recorder for a build that declares `d`: the present ones where they fit.
  Result<Services> ServicesFor(const ControllerDeclaration& d);
  // The build that is to take over: created, its caches synced, its health asked.
  Status Ready(Instance& next, client::Cancellation* cancel);
  Result<SwapReport> HandOver(const std::shared_ptr<Instance>& old,
                              const std::shared_ptr<Instance>& next, std::shared_ptr<Image> image,
                              const ControllerDeclaration* declaration, Services services,
                              client::Cancellation* cancel);
  // Stop. Gives what the last generation wrote with.
  Services End();
  // Ends an instance that is over, on a thread that may wait. True: within a third of the swap
  // timeout, or at once when it is known to hang.
  bool Retire(std::shared_ptr<Instance> instance);
  // Lets a recorder that is not used any more write what it holds.
  void Retire(Services services);
  void SetNext(std::shared_ptr<Instance> next);
  Status Quiesce(Instance& old, std::vector<uint64_t>* sequences);
  // The old build goes on as before.
  void EndQuiet(Instance& old);
  bool WaitQueuesIdle(clock::MonoTime deadline);
  std::string WaitTasks(clock::MonoTime deadline);
  size_t ExchangeQueues(const ControllerDeclaration& to);
  Status Return(const std::shared_ptr<Image>& image, const ControllerDeclaration* declaration,
                Services services, client::Cancellation* cancel);

  std::unique_lock<std::mutex> LockLife();
  std::shared_ptr<Instance> Current() const;
  Status ActivateSynced(const std::shared_ptr<Instance>& instance, client::Cancellation* cancel);

  Environment* environment_;
  std::mutex life_mutex_;  // one of activation, swap and stop at a time
  std::atomic<bool> stopped_{
      false};  // set once, no order needed: looked at again under life_mutex_
  Retired* retired_;
  const std::shared_ptr<Shared> share_ = std::make_shared<Shared>();
  Shared& shared_ = *share_;
  std::shared_ptr<Image> image_;
  const ControllerDeclaration* declaration_;
  std::atomic<uint32_t> generation_{0};  // a number for reports
  mutable std::mutex mutex_;
  std::shared_ptr<Instance> instance_;  // guarded by mutex_ (readers take a copy)
  std::shared_ptr<Instance> next_;      // the one being prepared, for reports; guarded by mutex_
  std::atomic<bool> active_{false};     // release/acquire: Activate has finished
  Services services_;                   // of the active generation; under life_mutex_
  std::vector<std::thread> threads_;    // of the present generation; life cycle calls only
  std::mutex task_mutex_;
  std::condition_variable task_cv_;
  bool tasks_end_ = false;   // guarded by task_mutex_
  bool tasks_held_ = false;  // none starts: a swap is under way. Guarded by task_mutex_
  std::multiset<std::string> running_tasks_;                // by name, guarded by task_mutex_
  std::atomic<uint64_t> runs_{0}, retries_{0}, errors_{0};  // counters, no order needed
};

}  // namespace kcm::host::plugin
