// SPDX-License-Identifier: Apache-2.0
// Binding of everything to the contract.
#include "devcluster/kinds/registry.h"

#include "devcluster/kinds/admission.h"
#include "devcluster/kinds/conversion.h"
#include "devcluster/kinds/decode.h"
#include "devcluster/kinds/defaults.h"
#include "devcluster/kinds/field_labels.h"
#include "devcluster/kinds/fields.h"
#include "devcluster/kinds/merge_keys.h"
#include "devcluster/kinds/seeds.h"
#include "devcluster/kinds/strategy.h"
#include "devcluster/kinds/tables.h"
#include "devcluster/kinds/validate.h"

namespace kcm::devcluster::kinds {

namespace {

const KindRow* KindRowOf(const Gvr& gvr) {
  for (const KindRow& row : KindRows()) {
    if (row.resource == gvr.resource && row.group == gvr.group && row.version == gvr.version)
      return &row;
  }
  return nullptr;
}

// Functions outlive the registry: they share the schema.
std::function<std::optional<std::string>(Json&, std::vector<std::string>*)> MakeDecoder(
    const std::shared_ptr<const Schema>& schema, const Message* message) {
  return [schema, message](Json& object, std::vector<std::string>* unknown) {
    return Decode(object, *message, unknown);
  };
}

std::shared_ptr<const ResourceKind> Bind(const KindRow& row,
                                         const std::shared_ptr<const Schema>& schema) {
  auto kind = std::make_shared<ResourceKind>(DescribeKind(row));
  const KindRow* r = &row;  // constant data
  const Message* message = schema->Find(row.message);
  if (message == nullptr) return kind;
  kind->decode = MakeDecoder(schema, message);
  if (row.resource == "nodes") {
    kind->decode = [decode = kind->decode](Json& object, std::vector<std::string>* unknown) {
      std::optional<std::string> fault = decode(object, unknown);
      return fault ? fault : NodeConversionFault(object);
    };
  }
  kind->canonicalise = [schema, message](Json& object) { Canonicalise(object, *message); };
  if (const Defaults defaults = DefaultsOf(kind->gvr)) kind->set_defaults = defaults;
  if (row.create_only || row.read_only) return kind;
  kind->prepare_create = [schema, message, r](Json& object, const RequestInfo& info) {
    PrepareCreate(*r, *message, object, info);
  };
  kind->prepare_update = [schema, message, r](Json& object, const Json& old,
                                              const RequestInfo& info) {
    PrepareUpdate(*r, *message, object, old, info);
  };
  kind->validate = [schema, r](const Json& object, const RequestInfo& info) {
    return ValidateCreate({*r, *schema, info}, object);
  };
  kind->validate_update = [schema, r](const Json& object, const Json& old,
                                      const RequestInfo& info) {
    return ValidateUpdate({*r, *schema, info}, object, old);
  };
  kind->field_labels = FieldLabelsOf(kind->gvr);
  if (!kind->field_labels.empty()) {
    kind->field_label = [gvr = kind->gvr](std::string_view key, const Json& object) {
      return FieldLabel(gvr, key, object);
    };
  }
  BindConversion(*kind);
  if (kind->to_storage) {
    // What a conversion leaves out is written as the other version's type demands.
    const Message* stored = schema->Find(
        row.resource == "events" ? "core.v1.Event" : "autoscaling.v2.HorizontalPodAutoscaler");
    kind->to_storage = [schema, stored, convert = kind->to_storage](const Json& given) {
      Json out = convert(given);
      Canonicalise(out, *stored);
      return out;
    };
    kind->from_storage = [schema, message, convert = kind->from_storage](const Json& object) {
      Json out = convert(object);
      Canonicalise(out, *message);
      return out;
    };
  }
  BindTable(*kind);
  return kind;
}

}  // namespace

Registry::Registry() : schema_(std::make_shared<const Schema>()), groups_(GroupsInOrder()) {
  for (const KindRow& row : KindRows()) kinds_.push_back(Bind(row, schema_));
}

KindRegistry::ListKey Registry::MergeKey(const Gvr& gvr, std::string_view schema_path) const {
  const KindRow* row = KindRowOf(gvr);
  const Message* message = row == nullptr ? nullptr : schema_->Find(row->message);
  return message == nullptr ? ListKey{} : MergeKeyAt(*message, schema_path);
}

std::function<std::optional<std::string>(Json&, std::vector<std::string>*)> Registry::DecoderOf(
    std::string_view message) const {
  const Message* found = schema_->Find(message);
  if (found == nullptr) return nullptr;
  return MakeDecoder(schema_, found);
}

std::vector<FieldError> Registry::ValidateMetadata(const Json& object, const Json* old) const {
  return old == nullptr ? kinds::ValidateMetadata(object, NameRule::kSubdomain, *schema_)
                        : ValidateMetadataUpdate(object, *old, *schema_);
}

std::optional<ApiError> Registry::Admit(const ResourceKind& kind, Json& object, const Json* old,
                                        const RequestInfo& info) const {
  if (Refusal r = RunAdmission({kind, object, old, info}, authorizer_)) return r;
  // Deletes have no later step in which policies could be asked.
  if (info.operation == Operation::kDelete) return AskPolicies(kind, Json(), old, info, programs_);
  return std::nullopt;
}

std::optional<ApiError> Registry::AdmitFinal(const ResourceKind& kind, const Json& object,
                                             const Json* old, const RequestInfo& info) const {
  Json copy;
  if (info.subresource == "resize") {
    copy = object;
    if (Refusal r = CheckResize({kind, copy, old, info})) return r;
  }
  if (Refusal r = AskPolicies(kind, object, old, info, programs_)) return r;
  return AdmitQuota(kind, object, old, info);
}

bool Registry::Authorize(const UserInfo& user, std::string_view verb, const Gvr& gvr,
                         std::string_view subresource, std::string_view ns, std::string_view name,
                         const Reader& reader, std::string* reason) const {
  return authorizer_.Allowed(user, {verb, gvr.group, gvr.resource, subresource, ns, name}, reader,
                             reason);
}

bool Registry::AuthorizeNonResource(const UserInfo& user, std::string_view verb,
                                    std::string_view path, const Reader& reader,
                                    std::string* reason) const {
  return authorizer_.AllowedUrl(user, verb, path, reader, reason);
}

std::vector<KindRegistry::Seed> Registry::Seeds() const { return FreshServer(); }

}  // namespace kcm::devcluster::kinds

namespace kcm::devcluster {

std::unique_ptr<KindRegistry> MakeKindRegistry() { return std::make_unique<kinds::Registry>(); }

}  // namespace kcm::devcluster
