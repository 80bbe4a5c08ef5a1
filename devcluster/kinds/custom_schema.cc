// SPDX-License-Identifier: Apache-2.0
// Structural schemas: pruning, defaults, and the check of the schema itself.
#include "devcluster/kinds/custom_schema.h"

#include <algorithm>

#include "devcluster/api/api_error.h"
#include "devcluster/kinds/cel.h"
#include "devcluster/kinds/custom_schema_rules.h"
#include "devcluster/kinds/fields.h"
#include "devcluster/kinds/merge_keys.h"
#include "devcluster/kinds/regex.h"

namespace kcm::devcluster::kinds {

namespace {

const Json* Properties(const Json& schema) {
  const Json* p = Key(schema, "properties");
  return p != nullptr && p->is_object() ? p : nullptr;
}

// The schema of entries that `properties` does not name; nullptr: none are allowed or none is
// known.
const Json* Additional(const Json& schema) {
  const Json* a = Key(schema, "additionalProperties");
  return a != nullptr && a->is_object() ? a : nullptr;
}

bool AllowsAny(const Json& schema) {
  const Json* a = Key(schema, "additionalProperties");
  return Flag(schema, "x-kubernetes-preserve-unknown-fields") ||
         (a != nullptr && a->is_boolean() && a->get<bool>());
}

bool Always(std::string_view name) {
  return name == "apiVersion" || name == "kind" || name == "metadata";
}

void PruneIn(Json& value, const Json& schema, const std::string& path, bool whole_object,
             std::vector<std::string>* unknown, int depth) {
  if (depth > kMaxSchemaDepth) return;
  if (value.is_array()) {
    const Json* items = Key(schema, "items");
    if (items == nullptr || !items->is_object()) return;
    for (size_t i = 0; i < value.size(); ++i)
      PruneIn(value[i], *items, path + "[" + std::to_string(i) + "]", false, unknown, depth + 1);
    return;
  }
  if (!value.is_object()) return;
  whole_object = whole_object || Flag(schema, "x-kubernetes-embedded-resource");
  const Json *properties = Properties(schema), *additional = Additional(schema);
  for (auto it = value.begin(); it != value.end();) {
    const std::string at = path.empty() ? it.key() : path + "." + it.key();
    const Json* member = properties == nullptr ? nullptr : Key(*properties, it.key());
    if (member == nullptr) member = additional;
    if (whole_object && Always(it.key())) {
      ++it;
    } else if (member != nullptr) {
      PruneIn(*it, *member, at, false, unknown, depth + 1);
      ++it;
    } else if (AllowsAny(schema)) {
      ++it;
    } else {
      if (unknown != nullptr) unknown->push_back(at);
      it = value.erase(it);
    }
  }
}

void DefaultIn(Json& value, const Json& schema, int depth) {
  if (depth > kMaxSchemaDepth) return;
  if (value.is_array()) {
    if (const Json* items = Key(schema, "items"); items != nullptr && items->is_object()) {
      for (Json& item : value) DefaultIn(item, *items, depth + 1);
    }
    return;
  }
  if (!value.is_object()) return;
  if (const Json* properties = Properties(schema)) {
    for (const auto& [name, member] : properties->items()) {
      if (!member.is_object()) continue;
      const auto it = value.find(name);
      const Json* by_default = Key(member, "default");
      // null counts as absent where null is not allowed.
      const bool absent = it == value.end() || (it->is_null() && !Flag(member, "nullable"));
      if (absent && by_default != nullptr) value[name] = *by_default;
      if (const auto now = value.find(name); now != value.end()) DefaultIn(*now, member, depth + 1);
    }
  }
  if (const Json* additional = Additional(schema)) {
    const Json* properties = Properties(schema);
    for (auto& [name, member] : value.items()) {
      if (properties == nullptr || !properties->contains(name))
        DefaultIn(member, *additional, depth + 1);
    }
  }
}

FieldShape ListShape(const Json& schema) {
  FieldShape s;
  const std::string_view type = Text(schema, "x-kubernetes-list-type");
  const Json* items = Key(schema, "items");
  if (type == "set") s.list = FieldShape::List::kSet;
  if (type != "map" || items == nullptr) return s;
  s.list = FieldShape::List::kKeyed;
  s.atomic_map = Text(*items, "x-kubernetes-map-type") == "atomic";
  const Json* properties = Properties(*items);
  for (const Json& key : Items(schema, "x-kubernetes-list-map-keys")) {
    if (!key.is_string()) continue;
    s.keys.push_back(key);
    const Json* member = properties == nullptr ? nullptr : Key(*properties, s.keys.back());
    const Json* by_default = member == nullptr ? nullptr : Key(*member, "default");
    if (by_default != nullptr) s.key_defaults[s.keys.back()] = *by_default;
  }
  return s;
}

void CheckIn(const Json& schema, const std::string& path, bool needs_type,
             std::vector<FieldError>* out, int depth) {
  if (depth > kMaxSchemaDepth) {
    out->push_back(InvalidValue(path, "\"object\"", "nests too deeply"));
    return;
  }
  if (!schema.is_object()) {
    out->push_back(InvalidValue(path, "\"\"", "must be an object"));
    return;
  }
  const std::string type(Text(schema, "type"));
  const bool free = Flag(schema, "x-kubernetes-int-or-string") ||
                    Flag(schema, "x-kubernetes-preserve-unknown-fields");
  static const std::vector<std::string>* const kTypes =
      new std::vector<std::string>{"array", "boolean", "integer", "number", "object", "string"};
  if (type.empty() && needs_type && !free)
    out->push_back(Required(path + ".type", "must not be empty for specified object fields"));
  if (!type.empty() && std::find(kTypes->begin(), kTypes->end(), type) == kTypes->end())
    out->push_back(NotSupported(path + ".type", GoQuote(type), *kTypes));
  if (const std::string pattern(Text(schema, "pattern")); !pattern.empty()) {
    const Result<Regex> regex = Regex::Compile(pattern);
    if (!regex.ok())
      out->push_back(InvalidValue(path + ".pattern", GoQuote(pattern), regex.error().message));
  }
  size_t i = 0;
  for (const Json& rule : Items(schema, "x-kubernetes-validations")) {
    const std::string at = path + ".x-kubernetes-validations[" + std::to_string(i++) + "].rule";
    const std::string text(Text(rule, "rule"));
    const Result<cel::Program> program = cel::Program::Compile(text, {"self", "oldSelf"});
    if (!program.ok()) {
      out->push_back(
          InvalidValue(at, GoQuote(text), "compilation failed: " + program.error().message));
    } else if (program->ResultType() && *program->ResultType() != cel::Value::Type::kBool) {
      out->push_back(InvalidValue(at, GoQuote(text), "cel expression must evaluate to a bool"));
    }
  }
  if (const Json* properties = Properties(schema)) {
    for (const auto& [name, member] : properties->items())
      CheckIn(member, path + ".properties[" + name + "]", true, out, depth + 1);
  }
  if (const Json* additional = Additional(schema))
    CheckIn(*additional, path + ".additionalProperties", true, out, depth + 1);
  if (const Json* items = Key(schema, "items")) {
    CheckIn(*items, path + ".items", true, out, depth + 1);
  } else if (type == "array") {
    out->push_back(Required(path + ".items", "must be specified"));
  }
}

}  // namespace

std::vector<FieldError> CustomSchema::Check(const Json& schema, const std::string& path) {
  std::vector<FieldError> out;
  CheckIn(schema, path, true, &out, 0);
  if (schema.is_object() && Text(schema, "type") != "object")
    out.push_back(
        InvalidValue(path + ".type", GoQuote(Text(schema, "type")), "must be object at the root"));
  return out;
}

CustomSchema::CustomSchema(Json schema)
    : schema_(std::move(schema)), rules_(std::make_unique<Rules>()) {}
CustomSchema::~CustomSchema() = default;

void CustomSchema::Prune(Json& object, std::vector<std::string>* unknown) const {
  PruneIn(object, schema_, "", true, unknown, 0);
}

void CustomSchema::SetDefaults(Json& object) const { DefaultIn(object, schema_, 0); }

FieldShape CustomSchema::Shape(std::string_view path) const {
  const Json* at = &schema_;
  bool whole_object = true;
  while (!path.empty()) {
    while (const Json* items = Key(*at, "items")) at = items;
    whole_object = whole_object || Flag(*at, "x-kubernetes-embedded-resource");
    const std::string name = TakeName(&path);
    if (whole_object && name == "metadata") return MetadataShape(path);
    whole_object = false;
    const Json* properties = Properties(*at);
    const Json* member = properties == nullptr ? nullptr : Key(*properties, name);
    if (member == nullptr) member = Additional(*at);
    // What no schema describes has granular maps and atomic lists.
    if (member == nullptr || !member->is_object()) return {};
    at = member;
  }
  if (Text(*at, "type") == "array") return ListShape(*at);
  FieldShape s;
  s.atomic_map = Text(*at, "x-kubernetes-map-type") == "atomic";
  return s;
}

std::vector<FieldError> CustomSchema::Validate(const Json& object, const Json* old) const {
  return SchemaCheck(*rules_).Run(schema_, object, old);
}

}  // namespace kcm::devcluster::kinds
