// SPDX-License-Identifier: Apache-2.0
// Loading, start and stop. Swaps are in manager_swap.cc, directory changes in manager_scan.cc,
// claims and threads in manager_work.cc, reports in manager_report.cc.
#include "host/plugin/manager.h"

#include <algorithm>

#include "host/plugin/private_dir.h"

namespace kcm::host::plugin {

Manager::Manager(Environment environment, ManagerOptions options)
    : environment_(std::move(environment)),
      options_(std::move(options)),
      retired_(environment_.clock, environment_.log) {
  metric::Registry& m = *environment_.metrics;
  swaps_ = m.Counter({.name = "kcm_plugin_swaps_total",
                      .help = "Replacements of a plugin's build by result.",
                      .labels = {"plugin", "result"}});
  pause_ =
      m.Histogram({.name = "kcm_plugin_swap_pause_seconds",
                   .help = "How long a controller's queues stood still in a swap.",
                   .labels = {"plugin"},
                   .buckets = {0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5}});
  held_ =
      m.Counter({.name = "kcm_plugin_swaps_held_total",
                 .help = "Swaps that something of the running build held up until they were given "
                         "up or went on without it.",
                 .labels = {"plugin", "controller", "by"}});
  info_ = m.Gauge({.name = "kcm_plugin_info",
                   .help = "Loaded builds, value 1.",
                   .labels = {"plugin", "version", "vendor", "build"}});
  kept_images_ = m.Gauge({.name = "kcm_plugin_images_kept",
                          .help = "Builds that are over and could not be unmapped."});
  hung_ = m.Gauge({.name = "kcm_plugin_calls_hung",
                   .help = "Builds of a plugin that are over but have not returned from a call.",
                   .labels = {"plugin"}});
}

Manager::~Manager() { (void)Stop(clock::Duration(0)); }

void Manager::Refuse(const std::string& path, const Error& error, bool said) {
  if (!said) environment_.log.Error(error.message, "Plugin refused", {{"file", path}});
  const bool names_it = error.message.find(path) != std::string::npos;
  const std::lock_guard lock(mutex_);
  Refusal& refusal = refused_[path];
  refusal.why = (names_it ? "" : path + ": ") + error.message;
  refusal.blocked_by = error.code == Code::kAlreadyExists ? error.cause : "";
}

Result<std::shared_ptr<Image>> Manager::LoadFile(const std::string& path) {
  return Image::Load(path, {private_dir_, options_.trust_key, options_.admit});
}

Error Manager::Taken(const std::string& file, const std::string& name, const std::string& by) {
  Error e = MakeError(Code::kAlreadyExists, file + ": plugin " + name + " is already loaded from " +
                                                by + ": keep one of the two files");
  e.cause = by;
  return e;
}

// kUnavailable: the other plugin is just being changed, it may give the name up.
Status Manager::CheckNames(const Image& image, const std::string& replaces) const {
  for (const auto& [name, plugin] : plugins_) {
    if (name == replaces) continue;
    if (name == image.declaration().name) return Taken(image.file(), name, plugin->file);
    for (const Image* loaded : {plugin->image.get(), plugin->incoming.get()}) {
      if (loaded == nullptr) continue;
      for (const ControllerDeclaration& have : loaded->declaration().controllers)
        for (const ControllerDeclaration& want : image.declaration().controllers)
          if (have.name == want.name) {
            Error e =
                MakeError(plugin->operation ? Code::kUnavailable : Code::kAlreadyExists,
                          image.file() + ": controller " + want.name + " is already declared by " +
                              plugin->file + ": remove one of the two plugins");
            e.cause = plugin->file;
            return e;
          }
    }
  }
  return Ok();
}

Result<Manager::Plugin*> Manager::Adopt(const PluginFile& file, std::shared_ptr<Image> image) {
  if (Status s = CheckNames(*image, ""); !s.ok()) return s.error();
  const PluginDeclaration& d = image->declaration();
  auto plugin = std::make_unique<Plugin>();
  plugin->name = d.name;
  plugin->file = file.path;
  plugin->stamp = file.stamp;
  plugin->file_digest = image->digest();
  plugin->file_build = d.build_id;
  plugin->image = std::move(image);
  Plugin* const raw = plugin.get();
  plugins_.emplace(d.name, std::move(plugin));
  return raw;
}

void Manager::SayLoaded(const PluginDeclaration& d, const std::string& file) {
  info_.With({d.name, d.version, d.vendor, d.build_id}).Set(1);
  environment_.log.Info(
      0, "Plugin loaded",
      {{"plugin", d.name}, {"version", d.version}, {"build", d.build_id}, {"file", file}});
}

Status Manager::Load() {
  const std::lock_guard scan(scan_mutex_);
  Result<std::string> dir = MakePrivateDir();
  if (!dir.ok()) return dir.error();
  private_dir_ = *dir;
  size_t files = 0;
  for (const std::string& d : options_.dirs) {
    if (Status s = CheckDirectory(d); !s.ok()) return s;
    Result<std::vector<PluginFile>> found = ScanDirectory(d);
    if (!found.ok()) return found.error();
    for (const PluginFile& file : *found) {
      ++files;
      Result<std::shared_ptr<Image>> image = LoadFile(file.path);
      Status s = Ok();
      if (image.ok()) {
        const std::lock_guard lock(mutex_);
        if (const Result<Plugin*> made = Adopt(file, *image); !made.ok()) s = made.error();
      } else {
        s = image.error();
      }
      if (s.ok()) {
        SayLoaded((*image)->declaration(), file.path);
        continue;
      }
      Refuse(file.path, s.error());
      if (s.code() == Code::kUnavailable) continue;  // still being copied: to be looked at again
      const std::lock_guard lock(mutex_);
      refused_[file.path].stamp = file.stamp;
    }
  }
  bool none = false;
  {
    const std::lock_guard lock(mutex_);
    none = plugins_.empty();
  }
  if (files > 0 && none)
    return MakeError(Code::kInvalid, "no plugin could be loaded: " + Problems().front());
  std::string directories;
  for (const std::string& d : options_.dirs) directories += (directories.empty() ? "" : ",") + d;
  if (none)
    environment_.log.Warning(
        "No plugin is loaded: there is nothing to do until a file comes; is --plugin-dir the right "
        "directory?",
        {{"directories", directories}});
  return Ok();
}

Status Manager::PrepareController(Plugin& plugin, const ControllerDeclaration& declaration) {
  std::string why;
  if (options_.enabled && !options_.enabled(declaration, &why)) {
    environment_.log.Info(0, why.empty() ? "Warning: controller is disabled" : why,
                          {{"controller", declaration.name}});
    return Ok();
  }
  for (const std::string& text : declaration.required_resources) {
    const size_t last = text.rfind('/'), first = text.find('/');
    client::Gvr gvr{first == last ? "" : text.substr(0, first),
                    first == last ? text.substr(0, last) : text.substr(first + 1, last - first - 1),
                    text.substr(last + 1)};
    const Result<client::ApiResource> served = environment_.discovery->ForResource(gvr);
    if (served.ok()) continue;
    if (served.code() != Code::kNotFound) return served.error();
    environment_.log.Info(0, "Warning: skipping controller",
                          {{"controller", declaration.name}, {"missing", text}});
    return Ok();
  }
  auto controller = std::make_shared<Controller>(&environment_, &retired_, plugin.name,
                                                 plugin.image, &declaration);
  {
    const std::lock_guard lock(mutex_);
    plugin.preparing = controller;
  }
  Status s = controller->Prepare(&cancel_);
  {
    const std::lock_guard lock(mutex_);
    plugin.preparing = nullptr;
  }
  if (!s.ok() && s.code() == Code::kUnsupported) {
    environment_.log.Info(0, "Warning: skipping controller",
                          {{"controller", declaration.name}, {"reason", s.error().message}});
    return Ok();
  }
  if (!s.ok()) return s;
  const std::lock_guard lock(mutex_);
  plugin.controllers[declaration.name] = std::move(controller);
  return Ok();
}

Status Manager::Prepare() {
  std::vector<std::string> names;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, plugin] : plugins_) names.push_back(name);
  }
  for (const std::string& name : names) {
    const std::optional<Claim> claim = WaitFor(name, "start");
    if (!claim) continue;
    Plugin& plugin = **claim;
    for (const ControllerDeclaration& d : plugin.image->declaration().controllers) {
      if (plugin.controllers.contains(d.name)) continue;  // an earlier try got this far
      if (Status s = PrepareController(plugin, d); !s.ok()) return s;
    }
  }
  environment_.informers->Start();
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return MakeError(Code::kCancelled, "the host is stopping");
    prepared_ = true;
    if (!maintainer_.joinable())
      maintainer_ =
          clock::StartBusyThread(*environment_.clock, "upkeep of plugins", [this] { Maintain(); });
    if (!options_.watch_directories || options_.dirs.empty() || watch_) return Ok();
  }
  // It does not wait for what it has begun: the next change may be another plugin's.
  auto watch = DirectoryWatch::Make(options_.dirs, [this] {
    Works begun;
    const bool again = Scan(true, &begun);
    return again || !begun.empty();
  });
  if (!watch.ok()) {  // controllers can work all the same
    environment_.log.Error(watch.error().message,
                           "Changes of plugin directories are only seen by kcmctl plugins rescan");
    return Ok();
  }
  const std::lock_guard lock(mutex_);
  if (!stopped_ && !watch_) watch_.swap(*watch);
  return Ok();
}

Manager::NotBegun Manager::ActivateAll(Plugin& plugin, bool at_start) {
  NotBegun not_begun;
  if (stopped_) return not_begun;
  JoinEnded();
  for (auto& [name, controller] : plugin.controllers) {
    const auto of_this = [c = controller.get()](const auto& w) {
      return w->activates == c && !w->ended;
    };
    if (controller->active() || std::any_of(works_.begin(), works_.end(), of_this)) continue;
    try {
      StartWork([this, name = plugin.name, c = controller, at_start] {
        Activated(name, c, at_start, c->Activate(&cancel_));
      })->activates = controller.get();
    } catch (const clock::ThreadError& e) {
      not_begun.emplace_back(controller, MakeError(Code::kUnavailable, e.what()));
    }
  }
  return not_begun;
}

void Manager::ActivateLate(Plugin& plugin) {
  const Status informers = OrNoThread([this] {
    environment_.informers->Start();
    return Ok();
  });
  NotBegun not_begun;
  {
    const std::lock_guard lock(mutex_);
    if (!started_) {
      // A standby: they are started once more when it begins to lead.
      if (!informers.ok())
        environment_.log.Error(informers.error().message, "Error starting caches",
                               {{"plugin", plugin.name}});
      return;
    }
    if (informers.ok()) {
      not_begun = ActivateAll(plugin, false);
    } else {
      for (const auto& [name, controller] : plugin.controllers)
        if (!controller->active()) not_begun.emplace_back(controller, informers.error());
    }
  }
  for (const auto& [controller, error] : not_begun)
    Activated(plugin.name, controller, false, error);
}

void Manager::Activated(const std::string& plugin, const std::shared_ptr<Controller>& controller,
                        bool at_start, const Status& result) {
  if (result.code() == Code::kCancelled) return;
  if (at_start && !result.ok()) {
    environment_.log.Error(result.error().message, "Error initializing a controller",
                           {{"controller", controller->name()}});
    {
      const std::lock_guard lock(mutex_);
      if (!fatal_.empty()) return;
      fatal_ = result.error().message;
    }
    if (options_.on_fatal) options_.on_fatal(result.error().message);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    const auto it = plugins_.find(plugin);
    if (it == plugins_.end()) return;
    const auto found = it->second->controllers.find(controller->name());
    if (found == it->second->controllers.end() || found->second != controller) return;
    if (result.ok()) it->second->retries.erase(controller->name());
  }
  if (!result.ok()) RetryLater(plugin, controller->name(), result.error());
}

void Manager::Start() {
  // Without claims: a swap that is under way must not hold up the others. Activation and swap of
  // one controller wait for each other.
  std::vector<std::pair<std::string, NotBegun>> not_begun;
  {
    const std::lock_guard lock(mutex_);
    started_ = true;
    for (auto& [name, plugin] : plugins_) not_begun.emplace_back(name, ActivateAll(*plugin, true));
  }
  for (const auto& [plugin, controllers] : not_begun)
    for (const auto& [controller, error] : controllers) Activated(plugin, controller, true, error);
}

std::vector<std::string> Manager::Stop(clock::Duration limit) {
  const clock::BusyPause pause(*environment_.clock);
  const std::lock_guard stop(stop_mutex_);
  cancel_.Cancel();
  {
    const std::lock_guard lock(maintain_mutex_);
    maintain_end_ = true;
    maintain_cv_.notify_all();
  }
  std::unique_ptr<DirectoryWatch> watch;
  std::thread maintainer;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;  // no claims, no work from here on
    watch.swap(watch_);
    maintainer.swap(maintainer_);
    work_cv_.notify_all();
  }
  watch.reset();
  if (maintainer.joinable()) maintainer.join();
  if (std::exchange(stop_done_, true)) return {};
  const clock::MonoTime deadline =
      limit > clock::Duration(0) ? environment_.clock->Monotonic() + limit : clock::MonoTime::Max();
  std::vector<std::string> late;
  // What passes the deadline is said once, and waited for all the same: on_stuck may end the
  // process.
  const auto stuck = [&](std::vector<std::string> names) {
    if (!late.empty() || names.empty()) return;
    late = std::move(names);
    environment_.log.Info(0, "Still waiting for some controllers to terminate...",
                          {{"runningControllers", late.front()}});
    if (options_.on_stuck) options_.on_stuck(late);
  };
  AwaitOperations(deadline, stuck);

  // All at once, so that one slow controller does not add to another's time.
  std::vector<std::shared_ptr<Controller>> all;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [name, plugin] : plugins_)
      for (auto& [controller_name, controller] : plugin->controllers) all.push_back(controller);
  }
  std::vector<std::thread> stopping;
  std::mutex mutex;
  std::condition_variable cv;
  std::vector<std::string> open;
  for (const auto& c : all) open.push_back(c->name());
  std::vector<std::function<void()>> here;  // for want of threads
  for (const auto& c : all) {
    std::function<void()> end = [&, c] {
      c->Stop();
      const std::lock_guard lock(mutex);
      std::erase(open, c->name());
      cv.notify_all();
    };
    try {
      stopping.push_back(
          clock::StartBusyThread(*environment_.clock, "the stop of " + c->name(), end));
    } catch (const clock::ThreadError&) {
      here.push_back(std::move(end));
    }
  }
  for (const auto& end : here) end();
  {
    std::unique_lock lock(mutex);
    if (!environment_.clock->Wait(lock, cv, deadline, [&] { return open.empty(); })) {
      std::vector<std::string> names = open;
      lock.unlock();
      stuck(std::move(names));
    }
  }
  for (std::thread& t : stopping) t.join();
  if (!retired_.Wait(deadline)) {
    std::vector<std::string> names;
    for (const Lingering& l : retired_.Late()) names.push_back(l.controller);
    stuck(std::move(names));
  }
  retired_.Join();
  all.clear();
  Plugins gone;
  std::vector<std::shared_ptr<Image>> kept;
  {
    const std::lock_guard lock(mutex_);
    gone.swap(plugins_);
    kept.swap(kept_);
  }
  gone.clear();
  kept.clear();
  RemovePrivateDir(private_dir_);
  return late;
}

std::vector<const ControllerDeclaration*> Manager::Declarations() const {
  const std::lock_guard lock(mutex_);
  std::vector<const ControllerDeclaration*> out;
  for (const auto& [name, plugin] : plugins_)
    for (const ControllerDeclaration& d : plugin->image->declaration().controllers)
      out.push_back(&d);
  return out;
}

std::vector<std::string> Manager::Problems() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> out;
  for (const auto& [path, refusal] : refused_)
    if (!refusal.why.empty()) out.push_back(refusal.why);
  return out;
}

std::vector<std::pair<std::string, Status>> Manager::Health() const {
  std::vector<std::shared_ptr<Controller>> all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, plugin] : plugins_)
      for (const auto& [controller_name, controller] : plugin->controllers)
        all.push_back(controller);
  }
  std::vector<std::pair<std::string, Status>> out;
  for (const std::shared_ptr<Controller>& c : all) out.emplace_back(c->name(), c->Health());
  return out;
}

Status Manager::Health(const std::string& controller) const {
  std::shared_ptr<Controller> found;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, plugin] : plugins_)
      if (const auto it = plugin->controllers.find(controller); it != plugin->controllers.end())
        found = it->second;
  }
  return found ? found->Health() : Ok();
}

bool Manager::Empty() const {
  const std::lock_guard lock(mutex_);
  return plugins_.empty();
}

bool Manager::AllActive() const {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, plugin] : plugins_)
    for (const auto& [controller_name, controller] : plugin->controllers)
      if (!controller->active()) return false;
  return true;
}

bool Manager::CachesAtLeast(const std::function<uint64_t(const std::string&)>& at_least) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, plugin] : plugins_)
    for (const auto& [controller_name, controller] : plugin->controllers)
      if (!controller->CachesAtLeast(at_least)) return false;
  return true;
}

std::string Manager::FatalError() const {
  const std::lock_guard lock(mutex_);
  return fatal_;
}

}  // namespace kcm::host::plugin
