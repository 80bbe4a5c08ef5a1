// SPDX-License-Identifier: Apache-2.0
// Served resources (resources.h).
#include "devcluster/server/resources.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace kcm::devcluster {

const Subresource* Resource::Sub(const std::string& name) const {
  for (const Subresource& s : kind->subresources) {
    if (s.name == name) return &s;
  }
  return nullptr;
}

bool Resource::HasVerb(const std::string& verb) const {
  return std::find(kind->verbs.begin(), kind->verbs.end(), verb) != kind->verbs.end();
}

const GroupVersionResources* ResourceSet::Version(const std::string& group,
                                                  const std::string& version) const {
  for (const GroupVersionResources& v : versions) {
    if (v.group == group && v.version == version) return &v;
  }
  return nullptr;
}

bool ResourceSet::HasGroup(const std::string& group) const {
  return std::any_of(versions.begin(), versions.end(),
                     [&](const GroupVersionResources& v) { return v.group == group; });
}

std::string GroupVersion(const std::string& group, const std::string& version) {
  return group.empty() ? version : group + "/" + version;
}

namespace {

// "v1beta2" as {stage, major, minor}; GA is the highest stage, what is no such version has none.
struct VersionRank {
  int stage = 0;
  int64_t major = 0, minor = 0;
};

// Takes a number without leading zeros off `text`, 0 when there is none.
int64_t TakeNumber(std::string_view* text) {
  int64_t n = 0;
  size_t digits = 0;
  while (digits < text->size() && digits < 9 && (*text)[digits] >= '0' && (*text)[digits] <= '9')
    n = n * 10 + ((*text)[digits++] - '0');
  if (digits == 0 || text->front() == '0') return 0;
  text->remove_prefix(digits);
  return n;
}

VersionRank RankOf(std::string_view version) {
  VersionRank rank;
  if (!version.starts_with('v')) return {};
  version.remove_prefix(1);
  rank.major = TakeNumber(&version);
  if (rank.major == 0) return {};
  rank.stage = 3;
  if (version.empty()) return rank;
  const bool beta = version.starts_with("beta");
  if (!beta && !version.starts_with("alpha")) return {};
  version.remove_prefix(std::string_view(beta ? "beta" : "alpha").size());
  rank.stage = beta ? 2 : 1;
  rank.minor = TakeNumber(&version);
  if (rank.minor != 0 && version.empty()) return rank;
  return {};
}

}  // namespace

bool VersionBefore(const std::string& x, const std::string& y) {
  const VersionRank a = RankOf(x), b = RankOf(y);
  if (a.stage == 0 && b.stage == 0) return x < y;
  return std::tie(b.stage, b.major, b.minor) < std::tie(a.stage, a.major, a.minor);
}

Resources::Resources(const KindRegistry* kinds, Store* store) : kinds_(kinds), store_(store) {
  for (const auto& kind : kinds_->BuiltIn()) built_in_.push_back(Make(kind));
  Publish();
}

std::shared_ptr<const ResourceSet> Resources::Current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

ResourcePtr Resources::Find(const Gvr& gvr) const {
  const std::shared_ptr<const ResourceSet> set = Current();
  const auto it = set->by_gvr.find(gvr);
  return it == set->by_gvr.end() ? nullptr : it->second;
}

void Resources::SetCustom(const std::string& crd,
                          std::vector<std::shared_ptr<const ResourceKind>> kinds) {
  const std::lock_guard lock(mutex_);
  if (kinds.empty()) {
    custom_.erase(crd);
  } else {
    std::vector<ResourcePtr>& slot = custom_[crd];
    slot.clear();
    for (const auto& kind : kinds) slot.push_back(Make(kind));
  }
  Publish();
}

ResourcePtr Resources::Make(const std::shared_ptr<const ResourceKind>& kind) {
  auto r = std::make_shared<Resource>();
  const Gvr& gvr = kind->gvr;
  r->kind = kind;
  r->type = {GroupVersion(gvr.group, gvr.version), kind->kind};
  r->list_type = {r->type.api_version,
                  kind->list_kind.empty() ? kind->kind + "List" : kind->list_kind};
  const bool own_store = kind->storage_version.empty();
  const std::string group = own_store ? gvr.group : kind->storage_group;
  r->stored_type = {own_store ? r->type.api_version : GroupVersion(group, kind->storage_version),
                    kind->kind};
  r->stored_form = !kind->from_storage;
  r->table = store_->OpenTable(group + "/" + gvr.resource, r->stored_type);
  if (!kind->custom)
    r->message = std::string(host::wire::MessageFor(r->type.api_version, kind->kind));
  return r;
}

void Resources::Publish() {
  auto set = std::make_shared<ResourceSet>();
  const auto add = [&](const ResourcePtr& r) {
    const Gvr& gvr = r->gvr();
    set->by_gvr[gvr] = r;
    for (GroupVersionResources& v : set->versions) {
      if (v.group == gvr.group && v.version == gvr.version) {
        v.resources.push_back(r);
        return;
      }
    }
    set->versions.push_back({gvr.group, gvr.version, {r}});
  };
  for (const ResourcePtr& r : built_in_) add(r);
  const std::vector<std::string>& order = kinds_->GroupOrder();
  const auto rank = [&](const std::string& group) {
    if (group.empty()) return size_t{0};
    return 1 + static_cast<size_t>(std::find(order.begin(), order.end(), group) - order.begin());
  };
  std::stable_sort(set->versions.begin(), set->versions.end(),
                   [&](const auto& x, const auto& y) { return rank(x.group) < rank(y.group); });
  for (const auto& [crd, kinds] : custom_) {
    for (const ResourcePtr& r : kinds) add(r);
  }
  // Groups of CRDs keep their order; in each the preferred version comes first.
  const auto custom = [](const GroupVersionResources& v) { return v.resources[0]->kind->custom; };
  const auto begin = std::find_if(set->versions.begin(), set->versions.end(), custom);
  std::vector<std::string> groups;
  for (auto v = begin; v != set->versions.end(); ++v) groups.push_back(v->group);
  const auto place = [&](const std::string& group) {
    return std::find(groups.begin(), groups.end(), group);
  };
  std::stable_sort(begin, set->versions.end(), [&](const auto& x, const auto& y) {
    return x.group == y.group ? VersionBefore(x.version, y.version)
                              : place(x.group) < place(y.group);
  });
  current_ = std::move(set);
}

}  // namespace kcm::devcluster
