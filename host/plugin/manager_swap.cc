// SPDX-License-Identifier: Apache-2.0
// Swaps, probation, rollback, retries, unmapping.
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
    CountHeld(plugin, d.name, *report);
    *pause = std::max(*pause, report->pause);
    pause_.With({plugin.name}).Observe(std::chrono::duration<double>(report->pause).count());
  }
  if (failed.ok()) return failed;
  // One build for all controllers of a plugin: those that were exchanged go back.
  for (const ControllerDeclaration& d : plugin.image->declaration().controllers) {
    if (std::find(done.begin(), done.end(), d.name) == done.end()) continue;
    const Result<SwapReport> back = plugin.controllers.at(d.name)->Swap(plugin.image, &d, &cancel_);
    if (back.ok()) {
      CountHeld(plugin, d.name, *back);
    } else {
      environment_.log.Error(back.error().message, "Controller could not go back to the old build",
                             {{"controller", d.name}});
    }
  }
  return failed;
}

void Manager::CountHeld(const Plugin& plugin, const std::string& controller,
                        const SwapReport& report) {
  for (const std::string& call : report.given_up) {
    held_.With({plugin.name, controller, call}).Add();
    environment_.log.Warning(
        "Replaced build does not return from a call, the new one works without waiting for it",
        {{"plugin", plugin.name}, {"controller", controller}, {"call", call}});
  }
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
  for (auto& controller : gone) controller->StopInTime();
  std::map<std::string, Plugin::Retry> waiting;  // for the old build: this one may fare better
  {
    const std::lock_guard lock(mutex_);
    waiting.swap(plugin.retries);
  }
  bool prepared = false;
  {
    const std::lock_guard lock(mutex_);
    prepared = prepared_;
  }
  if (prepared)
    for (const ControllerDeclaration& d : to.controllers)
      if (!declares(from, d.name) || waiting.contains(d.name)) PrepareLate(plugin, d);
  ActivateLate(plugin);
}

std::vector<std::shared_ptr<Image>> Manager::TakePlace(Plugin& plugin, std::shared_ptr<Image> image,
                                                       const SwapOrder& order) {
  const bool back = image == plugin.previous;
  plugin.taken_back.reset();
  if (!order.undoes.empty())
    plugin.taken_back = {plugin.image->digest(), plugin.image->declaration().build_id,
                         order.undoes};
  std::shared_ptr<Image> before = std::exchange(plugin.previous, nullptr);
  std::swap(plugin.image, image);  // from here on `image` is the old build
  std::string old_given = std::exchange(
      plugin.given, back && !order.undoes.empty() ? plugin.previous_given : order.given);
  std::vector<std::shared_ptr<Image>> over;
  if (back || !order.probation || !started_ || options_.probation <= clock::Duration(0)) {
    if (!back) over.push_back(std::move(before));
    over.push_back(std::move(image));
    return over;
  }
  // The old build has not passed its own probation: it is nothing to go back to.
  if (before) {
    over.push_back(std::move(image));
    plugin.previous = std::move(before);
  } else {
    plugin.previous = std::move(image);
    plugin.previous_given = std::move(old_given);
  }
  plugin.probation_ends = environment_.clock->Monotonic() + options_.probation;
  plugin.back_tries = 0;
  plugin.back_next = {};
  return over;
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
      if (it->second->active()) {
        plugin.retries.erase(declaration.name);
        return;
      }
      failed = std::move(it->second);
      plugin.controllers.erase(it);
    }
  }
  if (failed) failed->StopInTime();
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

bool Manager::RetriesDue(const Plugin& plugin, bool* open) const {
  bool due = false;
  const clock::MonoTime now = environment_.clock->Monotonic();
  for (const auto& [name, retry] : plugin.retries) {
    if (retry.starting || retry.next == clock::MonoTime::Max()) continue;
    *open = true;
    due = due || retry.next <= now;
  }
  return due;
}

void Manager::RunRetries(Plugin& plugin) {
  std::vector<std::string> due;
  {
    const std::lock_guard lock(mutex_);
    const clock::MonoTime now = environment_.clock->Monotonic();
    for (const auto& [name, retry] : plugin.retries)
      if (!retry.starting && retry.next <= now) due.push_back(name);
  }
  for (const ControllerDeclaration& d : plugin.image->declaration().controllers)
    if (std::find(due.begin(), due.end(), d.name) != due.end()) PrepareLate(plugin, d);
  ActivateLate(plugin);
}

// The names of a build that is to take over are taken from here on.
Status Manager::Announce(Plugin& plugin, const std::shared_ptr<Image>& image) {
  const std::lock_guard lock(mutex_);
  if (Status s = CheckNames(*image, plugin.name); !s.ok()) return s;
  plugin.incoming = image;
  return Ok();
}

Status Manager::SwapTo(Plugin& plugin, std::shared_ptr<Image> image, SwapOrder order) {
  if (plugin.previous && image->digest() == plugin.previous->digest()) {
    // The build that had proven itself before, from its file once more.
    order.probation = false;
    if (image != plugin.previous) Drop(std::exchange(image, plugin.previous));
  }
  const PluginDeclaration to = image->declaration();  // a copy: `image` moves on
  const PluginDeclaration from = plugin.image->declaration();
  const std::string file = image->file(), digest = image->digest();
  clock::Duration pause{0};
  Status swapped = Announce(plugin, image);
  if (swapped.ok()) swapped = SwapControllers(plugin, image, &pause);
  swaps_.With({plugin.name, swapped.ok() ? "success" : "failure"}).Add();
  {
    const std::lock_guard lock(mutex_);
    plugin.last_error = swapped.ok() ? "" : swapped.error().message;
    plugin.incoming.reset();
  }
  if (!swapped.ok()) {
    environment_.log.Error(
        swapped.error().message, "Swap failed, the old build keeps running",
        {{"plugin", plugin.name}, {"build", to.build_id}, {"file", file}, {"by", order.by}});
    if (image != plugin.previous) Drop(std::move(image));
    return swapped;
  }
  std::vector<std::shared_ptr<Image>> over;
  {
    const std::lock_guard lock(mutex_);
    over = TakePlace(plugin, std::move(image), order);
    plugin.last_pause = pause;
    ++plugin.swaps;
  }
  ExchangeControllers(plugin, from);
  info_.Remove({plugin.name, from.version, from.vendor, from.build_id});
  info_.With({plugin.name, to.version, to.vendor, to.build_id}).Set(1);
  environment_.log.Info(0, order.undoes.empty() ? "Plugin swapped" : "Plugin rolled back",
                        {{"plugin", plugin.name},
                         {"from", from.build_id},
                         {"to", to.build_id},
                         {"version", to.version},
                         {"file", file},
                         {"digest", digest.substr(0, 12)},
                         {"by", order.by},
                         {"pauseMs", std::chrono::duration<double, std::milli>(pause).count()}});
  for (std::shared_ptr<Image>& build : over) Drop(std::move(build));
  RetryDrops();
  WakeMaintainer();  // a probation may have begun
  return Ok();
}

// The loader runs code of the plugin when it unmaps: never under a mutex.
void Manager::Drop(std::shared_ptr<Image> image) {
  if (!image) return;
  // Objects that the plugin's code still holds, or a thread of it, keep the image for now.
  const bool held = image.use_count() > 1 || image->handles()->load(std::memory_order_acquire) > 0;
  const bool kept = held || !image->Unload();
  if (kept && !held)
    environment_.log.Warning(
        "Old build can not be unmapped and stays in memory",
        {{"plugin", image->declaration().name}, {"build", image->declaration().build_id}});
  {
    const std::lock_guard lock(mutex_);
    if (kept) kept_.push_back(std::move(image));
    kept_images_.With({}).Set(static_cast<double>(kept_.size()));
  }
  if (kept) WakeMaintainer();  // it tries again
}

void Manager::RetryDrops() {
  std::vector<std::shared_ptr<Image>> free;
  {
    const std::lock_guard lock(mutex_);
    const auto first_free =
        std::stable_partition(kept_.begin(), kept_.end(), [](const std::shared_ptr<Image>& i) {
          return i.use_count() > 1 || i->handles()->load(std::memory_order_acquire) > 0;
        });
    free.assign(std::make_move_iterator(first_free), std::make_move_iterator(kept_.end()));
    kept_.erase(first_free, kept_.end());
  }
  std::erase_if(free, [](const std::shared_ptr<Image>& i) { return i->Unload(); });
  const std::lock_guard lock(mutex_);
  kept_.insert(kept_.end(), std::make_move_iterator(free.begin()),
               std::make_move_iterator(free.end()));
  kept_images_.With({}).Set(static_cast<double>(kept_.size()));
}

std::string Manager::ProbationProblem(const std::vector<std::shared_ptr<Controller>>& controllers) {
  for (const auto& controller : controllers) {
    if (const Status s = controller->Health(); !s.ok()) return s.error().message;
    const RunCounts c = controller->counts();
    if (c.errors >= kErrorsTolerated && c.errors * 2 >= c.runs)
      return controller->name() + ": " + std::to_string(c.errors) + " of " +
             std::to_string(c.runs) + " reconciles failed";
  }
  return {};
}

void Manager::SwapBack(Plugin& plugin, const std::string& problem) {
  environment_.log.Error(problem, "New build fails its probation, going back to the old one",
                         {{"plugin", plugin.name}});
  std::shared_ptr<Image> back = plugin.previous;
  const Status s = SwapTo(plugin, std::move(back),
                          {.by = "its probation", .probation = false, .undoes = problem});
  const std::lock_guard lock(mutex_);
  plugin.last_error = problem + (s.ok() ? "" : "; rollback failed: " + s.error().message);
  if (s.ok()) return;
  clock::Duration delay = kFirstRetry;
  for (int i = 0; i < plugin.back_tries && delay < kLastRetry; ++i) delay *= 2;
  ++plugin.back_tries;
  plugin.back_next = environment_.clock->Monotonic() + std::min<clock::Duration>(delay, kLastRetry);
}

// Looked at without a claim, as health() may take its time; acted upon with one.
bool Manager::CheckProbation(const std::string& name) {
  std::vector<std::shared_ptr<Controller>> controllers;
  std::shared_ptr<Image> build;
  clock::MonoTime ends;
  const clock::MonoTime now = environment_.clock->Monotonic();
  {
    const std::lock_guard lock(mutex_);
    const auto it = plugins_.find(name);
    if (it == plugins_.end() || !it->second->previous) return false;
    if (it->second->operation || it->second->back_next > now) return true;
    for (const auto& [ignored, c] : it->second->controllers) controllers.push_back(c);
    build = it->second->image;
    ends = it->second->probation_ends;
  }
  const std::string problem = ProbationProblem(controllers);
  controllers.clear();
  if (problem.empty() && now < ends) return true;
  Result<Claim> claim = Want(name, problem.empty() ? "probation's end" : "swap back");
  if (!claim.ok()) return claim.code() == Code::kConflict;
  if (!(*claim)->previous || (*claim)->image != build) return true;  // swapped meanwhile
  build.reset();
  if (!problem.empty()) {
    (void)Begin(*std::move(claim), [this, problem](Claim& c) { SwapBack(*c, problem); });
    return true;
  }
  std::shared_ptr<Image> old;
  {
    const std::lock_guard lock(mutex_);
    old = std::exchange((*claim)->previous, nullptr);
  }
  environment_.log.Info(1, "New build has passed its probation", {{"plugin", name}});
  Drop(std::move(old));
  return false;
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
    bool open = false;
    std::vector<std::string> in_probation, due;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [name, plugin] : plugins_) {
        if (plugin->previous) in_probation.push_back(name);
        if (RetriesDue(*plugin, &open)) due.push_back(name);
      }
    }
    for (const std::string& name : in_probation) open = CheckProbation(name) || open;
    for (const std::string& name : due)
      if (Result<Claim> claim = Want(name, "start"); claim.ok())
        (void)Begin(*std::move(claim), [this](Claim& c) { RunRetries(*c); });
    (void)retired_.SomeEnded();
    RetryDrops();
    CountHung();
    bool kept = false;
    {
      const std::lock_guard lock(mutex_);
      kept = !kept_.empty() || !hung_counts_.empty();
    }
    const std::lock_guard lock(maintain_mutex_);
    maintain_ = maintain_ || open || kept;
  }
}

Status Manager::SwapFile(const std::string& file, const std::string& by) {
  Result<std::shared_ptr<Image>> image = LoadFile(file);
  if (!image.ok()) return image.error();
  const std::string name = (*image)->declaration().name;
  const Result<Claim> claim = Want(name, "swap");
  if (!claim.ok() && claim.code() == Code::kNotFound)
    return MakeError(Code::kNotFound,
                     file + ": plugin " + name +
                         " is not loaded: put the file into a plugin directory to add it");
  if (!claim.ok()) return claim.error();
  return SwapTo(**claim, *std::move(image), {.by = by, .given = file});
}

Status Manager::Rollback(const std::string& name, const std::string& by) {
  const Result<Claim> claim = Want(name, "rollback");
  if (!claim.ok()) return claim.error();
  if (const Plugin& plugin = **claim; !plugin.previous)
    return MakeError(Code::kNotFound,
                     plugin.taken_back
                         ? "plugin " + name + ": build " + plugin.taken_back->build +
                               " was already taken back (" + plugin.taken_back->why + "), build " +
                               plugin.image->declaration().build_id +
                               " runs; to try the other one again, swap its file in"
                         : "plugin " + name + " has no earlier build in memory: " +
                               (plugin.swaps == 0 ? "it was not swapped since the host started"
                                                  : "its probation is over") +
                               "; install the old file");
  std::shared_ptr<Image> back = (*claim)->previous;
  return SwapTo(**claim, std::move(back),
                {.by = by, .probation = false, .undoes = "rolled back on request"});
}

}  // namespace kcm::host::plugin
