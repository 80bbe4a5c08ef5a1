// SPDX-License-Identifier: Apache-2.0
// The inside of a Host: what it is made of and the steps of its life. setup.cc makes the parts,
// leadership.cc starts and stops the controllers, run.cc holds it together.
#pragma once
#include <atomic>
#include <optional>
#include <random>
#include <thread>

#include "host/cache/informer.h"
#include "host/client/discovery.h"
#include "host/config/options.h"
#include "host/http/server.h"
#include "host/leader/elector.h"
#include "host/main/run.h"
#include "host/main/wiring.h"
#include "host/plugin/manager.h"

namespace kcm::host::main {

// Everything of one host, in the order of its making. Members are torn down by Close, in reverse.
struct Host::Impl {
  explicit Impl(RunOptions o) : run(std::move(o)), random(std::random_device{}()) {
    if (run.clock == nullptr) {
      own_clock = clock::MakeRealClock();
      run.clock = own_clock.get();
    }
  }

  int Run();
  int Fail(const std::string& error) {
    log.Error(error, "command failed");
    log.Flush();
    return 1;
  }
  std::optional<int> Parse();
  Status Connect();
  Status Serve();
  void BuildManager();
  int WithLease();
  // A host that has nothing to run leaves the lease to those that have. False: the host ends.
  bool WaitForPlugin();
  int WithoutLease();
  Status WaitForServer();
  // Has connections to the server ready for a take-over: handshakes are most of its time. Does not
  // block; the elector's thread.
  void OpenConnections();
  bool PrepareLoop();
  bool PrepareUntilDone();
  Status StartControllers();
  bool StopControllers();
  void Close();
  void ResetDiscoveryLater();
  void End(int code, const std::string& why);
  // Ends the process when a stop that was asked for hangs in code that is not ours: a plugin's
  // create() or library constructor that never returns. Real time: what hangs may hold the clock.
  void WatchStop();
  double Random() {
    const std::lock_guard lock(mutex);
    return std::uniform_real_distribution<double>(0, 1)(random);
  }
  Result<std::shared_ptr<client::Transport>> TransportFor(const std::string& kubeconfig,
                                                          const std::string& master);

  RunOptions run;
  std::unique_ptr<clock::Clock> own_clock;
  config::Options options;
  log::Logger log;
  metric::Registry metrics;
  std::mt19937_64 random;  // guarded by mutex

  std::shared_ptr<client::Transport> transport, lease_transport;
  std::unique_ptr<Clients> clients;
  std::shared_ptr<leader::Elector> elector;
  std::shared_ptr<const client::Fence> fence;
  std::unique_ptr<event::EventRecorder> leader_events;
  std::unique_ptr<cache::InformerFactory> informers;
  std::unique_ptr<client::Discovery> discovery;
  std::unique_ptr<plugin::Manager> manager;
  std::mutex look_mutex;  // held where a caller of Host looks at `manager`, and where it goes
  std::unique_ptr<ClientReviews> authentication_reviews, authorization_reviews;
  std::unique_ptr<http::Server> server;
  client::Cancellation stopping;
  std::thread warm;
  std::thread stop_watch;               // guarded by mutex
  bool run_ended = false;               // guarded by mutex
  std::vector<std::thread> connecting;  // elector's thread; after it, Close
  std::atomic<int> connections_pending = 0;
  clock::TimerId discovery_timer = 0;

  std::mutex mutex;
  std::condition_variable cv;
  std::condition_variable ended_cv;  // of run_ended
  int signals = 0;                   // guarded by mutex
  std::optional<int> exit_code;      // guarded by mutex: set once, ends Run
  bool prepared = false;             // guarded by mutex
  std::string prepare_error;         // guarded by mutex: not worth a retry
  bool controllers_started = false;  // guarded by mutex
  bool leading = false;  // guarded by mutex: StartControllers runs on the elector's thread
  bool running = false;  // guarded by mutex: Signal has someone to tell
};

}  // namespace kcm::host::main
