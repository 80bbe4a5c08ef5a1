// SPDX-License-Identifier: Apache-2.0
// CustomSchema: the structural schema of a CustomResourceDefinition's version, and what it does to
// objects: drops what it does not name, fills defaults in, refuses what it does not allow.
//
// Types, enums, bounds, patterns (RE2), required members, allOf/anyOf/oneOf/not,
// additionalProperties, list types, x-kubernetes-preserve-unknown-fields, -embedded-resource,
// -int-or-string and -validations (CEL with self and oldSelf). `format` is checked for date-time,
// int32 and int64, others are free.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "devcluster/api/field_shape.h"
#include "devcluster/api/strategy.h"

namespace kcm::devcluster::kinds {

// Immutable, thread-safe.
class CustomSchema {
 public:
  // `schema`: openAPIV3Schema. Error: empty when it is a structural schema, else what is wrong, as
  // field errors below `path` ("spec.versions[0].schema.openAPIV3Schema").
  static std::vector<FieldError> Check(const Json& schema, const std::string& path);

  explicit CustomSchema(Json schema);
  ~CustomSchema();
  // Drops members that the schema does not have; their paths are appended to `unknown` (may be
  // nullptr).
  void Prune(Json& object, std::vector<std::string>* unknown) const;
  void SetDefaults(Json& object) const;
  // How apply sees the value at a path: x-kubernetes-list-type, -list-map-keys, -map-type.
  FieldShape Shape(std::string_view path) const;
  // `old`: nullptr at create; rules that name oldSelf hold for updates only.
  std::vector<FieldError> Validate(const Json& object, const Json* old) const;

 private:
  struct Rules;
  Json schema_;
  std::unique_ptr<Rules> rules_;  // compiled expressions and patterns
};

}  // namespace kcm::devcluster::kinds
