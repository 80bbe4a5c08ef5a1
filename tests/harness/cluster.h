// SPDX-License-Identifier: Apache-2.0
// Cluster: devcluster, simulated nodes and a real host with real plugins in one process, on one
// virtual clock. What family tests run on.
//
//   class ReplicaSet : public ::testing::Test { protected: harness::Cluster cluster{{.plugins =
//   {"pod"}}}; }; TEST_F(ReplicaSet, RS_01_...) {
//     cluster.Create(Manifest(R"({"apiVersion":"apps/v1","kind":"ReplicaSet", ...})"));
//     cluster.Settle();                      // everything that follows at this moment has happened
//     EXPECT_EQ(cluster.List("pods", "default").size(), 3u);
//     cluster.Advance(10s);                  // virtual: timers, back-off, resync ... run in order
//   }
// Every request of the test itself must succeed unless the Try form is used; a failure fails the
// test with the server's message.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "devcluster/server/server.h"
#include "harness/temporary_dir.h"
#include "host/clock/clock.h"
#include "host/main/run.h"
#include "kcm/rules/result.h"

namespace kcm::harness {

using Json = nlohmann::json;
using namespace std::chrono_literals;  // NOLINT: test vocabulary

struct Options {
  std::vector<std::string> plugins;  // families: "pod", "namespace"; their .so are copied into a
                                     // directory of the test's own
  std::vector<std::string> flags =
      {};  // further flags of the host; "--leader-elect=true" turns election on (off by default)
  bool start_host = true;  // false: StartHost() later
  int nodes = 3;           // simulated; 0: none (pods stay Pending unless the test plays kubelet)
  bool scheduler = true;
  bool metrics = false;  // the simulated metrics APIs of these nodes (devcluster/nodes/metrics.h)
  bool service_account_credentials =
      true;                  // stock RBAC in force: a missing verb fails the test's expectation
  bool secure_port = false;  // true: serve HTTPS on a free port (costs two RSA keys)
  bool watch_list = true;    // false: a 1.28 server
  std::string server_version = "v1.36.2";
};

struct Reply {
  int status = 0;
  Json body;
  bool ok() const { return status >= 200 && status < 300; }
};

class Cluster {
 public:
  explicit Cluster(Options options);
  ~Cluster();

  // ---- time ----
  // Real-time bounded wait until nothing is left to do at the present virtual moment. Fails the
  // test when that does not happen.
  void Settle();
  void Advance(std::chrono::nanoseconds d);
  // Advances in steps of `step` until `done` holds; fails the test naming `what` after `limit` of
  // virtual time.
  void Until(const std::string& what, const std::function<bool()>& done,
             std::chrono::nanoseconds limit = 30s, std::chrono::nanoseconds step = 100ms);
  // From now on caches of a resource ("pods") show nothing new, the host's and the simulated
  // nodes'; time moves all the same. Release: they show what was written meanwhile; returns
  // settled.
  void HoldCaches(const std::string& resource);
  void ReleaseCaches();
  // From now on time moves although the host's caches are behind the server (an outage made by the
  // test), or no longer does.
  void LetCachesLag(bool lag);
  host::clock::VirtualClock& clock() { return *clock_; }
  std::string Now(std::chrono::seconds offset = 0s) const;  // RFC 3339

  // ---- objects ---- resources are plurals ("pods", "deployments", "clusterroles", "pods/status"
  // for a subresource)
  Json Create(
      const Json& manifest);  // by kind; namespace default where it has one and none is given
  Reply TryCreate(const Json& manifest);
  Json Get(const std::string& resource, const std::string& name, const std::string& ns = "default");
  std::optional<Json> Find(const std::string& resource, const std::string& name,
                           const std::string& ns = "default");
  std::vector<Json> List(const std::string& resource, const std::string& ns = "default",
                         const std::string& label_selector = "");
  Json Update(const std::string& resource, const Json& object);
  Reply TryUpdate(const std::string& resource, const Json& object);
  Json MergePatch(const std::string& resource, const std::string& name, const Json& patch,
                  const std::string& ns = "default");
  Json PatchStatus(const std::string& resource, const std::string& name, const Json& status,
                   const std::string& ns = "default");
  // `options`: DeleteOptions members, e.g. {{"propagationPolicy", "Orphan"}}.
  void Delete(const std::string& resource, const std::string& name,
              const Json& options = Json::object(), const std::string& ns = "default");
  Reply TryDelete(const std::string& resource, const std::string& name,
                  const Json& options = Json::object(), const std::string& ns = "default");
  // As user admin in system:masters. `content_type` defaults to JSON.
  Reply Request(const std::string& method, const std::string& path, const std::string& body = "",
                const std::string& content_type = "", const std::string& accept = "");
  static std::string Path(const std::string& resource, const std::string& ns,
                          const std::string& name);

  // ---- playing kubelet (nodes = 0) ----
  void Bind(const std::string& pod, const std::string& node, const std::string& ns = "default");
  // Running and Ready=True with lastTransitionTime now.
  void MakeReady(const std::string& pod, const std::string& ns = "default");
  void MakeNotReady(const std::string& pod, const std::string& ns = "default");
  // All pods of a namespace that match.
  void MakeAllReady(const std::string& label_selector = "", const std::string& ns = "default");

  // ---- what happened ----
  // Events about an object: "type reason message" lines; `kind/name`.
  std::vector<std::string> Events(const std::string& kind, const std::string& name,
                                  const std::string& ns = "default");
  bool HasEvent(const std::string& kind, const std::string& name, const std::string& reason,
                const std::string& text = "", const std::string& ns = "default");
  // Writes (POST, PUT, PATCH, DELETE) that the host made since the last call, without events and
  // leases: "METHOD path".
  std::vector<std::string> HostWrites();
  std::vector<devcluster::Server::AuditEntry> Audit();  // everything, since the last call
  // Value of a metric line of the host's /metrics ("workqueue_adds_total{name=\"deployment\"}"),
  // nullopt when absent.
  std::optional<double> Metric(const std::string& line);

  // ---- the pieces ----
  devcluster::Server& server() { return *server_; }
  host::main::Host& host() { return *host_; }
  void StartHost(const std::vector<std::string>& more_flags = {});
  // As SIGTERM; joins. Returns the exit code. Virtual time stands still meanwhile: whatever waits
  // in the host has to end with it, else the test fails.
  int StopHost();
  bool host_running() const;
  std::string plugin_dir() const { return dir_ / "plugins"; }
  const std::string& dir() const { return dir_.path(); }
  const std::vector<std::string>& log() const;  // lines of the host so far (copy under lock)

 private:
  struct Impl;
  void WaitForStart();
  Options options_;
  const TemporaryDir dir_;
  std::unique_ptr<host::clock::VirtualClock> clock_;
  std::unique_ptr<devcluster::Server> server_;
  std::unique_ptr<host::main::Host> host_;
  std::unique_ptr<Impl> impl_;
};

// Parses; fails the test on bad JSON.
Json Manifest(const std::string& text);
// A pod template with one container: labels, image.
Json PodTemplate(const Json& labels, const std::string& image = "nginx:1");

}  // namespace kcm::harness
