// SPDX-License-Identifier: Apache-2.0
// ClusterOfKinds: objects in a map, and writes that go through the kinds in the API server's order
// (spec C1, C2): what the recordings of single writes need, without HTTP, watches or deletion
// procedure.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "devcluster/api/api_error.h"
#include "devcluster/api/strategy.h"

namespace kcm::devcluster::kinds {

class ClusterOfKinds final : public Reader {
 public:
  ClusterOfKinds();

  struct Outcome {
    int status = 0;
    Json body;  // the object in the request's version, or the Status
    std::vector<std::string> warnings;
  };
  Outcome Create(const Gvr& gvr, const std::string& ns, Json body, bool dry_run = false);
  enum class PatchType { kPut, kMerge, kStrategic };
  Outcome Update(const Gvr& gvr, const std::string& ns, const std::string& name,
                 const std::string& subresource, const Json& body, PatchType type);
  Outcome Delete(const Gvr& gvr, const std::string& ns, const std::string& name);

  const ResourceKind* Kind(const Gvr& gvr) const;  // nullptr: not served
  const KindRegistry& registry() const { return *registry_; }
  std::optional<Json> Get(const Gvr& gvr, std::string_view ns,
                          std::string_view name) const override;
  std::vector<Json> List(const Gvr& gvr, std::string_view ns) const override;
  uint64_t AuthorizationRevision() const override { return revision_; }

  UserInfo user;
  std::string now = "2026-11-30T00:00:00Z";

 private:
  std::map<std::string, Json>& Store(const ResourceKind& kind) const;
  RequestInfo Info(Operation operation, const std::string& ns, const std::string& name,
                   std::vector<std::string>* warnings) const;
  Json Stored(const ResourceKind& kind, Json object) const;
  Json InVersion(const ResourceKind& kind, const Json& stored) const;
  Json Merged(const ResourceKind& kind, const Json& current, const Json& patch,
              const std::string& path, bool strategic) const;
  Outcome Refused(const ApiError& error, std::vector<std::string> warnings) const;
  void Apply(const std::vector<SideWrite>& writes);
  std::string NewUid();

  std::unique_ptr<KindRegistry> registry_;
  mutable std::map<std::string, std::map<std::string, Json>>
      objects_;  // by store, then "namespace/name"
  uint64_t revision_ = 1;
};

}  // namespace kcm::devcluster::kinds
