// SPDX-License-Identifier: Apache-2.0
// Dispatch, and the standard paths of spec/host.md 9.1.
#include "host/http/routes.h"

#include <Poco/DeflatingStream.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "host/config/go_syntax.h"
#include "host/http/z_pages.h"
#include "kcm/rules/time.h"

namespace kcm::host::http {
namespace {

Response Text(int status, const std::string& line) {
  Response r;
  r.status = status;
  r.content_type = "text/plain";
  r.body = line + "\n";
  return r;
}

Response Healthz(const HealthRegistry& health, const Request& request) {
  const HealthRegistry::Answer answer =
      health.Evaluate(request.HasQuery("verbose"), request.QueryValues("exclude"));
  Response r;
  r.status = answer.healthy ? 200 : 500;
  r.body = answer.body;
  r.headers.emplace_back("X-Content-Type-Options", "nosniff");
  return r;
}

std::string Gzip(const std::string& text) {
  std::ostringstream out;
  Poco::DeflatingOutputStream gzip(out, Poco::DeflatingStreamBuf::STREAM_GZIP);
  gzip << text;
  gzip.close();
  return out.str();
}

Response Metrics(const metric::Registry& registry, const Request& request, bool slis_only) {
  const std::string accept = request.Header("Accept");
  const bool open_metrics = accept.find("application/openmetrics-text") != accept.npos;
  Response r;
  r.content_type = open_metrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                : "text/plain; version=0.0.4; charset=utf-8";
  r.body = registry.Expose(open_metrics, slis_only);
  if (request.Header("Accept-Encoding").find("gzip") != std::string::npos) {
    r.body = Gzip(r.body);
    r.headers.emplace_back("Content-Encoding", "gzip");
  }
  return r;
}

Response Verbosity(const log::Logger& log, const Request& request) {
  if (request.method != "PUT") return Text(406, "unsupported http method");
  std::string text = request.body;
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' '))
    text.pop_back();
  const Result<int64_t> level = config::ParseGoUint(text, 31);
  if (!level.ok()) {
    return Text(400, "failed set klog.logging.verbosity to " + text + ": " + level.error().message);
  }
  log.SetVerbosity(static_cast<int>(*level));
  return Text(200, "successfully set klog.logging.verbosity to " + text);
}

Response StatuszOf(const ServerOptions& options, const Routes& routes, clock::MonoTime start_mono,
                   const std::string& start_time, const Request& request) {
  Statusz page;
  page.component = std::string(config::kComponent);
  page.start_time = start_time;
  page.uptime_seconds =
      std::chrono::duration_cast<std::chrono::seconds>(options.clock->Monotonic() - start_mono)
          .count();
  page.compiler = options.build.compiler;
  page.binary_version = std::string(config::kKubernetesVersion.substr(1));
  page.emulation_version = options.emulation.emulated.Text();
  page.paths = routes.Listed();
  return StatuszPage(page, request.Header("Accept"));
}

void AddDebugRoutes(const ServerOptions& options, Routes* routes) {
  if (!options.profiling) return;
  routes->Add("/debug/flags", {}, [](const Request&) { return Text(200, "/debug/flags/v"); });
  routes->Add("/debug/flags/v", {},
              [&options](const Request& r) { return Verbosity(options.log, r); });
}

}  // namespace

void Routes::Add(const std::string& path, PathOptions options, Handler handler) {
  const std::lock_guard lock(mutex_);
  entries_[path] = Entry{options, std::make_shared<const Handler>(std::move(handler))};
}

void Routes::Remove(const std::string& path) {
  std::shared_ptr<const Handler> last;  // destroyed after the lock is given up
  const std::lock_guard lock(mutex_);
  const auto it = entries_.find(path);
  if (it == entries_.end()) return;
  last = std::move(it->second.handler);
  entries_.erase(it);
}

std::shared_ptr<const Handler> Routes::Find(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  if (const auto it = entries_.find(path); it != entries_.end()) return it->second.handler;
  for (size_t slash = path.rfind('/'); slash != path.npos && slash > 0;
       slash = path.rfind('/', slash - 1)) {
    const auto it = entries_.find(path.substr(0, slash));
    if (it != entries_.end() && it->second.options.prefix) return it->second.handler;
  }
  return nullptr;
}

std::vector<std::string> Routes::Listed() const {
  std::set<std::string> paths;
  const std::lock_guard lock(mutex_);
  for (const auto& [path, entry] : entries_) {
    if (entry.options.listed) paths.insert(path.substr(0, path.find('/', 1)));
  }
  return {paths.begin(), paths.end()};
}

void AddStandardRoutes(const ServerOptions& options, HealthRegistry* health, Routes* routes) {
  const PathOptions listed{false, true};
  routes->Add("/healthz", listed, [health](const Request& r) { return Healthz(*health, r); });
  metric::Registry* metrics = options.metrics;
  routes->Add("/metrics", listed,
              [metrics](const Request& r) { return Metrics(*metrics, r, false); });
  routes->Add("/metrics/slis", listed, [metrics](const Request& r) {
    if (r.method != "DELETE") return Metrics(*metrics, r, true);
    metrics->ResetSlis();
    return Text(200, "metrics reset");
  });
  if (options.configz) {
    routes->Add("/configz", listed,
                [&options](const Request&) { return JsonResponse(200, options.configz()); });
  }
  if (options.flagz) {
    routes->Add("/flagz", listed, [&options](const Request& r) {
      return FlagzPage({std::string(config::kComponent), options.flags}, r.Header("Accept"));
    });
  }
  if (options.statusz) {
    const clock::MonoTime start = options.clock->Monotonic();
    const std::string started = rules::FormatTime(options.clock->Now());
    routes->Add("/statusz", {}, [&options, routes, start, started](const Request& r) {
      return StatuszOf(options, *routes, start, started, r);
    });
  }
  AddDebugRoutes(options, routes);
}

}  // namespace kcm::host::http
