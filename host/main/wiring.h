// SPDX-License-Identifier: Apache-2.0
// Wiring: the adapters between the concerns: Event writing, reviews for our own endpoints,
// per-controller clients.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "host/client/client.h"
#include "host/client/transport.h"
#include "host/config/options.h"
#include "host/event/recorder.h"
#include "host/http/review_client.h"
#include "host/log/log.h"
#include "host/metric/registry.h"
#include "host/plugin/declaration.h"

namespace kcm::host::main {

// Writes core/v1 Events with a client. Thread-safe.
class ClientEventSink : public event::EventSink {
 public:
  explicit ClientEventSink(std::shared_ptr<client::Client> c) : client_(std::move(c)) {}
  Result<Unit> Post(const std::string& namespace_, const std::string& json) override;
  Result<Unit> Patch(const std::string& namespace_, const std::string& name,
                     const std::string& json) override;
  void Cancel() override { cancel_.Cancel(); }

 private:
  std::shared_ptr<client::Client> client_;
  client::Cancellation cancel_;
};

// Token and access reviews, the authentication ConfigMap. Unfenced (design 7). Thread-safe.
class ClientReviews : public http::ReviewClient {
 public:
  explicit ClientReviews(std::shared_ptr<client::Client> c) : client_(std::move(c)) {}
  Result<std::string> CreateTokenReview(const std::string& json) override;
  Result<std::string> CreateSubjectAccessReview(const std::string& json) override;
  Result<std::string> GetAuthenticationConfigMap() override;

 private:
  Result<std::string> Post(client::Gvr resource, const std::string& json);
  std::shared_ptr<client::Client> client_;
};

// Makes the clients of one host. Thread-safe.
class Clients {
 public:
  struct Settings {
    const config::Options* options = nullptr;  // outlives this
    std::string program;
    clock::Clock* clock = nullptr;
    log::Logger log;
    metric::Registry* metrics = nullptr;
    client::Cancellation* stopping = nullptr;  // of the host: ends token requests
  };
  Clients(Settings settings, std::shared_ptr<client::Transport> transport);

  // A client with the root identity. `qps_factor` 0: not limited.
  std::shared_ptr<client::Client> Root(const std::string& suffix,
                                       std::shared_ptr<const client::Fence> fence,
                                       double qps_factor = 1, double burst_factor = 1) const;
  std::shared_ptr<client::Client> On(std::shared_ptr<client::Transport> transport,
                                     const std::string& suffix, double qps, int burst) const;
  // A controller's own client (spec/host.md 3.2, 3.3).
  Result<std::shared_ptr<client::Client>> ForController(
      const plugin::ControllerDeclaration& controller, std::shared_ptr<const client::Fence> fence);

 private:
  client::ClientOptions Base(const std::string& suffix) const;
  Settings settings_;
  std::shared_ptr<client::Transport> transport_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<client::TokenSource>>
      tokens_;  // by account, guarded by mutex_
};

}  // namespace kcm::host::main
