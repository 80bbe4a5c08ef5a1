// SPDX-License-Identifier: Apache-2.0
// Order of admission, and the life of namespaces.
#include "devcluster/kinds/admission.h"

#include <random>

#include "devcluster/api/api_error.h"
#include "devcluster/kinds/fields.h"

namespace kcm::devcluster::kinds {

ApiError Admission::Forbid(std::string_view why) const {
  std::string name = info.name;
  if (name.empty()) name = Text(object, "metadata.name");
  return Forbidden(kind.gvr, name, why);
}

Refusal NamespaceLifecycle(const Admission& a) {
  const std::string_view name =
      a.info.name.empty() ? Text(a.object, "metadata.name") : std::string_view(a.info.name);
  if (a.Of("namespaces") && a.info.operation == Operation::kDelete) {
    // kube-node-lease may go (spec G9).
    if (name == "default" || name == "kube-system" || name == "kube-public") {
      return a.Forbid("this namespace may not be deleted");
    }
    return std::nullopt;
  }
  if (!a.IsCreate() || a.info.ns.empty() || a.Of("namespaces")) return std::nullopt;
  // Reviews are not stored: they may be asked about any namespace.
  if (a.Of("localsubjectaccessreviews", "authorization.k8s.io")) return std::nullopt;
  static const Gvr* const kNamespaces = new Gvr{"", "v1", "namespaces"};
  const std::optional<Json> ns = a.info.reader->Get(*kNamespaces, "", a.info.ns);
  if (!ns) return NotFound(*kNamespaces, a.info.ns);
  if (Find(*ns, "metadata.deletionTimestamp") == nullptr &&
      Text(*ns, "status.phase") != "Terminating")
    return std::nullopt;
  return ForbiddenWithCause(
      a.kind.gvr, name,
      "unable to create new content in namespace " + a.info.ns + " because it is being terminated",
      {"NamespaceTerminating", "metadata.namespace",
       "namespace " + a.info.ns + " is being terminated"});
}

Refusal RunAdmission(const Admission& a, const Authorizer& authorizer) {
  if (Refusal r = NamespaceLifecycle(a)) return r;
  constexpr Refusal (*kPlugins[])(const Admission&) = {
      AssignAccount,      TaintNewNode,      LimitRanger,      ResolvePriority,
      DefaultTolerations, ApplyRuntimeClass, PodSecurity,      ProtectInUse,
      DefaultClasses,     CheckClaimResize,  RestrictSubjects, AllocateAddresses};
  for (const auto plugin : kPlugins) {
    if (Refusal r = plugin(a)) return r;
  }
  if (Refusal r = CheckSigners(a, authorizer)) return r;
  return RefuseEscalation(a, authorizer);
}

std::string RandomSuffix() {
  static constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::string out;
  for (int i = 0; i < 5; ++i)
    out.push_back(kLetters[RandomBelow(static_cast<uint32_t>(kLetters.size()))]);
  return out;
}

uint32_t RandomBelow(uint32_t bound) {
  std::random_device device;
  return std::uniform_int_distribution<uint32_t>(0, bound - 1)(device);
}

}  // namespace kcm::devcluster::kinds
