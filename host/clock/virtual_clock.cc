// SPDX-License-Identifier: Apache-2.0
// Virtual time: when it may move, and who is woken when it does.
//
// "Settled" is a consistent look at four things: counted work, due timers, waiters whose condition
// holds or whose deadline has come, and probes. The look is not atomic, so `epoch` counts every
// change that could move work from a part not yet looked at to one already looked at; a look during
// which it changed proves nothing and is repeated.
#include <algorithm>
#include <atomic>
#include <list>
#include <map>
#include <thread>
#include <vector>

#include "host/clock/clock.h"
#include "host/clock/timer_queue.h"

namespace kcm::host::clock {
namespace {

using RealTime = std::chrono::steady_clock;

// 2030-01-01T00:00:00Z.
constexpr WallTime kDefaultStart{std::chrono::seconds(1893456000)};
// Not zero: a default MonoTime lies in the past, as on a real machine.
constexpr Duration kMonoStart = std::chrono::hours(1);
// Real pause between two looks: lets a thread run that the clock can not see (a byte on its way
// through a socket).
constexpr auto kYield = std::chrono::microseconds(50);
constexpr auto kLongestNap = std::chrono::microseconds(1000);
constexpr auto kJoinTime = std::chrono::milliseconds(1);  // to wake up after a join

// What a look found.
struct Look {
  int64_t work = 0;
  int waiters = 0;  // ready or at their deadline
  bool timers = false;
  bool changed = false;
  std::vector<int> probes;  // not idle
  bool idle() const { return work == 0 && waiters == 0 && !timers && !changed && probes.empty(); }
};

}  // namespace

struct VirtualClock::State {
  struct Waiter {
    std::mutex* mutex;
    std::condition_variable* cv;
    MonoTime deadline;
    const std::function<bool()>* ready;
    int pins = 0;          // whoever looks at it; it stays in Wait until 0
    bool leaving = false;  // waits for the pins with *mutex held
  };
  class Registration;

  explicit State(WallTime start)
      : wall_offset(start.time_since_epoch().count() - kMonoStart.count()),
        timers([this](MonoTime) { WakeThread(); }) {
    thread = std::thread([this] { RunTimers(); });
  }

  ~State() {
    {
      std::lock_guard lock(wake_mutex);
      stop = true;
    }
    wake.notify_all();
    thread.join();
  }

  MonoTime Mono() const { return MonoTime(Duration(mono.load())); }

  void WakeThread() {
    {
      std::lock_guard lock(wake_mutex);
      ++wake_count;
    }
    wake.notify_all();
  }

  void RunTimers() {
    uint64_t seen = 0;
    for (;;) {
      {
        std::unique_lock lock(wake_mutex);
        wake.wait(lock, [&] { return stop || wake_count != seen; });
        if (stop) return;
        seen = wake_count;
      }
      while (timers.RunOne(Mono())) {
        ++epoch;
        {
          std::lock_guard lock(wake_mutex);
          if (stop) return;
        }
        NotifySettlers();
      }
    }
  }

  void NotifySettlers() {
    if (settlers.load() == 0) return;
    { std::lock_guard lock(settle_mutex); }
    settle.notify_all();
  }

  // True when `w` has something to do. Only tries its lock: a held lock means that somebody is at
  // work.
  static bool HasWork(Waiter& w, MonoTime now) {
    std::unique_lock lock(*w.mutex, std::try_to_lock);
    if (!lock) return true;
    if (w.deadline <= now) {
      lock.unlock();
      w.cv->notify_all();
      return true;
    }
    return (*w.ready)();
  }

  int WaitersWithWork() {
    int found = 0;
    std::unique_lock lock(waiters_mutex);
    for (auto it = waiters.begin(); it != waiters.end(); ++it) {
      Waiter& w = **it;
      if (w.leaving) {
        ++found;
        continue;
      }
      ++w.pins;  // keeps `it` and `w` valid while unlocked: `ready` may take other locks
      lock.unlock();
      const bool active = HasWork(w, Mono());
      lock.lock();
      --w.pins;
      if (active) ++found;
      if (w.leaving) unpinned.notify_all();
    }
    return found;
  }

  std::vector<int> BusyProbes() {
    std::lock_guard lock(probes_mutex);
    std::vector<int> busy;
    for (const auto& [id, idle] : probes) {
      if (!idle()) busy.push_back(id);
    }
    return busy;
  }

  Look TakeLook() {
    Look look;
    look.changed = RealTime::now().time_since_epoch().count() < joining_until.load();
    if (look.changed) return look;
    const uint64_t before = epoch.load();
    look.work = work.load();
    if (look.work != 0) return look;
    look.timers = timers.Active(Mono());
    if (look.timers) return look;
    look.waiters = WaitersWithWork();
    if (look.waiters != 0) return look;
    look.probes = BusyProbes();
    look.work = work.load();
    look.timers = timers.Active(Mono());
    look.changed = epoch.load() != before;
    return look;
  }

  bool Settle(std::chrono::seconds real_limit) {
    if (std::this_thread::get_id() == thread.get_id())
      return false;  // a callback would wait for itself
    const auto give_up = RealTime::now() + real_limit;
    ++settlers;
    int in_a_row = 0;
    auto nap = kYield;
    while (in_a_row < 2) {
      if (TakeLook().idle()) {
        ++in_a_row;
        nap = kYield;
      } else {
        in_a_row = 0;
        if (RealTime::now() >= give_up) break;
      }
      if (in_a_row == 2) break;
      std::unique_lock lock(settle_mutex);
      settle.wait_for(lock, nap);
      if (in_a_row == 0) nap = std::min(nap * 2, std::chrono::microseconds(kLongestNap));
    }
    --settlers;
    return in_a_row == 2;
  }

  // The earliest timer or deadline of a waiter.
  MonoTime NextEvent() {
    MonoTime next = timers.Next();
    std::lock_guard lock(waiters_mutex);
    for (const Waiter* w : waiters) next = std::min(next, w->deadline);
    return next;
  }

  void MoveTo(MonoTime t) {
    if (t <= Mono()) return;
    mono.store(t.since().count());
    ++epoch;
    WakeThread();
  }

  bool AdvanceUntil(const std::function<bool()>* done, Duration limit,
                    std::chrono::seconds real_limit, bool* met) {
    std::lock_guard one_at_a_time(advance_mutex);
    const MonoTime target = Mono() + std::max(limit, Duration::zero());
    for (;;) {
      if (!Settle(real_limit)) return false;
      if (done != nullptr && (*done)()) {
        *met = true;
        return true;
      }
      const MonoTime now = Mono();
      if (now >= target) return true;
      MoveTo(std::min(NextEvent(), target));
    }
  }

  std::atomic<int64_t> mono{kMonoStart.count()};
  std::atomic<int64_t> wall_offset;
  std::atomic<int64_t> work{0};
  std::atomic<uint64_t> epoch{0};
  std::atomic<RealTime::rep> joining_until{0};  // real time: threads that ended may be joined

  std::mutex waiters_mutex;
  std::condition_variable unpinned;
  std::list<Waiter*> waiters;

  std::mutex probes_mutex;
  std::map<int, std::function<bool()>> probes;
  int last_probe = 0;

  std::mutex settle_mutex;
  std::condition_variable settle;  // only shortens the nap of Settle
  std::atomic<int> settlers{0};
  std::mutex advance_mutex;

  std::mutex wake_mutex;
  std::condition_variable wake;
  uint64_t wake_count = 0;
  bool stop = false;
  TimerQueue timers;
  std::thread thread;
};

// Registers a waiter; takes it out again however Wait is left.
class VirtualClock::State::Registration {
 public:
  Registration(std::mutex& list_mutex, std::condition_variable& unpinned, std::list<Waiter*>& list,
               Waiter& waiter)
      : list_mutex_(list_mutex), unpinned_(unpinned), list_(list), waiter_(waiter) {
    std::lock_guard lock(list_mutex_);
    where_ = list_.insert(list_.end(), &waiter_);
  }
  ~Registration() {
    std::unique_lock lock(list_mutex_);
    waiter_.leaving = true;
    unpinned_.wait(lock, [&] { return waiter_.pins == 0; });
    list_.erase(where_);
  }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

 private:
  std::mutex& list_mutex_;
  std::condition_variable& unpinned_;
  std::list<Waiter*>& list_;
  Waiter& waiter_;
  std::list<Waiter*>::iterator where_;
};

VirtualClock::VirtualClock() : VirtualClock(kDefaultStart) {}
VirtualClock::VirtualClock(WallTime start) : s_(std::make_unique<State>(start)) {}
VirtualClock::~VirtualClock() = default;

MonoTime VirtualClock::Monotonic() const { return s_->Mono(); }
WallTime VirtualClock::Now() const {
  return WallTime(Duration(s_->wall_offset.load() + s_->mono.load()));
}

TimerId VirtualClock::After(Duration delay, std::function<void()> fire) {
  ++s_->epoch;
  return s_->timers.Add(s_->Mono() + std::max(delay, Duration::zero()), std::move(fire));
}

bool VirtualClock::Cancel(TimerId id) { return s_->timers.Cancel(id); }

bool VirtualClock::Wait(std::unique_lock<std::mutex>& lock, std::condition_variable& cv,
                        MonoTime deadline, const std::function<bool()>& ready) {
  if (ready()) return true;
  if (deadline <= s_->Mono()) return false;
  State::Waiter waiter{lock.mutex(), &cv, deadline, &ready};
  // Order matters: the waiter is listed before its marks go, and the marks are back before it
  // leaves the list.
  const State::Registration registration(s_->waiters_mutex, s_->unpinned, s_->waiters, waiter);
  ++s_->epoch;
  const BusyPause pause(*this);
  bool result = false;
  while (!(result = ready()) && s_->Mono() < deadline) cv.wait(lock);
  ++s_->epoch;
  return result;
}

void VirtualClock::BeginWork() {
  ++s_->work;
  ++s_->epoch;
}

void VirtualClock::ThreadEnds() {
  const auto until = (RealTime::now() + kJoinTime).time_since_epoch().count();
  auto had = s_->joining_until.load();
  while (had < until && !s_->joining_until.compare_exchange_weak(had, until)) {
  }
}

void VirtualClock::EndWork() {
  if (--s_->work == 0) s_->NotifySettlers();
}

bool VirtualClock::Advance(Duration d, std::chrono::seconds real_limit) {
  const BusyPause pause(*this);
  return s_->AdvanceUntil(nullptr, d, real_limit, nullptr);
}

bool VirtualClock::AdvanceUntil(const std::function<bool()>& done, Duration limit,
                                std::chrono::seconds real_limit) {
  const BusyPause pause(*this);
  bool met = false;
  return s_->AdvanceUntil(&done, limit, real_limit, &met) && met;
}

bool VirtualClock::Settle(std::chrono::seconds real_limit) {
  const BusyPause pause(*this);
  return s_->Settle(real_limit);
}

int VirtualClock::AddProbe(std::function<bool()> idle) {
  std::lock_guard lock(s_->probes_mutex);
  s_->probes.emplace(++s_->last_probe, std::move(idle));
  return s_->last_probe;
}

void VirtualClock::RemoveProbe(int id) {
  std::lock_guard lock(s_->probes_mutex);
  s_->probes.erase(id);
}

std::string VirtualClock::WhyBusy() {
  const BusyPause pause(*this);
  const Look look = s_->TakeLook();
  std::string why;
  const auto say = [&](const std::string& what) { why += (why.empty() ? "" : ", ") + what; };
  if (look.work != 0) say("counted work: " + std::to_string(look.work));
  if (look.timers) say("a timer is due or running");
  if (look.waiters != 0) say("waiters that can go on: " + std::to_string(look.waiters));
  for (const int id : look.probes) say("probe " + std::to_string(id) + " is not idle");
  if (look.changed && why.empty()) say("something moved while looking");
  return why;
}

void VirtualClock::JumpWall(Duration d) { s_->wall_offset += d.count(); }

}  // namespace kcm::host::clock
