// SPDX-License-Identifier: Apache-2.0
// Group-versions of others (api_services.h).
#include "devcluster/server/api_services.h"

#include "devcluster/server/convert.h"
#include "devcluster/server/crd.h"
#include "devcluster/server/write.h"

namespace kcm::devcluster {

using host::wire::ObjectPtr;

namespace {

const Gvr kApiServices{"apiregistration.k8s.io", "v1", "apiservices"};

Json Availability(const State& state, const Json& service) {
  const std::string ns = TextAt(service, {"namespace"}), name = TextAt(service, {"name"});
  const bool there = state.reader->Get(Gvr{"", "v1", "services"}, ns, name).has_value();
  const std::string now = FormatSeconds(state.clock->Now());
  if (!there) {
    return {{"type", "Available"},
            {"status", "False"},
            {"reason", "ServiceNotFound"},
            {"message", "service/" + name + " in \"" + ns + "\" is not present"},
            {"lastTransitionTime", now}};
  }
  return {{"type", "Available"},
          {"status", "False"},
          {"reason", "FailedDiscoveryCheck"},
          {"message", "service/" + name + " in \"" + ns +
                          "\" can not be reached: this API server forwards to no other"},
          {"lastTransitionTime", now}};
}

}  // namespace

void ApiServices::Serve(const std::string& name) {
  const ResourcePtr r = state_->resources->Find(kApiServices);
  if (!r) return;
  const ObjectPtr stored = state_->store->Get(*r->table, name);
  if (!stored) return;
  const Json object = Editable(*stored, r->stored_type);
  const Json* service = Find(object, {"spec", "service"});
  if (service == nullptr || !service->is_object()) return Drop(name);
  {
    const std::lock_guard lock(mutex_);
    versions_[name] = {TextAt(object, {"spec", "group"}), TextAt(object, {"spec", "version"})};
  }
  EditStored(*state_, *r, name, false, [&](Json& next) {
    const Json wanted = Availability(*state_, *service);
    Json& status = next["status"];
    if (!status.is_object()) status = Json::object();
    const Json* now = Find(status, {"conditions"});
    if (now != nullptr && now->is_array() && now->size() == 1 &&
        TextAt((*now)[0], {"reason"}) == TextAt(wanted, {"reason"}))
      return false;
    status["conditions"] = Json::array({wanted});
    return true;
  });
}

void ApiServices::Drop(const std::string& name) {
  const std::lock_guard lock(mutex_);
  versions_.erase(name);
}

std::shared_ptr<const ResourceSet> ApiServices::Announced() const {
  std::shared_ptr<const ResourceSet> served = state_->resources->Current();
  const std::lock_guard lock(mutex_);
  std::shared_ptr<ResourceSet> all;
  for (const auto& [name, version] : versions_) {
    if (served->Version(version.first, version.second) != nullptr) continue;
    if (!all) all = std::make_shared<ResourceSet>(*served);
    all->versions.push_back({version.first, version.second, {}});
  }
  return all ? all : served;
}

std::shared_ptr<const ResourceSet> Announced(const State& state) {
  return state.custom == nullptr ? state.resources->Current() : state.custom->groups().Announced();
}

Answer BackendUnavailable() {
  Answer a = Answer::Of(503, "service unavailable\n");
  a.content_type = "text/plain; charset=utf-8";
  return a;
}

}  // namespace kcm::devcluster
