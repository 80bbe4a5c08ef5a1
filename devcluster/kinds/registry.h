// SPDX-License-Identifier: Apache-2.0
// The registry of built-in kinds: binds the table, the schema, defaults, strategies, validation,
// admission and tables.
#pragma once
#include <memory>

#include "devcluster/kinds/admission_policy.h"
#include "devcluster/kinds/authorizer.h"
#include "devcluster/kinds/resource_table.h"
#include "devcluster/kinds/schema.h"

namespace kcm::devcluster::kinds {

// Thread-safe: immutable but for the authorizer's index and compiled expressions, which
// have locks of their own.
class Registry final : public KindRegistry {
 public:
  Registry();
  const std::vector<std::shared_ptr<const ResourceKind>>& BuiltIn() const override {
    return kinds_;
  }
  const std::vector<std::string>& GroupOrder() const override { return groups_; }
  ListKey MergeKey(const Gvr& gvr, std::string_view schema_path) const override;
  std::function<std::optional<std::string>(Json& object, std::vector<std::string>* unknown)>
  DecoderOf(std::string_view message) const override;
  std::vector<FieldError> ValidateMetadata(const Json& object, const Json* old) const override;
  std::optional<ApiError> Admit(const ResourceKind& kind, Json& object, const Json* old,
                                const RequestInfo& info) const override;
  std::optional<ApiError> AdmitFinal(const ResourceKind& kind, const Json& object, const Json* old,
                                     const RequestInfo& info) const override;
  bool Authorize(const UserInfo& user, std::string_view verb, const Gvr& gvr,
                 std::string_view subresource, std::string_view ns, std::string_view name,
                 const Reader& reader, std::string* reason) const override;
  bool AuthorizeNonResource(const UserInfo& user, std::string_view verb, std::string_view path,
                            const Reader& reader, std::string* reason) const override;
  std::vector<Seed> Seeds() const override;

 private:
  std::shared_ptr<const Schema> schema_;
  std::vector<std::shared_ptr<const ResourceKind>> kinds_;
  std::vector<std::string> groups_;
  Authorizer authorizer_;
  mutable PolicyPrograms programs_;  // a cache
};

}  // namespace kcm::devcluster::kinds
