// SPDX-License-Identifier: Apache-2.0
// process_* from /proc/self, and the registry's counts of itself.
#include "host/metric/process.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>
#include <string>

namespace kcm::host::metric {
namespace {

struct Usage {
  double cpu_seconds = 0;
  double start_seconds_since_boot = 0;
  double virtual_bytes = 0;
  double resident_bytes = 0;
};

// Fields 14, 15, 22, 23, 24 of /proc/self/stat. The command (field 2) may hold blanks: count behind
// its last ')'.
std::optional<Usage> ReadUsage() {
  std::ifstream file("/proc/self/stat");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const size_t paren = text.rfind(')');
  if (paren == std::string::npos) return std::nullopt;
  std::istringstream rest(text.substr(paren + 1));
  std::string state;
  rest >> state;
  double fields[22] = {};  // fields 4 to 25
  for (double& field : fields) {
    if (!(rest >> field)) return std::nullopt;
  }
  const auto field = [&](int number) { return fields[number - 4]; };
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  return Usage{(field(14) + field(15)) / ticks, field(22) / ticks, field(23),
               field(24) * static_cast<double>(sysconf(_SC_PAGESIZE))};
}

std::optional<double> ReadBootTime() {
  std::ifstream file("/proc/stat");
  std::string word;
  for (int i = 0; i < 1 << 20 && file >> word; ++i) {
    double seconds = 0;
    if (word == "btime" && file >> seconds) return seconds;
  }
  return std::nullopt;
}

std::optional<double> CountOpenFds() {
  DIR* dir = opendir("/proc/self/fd");
  if (dir == nullptr) return std::nullopt;
  double count = -3;  // ".", ".." and the directory itself
  while (readdir(dir) != nullptr) ++count;
  closedir(dir);
  return count;
}

std::optional<double> Limit(__rlimit_resource which) {
  rlimit limit{};
  if (getrlimit(which, &limit) != 0) return std::nullopt;
  return limit.rlim_cur == RLIM_INFINITY ? 18446744073709551615.0
                                         : static_cast<double>(limit.rlim_cur);
}

struct ProcessSeries {
  Metric cpu, start, virtual_memory, virtual_max, resident, open_fds, max_fds;
  std::optional<double> boot_time;

  void Collect() const {
    if (const auto usage = ReadUsage()) {
      cpu.With({}).Set(usage->cpu_seconds);
      virtual_memory.With({}).Set(usage->virtual_bytes);
      resident.With({}).Set(usage->resident_bytes);
      if (boot_time) start.With({}).Set(*boot_time + usage->start_seconds_since_boot);
    }
    if (const auto fds = CountOpenFds()) open_fds.With({}).Set(*fds);
    if (const auto limit = Limit(RLIMIT_NOFILE)) max_fds.With({}).Set(*limit);
    if (const auto limit = Limit(RLIMIT_AS)) virtual_max.With({}).Set(*limit);
  }
};

}  // namespace

void RegisterProcessMetrics(Registry& registry) {
  const auto describe = [](const char* name, const char* help) {
    Description d;
    d.name = name;
    d.help = help;
    d.stability = "";
    return d;
  };
  auto series = std::make_shared<ProcessSeries>();
  series->cpu = registry.Counter(
      describe("process_cpu_seconds_total", "Total user and system CPU time spent in seconds."));
  Description start = describe("process_start_time_seconds",
                               "Start time of the process since unix epoch in seconds.");
  start.stability = "ALPHA";
  series->start = registry.Gauge(start);
  series->virtual_memory =
      registry.Gauge(describe("process_virtual_memory_bytes", "Virtual memory size in bytes."));
  series->virtual_max = registry.Gauge(describe(
      "process_virtual_memory_max_bytes", "Maximum amount of virtual memory available in bytes."));
  series->resident =
      registry.Gauge(describe("process_resident_memory_bytes", "Resident memory size in bytes."));
  series->open_fds =
      registry.Gauge(describe("process_open_fds", "Number of open file descriptors."));
  series->max_fds =
      registry.Gauge(describe("process_max_fds", "Maximum number of open file descriptors."));
  series->boot_time = ReadBootTime();
  registry.AddCollector([series] { series->Collect(); });
}

void RegisterRegistryMetrics(Registry& registry) {
  Description registered;
  registered.name = "registered_metrics_total";
  registered.help =
      "The count of registered metrics broken by stability level and deprecation version.";
  registered.stability = "BETA";
  registered.labels = {"deprecated_version", "stability_level"};
  Description disabled;
  disabled.name = "disabled_metrics_total";
  disabled.help = "The count of disabled metrics.";
  disabled.stability = "BETA";
  Description hidden;
  hidden.name = "hidden_metrics_total";
  hidden.help = "The count of hidden metrics.";
  hidden.stability = "BETA";
  const Metric registered_metric = registry.Counter(registered);
  const Series disabled_series = registry.Counter(disabled).With({});
  registry.Counter(hidden).With({});
  registry.AddCollector([&registry, registered_metric, disabled_series] {
    const Registry::Counts counts = registry.Counted();
    for (const auto& [stability, count] : counts.registered) {
      if (!stability.empty()) registered_metric.With({"", stability}).Set(count);
    }
    disabled_series.Set(counts.disabled);
  });
}

}  // namespace kcm::host::metric
