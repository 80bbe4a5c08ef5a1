// SPDX-License-Identifier: Apache-2.0
// Swaps, probation, rollback, unloading, and what directory changes lead to.
#include <algorithm>

#include "host/plugin/manager.h"

namespace kcm::host::plugin {
namespace {

// A new build in probation goes back when this many runs failed hard and they are at least half of all.
constexpr uint64_t kErrorsTolerated = 5;
constexpr auto kProbationCheck = std::chrono::seconds(1);

}  // namespace

Status Manager::SwapControllers(Plugin& plugin, const std::shared_ptr<Image>& image, clock::Duration* pause) {
  const PluginDeclaration& to = image->declaration();
  std::vector<std::string> done;
  Status failed = Ok();
  for (const ControllerDeclaration& d : to.controllers) {
    const auto it = plugin.controllers.find(d.name);
    if (it == plugin.controllers.end()) continue;
    Result<SwapReport> report = it->second->Swap(image, &d, &cancel_);
    if (!report.ok()) {
      failed = report.error();
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
    if (Result<SwapReport> back = plugin.controllers[d.name]->Swap(plugin.image, &d, &cancel_); !back.ok())
      environment_.log.Error(back.error().message, "Controller could not go back to the old build", {{"controller", d.name}});
  }
  return failed;
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
    return swapped;
  }
  // Controllers that only one of the two builds has.
  std::vector<std::unique_ptr<Controller>> gone;
  std::shared_ptr<Image> old = image;
  {
    const std::lock_guard lock(mutex_);
    std::swap(plugin.image, old);
    plugin.last_pause = pause;
    ++plugin.swaps;
    for (auto it = plugin.controllers.begin(); it != plugin.controllers.end();) {
      const bool kept = std::any_of(to.controllers.begin(), to.controllers.end(), [&](const auto& d) { return d.name == it->first; });
      if (!kept) gone.push_back(std::move(it->second));
      it = kept ? std::next(it) : plugin.controllers.erase(it);
    }
  }
  for (auto& controller : gone) controller->Stop();
  gone.clear();
  if (prepared_)
    for (const ControllerDeclaration& d : plugin.image->declaration().controllers) {
      const bool old_had = std::any_of(from.controllers.begin(), from.controllers.end(), [&](const auto& x) { return x.name == d.name; });
      if (old_had) continue;
      if (Status s = PrepareController(plugin, d); !s.ok())
        environment_.log.Error(s.error().message, "New controller of the build does not start", {{"controller", d.name}});
    }
  environment_.informers->Start();
  if (started_) ActivateAll(plugin);
  info_.Remove({plugin.name, from.version, from.vendor, from.build_id});
  info_.With({plugin.name, to.version, to.vendor, to.build_id}).Set(1);
  environment_.log.Info(0, "Plugin swapped",
                        {{"plugin", plugin.name}, {"from", from.build_id}, {"to", to.build_id}, {"version", to.version},
                         {"pauseMs", std::chrono::duration<double, std::milli>(pause).count()}});
  image.reset();
  std::shared_ptr<Image> drop = std::exchange(plugin.previous, nullptr);
  if (probation && started_ && options_.probation > clock::Duration(0)) {
    {
      const std::lock_guard lock(mutex_);
      plugin.previous = std::move(old);
      plugin.probation_ends = environment_.clock->Monotonic() + options_.probation;
    }
    const std::lock_guard lock(maintain_mutex_);
    maintain_ = true;
    maintain_cv_.notify_all();
  } else {
    Drop(std::move(old));
  }
  Drop(std::move(drop));
  RetryDrops();
  return Ok();
}

void Manager::Drop(std::shared_ptr<Image> image) {
  if (!image) return;
  // Objects that the plugin's code still holds, or a thread of it, keep the image for now.
  if (image.use_count() > 1 || image->handles()->load(std::memory_order_acquire) > 0) {
    kept_.push_back(std::move(image));
  } else if (!image->Unload()) {
    environment_.log.Warning("Old build can not be unmapped and stays in memory",
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
      return name + ": " + std::to_string(c.errors) + " of " + std::to_string(c.runs) + " reconciles failed";
  }
  return {};
}

void Manager::Maintain() {
  clock::BusyScope busy(*environment_.clock);
  while (true) {
    {
      std::unique_lock lock(maintain_mutex_);
      environment_.clock->Wait(lock, maintain_cv_, clock::MonoTime::Max(), [this] { return maintain_ || maintain_end_; });
      if (environment_.clock->WaitFor(lock, maintain_cv_, kProbationCheck, [this] { return maintain_end_; })) return;
    }
    std::unique_lock control(control_mutex_, std::try_to_lock);
    if (!control.owns_lock()) continue;  // a swap is under way: next time
    bool open = false;
    for (auto& [name, plugin] : plugins_) {
      if (!plugin->previous) continue;
      const std::string problem = ProbationProblem(*plugin);
      if (!problem.empty()) {
        environment_.log.Error(problem, "New build fails its probation, going back to the old one", {{"plugin", name}});
        std::shared_ptr<Image> back = plugin->previous;
        const Status s = SwapTo(*plugin, std::move(back), false);
        const std::lock_guard lock(mutex_);
        plugin->last_error = problem + (s.ok() ? "" : "; rollback failed: " + s.error().message);
      } else if (environment_.clock->Monotonic() >= plugin->probation_ends) {
        std::shared_ptr<Image> old;
        {
          const std::lock_guard lock(mutex_);
          old = std::exchange(plugin->previous, nullptr);
        }
        environment_.log.Info(1, "New build has passed its probation", {{"plugin", name}});
        Drop(std::move(old));
      } else {
        open = true;
      }
    }
    RetryDrops();
    const std::lock_guard lock(maintain_mutex_);
    maintain_ = open || !kept_.empty();
  }
}

Status Manager::SwapFile(const std::string& file) {
  const std::lock_guard control(control_mutex_);
  if (stopped_) return MakeError(Code::kStopped, "the host is stopping");
  Result<std::shared_ptr<Image>> image = LoadFile(file);
  if (!image.ok()) return image.error();
  const auto it = plugins_.find((*image)->declaration().name);
  if (it == plugins_.end())
    return MakeError(Code::kNotFound, file + ": plugin " + (*image)->declaration().name +
                                          " is not loaded: put the file into a plugin directory to add it");
  return SwapTo(*it->second, *std::move(image), true);
}

Status Manager::Rollback(const std::string& name) {
  const std::lock_guard control(control_mutex_);
  const auto it = plugins_.find(name);
  if (it == plugins_.end()) return MakeError(Code::kNotFound, "no plugin " + name + " is loaded: see kcmctl plugins list");
  if (!it->second->previous)
    return MakeError(Code::kNotFound, "plugin " + name + " has no earlier build in memory: its probation is over; install the old file");
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

bool Manager::Rescan(bool confirm_removal) {
  const std::lock_guard control(control_mutex_);
  if (stopped_ || !prepared_) return false;
  bool again = false;
  std::map<std::string, PluginFile> present;
  for (const std::string& dir : options_.dirs) {
    Result<std::vector<PluginFile>> found = ScanDirectory(dir);
    if (!found.ok()) return true;  // a directory that can not be read right now removes nothing
    for (PluginFile& f : *found) present.emplace(f.path, f);
  }
  for (const auto& [path, file] : present) {
    const auto owner = std::find_if(plugins_.begin(), plugins_.end(), [&](const auto& p) { return p.second->file == path; });
    if (owner != plugins_.end()) {
      owner->second->missing_since = {};
      if (owner->second->stamp == file.stamp) continue;
    } else {
      const std::lock_guard lock(mutex_);
      const auto refused = refused_.find(path);
      if (refused != refused_.end() && refused->second.first == file.stamp) continue;
    }
    Result<std::shared_ptr<Image>> image = LoadFile(path);
    if (!image.ok() && image.code() == Code::kUnavailable) {
      again = true;  // still being copied
      const std::lock_guard lock(mutex_);
      refused_[path].second = image.error().message;
      continue;
    }
    Status s = image.ok() ? Ok() : Status(image.error());
    if (s.ok() && owner != plugins_.end() && (*image)->digest() == owner->second->image->digest()) {
      owner->second->stamp = file.stamp;  // touched, not changed
    } else if (s.ok()) {
      const auto target = plugins_.find((*image)->declaration().name);
      if (target == plugins_.end()) {
        s = Adopt(file, *std::move(image));
        if (s.ok()) {
          Plugin& fresh = *std::find_if(plugins_.begin(), plugins_.end(), [&](const auto& p) { return p.second->file == path; })->second;
          for (const ControllerDeclaration& d : fresh.image->declaration().controllers)
            if (Status p = PrepareController(fresh, d); !p.ok())
              environment_.log.Error(p.error().message, "Controller of a new plugin does not start", {{"controller", d.name}});
          environment_.informers->Start();
          if (started_) ActivateAll(fresh);
        }
      } else if (target->second->file != path && present.contains(target->second->file)) {
        s = MakeError(Code::kAlreadyExists, path + ": plugin " + target->first + " is already loaded from " + target->second->file +
                                                ": keep one of the two files");
      } else {
        s = SwapTo(*target->second, *std::move(image), true);
        // Remembered in any case: a build that was refused is not tried again until the file changes.
        target->second->stamp = file.stamp;
        if (s.ok()) target->second->file = path;
      }
    }
    if (!s.ok()) Refuse(path, s.error());
    const std::lock_guard lock(mutex_);
    if (s.ok()) {
      refused_.erase(path);
    } else {
      refused_[path].first = file.stamp;
      if (owner != plugins_.end()) owner->second->stamp = file.stamp;
    }
  }
  std::vector<std::string> vanished;
  const auto now = std::chrono::steady_clock::now();
  for (auto& [name, plugin] : plugins_) {
    if (present.contains(plugin->file)) continue;
    if (plugin->missing_since == std::chrono::steady_clock::time_point{}) plugin->missing_since = now;
    if (confirm_removal && now - plugin->missing_since < options_.removal_delay) {
      again = true;
    } else {
      vanished.push_back(name);
    }
  }
  for (const std::string& name : vanished) Unload(name);
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(refused_, [&](const auto& r) { return !present.contains(r.first); });
  }
  RetryDrops();
  return again;
}

}  // namespace kcm::host::plugin
