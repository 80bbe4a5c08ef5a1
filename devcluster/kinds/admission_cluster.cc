// SPDX-License-Identifier: Apache-2.0
// Admission of nodes, certificates and roles.
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>

#include "devcluster/api/api_error.h"
#include "devcluster/kinds/admission.h"
#include "devcluster/kinds/base64.h"
#include "devcluster/kinds/fields.h"
#include "devcluster/kinds/resource_table.h"

namespace kcm::devcluster::kinds {

namespace {

// Organisations of a PEM certificate request; empty when it can not be read.
std::vector<std::string> OrganisationsOf(std::string_view base64) {
  std::vector<std::string> out;
  const std::optional<std::string> pem = DecodeBase64(base64);
  if (!pem || pem->size() > 1 << 20) return out;
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(
      BIO_new_mem_buf(pem->data(), static_cast<int>(pem->size())), BIO_free);
  const std::unique_ptr<X509_REQ, decltype(&X509_REQ_free)> request(
      bio == nullptr ? nullptr : PEM_read_bio_X509_REQ(bio.get(), nullptr, nullptr, nullptr),
      X509_REQ_free);
  if (request == nullptr) return out;
  const X509_NAME* subject = X509_REQ_get_subject_name(request.get());
  for (int at = -1; (at = X509_NAME_get_index_by_NID(subject, NID_organizationName, at)) >= 0;) {
    const ASN1_STRING* value = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at));
    out.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(value)),
                     static_cast<size_t>(ASN1_STRING_length(value)));
  }
  return out;
}

bool IsRole(const Admission& a) {
  return a.Of("roles", kRbacGroup) || a.Of("clusterroles", kRbacGroup);
}
bool IsBinding(const Admission& a) {
  return a.Of("rolebindings", kRbacGroup) || a.Of("clusterrolebindings", kRbacGroup);
}

std::vector<Rule> RulesIn(const Json& role) {
  std::vector<Rule> out;
  for (const Json& rule : Items(role, "rules")) out.push_back(ReadRule(rule));
  return out;
}

ApiError Escalation(const Admission& a, const std::string& missing) {
  std::string groups;
  for (const std::string& g : a.info.user.groups)
    groups += (groups.empty() ? "" : " ") + GoQuote(g);
  return a.Forbid("user " + GoQuote(a.info.user.name) + " (groups=[" + groups +
                  "]) is attempting to grant RBAC permissions not currently held:\n" + missing);
}

}  // namespace

Refusal TaintNewNode(const Admission& a) {
  if (!a.Of("nodes") || !a.IsCreate() || !a.Main()) return std::nullopt;
  Json& taints = Child(a.object, "spec")["taints"];
  if (!taints.is_array()) taints = Json::array();
  for (const Json& taint : taints) {
    if (Text(taint, "key") == "node.kubernetes.io/not-ready" &&
        Text(taint, "effect") == "NoSchedule")
      return std::nullopt;
  }
  taints.push_back(Json{{"key", "node.kubernetes.io/not-ready"}, {"effect", "NoSchedule"}});
  return std::nullopt;
}

Refusal RestrictSubjects(const Admission& a) {
  if (!a.Of("certificatesigningrequests", "certificates.k8s.io") || !a.IsCreate())
    return std::nullopt;
  if (Text(a.object, "spec.signerName") != "kubernetes.io/kube-apiserver-client")
    return std::nullopt;
  const std::vector<std::string> groups = OrganisationsOf(Text(a.object, "spec.request"));
  if (std::find(groups.begin(), groups.end(), "system:masters") == groups.end())
    return std::nullopt;
  return a.Forbid(
      "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed");
}

Refusal CheckSigners(const Admission& a, const Authorizer& authorizer) {
  if (!a.Of("certificatesigningrequests", "certificates.k8s.io") || !a.IsUpdate())
    return std::nullopt;
  const bool approval = a.info.subresource == "approval";
  const bool signing =
      a.info.subresource == "status" && !SameMember(a.object, *a.old, "status.certificate");
  if (!approval && !signing) return std::nullopt;
  const std::string verb = approval ? "approve" : "sign", signer(Text(*a.old, "spec.signerName"));
  const std::string domain = signer.substr(0, signer.find('/')) + "/*";
  for (const std::string& name : {signer, domain}) {
    const ResourceRequest request{verb, "certificates.k8s.io", "signers", "", "", name};
    if (authorizer.Allowed(a.info.user, request, *a.info.reader, nullptr)) return std::nullopt;
  }
  return a.Forbid("user not permitted to " + verb + " requests with signerName " + GoQuote(signer));
}

Refusal RefuseEscalation(const Admission& a, const Authorizer& authorizer) {
  if (!(IsRole(a) || IsBinding(a)) || !(a.IsCreate() || a.IsUpdate())) return std::nullopt;
  const auto may = [&](std::string_view verb, std::string_view resource, std::string_view ns,
                       std::string_view name) {
    return authorizer.Allowed(a.info.user, {verb, kRbacGroup, resource, "", ns, name},
                              *a.info.reader, nullptr);
  };
  std::vector<Rule> granted;
  if (IsRole(a)) {
    if (a.old != nullptr && SameMember(a.object, *a.old, "rules") &&
        SameMember(a.object, *a.old, "aggregationRule")) {
      return std::nullopt;
    }
    if (may("escalate", a.kind.gvr.resource, a.info.ns, a.info.name)) return std::nullopt;
    granted = RulesIn(a.object);
    // An aggregated role can become anything: only who holds everything may write one.
    if (!IsEmpty(Find(a.object, "aggregationRule"))) {
      granted.push_back({{"*"}, {"*"}, {"*"}, {}, {}});
      granted.push_back({{"*"}, {}, {}, {}, {"*"}});
    }
  } else {
    if (a.old != nullptr && SameMember(a.object, *a.old, "subjects")) return std::nullopt;
    const bool role = Text(a.object, "roleRef.kind") == "Role";
    const std::string name(Text(a.object, "roleRef.name"));
    if (may("bind", role ? "roles" : "clusterroles", a.info.ns, name)) return std::nullopt;
    const std::optional<Json> target = a.info.reader->Get(
        {kRbacGroup, "v1", role ? "roles" : "clusterroles"}, role ? a.info.ns : "", name);
    if (!target) return NotFound({kRbacGroup, "v1", role ? "roles" : "clusterroles"}, name);
    granted = RulesIn(*target);
  }
  const std::string missing =
      Uncovered(granted, authorizer.RulesOf(a.info.user, a.info.ns, *a.info.reader));
  if (missing.empty()) return std::nullopt;
  return Escalation(a, missing);
}

}  // namespace kcm::devcluster::kinds
