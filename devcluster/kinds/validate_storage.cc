// SPDX-License-Identifier: Apache-2.0
// Validation of volumes, claims and the storage group.
#include <set>

#include "devcluster/api/api_error.h"
#include "devcluster/kinds/fields.h"
#include "devcluster/kinds/go_diff.h"
#include "devcluster/kinds/validate.h"
#include "kcm/rules/json_node.h"
#include "kcm/rules/quantity.h"

namespace kcm::devcluster::kinds {

namespace {

constexpr const char* kClaimText =
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for "
    "bound claims\n";

// Members of a volume's spec that are no source.
const std::set<std::string_view>& PlainVolumeMembers() {
  static const std::set<std::string_view>* const kNames =
      new std::set<std::string_view>{"accessModes",      "capacity",
                                     "claimRef",         "mountOptions",
                                     "nodeAffinity",     "persistentVolumeReclaimPolicy",
                                     "storageClassName", "volumeAttributesClassName",
                                     "volumeMode"};  // never freed: no destructor runs at exit
  return *kNames;
}

Json SourceOf(const Json& volume) {
  Json spec = volume.value("spec", Json::object());
  for (const std::string_view name : PlainVolumeMembers()) spec.erase(std::string(name));
  return spec;
}

void AccessModes(FieldErrors& out, const Json& o) {
  const Json& modes = Items(o, "spec.accessModes");
  for (size_t i = 0; i < modes.size(); ++i) {
    const std::string mode = modes[i].is_string() ? modes[i].get<std::string>() : "";
    if (mode == "ReadWriteOnce" || mode == "ReadOnlyMany" || mode == "ReadWriteMany" ||
        mode == "ReadWriteOncePod")
      continue;
    out.push_back(
        NotSupported("spec.accessModes", GoQuote(mode),
                     {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"}));
  }
}

void ValidateVolume(FieldErrors& out, const Json& o) {
  if (Items(o, "spec.accessModes").empty()) out.push_back(Required("spec.accessModes", ""));
  AccessModes(out, o);
  const Json* capacity = Find(o, "spec.capacity");
  if (IsEmpty(capacity)) out.push_back(Required("spec.capacity", ""));
  if (IsEmpty(capacity) || Key(*capacity, "storage") == nullptr || capacity->size() > 1) {
    out.push_back(NotSupported("spec.capacity", capacity == nullptr ? "null" : capacity->dump(),
                               {"storage"}));
  }
  OneOf(out, o, "spec.persistentVolumeReclaimPolicy", {"Delete", "Recycle", "Retain"});
  const Json source = SourceOf(o);
  if (source.empty()) out.push_back(Required("spec", "must specify a volume type"));
  if (source.size() > 1)
    out.push_back(ForbiddenField("spec", "may not specify more than 1 volume type"));
}

void ValidateClaim(FieldErrors& out, const Json& o) {
  if (Items(o, "spec.accessModes").empty()) {
    out.push_back(Required("spec.accessModes", "at least 1 access mode is required"));
  }
  AccessModes(out, o);
  const Json* storage = Find(o, "spec.resources.requests.storage");
  if (storage == nullptr) {
    out.push_back(Required("spec.resources[storage]", ""));
  } else if (rules::Quantity::Of(rules::JsonNode(*storage)).Sign() <= 0) {
    out.push_back(
        InvalidValue("spec.resources[storage]", storage->dump(), "must be greater than zero"));
  }
}

void ValidateVolumeUpdate(FieldErrors& out, const Validation& v, const Json& o, const Json& old) {
  if (v.info.subresource == "status") return;
  ValidateVolume(out, o);
  if (SourceOf(o) != SourceOf(old)) {
    out.push_back(ForbiddenField(
        "spec.persistentvolumesource",
        "spec.persistentvolumesource is immutable after creation\n" + SourceOf(o).dump()));
  }
  if (!SameMember(o, old, "spec.volumeMode")) {
    const Json* mode = Find(o, "spec.volumeMode");
    out.push_back(
        InvalidValue("volumeMode", mode == nullptr ? "null" : mode->dump(), "field is immutable"));
  }
  if (Find(old, "spec.nodeAffinity") != nullptr && !SameMember(o, old, "spec.nodeAffinity")) {
    const Json* affinity = Find(o, "spec.nodeAffinity");
    out.push_back(InvalidValue("nodeAffinity", affinity == nullptr ? "null" : affinity->dump(),
                               "field is immutable"));
  }
}

// The part of a claim's spec that never changes, given what may (spec C7).
Json FixedClaim(const Json& o, const Json& old, bool bound) {
  Json spec = o.value("spec", Json::object());
  const auto restore = [&](const char* member) {
    if (const Json* before = Find(old, std::string("spec.") + member))
      spec[member] = *before;
    else
      spec.erase(member);
  };
  if (Text(old, "spec.volumeName").empty()) restore("volumeName");
  if (Find(old, "spec.storageClassName") == nullptr) restore("storageClassName");
  if (bound) {
    if (const Json* requests = Find(old, "spec.resources.requests"))
      Child(spec, "resources")["requests"] = *requests;
    restore("volumeAttributesClassName");
  }
  return spec;
}

void ValidateClaimUpdate(FieldErrors& out, const Validation& v, const Json& o, const Json& old) {
  if (v.info.subresource == "status") return;
  ValidateClaim(out, o);
  const bool bound = Text(old, "status.phase") == "Bound";
  if (FixedClaim(o, old, bound) != old.value("spec", Json::object())) {
    out.push_back(ForbiddenField(
        "spec",
        kClaimText + GoDiff(old.value("spec", Json::object()), o.value("spec", Json::object()),
                            *v.schema.Find("core.v1.PersistentVolumeClaimSpec"))));
    return;
  }
  const Json* now = Find(o, "spec.resources.requests.storage");
  const Json* was = Find(old, "spec.resources.requests.storage");
  if (now == nullptr || was == nullptr) return;
  const auto amount = [](const Json* value) {
    return value == nullptr ? rules::Quantity() : rules::Quantity::Of(rules::JsonNode(*value));
  };
  const rules::Quantity capacity = amount(Find(o, "status.capacity.storage"));
  // A request may be taken back as far as the volume has not grown yet.
  if (amount(now) < amount(was) && amount(now) <= capacity) {
    out.push_back(ForbiddenField("spec.resources.requests.storage",
                                 "field can not be less than status.capacity"));
  }
}

}  // namespace

FieldErrors ValidateStorage(const Validation& v, const Json& o) {
  FieldErrors out;
  const std::string_view r = v.row.resource;
  if (r == "persistentvolumes")
    ValidateVolume(out, o);
  else if (r == "persistentvolumeclaims")
    ValidateClaim(out, o);
  else if (r == "storageclasses") {
    RequiredText(out, o, "provisioner");
    OneOf(out, o, "reclaimPolicy", {"Delete", "Retain"});
    OneOf(out, o, "volumeBindingMode", {"Immediate", "WaitForFirstConsumer"});
  } else if (r == "volumeattachments") {
    RequiredText(out, o, "spec.attacher");
    if (IsEmpty(Find(o, "spec.source"))) {
      out.push_back(Required(
          "spec.source", "must specify exactly one of inlineVolumeSpec and persistentVolumeName"));
    }
    RequiredText(out, o, "spec.nodeName");
  } else if (r == "volumeattributesclasses") {
    RequiredText(out, o, "driverName");
    if (IsEmpty(Find(o, "parameters")))
      out.push_back(Required("parameters", "must contain at least one key/value pair"));
  } else if (r == "csistoragecapacities") {
    RequiredText(out, o, "storageClassName");
  }
  return out;
}

FieldErrors ValidateStorageUpdate(const Validation& v, const Json& o, const Json& old) {
  FieldErrors out;
  const std::string_view r = v.row.resource;
  if (r == "persistentvolumes") {
    ValidateVolumeUpdate(out, v, o, old);
  } else if (r == "persistentvolumeclaims") {
    ValidateClaimUpdate(out, v, o, old);
  } else if (r == "storageclasses") {
    for (const char* member : {"parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"}) {
      Immutable(out, o, old, member);
    }
  } else if (r == "volumeattachments") {
    Append(out, ValidateStorage(v, o));
    Immutable(out, o, old, "spec", v.schema.Find("storage.v1.VolumeAttachmentSpec"));
  } else if (r == "csistoragecapacities") {
    Immutable(out, o, old, "nodeTopology", v.schema.Find("meta.v1.LabelSelector"));
    Immutable(out, o, old, "storageClassName");
  } else if (r == "volumeattributesclasses") {
    Immutable(out, o, old, "driverName");
    Immutable(out, o, old, "parameters");
  } else if (r == "csidrivers") {
    for (const char* member : {"attachRequired", "volumeLifecycleModes"}) {
      Immutable(out, o, old, std::string("spec.") + member);
    }
  }
  return out;
}

}  // namespace kcm::devcluster::kinds
