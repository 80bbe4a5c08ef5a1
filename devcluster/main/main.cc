// SPDX-License-Identifier: Apache-2.0
// kcm-devcluster: serves the embedded API server, or runs simulated nodes against any API server.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "arguments.h"
#include "devcluster/nodes/simulated_nodes.h"
#include "devcluster/server/server.h"

namespace {

using kcm::Code;
using kcm::MakeError;
using kcm::Ok;
using kcm::Result;
using kcm::Status;
using kcm::devcluster::Server;
using kcm::devcluster::ServerOptions;
using kcm::devcluster::main::Arguments;
using kcm::devcluster::nodes::NodesOptions;
using kcm::devcluster::nodes::OrderFailure;
using kcm::devcluster::nodes::SimulatedNodes;

constexpr int kFailed = 1;
constexpr int kUsage = 2;

void Say(const std::string& line) { std::cerr << "kcm-devcluster: " + line + "\n" << std::flush; }

// The signals this program handles, blocked in every thread and taken by WaitForEnd alone.
sigset_t BlockSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int s : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2}) sigaddset(&set, s);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return set;
}

// While something starts, a signal ends the process: there is nothing yet that had to be stopped in
// order.
class EndedBySignalWhileStarting {
 public:
  explicit EndedBySignalWhileStarting(const sigset_t& set) {
    thread_ = std::thread([this, set] {
      const timespec step{0, 100'000'000};
      while (!done_.load(std::memory_order_relaxed)) {
        const int s = sigtimedwait(&set, nullptr, &step);
        if (s == SIGINT || s == SIGTERM) _exit(128 + s);
      }
    });
  }
  ~EndedBySignalWhileStarting() {
    done_.store(true, std::memory_order_relaxed);
    thread_.join();
  }

 private:
  std::atomic<bool> done_{false};
  std::thread thread_;
};

// Returns at SIGINT or SIGTERM. SIGUSR1 and SIGUSR2 fail and resume the first node.
void WaitForEnd(const sigset_t& set, SimulatedNodes* nodes, const std::string& first_node) {
  while (true) {
    int s = 0;
    if (sigwait(&set, &s) != 0) continue;
    if (s == SIGINT || s == SIGTERM) return;
    if (nodes == nullptr) continue;
    const Status status = s == SIGUSR1 ? nodes->Fail(first_node) : nodes->Resume(first_node);
    Say(status.ok() ? first_node + (s == SIGUSR1 ? " fails" : " is back") : status.error().message);
  }
}

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return MakeError(Code::kNotFound, "can not read " + path);
  return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
}

// Complete or not at all, readable by the owner only: it holds a private key.
Status WritePrivateFile(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new";
  const int fd = open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd < 0)
    return MakeError(Code::kInvalid,
                     "can not write " + path + ": is the directory there and ours?");
  const ssize_t n = write(fd, text.data(), text.size());
  const bool whole = n == static_cast<ssize_t>(text.size());
  if (close(fd) != 0 || !whole || rename(fresh.c_str(), path.c_str()) != 0) {
    unlink(fresh.c_str());
    return MakeError(Code::kInternal, "can not write " + path);
  }
  return Ok();
}

NodesOptions OptionsOf(const Arguments& a) {
  NodesOptions o;
  o.count = a.count;
  o.zones = a.zones;
  o.prefix = a.prefix;
  o.heartbeat = a.heartbeat;
  o.scheduler = a.scheduler;
  o.csi = a.csi;
  o.devices = a.devices;
  o.metrics = a.metrics;
  o.metrics_address = a.metrics_address;
  o.log = Say;
  return o;
}

Status StartNodes(SimulatedNodes* nodes, const Arguments& a) {
  if (Status s = nodes->Start(); !s.ok()) return s;
  for (const std::string& name : a.fail) {
    if (Status s = nodes->Fail(name); !s.ok()) return s;
  }
  Say(std::to_string(a.count) + " simulated nodes registered");
  return Ok();
}

// --fail and --recover of nodes: orders to the simulator that runs already.
int OrderNodes(const Arguments& a, const NodesOptions& o) {
  for (const bool fail : {true, false}) {
    for (const std::string& name : fail ? a.fail : a.recover) {
      if (Status s = OrderFailure(o, name, fail); !s.ok()) {
        Say(s.error().message);
        return kFailed;
      }
      Say("node " + name + (fail ? " is to fail" : " is to come back"));
    }
  }
  return 0;
}

int RunNodes(const Arguments& a, const sigset_t& signals) {
  NodesOptions o = OptionsOf(a);
  o.server = a.server;
  if (!a.kubeconfig.empty()) {
    Result<std::string> text = ReadFile(a.kubeconfig);
    if (!text.ok()) {
      Say("--kubeconfig: " + text.error().message);
      return kUsage;
    }
    o.kubeconfig = *text;
    const size_t slash = a.kubeconfig.rfind('/');
    if (slash != std::string::npos) o.kubeconfig_dir = a.kubeconfig.substr(0, slash);
  }
  if (!a.fail.empty() || !a.recover.empty()) return OrderNodes(a, o);
  SimulatedNodes nodes(std::move(o));
  {
    const EndedBySignalWhileStarting guard(signals);
    if (Status s = StartNodes(&nodes, a); !s.ok()) {
      Say(s.error().message);
      return kFailed;
    }
  }
  WaitForEnd(signals, &nodes, a.prefix + "0");
  nodes.Stop();
  return 0;
}

int RunServer(const Arguments& a, const sigset_t& signals) {
  ServerOptions options;
  options.address = a.address;
  options.port = a.port;
  options.tls = a.tls;
  options.data_dir = a.data_dir;
  Server server(options);
  std::unique_ptr<SimulatedNodes> nodes;
  {
    const EndedBySignalWhileStarting guard(signals);
    Status s = server.Start();
    if (s.ok() && !a.kubeconfig_out.empty())
      s = WritePrivateFile(a.kubeconfig_out, server.Kubeconfig());
    if (s.ok()) std::cout << server.url() << std::endl;
    if (s.ok() && a.count > 0) {
      NodesOptions o = OptionsOf(a);
      o.kubeconfig = server.Kubeconfig();
      nodes = std::make_unique<SimulatedNodes>(std::move(o));
      s = StartNodes(nodes.get(), a);
    }
    if (!s.ok()) {
      Say(s.error().message);
      return kFailed;
    }
  }
  WaitForEnd(signals, nodes.get(), a.prefix + "0");
  if (nodes) nodes->Stop();
  server.Stop();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  const Result<Arguments> a = kcm::devcluster::main::ParseArguments(args);
  if (!a.ok()) {
    Say(a.error().message);
    return kUsage;
  }
  if (a->command == Arguments::Command::kHelp) {
    std::cout << kcm::devcluster::main::HelpText();
    return 0;
  }
  const sigset_t signals = BlockSignals();
  return a->command == Arguments::Command::kNodes ? RunNodes(*a, signals) : RunServer(*a, signals);
}
