// SPDX-License-Identifier: Apache-2.0
// World: an API server of the test's own on real time, its simulated nodes, and hosts as processes
// against it.
//
//   World world({.nodes = 3, .plugins = {"pod"}});
//   Process& host = world.StartHost("a", {"--leader-elect=false"});
//   ASSERT_TRUE(world.StartedControllers("a"));
#pragma once
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "devcluster/nodes/simulated_nodes.h"
#include "devcluster/server/server.h"
#include "harness/temporary_dir.h"
#include "host/client/client.h"
#include "host/http/tls_client.h"
#include "process/process.h"

namespace kcm::process {

using Json = nlohmann::json;

struct WorldOptions {
  int nodes = 0;
  std::vector<std::string> plugins = {};  // families
};

// Not thread-safe.
class World {
 public:
  explicit World(const WorldOptions& options);
  ~World();

  // A host called `name` with a port and a log of its own. `flags` come last.
  Process& StartHost(const std::string& name, const std::vector<std::string>& flags);
  Process& host(const std::string& name) { return *hosts_.at(name).process; }
  // Of its HTTPS endpoint.
  int port(const std::string& name) const { return hosts_.at(name).port; }
  // GET as a member of system:masters.
  test::Reply Ask(const std::string& name, const std::string& target) const;
  // POST by the same user.
  test::Reply Order(const std::string& name, const std::string& target,
                    const Json& body = Json::object()) const;
  // Real-time bounded waits; false when not reached.
  bool Serves(const std::string& name) const;
  bool Healthy(const std::string& name, const std::string& check) const;

  // Requests to the API server as admin; nullopt for an error.
  std::optional<Json> Get(const std::string& path);
  std::optional<Json> Answer(const std::string& path, const Json& body);  // of a POST
  bool Post(const std::string& path, const Json& body) { return Answer(path, body).has_value(); }
  int Pods(const std::string& label_selector);  // of namespace default; -1 for an error
  Json Lease();  // spec of the host's Lease; null while there is none

  devcluster::Server& server() { return *server_; }
  const harness::TemporaryDir& dir() const { return dir_; }
  std::string kubeconfig() const { return dir_.path() + "/kubeconfig"; }

 private:
  struct Running {
    std::unique_ptr<Process> process;
    int port = 0;
  };
  std::optional<Json> Send(host::client::Verb verb, const std::string& path,
                           const std::string& body);
  harness::TemporaryDir dir_;
  std::unique_ptr<host::clock::Clock> clock_;
  std::unique_ptr<devcluster::Server> server_;
  std::unique_ptr<devcluster::nodes::SimulatedNodes> nodes_;
  std::unique_ptr<host::client::Client> client_;
  test::TestCa ca_;
  test::CertAndKey admin_;
  std::map<std::string, Running> hosts_;
};

}  // namespace kcm::process
