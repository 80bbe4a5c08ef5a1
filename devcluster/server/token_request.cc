// SPDX-License-Identifier: Apache-2.0
// serviceaccounts/token (spec/apiserver H5).
#include "devcluster/server/convert.h"
#include "devcluster/server/subresources.h"
#include "devcluster/server/tokens.h"
#include "devcluster/server/write.h"

namespace kcm::devcluster {
namespace {

constexpr int64_t kDefaultSeconds = 3600;
constexpr int64_t kLeastSeconds = 600;

void Bind(const State& state, const std::string& ns, const Json& ref, Json* claims) {
  const std::string kind = TextAt(ref, {"kind"}), name = TextAt(ref, {"name"}),
                    uid = TextAt(ref, {"uid"});
  const Gvr gvr = kind == "Pod"      ? Gvr{"", "v1", "pods"}
                  : kind == "Secret" ? Gvr{"", "v1", "secrets"}
                                     : Gvr{"", "v1", "nodes"};
  if (kind != "Pod" && kind != "Secret" && kind != "Node") {
    Fail(BadRequest("cannot bind token for serviceaccount to object of type " +
                    TextAt(ref, {"apiVersion"}) + ", Kind=" + kind));
  }
  const std::optional<Json> object = state.reader->Get(gvr, kind == "Node" ? "" : ns, name);
  if (!object) Fail(NotFound(gvr, name));
  const std::string have = TextAt(*object, {"metadata", "uid"});
  if (!uid.empty() && uid != have) {
    Fail(ConflictOfKind(
        "", kind, name,
        "the UID in the bound object reference (" + uid +
            ") does not match the UID in record. The object might have been deleted and "
            "then recreated"));
  }
  std::string key = kind;
  key[0] = static_cast<char>(key[0] + 32);
  (*claims)["kubernetes.io"][key] = {{"name", name}, {"uid", have}};
}

}  // namespace

Answer HandleTokenRequest(const State& state, Request& request) {
  const Resource& r = *request.resource;
  const WriteOptions options = ReadWriteOptions(request, "CreateOptions");
  Json body =
      ReadObject(request, BodyType(state, "authentication.k8s.io", "v1", "TokenRequest"), options);
  SetNamespace(r, request.info.ns, &body);
  const std::string ns = request.info.ns, name = request.info.name;
  RequireLiveNamespace(state, r, ns, name);
  const host::wire::ObjectPtr account = state.store->Get(*r.table, Store::Key(ns, name));
  if (!account) Fail(NotFound(r.gvr(), name));
  const std::string given = TextAt(body, {"metadata", "name"});
  if (!given.empty() && given != name) {
    Fail(BadRequest("the name of the object (" + given + ") does not match the name on the URL (" +
                    name + ")"));
  }
  Json spec = body.value("spec", Json::object());
  const Json* seconds = Find(spec, {"expirationSeconds"});
  const int64_t lifetime = seconds != nullptr && seconds->is_number_integer()
                               ? seconds->get<int64_t>()
                               : kDefaultSeconds;
  if (lifetime < kLeastSeconds) {
    Fail(Invalid("authentication.k8s.io", "TokenRequest", name.empty() ? "" : given,
                 {InvalidValue("spec.expirationSeconds", std::to_string(lifetime),
                               "may not specify a duration less than 10 minutes")}));
  }
  Json audiences = spec.value("audiences", Json::array());
  if (!audiences.is_array() || audiences.empty()) audiences = Json::array({TokenIssuer::Issuer()});
  const int64_t now =
      std::chrono::floor<std::chrono::seconds>(state.clock->Now()).time_since_epoch().count();
  Json claims = {{"aud", audiences},
                 {"exp", now + lifetime},
                 {"iat", now},
                 {"nbf", now},
                 {"jti", NewUid()},
                 {"sub", "system:serviceaccount:" + ns + ":" + name},
                 {"kubernetes.io",
                  {{"namespace", ns},
                   {"serviceaccount", {{"name", name}, {"uid", std::string(account->Uid())}}}}}};
  const Json* ref = Find(spec, {"boundObjectRef"});
  if (ref != nullptr && ref->is_object()) Bind(state, ns, *ref, &claims);
  spec["audiences"] = audiences;
  spec["expirationSeconds"] = lifetime;
  if (ref == nullptr || !ref->is_object()) spec["boundObjectRef"] = nullptr;
  const Json answer = {{"kind", "TokenRequest"},
                       {"apiVersion", "authentication.k8s.io/v1"},
                       {"metadata",
                        {{"name", name},
                         {"namespace", ns},
                         {"uid", std::string(account->Uid())},
                         {"creationTimestamp", request.info.now}}},
                       {"spec", spec},
                       {"status",
                        {{"token", options.dry_run ? "" : state.tokens->Sign(claims)},
                         {"expirationTimestamp", SecondsText(now + lifetime)}}}};
  return JsonAnswer(request, 201, answer);
}

}  // namespace kcm::devcluster
