// SPDX-License-Identifier: Apache-2.0
// Loading, start, stop and reports. Swaps and directory changes are in manager_swap.cc.
#include "host/plugin/manager.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace kcm::host::plugin {

Manager::Manager(Environment environment, ManagerOptions options)
    : environment_(std::move(environment)), options_(std::move(options)) {
  metric::Registry& m = *environment_.metrics;
  swaps_ = m.Counter({.name = "kcm_plugin_swaps_total",
                      .help = "Replacements of a plugin's build by result.",
                      .labels = {"plugin", "result"}});
  pause_ =
      m.Histogram({.name = "kcm_plugin_swap_pause_seconds",
                   .help = "How long a controller's queues stood still in a swap.",
                   .labels = {"plugin"},
                   .buckets = {0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5}});
  held_ = m.Counter({.name = "kcm_plugin_swaps_held_total",
                     .help = "Swaps given up because something of the running build did not end.",
                     .labels = {"plugin", "controller", "by"}});
  info_ = m.Gauge({.name = "kcm_plugin_info",
                   .help = "Loaded builds, value 1.",
                   .labels = {"plugin", "version", "vendor", "build"}});
  kept_images_ = m.Gauge({.name = "kcm_plugin_images_kept",
                          .help = "Replaced builds that the loader could not unmap."});
}

Manager::~Manager() { (void)Stop(clock::Duration(0)); }

void Manager::Refuse(const std::string& path, const Error& error) {
  environment_.log.Error(error.message, "Plugin refused", {{"file", path}});
  const std::lock_guard lock(mutex_);
  refused_[path].second = error.message;
}

Result<std::shared_ptr<Image>> Manager::LoadFile(const std::string& path) {
  return Image::Load(path, {private_dir_, options_.trust_key, options_.admit});
}

Status Manager::CheckNames(const Image& image, const std::string& replaces) const {
  for (const auto& [name, plugin] : plugins_) {
    if (name == replaces) continue;
    if (name == image.declaration().name)
      return MakeError(Code::kAlreadyExists, image.file() + ": plugin " + name +
                                                 " is already loaded from " + plugin->file +
                                                 ": keep one of the two files");
    for (const ControllerDeclaration& have : plugin->image->declaration().controllers)
      for (const ControllerDeclaration& want : image.declaration().controllers)
        if (have.name == want.name)
          return MakeError(Code::kAlreadyExists, image.file() + ": controller " + want.name +
                                                     " is already declared by " + plugin->file +
                                                     ": remove one of the two plugins");
  }
  return Ok();
}

Status Manager::Adopt(const PluginFile& file, std::shared_ptr<Image> image) {
  if (Status s = CheckNames(*image, ""); !s.ok()) return s;
  const PluginDeclaration& d = image->declaration();
  auto plugin = std::make_unique<Plugin>();
  plugin->name = d.name;
  plugin->file = file.path;
  plugin->stamp = file.stamp;
  plugin->image = std::move(image);
  info_.With({d.name, d.version, d.vendor, d.build_id}).Set(1);
  environment_.log.Info(
      0, "Plugin loaded",
      {{"plugin", d.name}, {"version", d.version}, {"build", d.build_id}, {"file", file.path}});
  const std::lock_guard lock(mutex_);
  plugins_.emplace(d.name, std::move(plugin));
  return Ok();
}

Status Manager::Load() {
  const std::lock_guard control(control_mutex_);
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
      Status s = image.ok() ? Adopt(file, *std::move(image)) : Status(image.error());
      if (s.ok()) continue;
      Refuse(file.path, s.error());
      const std::lock_guard lock(mutex_);
      refused_[file.path].first = file.stamp;
    }
  }
  if (files > 0 && plugins_.empty())
    return MakeError(Code::kInvalid, "no plugin could be loaded: " + Problems().front());
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
  auto controller =
      std::make_shared<Controller>(&environment_, plugin.name, plugin.image, &declaration);
  Status s = controller->Prepare(&cancel_);
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
  const std::lock_guard control(control_mutex_);
  for (auto& [name, plugin] : plugins_)
    for (const ControllerDeclaration& d : plugin->image->declaration().controllers) {
      if (plugin->controllers.contains(d.name)) continue;  // an earlier try got this far
      if (Status s = PrepareController(*plugin, d); !s.ok()) return s;
    }
  environment_.informers->Start();
  prepared_ = true;
  if (!maintainer_.joinable() && !stopped_)
    maintainer_ = clock::StartBusyThread(*environment_.clock, [this] { Maintain(); });
  if (options_.watch_directories && !options_.dirs.empty() && !watch_)
    watch_ = std::make_unique<DirectoryWatch>(options_.dirs, [this] { return Rescan(); });
  return Ok();
}

void Manager::ActivateAll(Plugin& plugin, bool at_start) {
  std::erase_if(activations_, [](Activation& a) {
    if (!a.ended->load(std::memory_order_acquire)) return false;
    a.thread.join();
    return true;
  });
  for (auto& [name, controller] : plugin.controllers) {
    const auto of_this = [c = controller.get()](const Activation& a) { return a.controller == c; };
    if (controller->active() || std::any_of(activations_.begin(), activations_.end(), of_this))
      continue;
    auto ended = std::make_shared<std::atomic<bool>>(false);
    std::thread thread = clock::StartBusyThread(
        *environment_.clock, [this, name = plugin.name, c = controller, at_start, ended] {
          Activated(name, c, at_start, c->Activate(&cancel_));
          ended->store(true, std::memory_order_release);
        });
    activations_.push_back({std::move(thread), controller.get(), std::move(ended)});
  }
}

void Manager::Activated(const std::string& plugin, const std::shared_ptr<Controller>& controller,
                        bool at_start, const Status& result) {
  if (result.code() == Code::kCancelled) return;
  if (at_start) {
    if (result.ok()) return;
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
  const std::lock_guard control(control_mutex_);
  started_ = true;
  for (auto& [name, plugin] : plugins_) ActivateAll(*plugin, true);
}

std::vector<std::string> Manager::Stop(clock::Duration limit) {
  cancel_.Cancel();
  watch_.reset();
  {
    const std::lock_guard lock(maintain_mutex_);
    maintain_end_ = true;
    maintain_cv_.notify_all();
  }
  const clock::BusyPause pause(*environment_.clock);
  const std::lock_guard control(control_mutex_);
  // Joined under the lock, which it only tries to take: Prepare may start it until here.
  if (maintainer_.joinable()) maintainer_.join();
  if (std::exchange(stopped_, true)) return {};
  for (Activation& a : activations_) a.thread.join();
  activations_.clear();

  // All at once, so that one slow controller does not add to another's time.
  std::vector<std::thread> stopping;
  std::mutex mutex;
  std::condition_variable cv;
  std::vector<std::string> open;
  for (auto& [name, plugin] : plugins_)
    for (auto& [controller_name, controller] : plugin->controllers) open.push_back(controller_name);
  for (auto& [name, plugin] : plugins_)
    for (auto& [controller_name, controller] : plugin->controllers)
      stopping.push_back(clock::StartBusyThread(*environment_.clock, [&, c = controller.get()] {
        c->Stop();
        const std::lock_guard lock(mutex);
        std::erase(open, c->name());
        cv.notify_all();
      }));
  std::vector<std::string> late;
  if (limit > clock::Duration(0)) {
    std::unique_lock lock(mutex);
    if (!environment_.clock->WaitFor(lock, cv, limit, [&] { return open.empty(); })) {
      late = open;
      environment_.log.Info(0, "Still waiting for some controllers to terminate...",
                            {{"runningControllers", late.front()}});
      lock.unlock();
      if (options_.on_stuck) options_.on_stuck(late);
    }
  }
  for (std::thread& t : stopping) t.join();
  {
    const std::lock_guard lock(mutex_);
    plugins_.clear();
  }
  kept_.clear();
  std::error_code ignored;
  if (!private_dir_.empty()) std::filesystem::remove_all(private_dir_, ignored);
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
  for (const auto& [path, why] : refused_)
    if (!why.second.empty()) out.push_back(why.second);
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

std::string Manager::Report(size_t keys_per_queue) const {
  const std::lock_guard lock(mutex_);
  nlohmann::json out{{"plugins", nlohmann::json::array()}, {"refused", nlohmann::json::array()}};
  for (const auto& [name, p] : plugins_) {
    const PluginDeclaration& d = p->image->declaration();
    nlohmann::json j{
        {"name", name},
        {"file", p->file},
        {"version", d.version},
        {"vendor", d.vendor},
        {"buildId", d.build_id},
        {"digest", p->image->digest()},
        {"swaps", p->swaps},
        {"state", p->previous ? "probation" : "running"},
        {"lastPauseMs", std::chrono::duration<double, std::milli>(p->last_pause).count()}};
    if (!p->last_error.empty()) j["lastError"] = p->last_error;
    for (const auto& [controller_name, retry] : p->retries) {
      nlohmann::json& jr = j["waiting"].emplace_back(nlohmann::json{
          {"controller", controller_name}, {"error", retry.error}, {"tries", retry.tries}});
      const clock::Duration left =
          retry.starting ? clock::Duration(0) : retry.next - environment_.clock->Monotonic();
      if (retry.starting || retry.next != clock::MonoTime::Max())
        jr["retryInSeconds"] = std::chrono::duration<double>(left).count();
    }
    for (const auto& [controller_name, c] : p->controllers) {
      const RunCounts counts = c->counts();
      nlohmann::json jc{{"name", controller_name},       {"active", c->active()},
                        {"generation", c->generation()}, {"runs", counts.runs},
                        {"retries", counts.retries},     {"errors", counts.errors}};
      for (const Controller::QueueReport& q : c->Queues(keys_per_queue)) {
        nlohmann::json jq{{"name", q.name},
                          {"ready", q.ready},
                          {"waiting", q.waiting},
                          {"processing", q.processing}};
        for (const queue::WorkQueue::KeyState& k : q.keys)
          jq["keys"].push_back({{"key", k.key},
                                {"state", k.state},
                                {"failures", k.failures},
                                {"dueInSeconds", std::chrono::duration<double>(k.due_in).count()}});
        jc["queues"].push_back(std::move(jq));
      }
      j["controllers"].push_back(std::move(jc));
    }
    out["plugins"].push_back(std::move(j));
  }
  for (const auto& [path, why] : refused_)
    if (!why.second.empty()) out["refused"].push_back({{"file", path}, {"reason", why.second}});
  return out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace kcm::host::plugin
