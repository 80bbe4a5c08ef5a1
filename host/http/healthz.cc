// SPDX-License-Identifier: Apache-2.0
// Evaluation of health checks.
#include "host/http/healthz.h"

#include <algorithm>

#include "kcm/rules/go_quote.h"

namespace kcm::host::http {
namespace {

metric::Description Describe(const char* name, const char* help, std::vector<std::string> labels) {
  metric::Description d;
  d.name = name;
  d.help = help;
  d.stability = "STABLE";
  d.labels = std::move(labels);
  return d;
}

Status RunGuarded(const HealthRegistry::Check& check) {
  try {
    return check();
  } catch (const std::exception& e) {
    return MakeError(Code::kInternal, e.what());
  }
}

}  // namespace

HealthRegistry::HealthRegistry(metric::Registry* metrics, log::Logger log) : log_(std::move(log)) {
  if (metrics == nullptr) return;
  last_ = metrics->Gauge(Describe("kubernetes_healthcheck",
                                  "This metric records the result of a single healthcheck.",
                                  {"name", "type"}));
  total_ = metrics->Counter(Describe("kubernetes_healthchecks_total",
                                     "This metric records the results of all healthcheck.",
                                     {"name", "type", "status"}));
}

void HealthRegistry::Add(const std::string& name, Check check) {
  const std::lock_guard lock(mutex_);
  const auto known =
      std::find_if(checks_.begin(), checks_.end(), [&](const auto& c) { return c.first == name; });
  if (known != checks_.end()) {
    known->second = std::move(check);
  } else {
    checks_.emplace_back(name, std::move(check));
  }
}

void HealthRegistry::Remove(std::string_view name) {
  const std::lock_guard lock(mutex_);
  std::erase_if(checks_, [&](const auto& c) { return c.first == name; });
}

void HealthRegistry::Observe(const std::string& name, bool healthy) const {
  last_.With({name, "healthz"}).Set(healthy ? 1 : 0);
  total_.With({name, "healthz", healthy ? "success" : "error"}).Add();
}

HealthRegistry::Answer HealthRegistry::Evaluate(bool verbose,
                                                const std::vector<std::string>& excluded) const {
  std::vector<std::pair<std::string, Check>> checks;
  {
    const std::lock_guard lock(mutex_);
    checks = checks_;
  }
  if (checks.empty()) checks.emplace_back("ping", [] { return Ok(); });

  std::vector<std::string> unknown;
  for (const std::string& name : excluded) {
    if (std::find(unknown.begin(), unknown.end(), name) == unknown.end()) unknown.push_back(name);
  }
  std::string lines;
  std::string failed;
  for (const auto& [name, check] : checks) {
    if (std::find(excluded.begin(), excluded.end(), name) != excluded.end()) {
      std::erase(unknown, name);
      lines += "[+]" + name + " excluded: ok\n";
      continue;
    }
    const Status result = RunGuarded(check);
    Observe(name, result.ok());
    lines += result.ok() ? "[+]" + name + " ok\n" : "[-]" + name + " failed: reason withheld\n";
    // The endpoint is public: the reason is for the log alone.
    if (!result.ok()) failed += (failed.empty() ? "" : "; ") + name + ": " + result.error().message;
  }
  if (!unknown.empty()) {
    std::string names;
    for (const std::string& name : unknown)
      names += (names.empty() ? "" : ", ") + rules::GoQuote(name);
    lines += "warn: some health checks cannot be excluded: no matches for " + names + "\n";
  }
  if (!failed.empty()) {
    log_.Info(2, "Health check failed", {{"err", failed}});
    return {false, lines + "healthz check failed\n"};
  }
  return {true, verbose ? lines + "healthz check passed\n" : "ok"};
}

}  // namespace kcm::host::http
