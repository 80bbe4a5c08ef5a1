// SPDX-License-Identifier: Apache-2.0
// What the admin API shows.
#include <nlohmann/json.hpp>

#include "host/plugin/manager.h"

namespace kcm::host::plugin {

std::string Manager::Report(size_t keys_per_queue) const {
  const std::vector<Lingering> hung = retired_.Late();
  const std::lock_guard lock(mutex_);
  nlohmann::json out{{"leading", started_},
                     {"plugins", nlohmann::json::array()},
                     {"refused", nlohmann::json::array()}};
  for (const auto& [name, p] : plugins_) {
    const PluginDeclaration& d = p->image->declaration();
    nlohmann::json j{
        {"name", name},
        {"file", p->given.empty() ? p->file : p->given},
        {"version", d.version},
        {"vendor", d.vendor},
        {"buildId", d.build_id},
        {"digest", p->image->digest()},
        {"swaps", p->swaps},
        {"state", p->previous ? "probation" : "running"},
        {"lastPauseMs", std::chrono::duration<double, std::milli>(p->last_pause).count()}};
    if (!p->given.empty()) j["directoryFile"] = p->file;  // what a restart loads
    if (!p->file_refused && !p->file_digest.empty() && p->file_digest != p->image->digest()) {
      j["fileBuildId"] = p->file_build;
      if (p->taken_back && p->taken_back->digest == p->file_digest)
        j["fileTakenBack"] = p->taken_back->why;
    }
    if (!p->last_error.empty()) j["lastError"] = p->last_error;
    if (p->operation) j["underWay"] = UnderWay(*p);
    for (const auto& [controller_name, retry] : p->retries) {
      nlohmann::json& jr = j["waiting"].emplace_back(nlohmann::json{
          {"controller", controller_name}, {"error", retry.error}, {"tries", retry.tries}});
      const clock::Duration left =
          retry.starting ? clock::Duration(0) : retry.next - environment_.clock->Monotonic();
      if (retry.starting || retry.next != clock::MonoTime::Max())
        jr["retryInSeconds"] = std::chrono::duration<double>(left).count();
    }
    for (const auto& [controller_name, c] : p->controllers) {
      const RunCounts counts = c->counts();
      nlohmann::json jc{{"name", controller_name},       {"active", c->active()},
                        {"generation", c->generation()}, {"runs", counts.runs},
                        {"retries", counts.retries},     {"errors", counts.errors}};
      if (const std::string unsynced = started_ && !c->active() ? c->Unsynced() : "";
          !unsynced.empty())
        jc["unsynced"] = unsynced;
      for (const Controller::QueueReport& q : c->Queues(keys_per_queue)) {
        nlohmann::json jq{{"name", q.name},
                          {"ready", q.ready},
                          {"waiting", q.waiting},
                          {"processing", q.processing},
                          {"workers", q.workers}};
        if (!q.workers_flag.empty()) jq["workersFlag"] = q.workers_flag;
        for (const queue::WorkQueue::KeyState& k : q.keys)
          jq["keys"].push_back({{"key", k.key},
                                {"state", k.state},
                                {"failures", k.failures},
                                {"dueInSeconds", std::chrono::duration<double>(k.due_in).count()},
                                {"error", k.failures > 0 ? c->LastError(q.name, k.key) : ""}});
        jc["queues"].push_back(std::move(jq));
      }
      j["controllers"].push_back(std::move(jc));
    }
    out["plugins"].push_back(std::move(j));
  }
  for (const Lingering& l : hung)
    out["hung"].push_back(
        {{"plugin", l.plugin},
         {"controller", l.controller},
         {"build", l.build},
         {"call", l.call},
         {"seconds",
          std::chrono::duration<double>(environment_.clock->Monotonic() - l.since).count()}});
  for (const auto& [path, refusal] : refused_)
    if (!refusal.why.empty()) out["refused"].push_back({{"file", path}, {"reason", refusal.why}});
  return out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace kcm::host::plugin
