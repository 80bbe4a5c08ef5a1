// SPDX-License-Identifier: Apache-2.0
// Swaps, probation, rollback, unloading, and what directory changes lead to.
#include <algorithm>

#include "host/plugin/manager.h"

namespace kcm::host::plugin {
namespace {

// A new build in probation goes back when this many runs failed hard and they are at least half of
// all.
constexpr uint64_t kErrorsTolerated = 5;
constexpr auto kProbationCheck = std::chrono::seconds(1);
// Back-off of controllers that can not be prepared or started.
constexpr auto kFirstRetry = std::chrono::seconds(1);
constexpr auto kLastRetry = std::chrono::minutes(5);

}  // namespace

Status Manager::SwapControllers(Plugin& plugin, const std::shared_ptr<Image>& image,
                                clock::Duration* pause) {
  const PluginDeclaration& to = image->declaration();
  std::vector<std::string> done;
  Status failed = Ok();
  for (const ControllerDeclaration& d : to.controllers) {
    const auto it = plugin.controllers.find(d.name);
    if (it == plugin.controllers.end()) continue;
    Result<SwapReport> report = it->second->Swap(image, &d, &cancel_);
    if (!report.ok()) {
      failed = report.error();
      if (report.error().reason == kSwapHeld)
        held_.With({plugin.name, d.name, report.error().cause}).Add();
      break;
    }
    done.push_back(d.name);
    *pause = std::max(*pause, report->pause);
    pause_.With({plugin.name}).Observe(std::chrono::duration<double>(report->pause).count());
  }
  if (failed.ok()) return failed;
  // One build for all controllers of a plugin: those that were exchanged go back.
  for (const ControllerDeclaration& d : plugin.image->declaration().controllers) {
    if (std::find(done.begin(), done.end(), d.name) == done.end()) continue;
    if (Result<SwapReport> back = plugin.controllers[d.name]->Swap(plugin.image, &d, &cancel_);
        !back.ok())
      environment_.log.Error(back.error().message, "Controller could not go back to the old build",
                             {{"controller", d.name}});
  }
  return failed;
}

// What only one of the two builds has: the new one is active, `from` is what the old one declared.
void Manager::ExchangeControllers(Plugin& plugin, const PluginDeclaration& from) {
  const auto declares = [](const PluginDeclaration& d, const std::string& name) {
    return std::any_of(d.controllers.begin(), d.controllers.end(),
                       [&](const auto& c) { return c.name == name; });
  };
  const PluginDeclaration& to = plugin.image->declaration();
  std::vector<std::shared_ptr<Controller>> gone;
  {
    const std::lock_guard lock(mutex_);
    for (auto it = plugin.controllers.begin(); it != plugin.controllers.end();) {
      if (declares(to, it->first)) {
        ++it;
        continue;
      }
      gone.push_back(std::move(it->second));
      it = plugin.controllers.erase(it);
    }
  }
  for (auto& controller : gone) controller->Stop();
  std::map<std::string, Plugin::Retry> waiting;  // for the old build: this one may fare better
  {
    const std::lock_guard lock(mutex_);
    waiting.swap(plugin.retries);
  }
  if (prepared_)
    for (const ControllerDeclaration& d : to.controllers)
      if (!declares(from, d.name) || waiting.contains(d.name)) PrepareLate(plugin, d);
  environment_.informers->Start();
  if (started_) ActivateAll(plugin, false);
}

void Manager::BeginProbation(Plugin& plugin, std::shared_ptr<Image> old) {
  {
    const std::lock_guard lock(mutex_);
    plugin.previous = std::move(old);
    plugin.probation_ends = environment_.clock->Monotonic() + options_.probation;
  }
  WakeMaintainer();
}

void Manager::WakeMaintainer() {
  const std::lock_guard lock(maintain_mutex_);
  maintain_ = true;
  maintain_cv_.notify_all();
}

void Manager::PrepareLate(Plugin& plugin, const ControllerDeclaration& declaration) {
  std::shared_ptr<Controller> failed;  // a try that got as far as an instance
  {
    const std::lock_guard lock(mutex_);
    const auto it = plugin.controllers.find(declaration.name);
    if (it != plugin.controllers.end()) {
      if (it->second->active()) return;
      failed = std::move(it->second);
      plugin.controllers.erase(it);
    }
  }
  if (failed) failed->Stop();
  if (const Status s = PrepareController(plugin, declaration); !s.ok())
    return RetryLater(plugin.name, declaration.name, s.error());
  const std::lock_guard lock(mutex_);
  const auto waiting = plugin.retries.find(declaration.name);
  if (waiting == plugin.retries.end()) return;
  if (started_) {
    waiting->second.starting = true;
  } else {
    plugin.retries.erase(waiting);
  }
}

void Manager::RetryLater(const std::string& plugin, const std::string& controller,
                         const Error& error) {
  if (cancel_.cancelled()) return;
  // What create() itself says against it stays true for this build and these flags.
  const bool final = error.code == Code::kInvalid;
  clock::Duration delay = kFirstRetry;
  int tries = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto it = plugins_.find(plugin);
    if (it == plugins_.end()) return;
    Plugin::Retry& retry = it->second->retries[controller];
    tries = ++retry.tries;
    for (int i = 1; i < tries && delay < kLastRetry; ++i) delay *= 2;
    delay = std::min<clock::Duration>(delay, kLastRetry);
    retry.error = error.message;
    retry.starting = false;
    retry.next = final ? clock::MonoTime::Max() : environment_.clock->Monotonic() + delay;
  }
  if (final) {
    environment_.log.Error(error.message,
                           "Controller does not start: it waits for another build of its plugin",
                           {{"plugin", plugin}, {"controller", controller}});
    return;
  }
  environment_.log.Error(error.message, "Controller does not start, it is tried again",
                         {{"plugin", plugin},
                          {"controller", controller},
                          {"try", tries},
                          {"inSeconds", std::chrono::duration<double>(delay).count()}});
  WakeMaintainer();
}

void Manager::RunRetries(Plugin& plugin, bool* open) {
  std::vector<std::string> due;
  {
    const std::lock_guard lock(mutex_);
    const clock::MonoTime now = environment_.clock->Monotonic();
    for (const auto& [name, retry] : plugin.retries) {
      if (retry.starting || retry.next == clock::MonoTime::Max()) continue;
      *open = true;
      if (retry.next <= now) due.push_back(name);
    }
  }
  if (due.empty()) return;
  for (const ControllerDeclaration& d : plugin.image->declaration().controllers)
    if (std::find(due.begin(), due.end(), d.name) != due.end()) PrepareLate(plugin, d);
  environment_.informers->Start();
  if (started_) ActivateAll(plugin, false);
}

Status Manager::SwapTo(Plugin& plugin, std::shared_ptr<Image> image, bool probation) {
  const PluginDeclaration to = image->declaration();  // a copy: `image` moves on
  const PluginDeclaration from = plugin.image->declaration();
  if (Status s = CheckNames(*image, plugin.name); !s.ok()) return s;
  clock::Duration pause{0};
  Status swapped = SwapControllers(plugin, image, &pause);
  swaps_.With({plugin.name, swapped.ok() ? "success" : "failure"}).Add();
  {
    const std::lock_guard lock(mutex_);
    plugin.last_error = swapped.ok() ? "" : swapped.error().message;
  }
  if (!swapped.ok()) {
    environment_.log.Error(swapped.error().message, "Swap failed, the old build keeps running",
                           {{"plugin", plugin.name}, {"build", to.build_id}});
    if (image != plugin.previous) Drop(std::move(image));
    return swapped;
  }
  std::shared_ptr<Image>
      older;  // of a probation that this swap ends; after a rollback it is the active build itself
  {
    const std::lock_guard lock(mutex_);
    std::swap(plugin.image, image);  // from here on `image` is the old build
    older = std::exchange(plugin.previous, nullptr);
    plugin.last_pause = pause;
    ++plugin.swaps;
  }
  if (older == plugin.image) older.reset();
  ExchangeControllers(plugin, from);
  info_.Remove({plugin.name, from.version, from.vendor, from.build_id});
  info_.With({plugin.name, to.version, to.vendor, to.build_id}).Set(1);
  environment_.log.Info(0, "Plugin swapped",
                        {{"plugin", plugin.name},
                         {"from", from.build_id},
                         {"to", to.build_id},
                         {"version", to.version},
                         {"pauseMs", std::chrono::duration<double, std::milli>(pause).count()}});
  if (probation && started_ && options_.probation > clock::Duration(0)) {
    BeginProbation(plugin, std::move(image));
  } else {
    Drop(std::move(image));
  }
  Drop(std::move(older));
  RetryDrops();
  return Ok();
}

void Manager::Drop(std::shared_ptr<Image> image) {
  if (!image) return;
  // Objects that the plugin's code still holds, or a thread of it, keep the image for now.
  if (image.use_count() > 1 || image->handles()->load(std::memory_order_acquire) > 0) {
    kept_.push_back(std::move(image));
  } else if (!image->Unload()) {
    environment_.log.Warning(
        "Old build can not be unmapped and stays in memory",
        {{"plugin", image->declaration().name}, {"build", image->declaration().build_id}});
    kept_.push_back(std::move(image));
  }
  kept_images_.With({}).Set(static_cast<double>(kept_.size()));
}

void Manager::RetryDrops() {
  std::erase_if(kept_, [](const std::shared_ptr<Image>& i) {
    return i.use_count() == 1 && i->handles()->load(std::memory_order_acquire) == 0 && i->Unload();
  });
  kept_images_.With({}).Set(static_cast<double>(kept_.size()));
}

std::string Manager::ProbationProblem(const Plugin& plugin) const {
  for (const auto& [name, controller] : plugin.controllers) {
    if (const Status s = controller->Health(); !s.ok()) return s.error().message;
    const RunCounts c = controller->counts();
    if (c.errors >= kErrorsTolerated && c.errors * 2 >= c.runs)
      return name + ": " + std::to_string(c.errors) + " of " + std::to_string(c.runs) +
             " reconciles failed";
  }
  return {};
}

void Manager::CheckProbation(const std::string& name, Plugin& plugin, bool* open) {
  const std::string problem = ProbationProblem(plugin);
  if (!problem.empty()) {
    environment_.log.Error(problem, "New build fails its probation, going back to the old one",
                           {{"plugin", name}});
    std::shared_ptr<Image> back = plugin.previous;
    const Status s = SwapTo(plugin, std::move(back), false);
    const std::lock_guard lock(mutex_);
    plugin.last_error = problem + (s.ok() ? "" : "; rollback failed: " + s.error().message);
    *open = *open || !s.ok();  // tried again
  } else if (environment_.clock->Monotonic() >= plugin.probation_ends) {
    std::shared_ptr<Image> old;
    {
      const std::lock_guard lock(mutex_);
      old = std::exchange(plugin.previous, nullptr);
    }
    environment_.log.Info(1, "New build has passed its probation", {{"plugin", name}});
    Drop(std::move(old));
  } else {
    *open = true;
  }
}

void Manager::Maintain() {
  while (true) {
    {
      std::unique_lock lock(maintain_mutex_);
      environment_.clock->Wait(lock, maintain_cv_, clock::MonoTime::Max(),
                               [this] { return maintain_ || maintain_end_; });
      if (environment_.clock->WaitFor(lock, maintain_cv_, kProbationCheck,
                                      [this] { return maintain_end_; }))
        return;
      maintain_ = false;
    }
    std::unique_lock control(control_mutex_, std::try_to_lock);
    if (!control.owns_lock()) {  // a swap is under way: next time
      WakeMaintainer();
      continue;
    }
    bool open = false;
    for (auto& [name, plugin] : plugins_) {
      if (plugin->previous) CheckProbation(name, *plugin, &open);
      RunRetries(*plugin, &open);
    }
    RetryDrops();
    const std::lock_guard lock(maintain_mutex_);
    maintain_ = maintain_ || open || !kept_.empty();
  }
}

Status Manager::SwapFile(const std::string& file) {
  const std::lock_guard control(control_mutex_);
  if (stopped_) return MakeError(Code::kStopped, "the host is stopping");
  Result<std::shared_ptr<Image>> image = LoadFile(file);
  if (!image.ok()) return image.error();
  const auto it = plugins_.find((*image)->declaration().name);
  if (it == plugins_.end())
    return MakeError(Code::kNotFound,
                     file + ": plugin " + (*image)->declaration().name +
                         " is not loaded: put the file into a plugin directory to add it");
  return SwapTo(*it->second, *std::move(image), true);
}

Status Manager::Rollback(const std::string& name) {
  const std::lock_guard control(control_mutex_);
  const auto it = plugins_.find(name);
  if (it == plugins_.end())
    return MakeError(Code::kNotFound, "no plugin " + name + " is loaded: see kcmctl plugins list");
  if (!it->second->previous)
    return MakeError(
        Code::kNotFound,
        "plugin " + name +
            " has no earlier build in memory: its probation is over; install the old file");
  std::shared_ptr<Image> back = it->second->previous;
  return SwapTo(*it->second, std::move(back), false);
}

void Manager::Unload(const std::string& name) {
  std::unique_ptr<Plugin> gone;
  {
    const std::lock_guard lock(mutex_);
    gone = std::move(plugins_.at(name));
    plugins_.erase(name);
  }
  for (auto& [controller_name, controller] : gone->controllers) controller->Stop();
  gone->controllers.clear();
  const PluginDeclaration& d = gone->image->declaration();
  info_.Remove({d.name, d.version, d.vendor, d.build_id});
  environment_.log.Info(0, "Plugin unloaded", {{"plugin", name}, {"file", gone->file}});
  Drop(std::move(gone->previous));
  Drop(std::move(gone->image));
}

Manager::Plugin* Manager::OwnerOf(const std::string& path) const {
  for (const auto& [name, plugin] : plugins_)
    if (plugin->file == path) return plugin.get();
  return nullptr;
}

// Loaded from exactly these bytes, or refused and not changed since.
bool Manager::SeenBefore(const PluginFile& file, Plugin* owner) const {
  if (owner != nullptr) return owner->stamp == file.stamp;
  const std::lock_guard lock(mutex_);
  const auto refused = refused_.find(file.path);
  return refused != refused_.end() && refused->second.first == file.stamp;
}

Status Manager::AddPlugin(const PluginFile& file, std::shared_ptr<Image> image) {
  const std::string name = image->declaration().name;
  if (Status s = Adopt(file, std::move(image)); !s.ok()) return s;
  Plugin& fresh = *plugins_.at(name);
  for (const ControllerDeclaration& d : fresh.image->declaration().controllers)
    PrepareLate(fresh, d);
  environment_.informers->Start();
  if (started_) ActivateAll(fresh, false);
  return Ok();
}

// A file that is new or changed: touched only, a new plugin, or another build of one that is
// loaded.
Status Manager::TakeIn(const PluginFile& file, Plugin* owner, const std::set<std::string>& present,
                       std::shared_ptr<Image> image) {
  const std::string& name = image->declaration().name;
  if (owner != nullptr && owner->name != name)
    return MakeError(
        Code::kInvalid,
        file.path + ": holds plugin " + name + " now, but " + owner->name +
            " was loaded from it and keeps running: give each plugin a file of its own");
  const auto found = plugins_.find(name);
  if (found == plugins_.end()) return AddPlugin(file, std::move(image));
  Plugin& target = *found->second;
  if (owner == nullptr && present.contains(target.file))
    return MakeError(Code::kAlreadyExists, file.path + ": plugin " + name +
                                               " is already loaded from " + target.file +
                                               ": keep one of the two files");
  // Remembered in any case: a build that was refused is not tried again until its file changes, and
  // while its file is there the running build is not taken for removed.
  {
    const std::lock_guard lock(mutex_);
    target.file = file.path;
    target.stamp = file.stamp;
  }
  target.missing_since = {};
  if (image->digest() == target.image->digest()) return Ok();  // touched or renamed, not changed
  return SwapTo(target, std::move(image), true);
}

void Manager::Remember(const PluginFile& file, Plugin* owner, const Status& result) {
  if (!result.ok()) Refuse(file.path, result.error());
  const std::lock_guard lock(mutex_);
  if (result.ok()) {
    refused_.erase(file.path);
  } else {
    refused_[file.path].first = file.stamp;
    if (owner != nullptr) owner->stamp = file.stamp;
  }
}

// True: something is missing whose removal is not confirmed yet (renames and ConfigMap mounts
// replace files that way).
bool Manager::UnloadVanished(const std::set<std::string>& present, bool confirm_removal) {
  bool again = false;
  std::vector<std::string> vanished;
  const auto now = std::chrono::steady_clock::now();
  for (auto& [name, plugin] : plugins_) {
    if (present.contains(plugin->file)) {
      plugin->missing_since = {};
      continue;
    }
    if (plugin->missing_since == std::chrono::steady_clock::time_point{})
      plugin->missing_since = now;
    if (confirm_removal && now - plugin->missing_since < options_.removal_delay) {
      again = true;
    } else {
      vanished.push_back(name);
    }
  }
  for (const std::string& name : vanished) Unload(name);
  return again;
}

bool Manager::Rescan(bool confirm_removal) {
  const std::lock_guard control(control_mutex_);
  if (stopped_ || !prepared_) return false;
  std::vector<PluginFile> files;
  std::set<std::string> present;
  for (const std::string& dir : options_.dirs) {
    // Its rights may have changed since the start. Nothing is loaded from it, and nothing removed.
    if (const Status s = CheckDirectory(dir); !s.ok()) {
      environment_.log.Error(s.error().message, "Plugin directory is not looked at",
                             {{"dir", dir}});
      return s.code() == Code::kNotFound;  // it may just be replaced by another
    }
    Result<std::vector<PluginFile>> found = ScanDirectory(dir);
    if (!found.ok()) return true;  // a directory that can not be read right now removes nothing
    for (PluginFile& f : *found)
      if (present.insert(f.path).second) files.push_back(std::move(f));
  }
  bool again = false;
  for (const PluginFile& file : files) {
    Plugin* owner = OwnerOf(file.path);
    if (SeenBefore(file, owner)) continue;
    Result<std::shared_ptr<Image>> image = LoadFile(file.path);
    if (!image.ok() && image.code() == Code::kUnavailable) {
      again = true;  // still being copied
      const std::lock_guard lock(mutex_);
      refused_[file.path].second = image.error().message;
      continue;
    }
    Remember(file, owner,
             image.ok() ? TakeIn(file, owner, present, *std::move(image)) : Status(image.error()));
  }
  again = UnloadVanished(present, confirm_removal) || again;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(refused_, [&](const auto& r) { return !present.contains(r.first); });
  }
  RetryDrops();
  return again;
}

}  // namespace kcm::host::plugin
