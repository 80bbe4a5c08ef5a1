// SPDX-License-Identifier: Apache-2.0
// A host on devcluster with probe plugins (tests/plugins_bad) in its directory, and operations of
// its plugin manager while virtual time moves.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "harness/cluster.h"
#include "host/plugin/manager.h"
#include "host/plugin/probes.h"

namespace kcm::test {

using harness::Json;
using namespace std::chrono_literals;  // NOLINT: test vocabulary

class PluginCluster : public harness::Cluster {
 public:
  // Starts the host with these files in the plugin directory. A file "x/y.so" keeps its name.
  explicit PluginCluster(const std::vector<std::string>& files, std::vector<std::string> flags = {},
                         int nodes = 0);

  // ---- the manager; an operation runs on a thread of its own while time moves in small steps ----
  Status SwapFile(const std::string& file);
  Status Rollback(const std::string& plugin);
  bool Rescan(bool confirm_removal = true);
  Json Plugin(const std::string& name);  // of the report; null when it is not loaded
  Json Controller(const std::string& plugin, const std::string& controller, size_t keys = 100);
  std::vector<std::string> Problems();
  // Number of mappings of private copies of this file's name.
  int Mapped(const std::string& file_name);
  std::string InDir(const std::string& name) const { return plugin_dir() + "/" + name; }

  // ---- what probes act on ----
  void CreateProbe(const std::string& name, const std::string& mode = "stamp");
  // Id of the build that stamped it last, "" when none did.
  std::string StampOf(const std::string& name);
  // Creates a ConfigMap and expects this build to stamp it.
  void ExpectStampedBy(const std::string& build);
  bool Logged(const std::string& text);

 private:
  void Run(const std::string& what, const std::function<void()>& operation);
  int created_ = 0;
};

Json ConfigMap(const std::string& name);
std::string MessageOf(const Status& s);  // "" when ok

}  // namespace kcm::test
