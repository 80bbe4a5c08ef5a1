// SPDX-License-Identifier: Apache-2.0
// Group-versions of others (api_services.h).
#include "devcluster/server/api_services.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "devcluster/server/backend.h"
#include "devcluster/server/convert.h"
#include "devcluster/server/crd.h"
#include "devcluster/server/write.h"

namespace kcm::devcluster {

using host::wire::ObjectPtr;

namespace {

const Gvr kApiServices{"apiregistration.k8s.io", "v1", "apiservices"};
constexpr std::chrono::seconds kCheckTimeout{5};

std::string NameOf(const std::string& group, const std::string& version) {
  return version + "." + group;
}

Json Condition(const Unavailable* why, const std::string& now) {
  return {{"type", "Available"},
          {"status", why == nullptr ? "True" : "False"},
          {"reason", why == nullptr ? "Passed" : why->reason},
          {"message", why == nullptr ? "all checks passed" : why->message},
          {"lastTransitionTime", now}};
}

// As a proxy without a backend answers.
Answer ServiceUnavailable(const std::string& text) {
  Answer a = Answer::Of(503, text + "\n");
  a.content_type = "text/plain; charset=utf-8";
  return a;
}

// Entries of an APIResourceList as aggregated discovery has them.
Json AggregatedForm(const Json& list) {
  Json out = Json::array();
  for (const Json& r : list) {
    const std::string name = TextAt(r, {"name"});
    if (name.empty() || name.find('/') != std::string::npos) continue;
    const Json* namespaced = Find(r, {"namespaced"});
    const bool scoped = namespaced != nullptr && *namespaced == true;
    const Json* verbs = Find(r, {"verbs"});
    out.push_back(
        {{"resource", name},
         {"responseKind", {{"group", ""}, {"version", ""}, {"kind", TextAt(r, {"kind"})}}},
         {"scope", scoped ? "Namespaced" : "Cluster"},
         {"singularResource", TextAt(r, {"singularName"})},
         {"verbs", verbs == nullptr ? Json::array() : *verbs}});
  }
  return out;
}

}  // namespace

std::optional<Json> ApiServices::Read(const std::string& name) {
  const ResourcePtr r = state_->resources->Find(kApiServices);
  if (!r) return std::nullopt;
  const std::lock_guard lock(mutex_);  // what was read last is what was written last
  const ObjectPtr stored = state_->store->Get(*r->table, name);
  Json object = stored ? Editable(*stored, r->stored_type) : Json();
  const Json* service = Find(object, {"spec", "service"});
  if (service == nullptr || !service->is_object()) {
    entries_.erase(name);
    return std::nullopt;
  }
  const Json* priority = Find(object, {"spec", "versionPriority"});
  entries_[name] = {
      TextAt(object, {"spec", "group"}), TextAt(object, {"spec", "version"}),
      priority != nullptr && priority->is_number_integer() ? priority->get<int64_t>() : 0,
      TextAt(*service, {"name"})};
  return object;
}

void ApiServices::ServeStored() {
  const ResourcePtr r = state_->resources->Find(kApiServices);
  if (!r) return;
  for (const ObjectPtr& object : state_->store->List(*r->table, "", "", 0).items)
    Serve(std::string(object->Name()));
}

void ApiServices::Serve(const std::string& name) {
  if (const std::optional<Json> object = Read(name)) Check(name, *object);
}

void ApiServices::ServiceChanged(const std::string& service) {
  std::vector<std::string> names;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, entry] : entries_) {
      if (entry.service == service) names.push_back(name);
    }
  }
  for (const std::string& name : names) Serve(name);
}

std::shared_ptr<const ResourceSet> ApiServices::Announced() const {
  std::shared_ptr<const ResourceSet> served = state_->resources->Current();
  std::vector<Entry> more;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, entry] : entries_) {
      if (served->Version(entry.group, entry.version) == nullptr) more.push_back(entry);
    }
  }
  if (more.empty()) return served;
  std::sort(more.begin(), more.end(), [](const Entry& x, const Entry& y) {
    return std::tie(x.group, y.priority, x.version) < std::tie(y.group, x.priority, y.version);
  });
  auto all = std::make_shared<ResourceSet>(*served);
  for (Entry& e : more) all->versions.push_back({std::move(e.group), std::move(e.version), {}});
  return all;
}

std::optional<Answer> ApiServices::Ask(const Json& api_service, const BackendCall& call,
                                       Unavailable* why) {
  const std::optional<Backend> backend = FindBackend(*state_, api_service, why);
  return backend ? Exchange(*backend, call, why) : std::nullopt;
}

Answer ApiServices::Forward(const Request& request) {
  const Target& t = request.target;
  if (t.legacy_watch || request.query.Flag("watch")) Fail(MethodNotAllowed());
  const std::string name = NameOf(t.group, t.version);
  const auto api_service = state_->reader->Get(kApiServices, "", name);
  if (!api_service) return ServiceUnavailable("service unavailable");
  BackendCall call;
  call.method = request.http->method;
  call.target = request.http->target;
  call.body = request.http->body;
  call.content_type = request.http->Header("Content-Type");
  if (const std::string_view accept = request.http->Header("Accept"); !accept.empty())
    call.accept = accept;
  call.user = request.user.name;
  call.groups = request.user.groups;
  Unavailable why;
  if (std::optional<Answer> answer = Ask(*api_service, call, &why)) return *std::move(answer);
  SetAvailable(name, &why);
  return ServiceUnavailable("service unavailable: " + why.message);
}

std::optional<Answer> ApiServices::Check(const std::string& name, const Json& api_service) {
  BackendCall call;
  call.method = "GET";
  call.target = "/apis/" + TextAt(api_service, {"spec", "group"}) + "/" +
                TextAt(api_service, {"spec", "version"});
  call.user = "system:kube-aggregator";
  call.groups = {"system:masters"};
  call.timeout = kCheckTimeout;
  Unavailable why;
  std::optional<Answer> answer = Ask(api_service, call, &why);
  if (answer && answer->code != 200) {
    why = {"FailedDiscoveryCheck",
           "bad status of " + call.target + ": " + std::to_string(answer->code)};
    answer.reset();
  }
  SetAvailable(name, answer ? nullptr : &why);
  return answer;
}

void ApiServices::SetAvailable(const std::string& name, const Unavailable* why) {
  const ResourcePtr r = state_->resources->Find(kApiServices);
  if (!r || !state_->store->Get(*r->table, name)) return;
  const Json wanted = Condition(why, FormatSeconds(state_->clock->Now()));
  try {
    EditStored(*state_, *r, name, false, [&](Json& next) {
      Json& status = next["status"];
      if (!status.is_object()) status = Json::object();
      const Json* now = Find(status, {"conditions"});
      if (now != nullptr && now->is_array() && now->size() == 1 &&
          TextAt((*now)[0], {"reason"}) == TextAt(wanted, {"reason"}))
        return false;
      status["conditions"] = Json::array({wanted});
      return true;
    });
  } catch (const Failure&) {
    // Removed or changed meanwhile: whoever did that looks again.
  }
}

Json ApiServices::Resources(const GroupVersionResources& version) {
  const std::string name = NameOf(version.group, version.version);
  const auto api_service = state_->reader->Get(kApiServices, "", name);
  if (!api_service) return nullptr;
  const std::optional<Answer> answer = Check(name, *api_service);
  if (!answer) return nullptr;
  const Json list = Json::parse(answer->body, nullptr, false);
  const Json* resources = list.is_object() ? Find(list, {"resources"}) : nullptr;
  if (resources == nullptr || !resources->is_array()) return nullptr;
  return AggregatedForm(*resources);
}

std::shared_ptr<const ResourceSet> Announced(const State& state) {
  return state.custom == nullptr ? state.resources->Current() : state.custom->groups().Announced();
}

}  // namespace kcm::devcluster
