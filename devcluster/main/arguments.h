// SPDX-License-Identifier: Apache-2.0
// The command line of kcm-devcluster.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "kcm/rules/result.h"

namespace kcm::devcluster::main {

struct Arguments {
  enum class Command { kHelp, kServe, kNodes } command = Command::kHelp;

  // serve
  std::string address = "127.0.0.1";
  uint16_t port = 0;
  std::string data_dir;
  std::string kubeconfig_out;
  bool tls = true;

  // serve --nodes, and nodes
  int count = 0;  // of serve: 0 starts no nodes
  int zones = 3;
  std::string prefix = "sim-";
  std::chrono::nanoseconds heartbeat = std::chrono::seconds(10);
  bool scheduler = true;
  bool csi = false, metrics = false;
  std::string metrics_address = "127.0.0.1";
  int devices = 0;
  // serve: nodes that start failed. nodes: the nodes of a running simulator that are to fail or to
  // come back; nothing else is done then.
  std::vector<std::string> fail, recover;
  std::string kubeconfig;  // nodes only
  std::string server;      // nodes only
};

// `args` without the program's name. Flags as --name value or --name=value. Errors say which
// argument and what would be right.
Result<Arguments> ParseArguments(const std::vector<std::string>& args);
std::string HelpText();

}  // namespace kcm::devcluster::main
