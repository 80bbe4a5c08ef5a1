// SPDX-License-Identifier: Apache-2.0
// Manager: all plugins of a host: loading, start, directory changes, swaps with probation and
// rollback, unloading, reports.
//
// Life: Load (files, declarations) -> Prepare (instances, caches; any time, no writes) -> Start
// (lease held) -> Stop.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "host/plugin/controller.h"
#include "host/plugin/directory.h"
#include "host/plugin/environment.h"
#include "host/plugin/image.h"

namespace kcm::host::plugin {

struct ManagerOptions {
  std::vector<std::string> dirs;
  std::string trust_key;  // see LoadOptions
  clock::Duration probation = std::chrono::seconds(60);
  clock::Duration removal_delay =
      std::chrono::seconds(2);    // a file must be gone this long (real time)
  bool watch_directories = true;  // false: only Rescan
  // Whether --controllers and gates want this controller. `why` gets the log line of
  // spec/host.md 1.4 rule 6.
  std::function<bool(const ControllerDeclaration&, std::string* why)> enabled;
  // Asked about every file before any of it is mapped (see LoadOptions). Null: all may.
  std::function<Status(const std::string& file, const std::string& digest)> admit;
  // A controller could not be activated: the host is to end (spec/host.md 1.2). Called once, on an
  // activation's thread.
  std::function<void(const std::string& why)> on_fatal;
  // Stop's limit has passed and these controllers do not end: the process is to end without them.
  // Null: Stop waits on.
  std::function<void(const std::vector<std::string>& late)> on_stuck;
};

// Thread-safe. Swaps, loads and unloads happen one at a time.
class Manager {
 public:
  Manager(Environment environment, ManagerOptions options);
  ~Manager();  // Stop

  // Loads every file. Problems of the directories themselves are errors; a refused file is logged
  // and reported (Problems), the others load. No usable plugin at all is an error.
  Status Load();
  // Makes an instance of every enabled controller and starts the caches. An error names the
  // controller: the host ends.
  Status Prepare();
  // Activates every prepared controller, each on a thread of its own as soon as its caches are
  // synced.
  void Start();
  // Stops all controllers and joins; `limit` as --controller-shutdown-timeout, 0 none. Names those
  // that did not end in time.
  std::vector<std::string> Stop(clock::Duration limit);

  // Looks at the directories now: new files are loaded, changed ones swapped, vanished ones
  // unloaded (at once when `confirm_removal` is false). True: look again soon (something was
  // incomplete or a removal is not confirmed).
  bool Rescan(bool confirm_removal = true);
  // Swaps in this file (kcmctl). It must declare a loaded plugin.
  Status SwapFile(const std::string& file);
  // Back to the build before the last swap, while it is still there.
  Status Rollback(const std::string& plugin);

  std::vector<const ControllerDeclaration*> Declarations()
      const;                                  // of loaded plugins; valid until the next swap
  std::vector<std::string> Problems() const;  // files that were refused, why
  // (name, status) per constructed controller, for /healthz.
  std::vector<std::pair<std::string, Status>> Health() const;
  // Of one of them; Ok when it was unloaded meanwhile.
  Status Health(const std::string& controller) const;
  bool AllActive() const;
  bool CachesAtLeast(const std::function<uint64_t(const std::string&)>& at_least) const;
  // First error of an activation (start, credentials), empty when none: the host exits 1.
  std::string FatalError() const;
  // JSON for the admin API: plugins, builds, generations, controllers, queues.
  std::string Report(size_t keys_per_queue) const;

 private:
  struct Plugin {
    std::string name, file;
    FileStamp stamp;
    std::shared_ptr<Image> image, previous;  // previous: during probation
    std::map<std::string, std::shared_ptr<Controller>> controllers;
    clock::MonoTime probation_ends;
    clock::Duration last_pause{0};
    uint32_t swaps = 0;
    std::string last_error;
    // Controllers that could not be prepared or started after the start of the host.
    struct Retry {
      std::string error;
      int tries = 0;
      clock::MonoTime next;   // Max: the plugin itself refused, only another build helps
      bool starting = false;  // prepared by now, not active yet
    };
    std::map<std::string, Retry> retries;
    std::chrono::steady_clock::time_point missing_since{};
  };
  using Plugins = std::map<std::string, std::unique_ptr<Plugin>>;

  Result<std::shared_ptr<Image>> LoadFile(const std::string& path);
  Status CheckNames(const Image& image, const std::string& replaces) const;
  Status Adopt(const PluginFile& file, std::shared_ptr<Image> image);
  Status PrepareController(Plugin& plugin, const ControllerDeclaration& declaration);
  // `at_start`: an error ends the host; later it is the plugin's own trouble and tried again.
  void ActivateAll(Plugin& plugin, bool at_start);
  void Activated(const std::string& plugin, const std::shared_ptr<Controller>& controller,
                 bool at_start, const Status& result);
  // Controllers of a plugin or build that came while the host runs.
  void PrepareLate(Plugin& plugin, const ControllerDeclaration& declaration);
  void RetryLater(const std::string& plugin, const std::string& controller, const Error& error);
  void RunRetries(Plugin& plugin, bool* open);
  void WakeMaintainer();
  // Steps of Rescan. `owner` is the plugin that was loaded from this path, nullptr when none was.
  Plugin* OwnerOf(const std::string& path) const;
  bool SeenBefore(const PluginFile& file, Plugin* owner) const;
  Status TakeIn(const PluginFile& file, Plugin* owner, const std::set<std::string>& present,
                std::shared_ptr<Image> image);
  Status AddPlugin(const PluginFile& file, std::shared_ptr<Image> image);
  void Remember(const PluginFile& file, Plugin* owner, const Status& result);
  bool UnloadVanished(const std::set<std::string>& present, bool confirm_removal);
  // Steps of SwapTo.
  void ExchangeControllers(Plugin& plugin, const PluginDeclaration& from);
  void BeginProbation(Plugin& plugin, std::shared_ptr<Image> old);
  void CheckProbation(const std::string& name, Plugin& plugin, bool* open);
  Status SwapTo(Plugin& plugin, std::shared_ptr<Image> image, bool probation);
  Status SwapControllers(Plugin& plugin, const std::shared_ptr<Image>& image,
                         clock::Duration* pause);
  void Unload(const std::string& name);
  void Drop(std::shared_ptr<Image> image);
  void Maintain();
  std::string ProbationProblem(const Plugin& plugin) const;
  void RetryDrops();
  void Refuse(const std::string& path, const Error& error);

  Environment environment_;
  ManagerOptions options_;
  std::string private_dir_;
  client::Cancellation cancel_;

  std::mutex control_mutex_;  // one life cycle operation at a time
  mutable std::mutex
      mutex_;        // plugins_ and what reports read; never held over a call into a plugin
  Plugins plugins_;  // changed under both mutexes, read under either
  std::map<std::string, std::pair<FileStamp, std::string>>
      refused_;        // path -> state and reason, guarded by mutex_
  std::string fatal_;  // guarded by mutex_
  bool prepared_ = false, started_ = false, stopped_ = false;  // guarded by control_mutex_
  struct Activation {
    std::thread thread;
    const Controller* controller;              // alive until `ended`
    std::shared_ptr<std::atomic<bool>> ended;  // release/acquire: nothing is left but the join
  };
  std::vector<Activation> activations_;  // guarded by control_mutex_
  std::vector<std::shared_ptr<Image>>
      kept_;  // images that could not be unmapped yet, guarded by control_mutex_

  std::mutex maintain_mutex_;
  std::condition_variable maintain_cv_;
  bool maintain_ = false, maintain_end_ = false;  // guarded by maintain_mutex_
  std::thread maintainer_;
  std::unique_ptr<DirectoryWatch> watch_;
  metric::Metric swaps_, pause_, held_, info_, kept_images_;
};

}  // namespace kcm::host::plugin
