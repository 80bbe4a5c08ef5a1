// SPDX-License-Identifier: Apache-2.0
// Environment: what the plugin runtime needs from the rest of the host. Made by host/main;
// everything in it outlives the runtime.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "host/cache/informer.h"
#include "host/client/client.h"
#include "host/client/discovery.h"
#include "host/event/recorder.h"
#include "host/log/log.h"
#include "host/metric/registry.h"
#include "host/plugin/declaration.h"

namespace kcm::host::plugin {

struct Environment {
  clock::Clock* clock = nullptr;
  log::Logger log;
  metric::Registry* metrics = nullptr;
  cache::InformerFactory* informers = nullptr;
  client::Discovery* discovery = nullptr;
  // The client of one controller: its identity, user agent and rate limit, fenced by the lease.
  // Called once per controller; the client outlives swaps, so a new build does not get a fresh
  // burst.
  std::function<Result<std::shared_ptr<client::Client>>(const ControllerDeclaration&)> make_client;
  // The Event recorder of one controller, writing with `client`. Null: the controller writes no
  // Events.
  std::function<std::unique_ptr<event::EventRecorder>(const ControllerDeclaration&,
                                                      std::shared_ptr<client::Client>)>
      make_recorder;
  // Canonical text of a flag, nullopt when there is none.
  std::function<std::optional<std::string>(std::string_view name)> flag;
  std::function<bool(std::string_view name)> gate;
  std::string host_version;
  // Threads of one controller for submitted calls, made when needed.
  int call_threads = 16;
  // --plugin-swap-timeout: how long a swap waits for running reconciles; the last third of it after
  // they were asked to end.
  clock::Duration swap_timeout = std::chrono::seconds(30);
};

}  // namespace kcm::host::plugin
