// SPDX-License-Identifier: Apache-2.0
// kcm-bench-devcluster: fills a kcm-devcluster of its own and prints what it costs: creates on one
// core, memory, lists, the fan-out of watches, a watcher that does not read, and a restart.
//
// The server runs on one core and the measuring side on the others, so wall times of a machine that
// does other work too say little; CPU seconds of the server say what it can do.
#include <openssl/ssl.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "connection.h"
#include "pods.h"
#include "server_process.h"

namespace kcm::bench {
namespace {

struct Arguments {
  std::string server;
  int pods = 100000, nodes = 5000, connections = 32, watchers = 100, events = 2000, seconds = 5;
  int core = 0;
  bool tls = true;
  std::string data_dir;  // "": memory only
};

constexpr const char* kUsage =
    "kcm-bench-devcluster --server PROGRAM [--pods N] [--nodes N] [--connections N] [--watchers "
    "N]\n"
    "    [--events N (a second)] [--seconds N] [--core N (-1: any)] [--no-tls] [--data-dir DIR]\n";

int Number(const char* text) {
  char* end = nullptr;
  const long n = std::strtol(text, &end, 10);
  if (*end != '\0' || n < -1 || n > 10'000'000) Die(std::string("not a number: ") + text);
  return static_cast<int>(n);
}

Arguments Parse(int argc, char** argv) {
  Arguments a;
  const struct {
    const char* name;
    int* value;
  } numbers[] = {
      {"--pods", &a.pods},         {"--nodes", &a.nodes},   {"--connections", &a.connections},
      {"--watchers", &a.watchers}, {"--events", &a.events}, {"--seconds", &a.seconds},
      {"--core", &a.core}};
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--no-tls") {
      a.tls = false;
      continue;
    }
    if (name == "--help" || i + 1 == argc) {
      std::fputs(kUsage, stdout);
      std::exit(name == "--help" ? 0 : 2);
    }
    const char* value = argv[++i];
    bool known = true;
    if (name == "--server") {
      a.server = value;
    } else if (name == "--data-dir") {
      a.data_dir = value;
    } else {
      known = false;
      for (const auto& n : numbers) {
        if (name != n.name) continue;
        *n.value = Number(value);
        known = true;
      }
    }
    if (!known) Die("unknown argument " + name);
  }
  if (a.server.empty() || a.pods < 1 || a.nodes < 1 || a.connections < 1) {
    std::fputs(kUsage, stderr);
    std::exit(2);
  }
  return a;
}

void Print(const char* what, const char* format, auto... values) {
  char text[200];
  std::snprintf(text, sizeof text, format, values...);
  std::printf("%-34s %s\n", what, text);
  std::fflush(stdout);
}

class Bench {
 public:
  explicit Bench(Arguments a) : a_(std::move(a)) {}

  void Run() {
    Start();
    Prepare();
    Fill(
        "node creates", a_.nodes, [](int) { return std::string("/api/v1/nodes"); },
        [](int n) { return NodeBody(n); });
    Fill(
        "pod creates", a_.pods,
        [](int n) { return "/api/v1/namespaces/" + NamespaceOf(n) + "/pods"; },
        [this](int n) { return PodBody(n, a_.nodes); });
    Print("memory", "%.0f MB resident with %d pods and %d nodes", server_->Megabytes("VmRSS:"),
          a_.pods, a_.nodes);
    List("list, JSON", "/api/v1/pods", "application/json");
    List("list, protobuf", "/api/v1/pods", "application/vnd.kubernetes.protobuf");
    List("watch list, JSON",
         "/api/v1/pods?watch=1&sendInitialEvents=true&allowWatchBookmarks=true"
         "&resourceVersionMatch=NotOlderThan&timeoutSeconds=1",
         "application/json");
    if (a_.watchers > 0) FanOut();
    SlowWatcher();
    Print("memory at the end", "%.0f MB resident", server_->Megabytes("VmRSS:"));
    if (!a_.data_dir.empty()) Restart();
  }

 private:
  void Start() {
    std::vector<std::string> command = {a_.server, "serve", "--kubeconfig-out", Kubeconfig()};
    if (!a_.tls) command.push_back("--no-tls");
    if (!a_.data_dir.empty()) command.insert(command.end(), {"--data-dir", a_.data_dir});
    server_ = std::make_unique<ServerProcess>(command, a_.core);
    std::ifstream in(Kubeconfig());
    const std::string config((std::istreambuf_iterator<char>(in)),
                             std::istreambuf_iterator<char>());
    std::filesystem::remove(Kubeconfig());
    target_ = std::make_unique<Target>(server_->url(), config);
  }

  static std::string Kubeconfig() {
    return std::filesystem::temp_directory_path() / ("kcm-bench-" + std::to_string(::getpid()));
  }

  void Prepare() {
    Connection c(*target_);
    for (int n = 0; n < kNamespaces; ++n) {
      const std::string ns = NamespaceOf(n);
      c.Do("POST", "/api/v1/namespaces", NamespaceBody(ns));
      c.Do("POST", "/api/v1/namespaces/" + ns + "/serviceaccounts",
           R"({"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default"}})");
    }
  }

  // Runs `work` in as many threads as there are connections, each with one of its own.
  void InParallel(int threads, const std::function<void(Connection&, int)>& work) const {
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t) {
      all.emplace_back([this, t, &work] {
        Connection c(*target_);
        work(c, t);
      });
    }
    for (std::thread& t : all) t.join();
  }

  void Fill(const char* what, int count, const std::function<std::string(int)>& path,
            const std::function<std::string(int)>& body) {
    std::atomic<int> next{0};
    const double cpu = server_->CpuSeconds(), begin = Now();
    InParallel(a_.connections, [&](Connection& c, int) {
      for (int n = next++; n < count; n = next++) {
        const Reply r = c.Do("POST", path(n), body(n));
        if (r.code != 201) Die("create: " + std::to_string(r.code) + " " + r.body);
      }
    });
    const double took = Now() - begin, used = server_->CpuSeconds() - cpu;
    Print(what, "%d by %d connections: %.0f/s (%.1f s), %.0f us CPU each: %.0f/s a core", count,
          a_.connections, count / took, took, used / count * 1e6, count / used);
  }

  void List(const char* what, const std::string& path, const char* accept) {
    server_->ForgetPeak();
    const double before = server_->Megabytes("VmRSS:"), cpu = server_->CpuSeconds(), begin = Now();
    double first = 0;
    size_t bytes = 0;
    Connection c(*target_);
    const int code = c.Stream(path, accept, [&](std::string_view part) {
      if (bytes == 0) first = Now() - begin;
      bytes += part.size();
      return true;
    });
    if (code != 200) Die(path + ": " + std::to_string(code));
    Print(what, "%.0f MB in %.2f s, first byte after %.3f s, %.2f s CPU, memory +%.0f MB",
          static_cast<double>(bytes) / 1e6, Now() - begin, first, server_->CpuSeconds() - cpu,
          server_->Megabytes("VmHWM:") - before);
  }

  uint64_t Revision() const {
    Connection c(*target_);
    const Reply r = c.Do("GET", "/api/v1/namespaces/none/pods", "");
    const size_t at = r.body.find("\"resourceVersion\":\"");
    return std::strtoull(r.body.c_str() + at + 19, nullptr, 10);
  }

  // Patches pods at `rate` a second for `seconds`; returns how many it managed.
  int Patch(int rate, double seconds) const {
    std::atomic<int> next{0};
    const double begin = Now();
    InParallel(16, [&](Connection& c, int) {
      for (int n = next++; n < rate * seconds; n = next++) {
        const double due = begin + static_cast<double>(n) / rate;
        while (Now() < due) ::usleep(200);
        if (Now() > begin + 4 * seconds) return;
        const int pod = static_cast<int>(static_cast<int64_t>(n) * 7919 % a_.pods);
        const Reply r =
            c.Do("PATCH", "/api/v1/namespaces/" + NamespaceOf(pod) + "/pods/" + PodName(pod),
                 PatchBody(static_cast<int64_t>(Now() * 1e6)), "application/merge-patch+json");
        if (r.code != 200) Die("patch: " + std::to_string(r.code) + " " + r.body);
        ++done_;
      }
    });
    return done_.exchange(0);
  }

  void FanOut() {
    const std::string path = "/api/v1/pods?watch=1&resourceVersion=" + std::to_string(Revision()) +
                             "&timeoutSeconds=" + std::to_string(a_.seconds * 4 + 30);
    std::atomic<int64_t> received{0};
    std::atomic<bool> stop{false};
    std::mutex mutex;
    std::vector<double> delays;
    std::vector<std::thread> watchers;
    std::atomic<int> open{0};
    for (int w = 0; w < a_.watchers; ++w) {
      watchers.emplace_back([&, w] {
        Connection c(*target_);
        ++open;
        std::vector<double> mine;
        c.Stream(path, "application/json", [&](std::string_view part) {
          int64_t lines = 0;
          for (const char *p = part.data(), *end = p + part.size();
               (p = static_cast<const char*>(std::memchr(p, '\n', static_cast<size_t>(end - p)))) !=
               nullptr;
               ++p)
            ++lines;
          received += lines;
          if (w % 10 == 0) {
            const size_t at = part.rfind(kSentKey);
            if (at != std::string_view::npos && at + 40 < part.size())
              mine.push_back(Now() * 1e3 -
                             std::atof(part.data() + at + std::strlen(kSentKey)) / 1e3);
          }
          return !stop.load();
        });
        const std::lock_guard lock(mutex);
        delays.insert(delays.end(), mine.begin(), mine.end());
      });
    }
    while (open < a_.watchers) ::usleep(1000);
    ::usleep(300'000);
    const double cpu = server_->CpuSeconds(), begin = Now();
    const int sent = Patch(a_.events, a_.seconds);
    const int64_t wanted = int64_t{sent} * a_.watchers;
    while (received < wanted && Now() < begin + a_.seconds * 4 + 20) ::usleep(1000);
    const double took = Now() - begin, used = server_->CpuSeconds() - cpu;
    const int64_t got = received;
    stop = true;
    Patch(1000, 0.05);  // ends the watchers
    for (std::thread& t : watchers) t.join();
    std::sort(delays.begin(), delays.end());
    const auto at = [&](double q) {
      return delays.empty()
                 ? 0.0
                 : delays[static_cast<size_t>(q * static_cast<double>(delays.size() - 1))];
    };
    Print("watch fan-out", "%d watchers, %d events in %.1f s: %.0f events/s, %.0f deliveries/s",
          a_.watchers, sent, took, sent / took, static_cast<double>(got) / took);
    Print("",
          "%lld of %lld delivered, delay %.1f ms median, %.1f ms p99, %.2f s CPU (%.2f us a "
          "delivery)",
          static_cast<long long>(got), static_cast<long long>(wanted), at(0.5), at(0.99), used,
          used / static_cast<double>(std::max<int64_t>(got, 1)) * 1e6);
  }

  // A client that opens a watch and never reads, while others write.
  void SlowWatcher() {
    const uint64_t from = Revision();
    Connection idle(*target_);
    idle.SendOnly("/api/v1/pods?watch=1&resourceVersion=" + std::to_string(from) +
                  "&timeoutSeconds=600");
    const double begin = Now();
    const int sent = Patch(100'000, 0.25);
    const double took = Now() - begin;
    std::string last;
    Connection again(*target_);
    const int code = again.Stream(
        "/api/v1/pods?watch=1&timeoutSeconds=1&resourceVersion=" + std::to_string(from),
        "application/json", [&](std::string_view part) {
          last = std::string(part.substr(0, 60));
          return false;
        });
    (void)code;
    Print("beside a watcher that never reads", "%.0f patches/s; it has to start again: %s",
          sent / took, last.find("ERROR") != std::string::npos ? "yes (410)" : "no");
  }

  void Restart() {
    server_->Kill();
    target_.reset();
    server_.reset();
    const double begin = Now();
    Start();
    Print("restart after a kill", "%.2f s (%.2f s CPU) to the first answer, %.0f MB resident",
          Now() - begin, server_->CpuSeconds(), server_->Megabytes("VmRSS:"));
    List("list, JSON", "/api/v1/pods", "application/json");
  }

  const Arguments a_;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<Target> target_;
  mutable std::atomic<int> done_{0};
};

// The measuring side leaves the server's core alone.
void KeepOff(int core) {
  cpu_set_t set;
  if (core < 0 || ::sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) < 2) return;
  CPU_CLR(static_cast<size_t>(core), &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

}  // namespace
}  // namespace kcm::bench

int main(int argc, char** argv) {
  kcm::bench::Arguments a = kcm::bench::Parse(argc, argv);
  kcm::bench::KeepOff(a.core);
  kcm::bench::Bench(std::move(a)).Run();
  return 0;
}
