// SPDX-License-Identifier: Apache-2.0
// What changes of the plugin directories lead to. What is new is mapped and named one file after
// the other; whatever calls into a plugin goes on side by side, on a thread per plugin.
#include <algorithm>
#include <filesystem>

#include "host/plugin/manager.h"

namespace kcm::host::plugin {
namespace {

constexpr auto kSayTroubleAgain = std::chrono::minutes(10);

}  // namespace

Manager::Plugin* Manager::OwnerOf(const std::string& path) const {
  for (const auto& [name, plugin] : plugins_)
    if (plugin->file == path) return plugin.get();
  return nullptr;
}

bool Manager::IsLoadedFrom(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  return OwnerOf(path) != nullptr;
}

// Loaded from exactly these bytes, or refused and not changed since.
bool Manager::SeenBefore(const PluginFile& file, const std::set<std::string>& present,
                         const Plugin* owner) const {
  const auto refused = refused_.find(file.path);
  // The file of the plugin that had the name is gone.
  if (refused != refused_.end() && !refused->second.blocked_by.empty() &&
      !present.contains(refused->second.blocked_by))
    return false;
  if (owner != nullptr) return owner->stamp == file.stamp;
  return refused != refused_.end() && refused->second.stamp == file.stamp;
}

void Manager::Remember(const PluginFile& file, const Status& result, bool said) {
  if (!result.ok()) Refuse(file.path, result.error(), said);
  const std::lock_guard lock(mutex_);
  Plugin* const owner = OwnerOf(file.path);
  if (owner != nullptr) owner->file_refused = !result.ok();
  if (result.ok()) {
    refused_.erase(file.path);
    return;
  }
  refused_[file.path].stamp = file.stamp;
  if (owner != nullptr) owner->stamp = file.stamp;
}

void Manager::SayUnchanged(const Plugin& plugin) const {
  environment_.log.Info(
      0, "Plugin file was written again with the bytes it had, the other build keeps running",
      {{"plugin", plugin.name},
       {"file", plugin.file},
       {"inFile", plugin.file_build},
       {"running", plugin.image->declaration().build_id}});
}

// A file that is new or changed: touched only, a new plugin, or another build of one that is
// loaded. True: look again, the plugin is busy.
bool Manager::TakeIn(const PluginFile& file, const std::set<std::string>& present,
                     std::shared_ptr<Image> image, Works* begun) {
  const std::string name = image->declaration().name;
  std::optional<Claim> claim;
  Status s = Ok();
  bool fresh = false;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return false;
    const Plugin* const owner = OwnerOf(file.path);
    const auto found = plugins_.find(name);
    const bool known = found != plugins_.end();
    // Of another plugin whose file is gone: it is about to be unloaded.
    const auto passing = [&](const Status& names) {
      return names.code() == Code::kUnavailable ||
             (names.code() == Code::kAlreadyExists && !present.contains(names.error().cause));
    };
    if (owner != nullptr && owner->name != name) {
      s = MakeError(Code::kInvalid, file.path + ": holds plugin " + name + " now, but " +
                                        owner->name +
                                        " was loaded from it and keeps running: give each plugin a "
                                        "file of its own");
    } else if (known && owner == nullptr && present.contains(found->second->file)) {
      s = Taken(file.path, name, found->second->file);
    } else if (known && found->second->operation) {
      return true;
    } else if (known && passing(CheckNames(*image, name))) {
      return true;
    } else if (known) {
      Plugin& target = *found->second;
      // Remembered in any case: a build that was refused is not tried again until its file changes,
      // and while its file is there the running build is not taken for removed.
      target.file = file.path;
      target.stamp = file.stamp;
      target.missing_since = {};
      // Touched, renamed or written again. The running build may be another one: an operator has
      // swapped or rolled back by hand, or this build has failed its probation.
      const bool unchanged = image->digest() == target.file_digest && !target.file_refused;
      target.file_digest = image->digest();
      target.file_build = image->declaration().build_id;
      if (image->digest() == target.image->digest()) {
        target.last_error.clear();  // of a build that this one's file has replaced again
        target.given.clear();       // tried by hand, installed now
      } else if (unchanged) {
        SayUnchanged(target);
      } else {
        claim.emplace(Take(target, "swap"));
      }
    } else if (Result<Plugin*> made = Adopt(file, image); made.ok()) {
      fresh = true;
      claim.emplace(Take(**made, "load"));
    } else if (passing(made.error())) {
      return true;
    } else {
      s = made.error();
    }
  }
  if (!claim) {
    Remember(file, s);
    return false;
  }
  if (fresh) {
    SayLoaded(image->declaration(), file.path);
    begun->push_back(Begin(*std::move(claim), [this, file](Claim& c) {
      for (const ControllerDeclaration& d : c->image->declaration().controllers) PrepareLate(*c, d);
      ActivateLate(*c);
      Remember(file, Ok());
    }));
    return false;
  }
  // Held by the call alone, so that a refused build can be unmapped at once.
  auto build = std::make_shared<std::shared_ptr<Image>>(std::move(image));
  begun->push_back(Begin(*std::move(claim), [this, file, build](Claim& c) {
    Remember(file, SwapTo(*c, std::move(*build), {}), true);
  }));
  return false;
}

bool Manager::LookAt(const PluginFile& file, const std::set<std::string>& present, Works* begun) {
  {
    const std::lock_guard lock(mutex_);
    const Plugin* const owner = OwnerOf(file.path);
    if (SeenBefore(file, present, owner)) return false;
    if (owner != nullptr && owner->operation) return true;
  }
  Result<std::shared_ptr<Image>> image = LoadFile(file.path);
  if (image.ok()) return TakeIn(file, present, *std::move(image), begun);
  if (image.code() != Code::kUnavailable) {
    Remember(file, image.error());
    return false;
  }
  const std::lock_guard lock(mutex_);
  refused_[file.path].why = image.error().message;
  return true;  // still being copied
}

// True: something is missing whose removal is not confirmed yet (renames and ConfigMap mounts
// replace files that way), or is busy.
bool Manager::UnloadVanished(const std::set<std::string>& present, bool confirm_removal,
                             Works* begun) {
  bool again = false;
  std::vector<Claim> vanished;
  const auto now = std::chrono::steady_clock::now();
  {
    const std::lock_guard lock(mutex_);
    for (auto& [name, plugin] : plugins_) {
      if (present.contains(plugin->file)) {
        plugin->missing_since = {};
        continue;
      }
      if (plugin->missing_since == std::chrono::steady_clock::time_point{})
        plugin->missing_since = now;
      if (plugin->operation || stopped_ ||
          (confirm_removal && now - plugin->missing_since < options_.removal_delay)) {
        again = true;
      } else {
        vanished.push_back(Take(*plugin, "unload"));
      }
    }
  }
  for (Claim& claim : vanished)
    begun->push_back(Begin(std::move(claim), [this](Claim& c) { Unload(c); }));
  return again;
}

void Manager::Unload(Claim& claim) {
  // A controller that does not end in time is fenced: the name is free for another file.
  for (const auto& [name, controller] : claim->controllers) controller->StopInTime();
  std::unique_ptr<Plugin> gone;
  {
    const std::lock_guard lock(mutex_);
    const auto it = plugins_.find(claim->name);
    gone = std::move(it->second);
    plugins_.erase(it);
    claim.PluginIsGone();
    work_cv_.notify_all();
  }
  gone->controllers.clear();
  const PluginDeclaration& d = gone->image->declaration();
  info_.Remove({d.name, d.version, d.vendor, d.build_id});
  environment_.log.Info(0, "Plugin unloaded", {{"plugin", gone->name}, {"file", gone->file}});
  Drop(std::move(gone->previous));
  Drop(std::move(gone->image));
  CountHung();
  WakeMaintainer();
}

void Manager::SayDirectory(const std::string& dir, const Status& usable) {
  const auto known = troubles_.find(dir);
  if (usable.ok()) {
    if (known == troubles_.end()) return;
    troubles_.erase(known);
    environment_.log.Info(0, "Plugin directory is looked at again", {{"dir", dir}});
    return;
  }
  const std::string& why = usable.error().message;
  const clock::MonoTime now = environment_.clock->Monotonic();
  if (known != troubles_.end() && known->second.why == why &&
      now - known->second.said < kSayTroubleAgain)
    return;
  troubles_[dir] = {why, now};
  environment_.log.Error(why, "Plugin directory is not looked at", {{"dir", dir}});
}

// Its files are taken to be as they were.
void Manager::KeepAllOf(const std::string& dir, std::set<std::string>* present) const {
  // However many slashes the flag ends with.
  const std::filesystem::path folder = std::filesystem::path(dir + "/").parent_path();
  const auto keep = [&](const std::string& path) {
    if (std::filesystem::path(path).parent_path() == folder) present->insert(path);
  };
  const std::lock_guard lock(mutex_);
  for (const auto& [name, plugin] : plugins_) keep(plugin->file);
  for (const auto& [path, refusal] : refused_) keep(path);
}

Status Manager::Directories() {
  const std::lock_guard scan(scan_mutex_);
  if (troubles_.empty()) return Ok();
  const auto& [dir, trouble] = *troubles_.begin();
  return MakeError(Code::kUnavailable, "plugin directory is not looked at: " + trouble.why);
}

bool Manager::Scan(bool confirm_removal, Works* begun) {
  const std::lock_guard scan(scan_mutex_);
  {
    const std::lock_guard lock(mutex_);
    if (stopped_ || !prepared_) return false;
  }
  std::vector<PluginFile> files;
  std::set<std::string> present;
  bool again = false;
  for (const std::string& dir : options_.dirs) {
    // Its rights may have changed since the start. Nothing is loaded from it, and nothing removed.
    Status usable = CheckDirectory(dir);
    Result<std::vector<PluginFile>> found = std::vector<PluginFile>();
    if (usable.ok()) {
      found = ScanDirectory(dir);
      if (!found.ok()) usable = found.error();
    }
    SayDirectory(dir, usable);
    if (!usable.ok()) {
      again = again || found.code() != Code::kOk ||
              usable.code() == Code::kNotFound;  // it may just be replaced by another
      KeepAllOf(dir, &present);
      continue;
    }
    for (PluginFile& f : *found) {
      if (f.dangling && IsLoadedFrom(f.path)) continue;  // what it led to was removed
      if (present.insert(f.path).second) files.push_back(std::move(f));
    }
  }
  for (const PluginFile& file : files) again = LookAt(file, present, begun) || again;
  again = UnloadVanished(present, confirm_removal, begun) || again;
  const std::lock_guard lock(mutex_);
  std::erase_if(refused_, [&](const auto& r) { return !present.contains(r.first); });
  return again;
}

bool Manager::Rescan(bool confirm_removal) {
  Works begun;
  const bool again = Scan(confirm_removal, &begun);
  Await(begun);
  RetryDrops();
  return again;
}

}  // namespace kcm::host::plugin
