// SPDX-License-Identifier: Apache-2.0
// Reads the command line of kcm-devcluster.
#include "arguments.h"

#include <charconv>
#include <functional>
#include <map>

#include "kcm/rules/go_duration.h"

namespace kcm::devcluster::main {
namespace {

constexpr int kMostDevices = 128;  // of one ResourceSlice
constexpr int kMostNodes = 60000;  // their addresses are 10.1.0.1 to 10.1.239.250

Error Usage(const std::string& what) {
  return MakeError(Code::kInvalid, what + " (see kcm-devcluster --help)");
}

Status SetInteger(const std::string& flag, const std::string& text, int least, int most, int* out) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    return Usage(flag + ": \"" + text + "\" is not a number from " + std::to_string(least) +
                 " to " + std::to_string(most));
  }
  *out = value;
  return Ok();
}

// "3", "0.5" (seconds) or "2s", "1m30s".
Status SetDuration(const std::string& flag, const std::string& text,
                   std::chrono::nanoseconds* out) {
  const bool number = text.find_first_not_of("0123456789.") == std::string::npos;
  const Result<std::chrono::nanoseconds> d = rules::ParseDuration(number ? text + "s" : text);
  if (!d.ok() || *d <= std::chrono::nanoseconds::zero()) {
    return Usage(flag + ": \"" + text + "\" is not a positive duration as 10s or 1m30s");
  }
  *out = *d;
  return Ok();
}

Status SetPort(const std::string& text, uint16_t* out) {
  int port = 0;
  Status s = SetInteger("--port", text, 0, 65535, &port);
  if (s.ok()) *out = static_cast<uint16_t>(port);
  return s;
}

struct Flag {
  bool takes_value;
  std::function<Status(const std::string& value)> set;
};
using Flags = std::map<std::string, Flag, std::less<>>;

Flag Switch(bool* target, bool value) {
  return {false, [target, value](const std::string&) {
            *target = value;
            return Ok();
          }};
}
Flag List(std::vector<std::string>* target) {
  return {true, [target](const std::string& value) {
            target->push_back(value);
            return Ok();
          }};
}
Flag Text(std::string* target) {
  return {true, [target](const std::string& value) {
            *target = value;
            return Ok();
          }};
}

void AddNodeFlags(Arguments* a, Flags* flags) {
  (*flags)["--zones"] = {true, [a](const std::string& v) {
                           return SetInteger("--zones", v, 1, kMostNodes, &a->zones);
                         }};
  (*flags)["--prefix"] = Text(&a->prefix);
  (*flags)["--heartbeat"] = {
      true, [a](const std::string& v) { return SetDuration("--heartbeat", v, &a->heartbeat); }};
  (*flags)["--no-scheduler"] = Switch(&a->scheduler, false);
  (*flags)["--csi"] = Switch(&a->csi, true);
  (*flags)["--metrics"] = Switch(&a->metrics, true);
  (*flags)["--metrics-address"] = Text(&a->metrics_address);
  (*flags)["--devices"] = {true, [a](const std::string& v) {
                             return SetInteger("--devices", v, 0, kMostDevices, &a->devices);
                           }};
  (*flags)["--fail"] = List(&a->fail);
}

Flags FlagsOf(Arguments* a) {
  Flags flags;
  AddNodeFlags(a, &flags);
  if (a->command == Arguments::Command::kServe) {
    flags["--port"] = {true, [a](const std::string& v) { return SetPort(v, &a->port); }};
    flags["--address"] = Text(&a->address);
    flags["--data-dir"] = Text(&a->data_dir);
    flags["--kubeconfig-out"] = Text(&a->kubeconfig_out);
    flags["--no-tls"] = Switch(&a->tls, false);
    flags["--nodes"] = {true, [a](const std::string& v) {
                          return SetInteger("--nodes", v, 0, kMostNodes, &a->count);
                        }};
  } else {
    flags["--kubeconfig"] = Text(&a->kubeconfig);
    flags["--server"] = Text(&a->server);
    flags["--recover"] = List(&a->recover);
    flags["--count"] = {true, [a](const std::string& v) {
                          return SetInteger("--count", v, 0, kMostNodes, &a->count);
                        }};
  }
  return flags;
}

Status Read(const std::vector<std::string>& args, const Flags& flags) {
  for (size_t i = 1; i < args.size(); ++i) {
    const size_t equals = args[i].find('=');
    const std::string name = args[i].substr(0, equals);
    const auto flag = flags.find(name);
    if (flag == flags.end()) return Usage("unknown argument " + args[i] + " of " + args[0]);
    std::string value;
    if (equals != std::string::npos) {
      value = args[i].substr(equals + 1);
      if (!flag->second.takes_value) return Usage(name + " takes no value");
    } else if (flag->second.takes_value) {
      if (++i == args.size()) return Usage(name + " needs a value");
      value = args[i];
    }
    if (Status s = flag->second.set(value); !s.ok()) return s;
  }
  return Ok();
}

}  // namespace

Result<Arguments> ParseArguments(const std::vector<std::string>& args) {
  Arguments a;
  if (args.empty()) return Usage("no command: serve or nodes");
  for (const std::string& arg : args) {
    if (arg == "--help" || arg == "-h" || arg == "help") return a;
  }
  if (args[0] == "serve") {
    a.command = Arguments::Command::kServe;
  } else if (args[0] == "nodes") {
    a.command = Arguments::Command::kNodes;
    a.count = 3;
  } else {
    return Usage("unknown command " + args[0] + ": serve or nodes");
  }
  if (Status s = Read(args, FlagsOf(&a)); !s.ok()) return s.error();
  if (a.command == Arguments::Command::kNodes && a.kubeconfig.empty() && a.server.empty()) {
    return Usage(
        "nodes needs --kubeconfig FILE (or --server URL of a server without authentication)");
  }
  return a;
}

std::string HelpText() {
  return R"(kcm-devcluster: an embedded Kubernetes API server and simulated nodes, for development and tests.

  kcm-devcluster serve [--port N] [--address A] [--kubeconfig-out FILE] [--data-dir DIR] [--no-tls] [--nodes N]
      Serves the API. --port 0 (the default) takes any free port; the first line printed is the address.
      --kubeconfig-out FILE  writes a kubeconfig of user admin in group system:masters (mode 0600)
      --data-dir DIR         keeps objects, certificates and keys over restarts; a write is answered when it is on disk.
                             One server at a time. With --port N a kubeconfig stays good (default: memory only)
      --no-tls               plain http, who shows no token is admin: for experiments on this machine only
      --nodes N              also runs N simulated nodes and the scheduler, with the flags below

  kcm-devcluster nodes --kubeconfig FILE [--count N]
      Runs simulated nodes and a simple scheduler against any API server.
      --count N              number of nodes (default 3)
      --zones Z              zones the nodes are spread over (default 3)
      --prefix P             nodes are called P0, P1, ... (default sim-)
      --heartbeat D          period of lease renewals (default 10s)
      --no-scheduler         only nodes: pods are bound by another scheduler
      --csi                  also simulates a CSI driver, with the storage classes sim and sim-wait
      --devices N            also simulates a DRA driver with N devices a node, of the device class sim
      --metrics              also serves metrics.k8s.io, custom.metrics.k8s.io and external.metrics.k8s.io
      --metrics-address A    local address where the API server reaches them (default 127.0.0.1)
      --server URL           replaces the kubeconfig's server
      SIGUSR1 fails the first node, SIGUSR2 brings it back. (serve: --fail NODE fails it from the start.)

  kcm-devcluster nodes --kubeconfig FILE --fail NODE | --recover NODE
      Has the running simulator of this cluster let a node fail, or bring it back (several may be given), and ends.
      The same by hand: the annotation sim/fail=true on the node.

  Nodes labelled sim/kubelet=true by others are simulated too. What pods, nodes, claims and volumes are to do is said by
  annotations: docs/devcluster.md lists them (sim/ready-after, sim/exit-after, sim/exit-code, sim/cpu, ...).

Exit codes: 0 stopped by SIGTERM or SIGINT, 1 failed to start, 2 wrong arguments.
)";
}

}  // namespace kcm::devcluster::main
