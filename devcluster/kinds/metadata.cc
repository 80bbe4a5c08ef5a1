// SPDX-License-Identifier: Apache-2.0
// Metadata rules.
#include "devcluster/kinds/metadata.h"

#include <algorithm>
#include <set>

#include "devcluster/api/api_error.h"
#include "devcluster/kinds/fields.h"
#include "kcm/rules/name_validation.h"

namespace kcm::devcluster::kinds {

namespace {

constexpr int64_t kAnnotationBytes = 256 * 1024;

void AddFaults(FieldErrors& out, const std::string& path, std::string_view value,
               const Faults& faults) {
  for (const std::string& fault : faults) out.push_back(InvalidValue(path, GoQuote(value), fault));
}

FieldErrors ValidateAnnotations(const Json* annotations) {
  FieldErrors out;
  if (annotations == nullptr || !annotations->is_object()) return out;
  int64_t bytes = 0;
  for (const auto& [key, value] : annotations->items()) {
    std::string lower = key;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
    // Upper case is allowed in annotation keys: the lower-case form is checked, the given one
    // shown.
    AddFaults(out, "metadata.annotations", key, rules::ValidateQualifiedName(lower));
    bytes += static_cast<int64_t>(
        key.size() + (value.is_string() ? value.get_ref<const std::string&>().size() : 0));
  }
  if (bytes > kAnnotationBytes) out.push_back(TooLong("metadata.annotations", kAnnotationBytes));
  return out;
}

FieldErrors ValidateOwners(const Json& object, const Schema& schema) {
  FieldErrors out;
  const Message* message = schema.Find("meta.v1.OwnerReference");
  const Json& owners = Items(object, "metadata.ownerReferences");
  std::string controller;
  for (const Json& owner : owners) {
    const auto required = [&](const char* name) {
      if (KeyText(owner, name).empty()) {
        out.push_back(InvalidValue(std::string("metadata.ownerReferences.") + name, "\"\"",
                                   "must not be empty"));
      }
    };
    const std::string_view version = KeyText(owner, "apiVersion"), kind = KeyText(owner, "kind");
    if (version.empty() || version.back() == '/') {
      out.push_back(InvalidValue("metadata.ownerReferences.apiVersion", GoQuote(version),
                                 "version must not be empty"));
    }
    required("kind");
    required("name");
    required("uid");
    if (kind == "Event" && (version == "v1" || version == "events.k8s.io/v1")) {
      const std::string gv = version == "v1" ? "/v1" : std::string(version);
      out.push_back(InvalidValue("metadata.ownerReferences", Dump(owner, message),
                                 gv + ", Kind=Event is disallowed from being an owner"));
    }
    if (!Flag(owner, "controller")) continue;
    const std::string name = std::string(kind) + "/" + std::string(KeyText(owner, "name"));
    if (!controller.empty()) {
      out.push_back(InvalidValue(
          "metadata.ownerReferences", Dump(owners, message),
          "Only one reference can have Controller set to true. Found \"true\" in references for " +
              controller + " and " + name));
    } else {
      controller = name;
    }
  }
  return out;
}

FieldErrors ValidateFinalizers(const Json& object) {
  FieldErrors out;
  const Json& list = Items(object, "metadata.finalizers");
  bool orphan = false, foreground = false;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string name = list[i].is_string() ? list[i].get<std::string>() : "";
    const std::string path = "metadata.finalizers[" + std::to_string(i) + "]";
    AddFaults(out, path, name, rules::ValidateQualifiedName(name));
    orphan = orphan || name == "orphan";
    foreground = foreground || name == "foregroundDeletion";
    const bool standard = name == "orphan" || name == "foregroundDeletion" || name == "kubernetes";
    if (!standard && name.find('/') == std::string::npos) {
      out.push_back(
          InvalidValue(path, GoQuote(name),
                       "name is neither a standard finalizer name nor is it fully qualified"));
    }
  }
  if (orphan && foreground) {
    out.push_back(InvalidValue("metadata.finalizers", list.dump(),
                               "finalizer orphan and foregroundDeletion cannot be both set"));
  }
  return out;
}

// What create and update check alike.
FieldErrors ValidateCommon(const Json& object, const Schema& schema) {
  FieldErrors out;
  const int64_t generation = Integer(object, "metadata.generation");
  if (generation < 0) {
    out.push_back(InvalidValue("metadata.generation", std::to_string(generation),
                               "must be greater than or equal to 0"));
  }
  Append(out, ValidateLabels(Find(object, "metadata.labels"), "metadata.labels"));
  Append(out, ValidateAnnotations(Find(object, "metadata.annotations")));
  Append(out, ValidateOwners(object, schema));
  Append(out, ValidateFinalizers(object));
  return out;
}

}  // namespace

void Append(FieldErrors& to, FieldErrors more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

FieldErrors ValidateLabels(const Json* labels, const std::string& path) {
  FieldErrors out;
  if (labels == nullptr || !labels->is_object()) return out;
  for (const auto& [key, value] : labels->items()) {
    AddFaults(out, path, key, rules::ValidateQualifiedName(key));
    const std::string text = value.is_string() ? value.get<std::string>() : "";
    AddFaults(out, path, text, rules::ValidateLabelValue(text));
  }
  return out;
}

FieldErrors ValidateMetadata(const Json& object, NameRule rule, const Schema& schema) {
  FieldErrors out;
  const std::string_view prefix = Text(object, "metadata.generateName"),
                         name = Text(object, "metadata.name");
  if (!prefix.empty())
    AddFaults(out, "metadata.generateName", prefix, CheckNamePrefix(rule, prefix));
  if (name.empty()) {
    out.push_back(Required("metadata.name", "name or generateName is required"));
  } else {
    AddFaults(out, "metadata.name", name, CheckName(rule, name));
  }
  Append(out, ValidateCommon(object, schema));
  return out;
}

FieldErrors ValidateMetadataUpdate(const Json& object, const Json& old, const Schema& schema) {
  FieldErrors out;
  if (Find(old, "metadata.deletionTimestamp") != nullptr) {
    std::set<std::string> before;
    for (const Json& f : Items(old, "metadata.finalizers")) before.insert(f.get<std::string>());
    std::string added;
    for (const Json& f : Items(object, "metadata.finalizers")) {
      if (!before.contains(f.get<std::string>()))
        added += (added.empty() ? "" : ", ") + GoQuote(f.get<std::string>());
    }
    if (!added.empty()) {
      const FieldError error =
          ForbiddenField("metadata.finalizers",
                         "no new finalizers can be added if the object is being deleted, "
                         "found new finalizers []string{" +
                             added + "}");
      out.push_back(error);
      out.push_back(error);
    }
  }
  for (const char* name : {"name", "namespace", "uid", "creationTimestamp", "deletionTimestamp",
                           "deletionGracePeriodSeconds"}) {
    const std::string path = std::string("metadata.") + name;
    if (SameMember(object, old, path)) continue;
    const Json* now = Find(object, path);
    const FieldError error =
        InvalidValue(path, now == nullptr ? "null" : now->dump(), "field is immutable");
    out.push_back(error);
    out.push_back(error);
  }
  Append(out, ValidateCommon(object, schema));
  return out;
}

void DeduplicateOwners(Json& object, const RequestInfo& info) {
  Json* owners = Find(object, "metadata.ownerReferences");
  if (owners == nullptr || !owners->is_array() || owners->size() < 2) return;
  std::set<std::string> seen;
  std::vector<std::string> repeated;
  Json kept = Json::array();
  for (const Json& owner : *owners) {
    const std::string uid(KeyText(owner, "uid"));
    if (uid.empty() || seen.insert(uid).second) {
      kept.push_back(owner);
    } else if (std::find(repeated.begin(), repeated.end(), uid) == repeated.end()) {
      repeated.push_back(uid);
    }
  }
  if (repeated.empty()) return;
  std::string uids;
  for (const std::string& uid : repeated) uids += (uids.empty() ? "" : ", ") + uid;
  if (info.warnings != nullptr) {
    info.warnings->push_back(
        ".metadata.ownerReferences contains duplicate entries; API server dedups owner references "
        "in "
        "1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate "
        "UID(s) observed: " +
        uids);
  }
  *owners = std::move(kept);
}

}  // namespace kcm::devcluster::kinds
