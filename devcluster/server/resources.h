// SPDX-License-Identifier: Apache-2.0
// Resources: which resources the server serves, built-in and from CRDs. Readers take an immutable
// picture; a change of CRDs publishes a new one.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "devcluster/api/strategy.h"
#include "devcluster/server/store.h"
#include "host/wire/codec.h"

namespace kcm::devcluster {

// One served resource. Immutable.
struct Resource {
  std::shared_ptr<const ResourceKind> kind;
  Store::Table* table = nullptr;
  host::wire::TypeMeta type, list_type;
  host::wire::TypeMeta
      stored_type;  // as objects are stored; differs from `type` when two versions share a store
  std::string message;  // protobuf message, "" for kinds without one
  bool stored_form =
      true;  // answers can be made from the stored bytes: no conversion between versions

  const Gvr& gvr() const { return kind->gvr; }
  const Subresource* Sub(const std::string& name) const;
  bool HasVerb(const std::string& verb) const;
};
using ResourcePtr = std::shared_ptr<const Resource>;

struct GroupVersionResources {
  std::string group, version;
  std::vector<ResourcePtr> resources;  // discovery order
};

// Everything served at one moment.
struct ResourceSet {
  std::map<Gvr, ResourcePtr> by_gvr;
  std::vector<GroupVersionResources> versions;  // in the order of /apis; core first
  const GroupVersionResources* Version(const std::string& group, const std::string& version) const;
  bool HasGroup(const std::string& group) const;
};

std::string GroupVersion(const std::string& group, const std::string& version);
// Whether clients should prefer `x`: GA before beta before alpha, higher numbers first, then other
// names.
bool VersionBefore(const std::string& x, const std::string& y);

// Thread-safe.
class Resources {
 public:
  // Both must outlive this.
  Resources(const KindRegistry* kinds, Store* store);
  std::shared_ptr<const ResourceSet> Current() const;
  ResourcePtr Find(const Gvr& gvr) const;  // nullptr when not served
  // Replaces the kinds that came from the CRD of that name; an empty list removes them.
  void SetCustom(const std::string& crd, std::vector<std::shared_ptr<const ResourceKind>> kinds);

 private:
  ResourcePtr Make(const std::shared_ptr<const ResourceKind>& kind);
  void Publish();

  const KindRegistry* kinds_;
  Store* store_;
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<ResourcePtr>> custom_;
  std::vector<ResourcePtr> built_in_;
  std::shared_ptr<const ResourceSet> current_;
};

}  // namespace kcm::devcluster
