// SPDX-License-Identifier: Apache-2.0
// Token and access reviews (spec/apiserver J3, J4): answered, never stored.
#include <algorithm>

#include "devcluster/server/authenticate.h"
#include "devcluster/server/convert.h"
#include "devcluster/server/subresources.h"
#include "devcluster/server/tokens.h"
#include "devcluster/server/write.h"

namespace kcm::devcluster {
namespace {

Json UserJson(const UserInfo& user) {
  Json j = Json::object();
  if (!user.name.empty()) j["username"] = user.name;
  if (!user.uid.empty()) j["uid"] = user.uid;
  if (!user.groups.empty()) j["groups"] = user.groups;
  if (!user.extra.empty()) j["extra"] = user.extra;
  return j;
}

// ["a" "b"], as Go prints a list of quoted texts.
std::string GoList(const Json& texts) {
  std::string out = "[";
  for (const Json& t : texts) out += (out.size() > 1 ? " " : "") + GoQuote(t.get<std::string>());
  return out + "]";
}

Json TokenStatus(const State& state, const Json& spec) {
  const std::string token = TextAt(spec, {"token"});
  if (token.empty()) Fail(BadRequest("token is required for TokenReview in authentication"));
  Json audiences;
  const std::optional<UserInfo> user = UserOfToken(state, token, &audiences);
  if (!user) return {{"user", Json::object()}, {"error", "invalid bearer token"}};
  Json wanted = spec.value("audiences", Json::array());
  if (wanted.empty()) wanted = Json::array({TokenIssuer::Issuer()});
  const Json own = std::exchange(audiences, Json::array());
  for (const Json& a : own) {
    if (std::find(wanted.begin(), wanted.end(), a) != wanted.end()) audiences.push_back(a);
  }
  if (audiences.empty()) {
    return {{"user", Json::object()},
            {"error", "[invalid bearer token, token audiences " + GoList(own) +
                          " is invalid for the target audiences " + GoList(wanted) + "]"}};
  }
  return {{"authenticated", true}, {"user", UserJson(*user)}, {"audiences", audiences}};
}

void RequireSubject(const std::string& kind, const Json& spec, bool self) {
  std::vector<FieldError> errors;
  const bool resource = Find(spec, {"resourceAttributes"}) != nullptr;
  const bool path = Find(spec, {"nonResourceAttributes"}) != nullptr;
  if (resource == path) {
    errors.push_back(InvalidValue(
        "spec.resourceAttributes", "null",
        "exactly one of nonResourceAttributes or resourceAttributes must be specified"));
  }
  if (!self && TextAt(spec, {"user"}).empty() && spec.value("groups", Json::array()).empty()) {
    errors.push_back(
        InvalidValue("spec.user", "\"\"", "at least one of user or group must be specified"));
  }
  (void)kind;
  if (!errors.empty()) Fail(Invalid("authorization.k8s.io", "", "", errors));
}

Json AccessStatus(const State& state, const Json& spec, const UserInfo& user) {
  std::string reason;
  bool allowed = false;
  if (const Json* path = Find(spec, {"nonResourceAttributes"})) {
    allowed = AllowedPath(state, user, TextAt(*path, {"verb"}), TextAt(*path, {"path"}), &reason);
  } else {
    const Json a = spec.value("resourceAttributes", Json::object());
    const Gvr gvr{TextAt(a, {"group"}), TextAt(a, {"version"}), TextAt(a, {"resource"})};
    allowed = Allowed(state, user, TextAt(a, {"verb"}), gvr, TextAt(a, {"subresource"}),
                      TextAt(a, {"namespace"}), TextAt(a, {"name"}), &reason);
  }
  Json status = {{"allowed", allowed}};
  if (allowed && !reason.empty()) status["reason"] = reason;
  return status;
}

UserInfo SpecUser(const Json& spec) {
  UserInfo user;
  user.name = TextAt(spec, {"user"});
  user.uid = TextAt(spec, {"uid"});
  for (const Json& g : spec.value("groups", Json::array())) {
    if (g.is_string()) user.groups.push_back(g);
  }
  user.extra = spec.value("extra", Json::object());
  return user;
}

const std::string kRbac = "rbac.authorization.k8s.io";

bool Binds(const Json& binding, const UserInfo& user, const std::string& binding_ns) {
  for (const Json& s : binding.value("subjects", Json::array())) {
    const std::string kind = TextAt(s, {"kind"}), name = TextAt(s, {"name"});
    if (kind == "User" && name == user.name) return true;
    if (kind == "Group" &&
        std::find(user.groups.begin(), user.groups.end(), name) != user.groups.end())
      return true;
    if (kind == "ServiceAccount") {
      std::string ns = TextAt(s, {"namespace"});
      if (ns.empty()) ns = binding_ns;
      if (user.name == "system:serviceaccount:" + ns + ":" + name) return true;
    }
  }
  return false;
}

// All rules that hold for the user in a namespace.
Json RulesStatus(const State& state, const UserInfo& user, const std::string& ns) {
  Json resource = Json::array(), paths = Json::array();
  const auto add = [&](const Json& rule) {
    if (!rule.value("nonResourceURLs", Json::array()).empty()) {
      paths.push_back({{"verbs", rule.value("verbs", Json::array())},
                       {"nonResourceURLs", rule["nonResourceURLs"]}});
      return;
    }
    Json out = {{"verbs", rule.value("verbs", Json::array())}};
    for (const char* name : {"apiGroups", "resources", "resourceNames"}) {
      if (rule.contains(name) && !rule[name].empty()) out[name] = rule[name];
    }
    resource.push_back(std::move(out));
  };
  const auto add_role = [&](const Json& binding, const std::string& binding_ns) {
    if (!Binds(binding, user, binding_ns)) return;
    const bool cluster = TextAt(binding, {"roleRef", "kind"}) == "ClusterRole";
    const std::optional<Json> role =
        state.reader->Get(Gvr{kRbac, "v1", cluster ? "clusterroles" : "roles"},
                          cluster ? "" : binding_ns, TextAt(binding, {"roleRef", "name"}));
    if (!role) return;
    const Json* rules = Find(*role, {"rules"});
    for (const Json& rule : rules != nullptr && rules->is_array() ? *rules : Json::array())
      add(rule);
  };
  for (const Json& b : state.reader->List(Gvr{kRbac, "v1", "clusterrolebindings"}, ""))
    add_role(b, "");
  for (const Json& b : state.reader->List(Gvr{kRbac, "v1", "rolebindings"}, ns)) add_role(b, ns);
  return {{"resourceRules", resource}, {"nonResourceRules", paths}, {"incomplete", false}};
}

}  // namespace

bool IsReview(const Gvr& gvr) {
  return (gvr.group == "authentication.k8s.io" || gvr.group == "authorization.k8s.io");
}

Answer HandleReview(const State& state, Request& request) {
  const Resource& r = *request.resource;
  const WriteOptions options = ReadWriteOptions(request, "CreateOptions");
  Json object = ReadObject(request, r, options);
  const std::string& resource = r.gvr().resource;
  if (!object["spec"].is_object()) object["spec"] = Json::object();
  const Json spec = object["spec"];
  if (resource == "tokenreviews") {
    object["status"] = TokenStatus(state, spec);
  } else if (resource == "subjectaccessreviews" || resource == "localsubjectaccessreviews") {
    RequireSubject(r.kind->kind, spec, false);
    if (resource == "localsubjectaccessreviews") object["metadata"]["namespace"] = request.info.ns;
    object["status"] = AccessStatus(state, spec, SpecUser(spec));
  } else if (resource == "selfsubjectaccessreviews") {
    RequireSubject(r.kind->kind, spec, true);
    object["status"] = AccessStatus(state, spec, request.user);
  } else if (resource == "selfsubjectreviews") {
    object["metadata"]["creationTimestamp"] = request.info.now;
    object.erase("spec");
    object["status"] = {{"userInfo", UserJson(request.user)}};
  } else if (resource == "selfsubjectrulesreviews") {
    if (TextAt(spec, {"namespace"}).empty()) Fail(BadRequest("no namespace on request"));
    object["spec"] = Json::object();
    object["status"] = RulesStatus(state, request.user, TextAt(spec, {"namespace"}));
  } else {
    Fail(NoSuchResource());
  }
  return JsonAnswer(request, 201, object);
}

}  // namespace kcm::devcluster
