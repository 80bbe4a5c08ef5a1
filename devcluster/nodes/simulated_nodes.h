// SPDX-License-Identifier: Apache-2.0
// SimulatedNodes: kubelets of N nodes and a simple scheduler, as a client of any API server; and on
// request a CSI driver, devices and metrics. What pods and nodes do on request (annotations) is
// described in kubelets.h, csi_driver.h, dra_driver.h and metrics.h.
//
//   NodesOptions options;
//   options.kubeconfig = server.Kubeconfig();
//   options.clock = &clock;
//   SimulatedNodes nodes(options);
//   Status s = nodes.Start();          // the nodes are registered now, pods get bound and run
//   probe = [&] {
//     for (const std::string& r : nodes.Watched()) {
//       if (nodes.ResourceVersionSeen(r) < server.ResourceVersion(r)) return false;
//     }
//     return true;
//   };
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/clock/clock.h"
#include "kcm/rules/result.h"

namespace kcm::devcluster::nodes {

struct NodesOptions {
  std::string kubeconfig;      // text; certificates embedded or files
  std::string kubeconfig_dir;  // relative file names in it start here
  std::string server;          // replaces the kubeconfig's server; alone it means no credentials
                               // ("http://127.0.0.1:8080")
  int count = 3;  // nodes of our own: prefix0, prefix1, ... Nodes with sim/kubelet=true come on top
  int zones = 3;  // labels zone-0, zone-1, ... in turn
  std::string prefix = "sim-";
  host::clock::Duration heartbeat = std::chrono::seconds(10);
  bool scheduler = true;  // false: pods are bound by somebody else
  bool csi = false;       // with the simulated CSI driver and its storage classes
  int devices = 0;        // > 0: with the simulated DRA driver and so many devices a node
  bool metrics = false;   // with metrics APIs
  std::string metrics_address = "127.0.0.1";  // where the API server finds them
  int connections = 8;
  host::clock::Clock* clock = nullptr;          // nullptr: the real clock. Must outlive this.
  std::function<void(const std::string&)> log;  // failures, one line each, any thread; may be empty
};

// Thread-safe, but Start and Stop come from one thread.
class SimulatedNodes {
 public:
  explicit SimulatedNodes(NodesOptions options);
  ~SimulatedNodes();  // Stop()

  // Connects and registers the nodes. Errors: bad options or kubeconfig, server not reachable or
  // not willing.
  Status Start();
  // Ends all requests and joins all threads. The node objects stay, as those of machines that are
  // off.
  void Stop();

  // What is watched: "v1/pods", "storage.k8s.io/v1/storageclasses". Fixed by Start.
  std::vector<std::string> Watched() const;
  // Highest resourceVersion of one of them whose consequences have been handed on; 0 before the
  // first list and for other resources.
  uint64_t ResourceVersionSeen(const std::string& resource) const;

  // One of our nodes fails (no lease, no status, no pods) or comes back. Error: no such node.
  Status Fail(const std::string& node);
  Status Resume(const std::string& node);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Has whoever simulates `node` let it fail, or brings it back: sets or removes the annotation
// sim/fail=true on the Node. `options`: kubeconfig and server. Errors: server not reachable, no
// such node.
Status OrderFailure(const NodesOptions& options, const std::string& node, bool fail);

}  // namespace kcm::devcluster::nodes
