// SPDX-License-Identifier: Apache-2.0
// Reading and writing owner references.
#include "kcm/rules/owner_reference.h"

#include "kcm/rules/json_text.h"

namespace kcm::rules {
namespace {

std::string Quoted(std::string_view text) {
  std::string out;
  AppendJsonString(out, text);
  return out;
}

}  // namespace

OwnerReference OwnerReferenceOf(Node r) {
  return {r.Get("apiVersion").String(), r.Get("kind").String(),
          r.Get("name").String(),       r.Get("uid").String(),
          r.Get("controller").Bool(),   r.Get("blockOwnerDeletion").Bool()};
}

bool SameOwnerReference(Node x, Node y) {
  const OwnerReference a = OwnerReferenceOf(x);
  const OwnerReference b = OwnerReferenceOf(y);
  return a.api_version == b.api_version && a.kind == b.kind && a.name == b.name && a.uid == b.uid &&
         a.controller == b.controller && a.block_owner_deletion == b.block_owner_deletion;
}

Node ControllerOf(Node object) {
  for (const Node r : object.Get("metadata").Get("ownerReferences").Items()) {
    if (r.Get("controller").Bool()) return r;
  }
  return Node();
}

bool IsControlledBy(Node object, std::string_view uid) {
  const Node controller = ControllerOf(object);
  return controller.Has() && controller.Get("uid").String() == uid;
}

Node OwnerWithUid(Node object, std::string_view uid) {
  for (const Node r : object.Get("metadata").Get("ownerReferences").Items()) {
    if (r.Get("uid").String() == uid) return r;
  }
  return Node();
}

ClaimDecision Claim(Node candidate, const Claimant& owner, bool matches) {
  const Node metadata = candidate.Get("metadata");
  if (const Node controller = ControllerOf(candidate); controller.Has()) {
    if (controller.Get("uid").String() != owner.uid) return ClaimDecision::kNone;
    if (matches) return ClaimDecision::kClaimed;
    return owner.deleting ? ClaimDecision::kNone : ClaimDecision::kRelease;
  }
  if (owner.deleting || !matches) return ClaimDecision::kNone;
  if (metadata.Get("deletionTimestamp").Has()) return ClaimDecision::kNone;
  if (!owner.ns.empty() && metadata.Get("namespace").String() != owner.ns) {
    return ClaimDecision::kNone;
  }
  return ClaimDecision::kAdopt;
}

std::string OwnerReferenceJson(const OwnerReference& owner) {
  std::string out = "{\"apiVersion\":" + Quoted(owner.api_version);
  out += ",\"kind\":" + Quoted(owner.kind);
  out += ",\"name\":" + Quoted(owner.name);
  out += ",\"uid\":" + Quoted(owner.uid);
  if (owner.controller) out += ",\"controller\":true";
  if (owner.block_owner_deletion) out += ",\"blockOwnerDeletion\":true";
  return out + "}";
}

std::string AdoptPatch(const OwnerReference& owner, std::string_view candidate_uid) {
  return AdoptPatch(owner, candidate_uid, {});
}

std::string AdoptPatch(const OwnerReference& owner, std::string_view candidate_uid,
                       std::string_view finalizer) {
  std::string out = "{\"metadata\":{\"ownerReferences\":[" + OwnerReferenceJson(owner) + "]";
  out += ",\"uid\":" + Quoted(candidate_uid);
  if (!finalizer.empty()) out += ",\"finalizers\":[" + Quoted(finalizer) + "]";
  return out + "}}";
}

std::string ReleasePatch(std::string_view owner_uid, std::string_view candidate_uid) {
  return ReleasePatch(owner_uid, candidate_uid, {});
}

std::string ReleasePatch(std::string_view owner_uid, std::string_view candidate_uid,
                         std::string_view finalizer) {
  std::string out = "{\"metadata\":{\"uid\":" + Quoted(candidate_uid);
  out += ",\"ownerReferences\":[{\"$patch\":\"delete\",\"uid\":" + Quoted(owner_uid) + "}]";
  if (!finalizer.empty()) {
    out += ",\"$deleteFromPrimitiveList/finalizers\":[" + Quoted(finalizer) + "]";
  }
  return out + "}}";
}

std::string CannotAdopt(std::string_view kind, Node candidate, std::string_view cause) {
  const Node metadata = candidate.Get("metadata");
  std::string out = "can't adopt ";
  out += kind;
  out += " ";
  out += metadata.Get("namespace").String();
  out += "/";
  out += metadata.Get("name").String();
  out += " (";
  out += metadata.Get("uid").String();
  out += "): ";
  return out += cause;
}

}  // namespace kcm::rules
