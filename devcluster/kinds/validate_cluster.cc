// SPDX-License-Identifier: Apache-2.0
// Validation of autoscaling, policy, certificates, RBAC and the other groups.
#include <algorithm>
#include <set>

#include "devcluster/api/api_error.h"
#include "devcluster/kinds/admission_policy.h"
#include "devcluster/kinds/base64.h"
#include "devcluster/kinds/custom_schema.h"
#include "devcluster/kinds/fields.h"
#include "devcluster/kinds/validate.h"

namespace kcm::devcluster::kinds {

namespace {

void ValidateAutoscaler(FieldErrors& out, const Json& o) {
  if (Find(o, "spec.minReplicas") != nullptr && Integer(o, "spec.minReplicas") < 1) {
    out.push_back(InvalidValue("spec.minReplicas", std::to_string(Integer(o, "spec.minReplicas")),
                               "must be greater than or equal to 1"));
  }
  const int64_t max = Integer(o, "spec.maxReplicas");
  if (max < 1) out.push_back(Required("spec.maxReplicas", "must be set and greater than 0"));
  if (max < Integer(o, "spec.minReplicas")) {
    out.push_back(InvalidValue("spec.maxReplicas", std::to_string(max),
                               "must be greater than or equal to `minReplicas`"));
  }
  RequiredText(out, o, "spec.scaleTargetRef.kind");
  RequiredText(out, o, "spec.scaleTargetRef.name");
  const std::string_view version = Text(o, "spec.scaleTargetRef.apiVersion");
  if (version.empty()) {
    out.push_back(InvalidValue("spec.scaleTargetRef.apiVersion", "\"\"",
                               "apiVersion must specify API group"));
  }
}

void ValidateBudget(FieldErrors& out, const Json& o) {
  const Json* min = Find(o, "spec.minAvailable");
  const Json* max = Find(o, "spec.maxUnavailable");
  if (min != nullptr && max != nullptr) {
    const Json* selector = Find(o, "spec.selector");
    const Json* policy = Find(o, "spec.unhealthyPodEvictionPolicy");
    out.push_back(
        InvalidValue("spec",
                     "{\"MinAvailable\":" + min->dump() +
                         ",\"Selector\":" + (selector == nullptr ? "null" : selector->dump()) +
                         ",\"MaxUnavailable\":" + max->dump() + ",\"UnhealthyPodEvictionPolicy\":" +
                         (policy == nullptr ? "null" : policy->dump()) + "}",
                     "minAvailable and maxUnavailable cannot be both set"));
  }
  for (const char* path : {"spec.minAvailable", "spec.maxUnavailable"}) {
    IntOrPercent(out, o, path);
    AtMost100Percent(out, o, path);
  }
  Append(out, ValidateLabelSelector(Find(o, "spec.selector"), "spec.selector"));
}

void ValidateLease(FieldErrors& out, const Json& o) {
  if (const Json* seconds = Find(o, "spec.leaseDurationSeconds");
      seconds != nullptr && *seconds <= 0) {
    out.push_back(
        InvalidValue("spec.leaseDurationSeconds", seconds->dump(), "must be greater than 0"));
  }
  NonNegative(out, o, "spec.leaseTransitions");
}

void ValidateSlice(FieldErrors& out, const Json& o) {
  const std::string_view type = Text(o, "addressType");
  if (type.empty()) {
    out.push_back(Required("addressType", ""));
  } else {
    OneOf(out, o, "addressType", {"FQDN", "IPv4", "IPv6"});
  }
  if (const size_t n = Items(o, "endpoints").size(); n > 1000) {
    out.push_back(TooMany("endpoints", static_cast<int64_t>(n), 1000));
  }
}

void ValidateRoleBinding(FieldErrors& out, const Json& o, bool cluster) {
  const std::string_view group = Text(o, "roleRef.apiGroup");
  if (group != "rbac.authorization.k8s.io") {
    out.push_back(NotSupported("roleRef.apiGroup", GoQuote(group), {"rbac.authorization.k8s.io"}));
  }
  if (cluster)
    OneOf(out, o, "roleRef.kind", {"ClusterRole"});
  else
    OneOf(out, o, "roleRef.kind", {"Role", "ClusterRole"});
  RequiredText(out, o, "roleRef.name");
  const Json& subjects = Items(o, "subjects");
  for (size_t i = 0; i < subjects.size(); ++i) {
    const std::string at = "subjects[" + std::to_string(i) + "].", kind(Text(subjects[i], "kind"));
    RequiredText(out, subjects[i], "name", at);
    if (kind == "ServiceAccount") {
      if (cluster) RequiredText(out, subjects[i], "namespace", at);
    } else if (kind != "User" && kind != "Group") {
      out.push_back(NotSupported(at + "kind", GoQuote(kind), {"ServiceAccount", "User", "Group"}));
    }
  }
}

void ValidateRole(FieldErrors& out, const Json& o, bool cluster) {
  const Json& rules = Items(o, "rules");
  for (size_t i = 0; i < rules.size(); ++i) {
    const std::string at = "rules[" + std::to_string(i) + "].";
    if (Items(rules[i], "verbs").empty())
      out.push_back(Required(at + "verbs", "verbs must contain at least one value"));
    if (!Items(rules[i], "nonResourceURLs").empty()) {
      if (!cluster) {
        out.push_back(InvalidValue(at + "nonResourceURLs",
                                   Items(rules[i], "nonResourceURLs").dump(),
                                   "namespaced rules cannot apply to non-resource URLs"));
      }
      continue;
    }
    if (Items(rules[i], "apiGroups").empty()) {
      out.push_back(
          Required(at + "apiGroups", "resource rules must supply at least one api group"));
    }
    if (Items(rules[i], "resources").empty()) {
      out.push_back(Required(at + "resources", "resource rules must supply at least one resource"));
    }
  }
}

bool HasPem(const Json& o, std::string_view path, const char* begin) {
  const std::optional<std::string> text = DecodeBase64(Text(o, path));
  return text && text->find(std::string("-----BEGIN ") + begin + "-----") != std::string::npos;
}

void ValidateSigningRequest(FieldErrors& out, const Json& o) {
  const Json* request = Find(o, "spec.request");
  if (!HasPem(o, "spec.request", "CERTIFICATE REQUEST")) {
    out.push_back(InvalidValue("spec.request", request == nullptr ? "null" : request->dump(),
                               "PEM block type must be CERTIFICATE REQUEST"));
  }
  if (Items(o, "spec.usages").empty()) out.push_back(Required("spec.usages", ""));
  const std::string signer(Text(o, "spec.signerName"));
  const size_t slash = signer.find('/');
  if (signer.empty()) {
    out.push_back(Required("spec.signerName", ""));
  } else if (signer == "kubernetes.io/legacy-unknown") {
    out.push_back(InvalidValue("spec.signerName", GoQuote(signer),
                               "the legacy signerName is not allowed via this API version"));
  } else if (slash == std::string::npos || slash == 0 || signer.find('.') > slash) {
    out.push_back(InvalidValue(
        "spec.signerName", GoQuote(signer),
        "must be a fully qualified domain and path of the form 'example.com/signer-name'"));
  }
  if (const Json* seconds = Find(o, "spec.expirationSeconds");
      seconds != nullptr && *seconds < 600) {
    out.push_back(InvalidValue("spec.expirationSeconds", seconds->dump(),
                               "may not specify a duration less than 600 seconds (10 minutes)"));
  }
}

// Approval alone decides (Approved, Denied); conditions of a decision stay (spec H6).
void ValidateSigningUpdate(FieldErrors& out, const Validation& v, const Json& o, const Json& old) {
  const auto types = [](const Json& request) {
    std::set<std::string> found;
    for (const Json& c : Items(request, "status.conditions"))
      found.insert(std::string(Text(c, "type")));
    return found;
  };
  const std::set<std::string> now = types(o), was = types(old);
  for (const char* type : {"Approved", "Denied", "Failed"}) {
    if (was.contains(type) && !now.contains(type)) {
      out.push_back(ForbiddenField(
          "status.conditions",
          std::string("updates may not remove a condition of type \"") + type + "\""));
    }
  }
  for (const char* type : {"Approved", "Denied"}) {
    if (v.info.subresource == "status" && now.contains(type) && !was.contains(type)) {
      out.push_back(
          ForbiddenField("status.conditions",
                         std::string("updates may not add a condition of type \"") + type + "\""));
    }
  }
  if (now.contains("Approved") && now.contains("Denied")) {
    out.push_back(InvalidValue("status.conditions", "\"Denied\"",
                               "Approved and Denied conditions are mutually exclusive"));
  }
  if (v.info.subresource == "status" && !Text(o, "status.certificate").empty() &&
      !HasPem(o, "status.certificate", "CERTIFICATE")) {
    out.push_back(InvalidValue("status.certificate", "\"<certificate data>\"",
                               "must contain at least one CERTIFICATE PEM block"));
  }
}

void ValidatePriorityClass(FieldErrors& out, const Json& o) {
  const std::string name(Text(o, "metadata.name"));
  const int64_t value = Integer(o, "value");
  const bool known = name == "system-cluster-critical" || name == "system-node-critical";
  if (name.starts_with("system-") && !known) {
    out.push_back(ForbiddenField(
        "metadata.name",
        "priority class names with 'system-' prefix are reserved for system use only. "
        "error: " +
            name + " is not a known system priority class"));
  } else if (!known && value > 1000000000) {
    out.push_back(
        ForbiddenField("value", "maximum allowed value of a user defined priority is 1000000000"));
  }
  OneOf(out, o, "preemptionPolicy", {"Never", "PreemptLowerPriority"});
}

void ValidateDefinition(FieldErrors& out, const Json& o) {
  const std::string name(Text(o, "metadata.name")), plural(Text(o, "spec.names.plural")),
      group(Text(o, "spec.group"));
  if (name != plural + "." + group) {
    out.push_back(
        InvalidValue("metadata.name", GoQuote(name), "must be spec.names.plural+\".\"+spec.group"));
  }
  RequiredText(out, o, "spec.group");
  OneOf(out, o, "spec.scope", {"Cluster", "Namespaced"});
  RequiredText(out, o, "spec.names.plural");
  RequiredText(out, o, "spec.names.kind");
  int stored = 0;
  const Json& versions = Items(o, "spec.versions");
  for (const Json& version : versions) stored += Flag(version, "storage") ? 1 : 0;
  if (stored != 1) {
    out.push_back(InvalidValue("spec.versions", versions.empty() ? "null" : versions.dump(),
                               "must have exactly one version marked as storage version"));
  }
  for (size_t i = 0; i < versions.size(); ++i) {
    const std::string path = "spec.versions[" + std::to_string(i) + "].schema.openAPIV3Schema";
    const Json* schema = Find(versions[i], "schema.openAPIV3Schema");
    if (schema == nullptr) {
      out.push_back(Required(path, "schemas are required"));
    } else {
      Append(out, CustomSchema::Check(*schema, path));
    }
  }
}

// Objects may be stored as any version of status.storedVersions: it can not go before it has left
// that list.
void ValidateStoredVersions(FieldErrors& out, const Json& o) {
  const std::string path = "status.storedVersions";
  const Json& stored = Items(o, path);
  const Json& versions = Items(o, "spec.versions");
  if (stored.empty())
    out.push_back(InvalidValue(path, "[]", "must have at least one stored version"));
  for (const Json& version : versions) {
    const std::string name(Text(version, "name"));
    if (Flag(version, "storage") &&
        std::find(stored.begin(), stored.end(), Json(name)) == stored.end())
      out.push_back(InvalidValue(path, stored.dump(), "must have the storage version " + name));
  }
  for (size_t i = 0; i < stored.size(); ++i) {
    if (!stored[i].is_string()) continue;
    const std::string name = stored[i];
    if (std::any_of(versions.begin(), versions.end(),
                    [&](const Json& v) { return Text(v, "name") == name; }))
      continue;
    out.push_back(InvalidValue(
        path + "[" + std::to_string(i) + "]", GoQuote(name),
        "missing from spec.versions; " + name +
            " was previously a storage version, and must remain in spec.versions until a storage "
            "migration ensures no data remains persisted in " +
            name + " and removes " + name + " from status.storedVersions"));
  }
}

std::string ShownRoleRef(const Json& o) {
  const auto text = [&](const char* member) {
    return GoQuote(Text(o, std::string("roleRef.") + member));
  };
  return "{\"APIGroup\":" + text("apiGroup") + ",\"Kind\":" + text("kind") +
         ",\"Name\":" + text("name") + "}";
}

}  // namespace

FieldErrors ValidateCluster(const Validation& v, const Json& o) {
  FieldErrors out;
  const std::string_view r = v.row.resource;
  if (r == "horizontalpodautoscalers")
    ValidateAutoscaler(out, o);
  else if (r == "poddisruptionbudgets")
    ValidateBudget(out, o);
  else if (r == "leases")
    ValidateLease(out, o);
  else if (r == "endpointslices")
    ValidateSlice(out, o);
  else if (r == "rolebindings" || r == "clusterrolebindings")
    ValidateRoleBinding(out, o, r[0] == 'c');
  else if (r == "roles" || r == "clusterroles")
    ValidateRole(out, o, r[0] == 'c');
  else if (r == "certificatesigningrequests")
    ValidateSigningRequest(out, o);
  else if (r == "priorityclasses")
    ValidatePriorityClass(out, o);
  else if (r == "customresourcedefinitions")
    ValidateDefinition(out, o);
  else if (r == "validatingadmissionpolicies")
    Append(out, ValidatePolicy(o));
  else if (r == "runtimeclasses")
    RequiredText(out, o, "handler");
  else if (r == "events")
    Append(out, ValidateGroupEvent(o));
  return out;
}

FieldErrors ValidateClusterUpdate(const Validation& v, const Json& o, const Json& old) {
  FieldErrors out;
  const std::string_view r = v.row.resource;
  const bool status = v.info.subresource == "status";
  if (r == "certificatesigningrequests") {
    ValidateSigningUpdate(out, v, o, old);
    return out;
  }
  if (r == "customresourcedefinitions") ValidateStoredVersions(out, o);
  if (r == "horizontalpodautoscalers" && status) {
    NonNegative(out, o, "status.currentReplicas");
    NonNegative(out, o, "status.desiredReplicas");
    return out;
  }
  if (r == "poddisruptionbudgets" && status) {
    for (const char* counter :
         {"disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"}) {
      NonNegative(out, o, std::string("status.") + counter);
    }
    return out;
  }
  if (status) return out;
  if (r == "priorityclasses") {
    if (!SameMember(o, old, "value"))
      out.push_back(ForbiddenField("value", "may not be changed in an update."));
    if (!SameMember(o, old, "preemptionPolicy")) {
      out.push_back(InvalidValue("preemptionPolicy", GoQuote(Text(o, "preemptionPolicy")),
                                 "field is immutable"));
    }
    return out;
  }
  if (r != "events") Append(out, ValidateCluster(v, o));
  if ((r == "rolebindings" || r == "clusterrolebindings") && !SameMember(o, old, "roleRef")) {
    out.push_back(InvalidValue("roleRef", ShownRoleRef(o), "cannot change roleRef"));
  }
  if (r == "endpointslices") Immutable(out, o, old, "addressType");
  if (r == "runtimeclasses") Immutable(out, o, old, "handler");
  if (r == "resourceclaims")
    Immutable(out, o, old, "spec", v.schema.Find("resource.v1.ResourceClaimSpec"));
  if (r == "resourceclaimtemplates")
    Immutable(out, o, old, "spec", v.schema.Find("resource.v1.ResourceClaimTemplateSpec"));
  if (r == "ingressclasses") Immutable(out, o, old, "spec.controller");
  return out;
}

}  // namespace kcm::devcluster::kinds
