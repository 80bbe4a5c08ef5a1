// SPDX-License-Identifier: Apache-2.0
// Manager: all plugins of a host: loading, start, directory changes, swaps with probation and
// rollback, unloading, reports.
//
// Life: Load (files, declarations) -> Prepare (instances, caches; any time, no writes) -> Start
// (lease held) -> Stop.
//
// Who waits for whom. A plugin may hang in any call, and then only what is wanted of that plugin
// may wait:
// - An operation on one plugin (load, swap, rollback, unload, retry) holds its claim
//   (Plugin::operation). A claim is taken at once or refused with what is under way; only Prepare
//   waits for one, and Stop for all. It is held over calls into the plugin, which Controller
//   bounds; what does not return goes to Retired.
// - mutex_ guards the registry: what reports read. Short; never held over a call into a plugin, the
//   loader or the API server.
// - scan_mutex_ lets one thread at a time look at directories and map what is new. Held over the
//   loader (which has one lock of its own for the whole process), not over controllers.
// Order: scan_mutex_, then mutex_, then what Controller, Retired and Instance lock inside. A claim
// is no lock: nobody blocks on one while holding a mutex.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "host/plugin/controller.h"
#include "host/plugin/directory.h"
#include "host/plugin/environment.h"
#include "host/plugin/image.h"
#include "host/plugin/retired.h"

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

// Thread-safe. Operations on one plugin happen one at a time, those on several side by side.
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
  // Ends the waits of Prepare and of every operation for a plugin, for good: Stop is to follow.
  // Does not block.
  void Cancel() { cancel_.Cancel(); }
  // Stops all controllers and joins; `limit` as --controller-shutdown-timeout, 0 none. Names those
  // that did not end in time.
  std::vector<std::string> Stop(clock::Duration limit);

  // Looks at the directories now: new files are loaded, changed ones swapped, vanished ones
  // unloaded (at once when `confirm_removal` is false); returns when that is done. True: look again
  // soon (something was incomplete, a removal is not confirmed, a plugin was busy).
  bool Rescan(bool confirm_removal = true);
  // kUnavailable: a directory that can not be looked at, and why. Ok otherwise.
  Status Directories();
  // Swaps in this file (kcmctl). It must declare a loaded plugin. kConflict: an operation on the
  // plugin is under way; says which and since when. `by`: who asked, for the log.
  Status SwapFile(const std::string& file, const std::string& by = "");
  // Back to the last build that has proven itself, while it is still there. kConflict as above.
  Status Rollback(const std::string& plugin, const std::string& by = "");

  std::vector<const ControllerDeclaration*> Declarations()
      const;                                  // of loaded plugins; valid until the next swap
  std::vector<std::string> Problems() const;  // files that were refused, why
  // (name, status) per constructed controller, for /healthz.
  std::vector<std::pair<std::string, Status>> Health() const;
  // Of one of them; Ok when it was unloaded meanwhile.
  Status Health(const std::string& controller) const;
  bool AllActive() const;
  bool Empty() const;  // no plugin is loaded
  bool CachesAtLeast(const std::function<uint64_t(const std::string&)>& at_least) const;
  // First error of an activation (start, credentials), empty when none: the host exits 1.
  std::string FatalError() const;
  // JSON for the admin API: plugins, builds, generations, controllers, queues.
  std::string Report(size_t keys_per_queue) const;

 private:
  // What somebody does with a plugin.
  struct Operation {
    const char* what;  // "swap", "rollback", ...
    clock::MonoTime since;
    clock::WallTime at;
  };
  // Changed by the holder of the claim only, under mutex_; read by it, or under mutex_.
  struct Plugin {
    std::string name;
    // These up to `file_refused` are guarded by mutex_ alone.
    std::string file;
    FileStamp stamp;
    std::string file_digest, file_build;  // what `file` held when its content was last looked at
    bool file_refused = false;  // that was not taken: the next look at the file is another try
    // `previous`, during probation: the last build that had passed its own, where a rollback leads.
    std::shared_ptr<Image> image, previous;
    // Where these two came from when SwapFile was given them; "" when `file` was it.
    std::string given, previous_given;
    std::shared_ptr<Image> incoming;  // of a swap under way: its names are taken
    std::map<std::string, std::shared_ptr<Controller>> controllers;
    std::shared_ptr<Controller> preparing;  // not among `controllers` yet, for reports
    std::optional<Operation> operation;     // changed under mutex_ by whoever takes the claim
    clock::MonoTime probation_ends;
    int back_tries = 0;         // failed swaps back of this probation
    clock::MonoTime back_next;  // when the next one is due
    clock::Duration last_pause{0};
    uint32_t swaps = 0;
    std::string last_error;
    // The build that the last swap brought and that was taken back again, and why.
    struct TakenBack {
      std::string digest, build, why;
    };
    std::optional<TakenBack> taken_back;
    // Controllers that could not be prepared or started after the start of the host.
    struct Retry {
      std::string error;
      int tries = 0;
      clock::MonoTime next;   // Max: the plugin itself refused, only another build helps
      bool starting = false;  // prepared by now, not active yet
    };
    std::map<std::string, Retry> retries;  // changed under mutex_ by activations, too
    std::chrono::steady_clock::time_point missing_since{};  // guarded by scan_mutex_
  };
  using Plugins = std::map<std::string, std::unique_ptr<Plugin>>;

  // The right to change one plugin, given back at its end. Movable.
  class Claim {
   public:
    Claim(Manager* manager, Plugin* plugin) : manager_(manager), plugin_(plugin) {}
    Claim(Claim&& o) noexcept : manager_(o.manager_), plugin_(std::exchange(o.plugin_, nullptr)) {}
    Claim& operator=(Claim&&) = delete;
    ~Claim() {
      if (plugin_ != nullptr) manager_->Release(plugin_);
    }
    Plugin& operator*() const { return *plugin_; }
    Plugin* operator->() const { return plugin_; }
    void PluginIsGone() { plugin_ = nullptr; }

   private:
    Manager* manager_;
    Plugin* plugin_;
  };
  // REQUIRES of the first two: mutex_ held.
  Claim Take(Plugin& plugin, const char* what);
  std::string UnderWay(const Plugin& plugin) const;  // "a swap of plugin x has been ..."
  Result<Claim> Want(const std::string& plugin, const char* what);
  std::optional<Claim> WaitFor(const std::string& plugin,
                               const char* what);  // none: gone, stopping
  void Release(Plugin* plugin);

  // A thread that does something for one plugin.
  struct Work {
    std::thread thread;
    const Controller* activates = nullptr;  // alive until `ended`
    bool ended = false;                     // nothing is left but the join; guarded by mutex_
  };
  using Works = std::vector<std::shared_ptr<Work>>;
  // REQUIRES of both: mutex_ held.
  std::shared_ptr<Work> StartWork(std::function<void()> run);
  void JoinEnded();
  // Runs `operation` with the claim on a thread of its own. REQUIRES: mutex_ not held.
  std::shared_ptr<Work> Begin(Claim claim, std::function<void(Claim&)> operation);
  void Await(const Works& works);
  void CountHung();
  // Joins all work. What holds a claim at `deadline` is named to `stuck`, and waited for on.
  void AwaitOperations(clock::MonoTime deadline,
                       const std::function<void(std::vector<std::string>)>& stuck);

  Result<std::shared_ptr<Image>> LoadFile(const std::string& path);
  // kAlreadyExists; Error::cause is the other file.
  static Error Taken(const std::string& file, const std::string& name, const std::string& by);
  Status CheckNames(const Image& image, const std::string& replaces) const;  // REQUIRES: mutex_
  // A plugin of this image in the registry. REQUIRES: mutex_ held.
  Result<Plugin*> Adopt(const PluginFile& file, std::shared_ptr<Image> image);
  void SayLoaded(const PluginDeclaration& declaration, const std::string& file);
  Status PrepareController(Plugin& plugin, const ControllerDeclaration& declaration);
  // `at_start`: an error ends the host; later it is the plugin's own trouble and tried again. What
  // could not be begun is for Activated, once mutex_ is free. REQUIRES: mutex_ held.
  using NotBegun = std::vector<std::pair<std::shared_ptr<Controller>, Error>>;
  NotBegun ActivateAll(Plugin& plugin, bool at_start);
  void ActivateLate(Plugin& plugin);  // if the host has started
  void Activated(const std::string& plugin, const std::shared_ptr<Controller>& controller,
                 bool at_start, const Status& result);
  // Controllers of a plugin or build that came while the host runs.
  void PrepareLate(Plugin& plugin, const ControllerDeclaration& declaration);
  void RetryLater(const std::string& plugin, const std::string& controller, const Error& error);
  void RunRetries(Plugin& plugin);
  bool RetriesDue(const Plugin& plugin, bool* open) const;  // REQUIRES: mutex_ held
  void WakeMaintainer();
  // Steps of Rescan.
  bool Scan(bool confirm_removal, Works* begun);
  // Says once what keeps a directory from being looked at, seldom again, and once when that is
  // over. REQUIRES: scan_mutex_ held.
  void SayDirectory(const std::string& dir, const Status& usable);
  // Adds what is known of this directory to `present`.
  void KeepAllOf(const std::string& dir, std::set<std::string>* present) const;
  Plugin* OwnerOf(const std::string& path) const;  // loaded from it; REQUIRES: mutex_ held
  bool IsLoadedFrom(const std::string& path) const;
  // REQUIRES: mutex_ held.
  bool SeenBefore(const PluginFile& file, const std::set<std::string>& present,
                  const Plugin* owner) const;
  bool LookAt(const PluginFile& file, const std::set<std::string>& present, Works* begun);
  bool TakeIn(const PluginFile& file, const std::set<std::string>& present,
              std::shared_ptr<Image> image, Works* begun);
  // `said`: a failure is in the log already.
  void Remember(const PluginFile& file, const Status& result, bool said = false);
  bool UnloadVanished(const std::set<std::string>& present, bool confirm_removal, Works* begun);
  // Steps of SwapTo.
  void ExchangeControllers(Plugin& plugin, const PluginDeclaration& from);
  struct SwapOrder {
    std::string by = "its file";  // who or what asked for it, for the log
    bool probation = true;
    std::string given = {};   // the file of SwapFile, for reports
    std::string undoes = {};  // a rollback: why the present build is taken back
  };
  // The new build takes its place; gives the builds that nothing leads back to. REQUIRES: mutex_
  // held.
  std::vector<std::shared_ptr<Image>> TakePlace(Plugin& plugin, std::shared_ptr<Image> image,
                                                const SwapOrder& order);
  bool CheckProbation(const std::string& name);  // true: look again
  void SwapBack(Plugin& plugin, const std::string& problem);
  Status SwapTo(Plugin& plugin, std::shared_ptr<Image> image, SwapOrder order);
  // That its file was touched, and another build goes on. REQUIRES: mutex_ held.
  void SayUnchanged(const Plugin& plugin) const;
  Status SwapControllers(Plugin& plugin, const std::shared_ptr<Image>& image,
                         clock::Duration* pause);
  void CountHeld(const Plugin& plugin, const std::string& controller, const SwapReport& report);
  Status Announce(Plugin& plugin, const std::shared_ptr<Image>& image);
  void Unload(Claim& claim);
  void Drop(std::shared_ptr<Image> image);
  void Maintain();
  static std::string ProbationProblem(const std::vector<std::shared_ptr<Controller>>& controllers);
  void RetryDrops();
  void Refuse(const std::string& path, const Error& error, bool said = false);

  Environment environment_;
  ManagerOptions options_;
  std::string private_dir_;  // fixed by Load
  client::Cancellation cancel_;
  std::mutex stop_mutex_;   // one Stop at a time
  bool stop_done_ = false;  // guarded by stop_mutex_
  Retired retired_;

  struct DirectoryTrouble {
    std::string why;
    clock::MonoTime said;
  };
  std::mutex scan_mutex_;
  std::map<std::string, DirectoryTrouble> troubles_;  // by directory, guarded by scan_mutex_
  mutable std::mutex mutex_;
  std::condition_variable work_cv_;  // a claim was given back, a Work has ended
  Plugins plugins_;                  // guarded by mutex_
  struct Refusal {
    FileStamp stamp;         // of the state that was refused; none: still being copied
    std::string why;         // for reports
    std::string blocked_by;  // the file of the plugin that has the name; "": another reason
  };
  std::map<std::string, Refusal> refused_;                     // by path, guarded by mutex_
  std::string fatal_;                                          // guarded by mutex_
  bool prepared_ = false, started_ = false, stopped_ = false;  // guarded by mutex_
  Works works_;                                                // guarded by mutex_
  std::vector<std::shared_ptr<Image>>
      kept_;  // images that could not be unmapped yet, guarded by mutex_
  std::map<std::string, int> hung_counts_;  // what hung_ shows, guarded by mutex_

  std::mutex maintain_mutex_;
  std::condition_variable maintain_cv_;
  bool maintain_ = false, maintain_end_ = false;  // guarded by maintain_mutex_
  std::thread maintainer_;                        // started and taken under mutex_
  std::unique_ptr<DirectoryWatch> watch_;         // made and taken under mutex_
  metric::Metric swaps_, pause_, held_, info_, kept_images_, hung_;
};

}  // namespace kcm::host::plugin
