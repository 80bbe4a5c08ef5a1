// SPDX-License-Identifier: Apache-2.0
// The command line of kcmctl: pure parsing, nothing is opened.
//
//   Result<Arguments> a = ParseArguments({"plugins", "swap", "kcm-pod.so",
//   "--kubeconfig=admin.conf"});
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "host/clock/clock.h"
#include "kcm/rules/result.h"

namespace kcm::host::ctl {

enum class Command : uint8_t { kHelp, kList, kInspect, kSwap, kRollback, kRescan, kQueues, kWhy };
enum class Output : uint8_t { kTable, kJson };

// Where the host is, and who we are to it.
struct Access {
  std::string server = "https://127.0.0.1:10257";
  std::string ca;        // PEM file that the host's certificate is checked with
  std::string cert_dir;  // the host's --cert-dir: its generated certificate brings its CA along
  std::string tls_server_name;  // name to check instead of the server's
  std::string kubeconfig;  // credentials, and the CA when neither --ca nor --cert-dir is given;
                           // never the address
  std::string token_file;
  std::string client_cert, client_key;
  clock::Duration timeout = std::chrono::seconds(60);  // a swap waits for running reconciles
};

struct Arguments {
  Command command = Command::kHelp;
  std::string
      operand;  // FILE of inspect and swap, NAME of rollback, KEY of why, controller of queues
  Output output = Output::kTable;
  int keys = 10;  // of queues: keys shown per queue
  Access access;
};

// `args` without the program's name; flags anywhere, as --name=value or --name value. Errors
// (kInvalid) name the argument and what would be right.
Result<Arguments> ParseArguments(const std::vector<std::string>& args);
std::string HelpText();

}  // namespace kcm::host::ctl
