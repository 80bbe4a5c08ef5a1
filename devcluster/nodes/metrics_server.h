// SPDX-License-Identifier: Apache-2.0
// MetricsServer: serves the metrics APIs of simulated pods (metrics.h) over HTTPS, and has the API
// server forward them here: a Service of type ExternalName and APIServices v1beta1.metrics.k8s.io,
// v1beta1 and v1beta2.custom.metrics.k8s.io, v1beta1.external.metrics.k8s.io.
//
// Anybody may read (the values are made up): by default it listens on 127.0.0.1 only, and the API
// server must run on the same machine, or elsewhere with an address given that it can reach.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "devcluster/nodes/api_connection.h"
#include "devcluster/nodes/kubelets.h"
#include "host/clock/clock.h"
#include "kcm/rules/result.h"

namespace kcm::devcluster::nodes {

// Start and Stop from one thread; serves on threads of its own.
class MetricsServer {
 public:
  // `kubelets` must outlive this.
  MetricsServer(host::clock::Clock& clock, std::shared_ptr<ApiServer> server, Kubelets& kubelets,
                std::string address, std::function<void(const std::string&)> log);
  ~MetricsServer();  // Stop()

  // Listens and registers. Errors: address in use, the server refuses the registration.
  Status Start();
  // Takes the registration back (an API that nobody serves would get in the way of namespace
  // deletion) and stops listening.
  void Stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kcm::devcluster::nodes
