// SPDX-License-Identifier: Apache-2.0
// Admission plugins that are visible on the wire (spec I), one function per plugin. Each may change
// the object or refuse.
#pragma once
#include <optional>

#include "devcluster/api/strategy.h"
#include "devcluster/kinds/authorizer.h"

namespace kcm::devcluster::kinds {

using Refusal = std::optional<ApiError>;

// One write as the plugins see it. REQUIRES: info.reader != nullptr.
struct Admission {
  const ResourceKind& kind;
  Json& object;
  const Json* old;  // nullptr at create
  const RequestInfo& info;

  bool IsCreate() const { return info.operation == Operation::kCreate; }
  bool IsUpdate() const { return info.operation == Operation::kUpdate; }
  // A write of the resource itself, not of a subresource.
  bool Main() const { return info.subresource.empty(); }
  bool Of(std::string_view resource, std::string_view group = "") const {
    return kind.gvr.resource == resource && kind.gvr.group == group;
  }
  // 403 `RESOURCE "NAME" is forbidden: WHY`.
  ApiError Forbid(std::string_view why) const;
};

// Runs every plugin in the API server's order; quota is separate (AdmitQuota).
Refusal RunAdmission(const Admission& a, const Authorizer& authorizer);

Refusal NamespaceLifecycle(const Admission& a);

// admission_pod.cc
Refusal DefaultTolerations(const Admission& a);
Refusal AssignAccount(const Admission& a);    // ServiceAccount
Refusal ResolvePriority(const Admission& a);  // Priority, for pods and priority classes
Refusal ApplyRuntimeClass(const Admission& a);
Refusal CheckResize(const Admission& a);  // pods/resize against the node; after validation
// pod_security.cc
Refusal PodSecurity(const Admission& a);
// admission_limits.cc
Refusal LimitRanger(const Admission& a);
// admission_storage.cc
Refusal ProtectInUse(const Admission& a);    // pv-, pvc-, vac-protection finalizers
Refusal DefaultClasses(const Admission& a);  // storage and ingress classes
Refusal CheckClaimResize(const Admission& a);
// admission_cluster.cc
Refusal TaintNewNode(const Admission& a);
Refusal RestrictSubjects(const Admission& a);  // certificate subjects
Refusal CheckSigners(const Admission& a, const Authorizer& authorizer);
Refusal RefuseEscalation(const Admission& a, const Authorizer& authorizer);
// service_addresses.cc
Refusal AllocateAddresses(const Admission& a);

// admission_quota.cc: checks quotas of the namespace against the final object and asks for the
// writes that raise usage.
Refusal AdmitQuota(const ResourceKind& kind, const Json& object, const Json* old,
                   const RequestInfo& info);

// Five characters as generated names have them.
std::string RandomSuffix();
// A whole number in [0, bound).
uint32_t RandomBelow(uint32_t bound);

}  // namespace kcm::devcluster::kinds
