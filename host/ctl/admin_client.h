// SPDX-License-Identifier: Apache-2.0
// AdminClient: the admin API of a running host (host/main/admin.h) over its secure port.
//
//   Result<AdminClient> host = AdminClient::Open(access, &clock);
//   Result<std::string> report = host->Report(0);
//
// TLS is verified always. Blocking calls, one thread. Errors say what was asked of which host and,
// where it is known, the fix. Tokens and keys appear in no message.
#pragma once
#include <memory>
#include <string>

#include "host/client/client.h"
#include "host/client/kubeconfig.h"
#include "host/clock/clock.h"
#include "host/ctl/arguments.h"
#include "kcm/rules/result.h"

namespace kcm::host::ctl {

// What Open connects with. `kubeconfig` is what Access::kubeconfig names, already parsed; empty
// without one. Pure.
client::Config ConfigOf(const Access& access, const client::Config& kubeconfig);

// The message of a failed call with what to do about it. Pure.
std::string Explain(const Access& access, const Error& error);

class AdminClient {
 public:
  // Reads certificate files. `clock` outlives the client.
  static Result<AdminClient> Open(const Access& access, clock::Clock* clock);

  // JSON of GET /plugins with at most `keys` keys per queue.
  Result<std::string> Report(int keys);
  Status Swap(const std::string& absolute_file);
  Status Rollback(const std::string& plugin);
  Status Rescan();

 private:
  AdminClient(Access access, std::unique_ptr<client::Client> client)
      : access_(std::move(access)), client_(std::move(client)) {}
  Result<std::string> Do(client::Verb verb, const std::string& path, const std::string& body);

  Access access_;
  std::unique_ptr<client::Client> client_;
};

}  // namespace kcm::host::ctl
