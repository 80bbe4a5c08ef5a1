// SPDX-License-Identifier: Apache-2.0
// The life of pods on simulated nodes, step by step.
#include "devcluster/nodes/pod_workers.h"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "devcluster/nodes/pod_course.h"
#include "devcluster/nodes/reports.h"

namespace kcm::devcluster::nodes {
namespace {

using host::clock::Clock;
using host::clock::Duration;

constexpr Duration kRetry = std::chrono::seconds(1);
constexpr uint32_t kFirstAddress = 10;
constexpr uint32_t kAddresses = 192 * 65536;  // 10.64.0.0 to 10.255.255.255

std::string PathOf(const RunningPod& pod) {
  return "/api/v1/namespaces/" + pod.ns + "/pods/" + pod.name;
}

// What happens next to a pod.
enum class Step {
  kStart,    // its containers start
  kReady,    // it becomes ready
  kRestart,  // its containers end, to be started again
  kResume,   // they start again after the back-off
  kExit,     // it ends
  kRemove,   // its deletion is completed
};

struct SimulatedPod {
  RunningPod report;
  PodCourse course;
  std::string node, owner_uid;
  Strings labels, annotations;
  bool started = false, deleting = false, exited = false, in_back_off = false;
  rules::WallTime started_at{};
  uint64_t generation = 0;   // of the list or event that showed it last
  std::vector<Step> missed;  // fell due while its node had failed
};

}  // namespace

struct PodWorkers::Impl {
  Clock& clock;
  WorkPool& pool;
  const std::function<bool(const std::string&)> node_runs;
  const std::function<void(const std::string&)> log;

  mutable std::mutex mu;  // guards all below; never held over a request
  std::unordered_map<std::string, SimulatedPod> pods;  // by uid
  uint64_t generation = 1;
  uint32_t next_address = kFirstAddress;

  Impl(Clock& c, WorkPool& p, std::function<bool(const std::string&)> runs,
       std::function<void(const std::string&)> l)
      : clock(c), pool(p), node_runs(std::move(runs)), log(std::move(l)) {}

  SimulatedPod& EntryLocked(const Pod& pod);
  std::string AddressLocked(const Pod& pod);
  void See(const Pod& pod);
  void DoAfter(Duration delay, const std::string& uid, Step step);
  void Do(WorkPool::Worker& worker, const std::string& uid, Step step);
  std::optional<std::string> ReportLocked(SimulatedPod& pod, Step step);
  void Follow(const std::string& uid, Step step);
  void Send(WorkPool::Worker& worker, const RunningPod& pod, Step step, const std::string& report);
};

std::string PodWorkers::Impl::AddressLocked(const Pod& pod) {
  // A pod that has an address keeps it, and nobody else gets it: it ran before this process
  // started.
  if (!pod.pod_ip.empty()) return pod.pod_ip;
  const uint32_t n = next_address++ % kAddresses;
  return "10." + std::to_string(64 + n / 65536) + "." + std::to_string(n / 256 % 256) + "." +
         std::to_string(n % 256);
}

SimulatedPod& PodWorkers::Impl::EntryLocked(const Pod& pod) {
  const auto [it, fresh] = pods.try_emplace(pod.uid);
  SimulatedPod& entry = it->second;
  if (fresh) {
    entry.report = {pod.uid, pod.ns, pod.name, {}, {}, pod.containers, pod.init_containers};
    entry.node = pod.node;
    entry.owner_uid = pod.owner_uid;
  }
  entry.generation = generation;
  entry.labels = pod.labels;
  entry.annotations = pod.annotations;
  return entry;
}

void PodWorkers::Impl::See(const Pod& pod) {
  if (pod.node.empty() || Says(pod.annotations, "sim/ignore", "true")) return;
  std::optional<Step> next;
  {
    const std::lock_guard lock(mu);
    if (!node_runs(pod.node)) return;
    SimulatedPod& entry = EntryLocked(pod);
    if (pod.deleting) {
      if (!std::exchange(entry.deleting, true)) next = Step::kRemove;
    } else if (!entry.started && !pod.Finished()) {
      entry.started = true;
      entry.course = CourseOf(pod);
      entry.started_at = clock.Now();
      entry.report.ip = AddressLocked(pod);
      entry.report.started =
          pod.start_time.empty() ? rules::FormatTime(clock.Now()) : pod.start_time;
      next = Step::kStart;
    }
  }
  if (next) DoAfter(*next == Step::kRemove ? DeletionTime(pod) : Duration::zero(), pod.uid, *next);
}

void PodWorkers::Impl::DoAfter(Duration delay, const std::string& uid, Step step) {
  pool.SubmitAfter(delay, [this, uid, step](WorkPool::Worker& w) { Do(w, uid, step); });
}

// What to tell the server, after the entry has been brought up to date; nullopt when the step is no
// longer due.
std::optional<std::string> PodWorkers::Impl::ReportLocked(SimulatedPod& pod, Step step) {
  const rules::WallTime now = clock.Now();
  if (step == Step::kRemove) {
    return R"({"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0,"preconditions":{"uid":")" +
           pod.report.uid + "\"}}";
  }
  if (step == Step::kExit) {
    pod.exited = true;
    return ExitedReport(pod.report, pod.course.ends, now);
  }
  if (pod.exited) return std::nullopt;
  switch (step) {
    case Step::kReady:
      if (pod.in_back_off) return std::nullopt;
      return RunningReport(pod.report, true, now);
    case Step::kRestart: {
      ++pod.report.restarts;
      pod.report.ends = pod.course.ends;
      pod.report.ended = pod.report.restarted = rules::FormatTime(now);
      const Duration delay = RestartDelay(pod.report.restarts);
      pod.in_back_off = delay > Duration::zero();
      if (pod.in_back_off) return BackOffReport(pod.report, delay, now);
      return RunningReport(pod.report, pod.course.ready_at_once, now);
    }
    case Step::kResume:
      pod.in_back_off = false;
      pod.report.restarted = rules::FormatTime(now);
      return RunningReport(pod.report, pod.course.ready_at_once, now);
    default:
      return RunningReport(pod.report, pod.course.ready_at_once, now);
  }
}

// Later steps are timed only after the report of an earlier one is through, so that a slow server
// never sees them out of order.
void PodWorkers::Impl::Follow(const std::string& uid, Step step) {
  if (step == Step::kReady || step == Step::kExit || step == Step::kRemove) return;
  std::vector<std::pair<Duration, Step>> due;
  {
    const std::lock_guard lock(mu);
    const auto it = pods.find(uid);
    if (it == pods.end()) return;
    const SimulatedPod& pod = it->second;
    if (pod.in_back_off) {
      due.emplace_back(RestartDelay(pod.report.restarts), Step::kResume);
    } else {
      if (pod.course.ready_after) due.emplace_back(*pod.course.ready_after, Step::kReady);
      if (pod.course.restart_after && pod.report.restarts < pod.course.restarts) {
        due.emplace_back(*pod.course.restart_after, Step::kRestart);
      }
    }
    if (step == Step::kStart && pod.course.exit_after) {
      due.emplace_back(*pod.course.exit_after, Step::kExit);
    }
  }
  for (const auto& [delay, next] : due) DoAfter(delay, uid, next);
}

void PodWorkers::Impl::Do(WorkPool::Worker& worker, const std::string& uid, Step step) {
  std::optional<std::string> report;
  RunningPod pod;
  {
    const std::lock_guard lock(mu);
    const auto it = pods.find(uid);
    if (it == pods.end()) return;
    if (!node_runs(it->second.node)) {
      it->second.missed.push_back(step);
      return;
    }
    report = ReportLocked(it->second, step);
    if (!report) return;
    pod = it->second.report;
  }
  Send(worker, pod, step, *report);
}

// Until it is through; the pod's entry has moved on to where the report leads.
void PodWorkers::Impl::Send(WorkPool::Worker& worker, const RunningPod& pod, Step step,
                            const std::string& report) {
  {
    const std::lock_guard lock(mu);
    const auto it = pods.find(pod.uid);
    if (it == pods.end() || (it->second.exited && step != Step::kExit && step != Step::kRemove)) {
      return;
    }
  }
  const Answer a = step == Step::kRemove
                       ? worker.Call("DELETE", PathOf(pod), report)
                       : worker.Call("PATCH", PathOf(pod) + "/status", report, kStrategicPatch);
  // 404 and 409 are an answer too: the pod is gone or replaced.
  if (!a.Passing()) return Follow(pod.uid, step);
  if (log) {
    log((step == Step::kRemove ? "delete pod " : "status of pod ") + pod.ns + "/" + pod.name +
        ": " + a.Describe());
  }
  pool.SubmitAfter(kRetry,
                   [this, pod, step, report](WorkPool::Worker& w) { Send(w, pod, step, report); });
}

PodWorkers::PodWorkers(Clock& clock, WorkPool& pool, std::function<bool(const std::string&)> runs,
                       std::function<void(const std::string&)> log)
    : impl_(std::make_unique<Impl>(clock, pool, std::move(runs), std::move(log))) {}
PodWorkers::~PodWorkers() = default;

void PodWorkers::OnPods(const std::vector<Pod>& all) {
  {
    const std::lock_guard lock(impl_->mu);
    ++impl_->generation;
    for (const Pod& pod : all) {
      const auto it = impl_->pods.find(pod.uid);
      if (it != impl_->pods.end()) it->second.generation = impl_->generation;
    }
    std::erase_if(impl_->pods,
                  [&](const auto& e) { return e.second.generation != impl_->generation; });
    // Addresses in use, as 10.a.b.c, are not given out again.
    for (const Pod& pod : all) {
      unsigned a = 0, b = 0, c = 0;
      if (std::sscanf(pod.pod_ip.c_str(), "10.%u.%u.%u", &a, &b, &c) != 3 || a < 64) continue;
      const uint32_t n = (a - 64) * 65536 + b * 256 + c;
      impl_->next_address = std::max(impl_->next_address, n + 1);
    }
  }
  for (const Pod& pod : all) impl_->See(pod);
}

void PodWorkers::OnPod(Change change, const Pod& pod) {
  if (change == Change::kDeleted) {
    const std::lock_guard lock(impl_->mu);
    impl_->pods.erase(pod.uid);
    return;
  }
  impl_->See(pod);
}

void PodWorkers::See(const Pod& pod) { impl_->See(pod); }

void PodWorkers::Recover(const std::string& node) {
  std::vector<std::pair<std::string, Step>> due;
  {
    const std::lock_guard lock(impl_->mu);
    for (auto& [uid, pod] : impl_->pods) {
      if (pod.node != node) continue;
      for (const Step step : std::exchange(pod.missed, {})) due.emplace_back(uid, step);
    }
  }
  for (const auto& [uid, step] : due) impl_->DoAfter(Duration::zero(), uid, step);
}

std::vector<MeteredPod> PodWorkers::Running(const std::string& ns) const {
  std::vector<MeteredPod> out;
  const std::lock_guard lock(impl_->mu);
  for (const auto& [uid, pod] : impl_->pods) {
    if (!pod.started || pod.exited || pod.deleting || (!ns.empty() && pod.report.ns != ns))
      continue;
    if (!impl_->node_runs(pod.node)) continue;
    MeteredPod m{uid,           pod.report.ns, pod.report.name, pod.node,
                 pod.owner_uid, pod.labels,    pod.annotations, {},
                 pod.started_at};
    for (const Container& c : pod.report.containers) m.containers.push_back(c.name);
    out.push_back(std::move(m));
  }
  std::sort(out.begin(), out.end(), [](const MeteredPod& x, const MeteredPod& y) {
    return std::tie(x.ns, x.name) < std::tie(y.ns, y.name);
  });
  return out;
}

}  // namespace kcm::devcluster::nodes
