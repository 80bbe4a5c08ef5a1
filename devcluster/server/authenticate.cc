// SPDX-License-Identifier: Apache-2.0
// Authentication and authorization (authenticate.h).
#include "devcluster/server/authenticate.h"

#include <strings.h>

#include <algorithm>

#include "devcluster/server/convert.h"
#include "devcluster/server/tokens.h"
#include "kcm/rules/field_selector.h"
#include "kcm/rules/name_validation.h"

namespace kcm::devcluster {
namespace {

constexpr const char* kMasters = "system:masters";

bool IsMaster(const UserInfo& user) {
  return std::find(user.groups.begin(), user.groups.end(), kMasters) != user.groups.end();
}

std::string_view BearerToken(const HttpRequest& http) {
  const std::string_view value = http.Header("Authorization");
  constexpr std::string_view kScheme = "bearer ";
  if (value.size() < kScheme.size() ||
      strncasecmp(value.data(), kScheme.data(), kScheme.size()) != 0)
    return {};
  return value.substr(kScheme.size());
}

constexpr const char* kAuthentication = "authentication.k8s.io";
constexpr std::string_view kAccount = "system:serviceaccount:", kNode = "system:node:";

constexpr std::string_view kExtra = "impersonate-extra-";

bool IsExtra(const std::string& header) {
  return header.size() > kExtra.size() &&
         strncasecmp(header.c_str(), kExtra.data(), kExtra.size()) == 0;
}

// Headers that say more of the user to act as.
bool IsImpersonation(const std::string& header) {
  return strcasecmp(header.c_str(), "Impersonate-Group") == 0 ||
         strcasecmp(header.c_str(), "Impersonate-Uid") == 0 || IsExtra(header);
}

[[noreturn]] void RefuseImpersonation(const UserInfo& real, const std::string& verb, const Gvr& gvr,
                                      const std::string& ns, std::string_view name) {
  std::string why = "User " + GoQuote(real.name) + " cannot " + verb + " resource " +
                    GoQuote(gvr.resource) + " in API group " + GoQuote(gvr.group);
  why += ns.empty() ? " at the cluster scope" : " in the namespace " + GoQuote(ns);
  Fail(Forbidden(gvr, name, why));
}

// Impersonation that is limited to some actions: the real user must be allowed the action by that
// way (`impersonate-on:user-info:list` pods), and the user to act as (`impersonate:user-info`).
void RequireConstrained(const State& state, const Request& request, const std::string& verb,
                        std::string_view name) {
  const UserInfo& real = request.user;
  std::string mode = "user-info", ns, reason;
  Gvr gvr{kAuthentication, "v1", "users"};
  std::string_view object = name;
  if (name.starts_with(kAccount)) {
    mode = gvr.resource = "serviceaccount";
    gvr.resource += "s";
    const std::string_view rest = name.substr(kAccount.size());
    ns = rest.substr(0, rest.find(':'));
    object = rest.substr(std::min(rest.size(), ns.size() + 1));
  } else if (name.starts_with(kNode)) {
    mode = "arbitrary-node";
    gvr.resource = "nodes";
    object = name.substr(kNode.size());
  }
  Authorize(state, request, "impersonate-on:" + mode + ":" + verb);
  const std::string wanted = "impersonate:" + mode;
  if (!Allowed(state, real, wanted, gvr, "", ns, object, &reason))
    RefuseImpersonation(real, wanted, gvr, ns, object);
}

}  // namespace

void Impersonate(const State& state, Request* request, const std::string& verb) {
  const HttpRequest& http = *request->http;
  const UserInfo real = request->user;
  const std::string_view name = http.Header("Impersonate-User");
  if (name.empty()) {
    for (const auto& [key, value] : http.headers) {
      if (IsImpersonation(key))
        Fail(Untyped("requested " + key + " " + GoQuote(value) + " without impersonating a user"));
    }
    return;
  }
  std::string reason;
  const bool free =
      Allowed(state, real, "impersonate", Gvr{"", "v1", "users"}, "", "", name, &reason);
  if (!free) RequireConstrained(state, *request, verb, name);
  UserInfo user;
  user.name = std::string(name);
  user.uid = std::string(http.Header("Impersonate-Uid"));
  for (const auto& [key, value] : http.headers) {
    if (strcasecmp(key.c_str(), "Impersonate-Group") == 0) user.groups.push_back(value);
    if (IsExtra(key)) {
      std::string extra = UrlDecode(key.substr(kExtra.size()), false);
      for (char& c : extra) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
      user.extra[extra].push_back(value);
    }
  }
  const Gvr groups{free ? "" : kAuthentication, "v1", "groups"};
  const std::string wanted = free ? "impersonate" : "impersonate:user-info";
  for (const std::string& g : user.groups) {
    if (!Allowed(state, real, wanted, groups, "", "", g, &reason))
      RefuseImpersonation(real, wanted, groups, "", g);
  }
  const Gvr uids{kAuthentication, "v1", "uids"}, extras{kAuthentication, "v1", "userextras"};
  if (!user.uid.empty() && !Allowed(state, real, wanted, uids, "", "", user.uid, &reason))
    RefuseImpersonation(real, wanted, uids, "", user.uid);
  for (const auto& [key, values] : user.extra.items()) {
    for (const Json& value : values) {
      const std::string text = value.get<std::string>();
      if (!Allowed(state, real, wanted, extras, key, "", text, &reason))
        RefuseImpersonation(real, wanted, {extras.group, "v1", "userextras/" + key}, "", text);
    }
  }
  if (user.groups.empty() && name.substr(0, kAccount.size()) == kAccount) {
    const std::string_view rest = name.substr(kAccount.size());
    user.groups = {"system:serviceaccounts",
                   "system:serviceaccounts:" + std::string(rest.substr(0, rest.find(':')))};
  }
  if (name != "system:anonymous") user.groups.emplace_back("system:authenticated");
  request->user = std::move(user);
}

namespace {

// A deleted object still vouches for its tokens so long.
constexpr int64_t kLeewaySeconds = 60;

// Whether the object is still the one that a token names; `ref` has its name and uid.
bool Lives(const State& state, const Gvr& gvr, const std::string& ns, const Json& ref,
           int64_t now) {
  const std::optional<Json> object = state.reader->Get(gvr, ns, TextAt(ref, {"name"}));
  if (!object || TextAt(*object, {"metadata", "uid"}) != TextAt(ref, {"uid"})) return false;
  const std::string deleted = TextAt(*object, {"metadata", "deletionTimestamp"});
  return deleted.empty() || ParseSeconds(deleted).value_or(now) + kLeewaySeconds >= now;
}

// A token holds no longer than its account and what it is bound to.
bool SubjectsLive(const State& state, const Json& claims, int64_t now) {
  const Json own = claims.value("kubernetes.io", Json::object());
  const std::string ns = TextAt(own, {"namespace"});
  const auto lives = [&](const char* member, const char* resource, const std::string& in) {
    const Json* ref = Find(own, {member});
    return ref == nullptr || Lives(state, Gvr{"", "v1", resource}, in, *ref, now);
  };
  return own.contains("serviceaccount") && lives("serviceaccount", "serviceaccounts", ns) &&
         lives("pod", "pods", ns) && lives("secret", "secrets", ns) &&
         (own.contains("pod") || lives("node", "nodes", ""));
}

}  // namespace

std::optional<UserInfo> UserOfToken(const State& state, std::string_view token, Json* audiences) {
  const std::optional<Json> claims = state.tokens->Verify(token);
  if (!claims) return std::nullopt;
  const int64_t now =
      std::chrono::floor<std::chrono::seconds>(state.clock->Now()).time_since_epoch().count();
  std::optional<UserInfo> user = UserOfClaims(*claims, now);
  if (!user || !SubjectsLive(state, *claims, now)) return std::nullopt;
  *audiences = claims->value("aud", Json::array());
  return user;
}

namespace {

// The user of a token that is meant for this API.
std::optional<UserInfo> UserOfApiToken(const State& state, std::string_view token) {
  Json audiences;
  std::optional<UserInfo> user = UserOfToken(state, token, &audiences);
  const bool meant = user && std::find(audiences.begin(), audiences.end(), TokenIssuer::Issuer()) !=
                                 audiences.end();
  return meant ? user : std::nullopt;
}

}  // namespace

UserInfo Authenticate(const State& state, const HttpRequest& http, const PeerCertificate& peer,
                      bool plain) {
  UserInfo user;
  const std::string_view token = BearerToken(http);
  if (!peer.common_name.empty()) {
    user.name = peer.common_name;
    user.groups = peer.organizations;
    user.extra["authentication.kubernetes.io/credential-id"] =
        Json::array({"X509SHA256=" + peer.sha256});
    user.groups.emplace_back("system:authenticated");
  } else if (std::optional<UserInfo> account =
                 token.empty() ? std::nullopt : UserOfApiToken(state, token)) {
    user = std::move(*account);
  } else if (plain && token.empty()) {
    user.name = "admin";
    user.groups = {kMasters, "system:authenticated"};
  } else if (!token.empty() || !http.Header("Authorization").empty()) {
    Fail(Unauthorized());
  } else {
    user.name = "system:anonymous";
    user.groups = {"system:unauthenticated"};
  }
  return user;
}

bool Allowed(const State& state, const UserInfo& user, std::string_view verb, const Gvr& gvr,
             std::string_view subresource, std::string_view ns, std::string_view name,
             std::string* reason) {
  if (IsMaster(user)) return true;
  return state.kinds->Authorize(user, verb, gvr, subresource, ns, name, *state.reader, reason);
}

bool AllowedPath(const State& state, const UserInfo& user, std::string_view verb,
                 std::string_view path, std::string* reason) {
  if (IsMaster(user)) return true;
  return state.kinds->AuthorizeNonResource(user, verb, path, *state.reader, reason);
}

namespace {

// The one name that a list or watch asks for by its field selector: rules with resourceNames hold
// for it. "" when there is none.
std::string SelectedName(const Request& request, const std::string& verb) {
  if (verb != "list" && verb != "watch") return "";
  const auto selector = rules::FieldSelector::Parse(request.query.Get("fieldSelector"));
  if (!selector.ok()) return "";  // refused when it is used
  const std::string name(selector->RequiredValue("metadata.name").value_or(""));
  return rules::ValidatePathSegment(name).empty() ? name : "";
}

}  // namespace

void Authorize(const State& state, const Request& request, const std::string& verb) {
  const Target& t = request.target;
  std::string reason;
  if (t.kind != Target::Kind::kResource) {
    const std::string path(request.http->path());
    if (AllowedPath(state, request.user, verb, path, &reason)) return;
    ApiError e = Forbidden(Gvr{}, "", "");
    e.message = "forbidden: User " + GoQuote(request.user.name) + " cannot " + verb + " path " +
                GoQuote(path);
    e.details = Json::object();
    Fail(std::move(e));
  }
  const Gvr gvr{t.group, t.version, t.resource};
  const std::string name = t.name.empty() ? SelectedName(request, verb) : t.name;
  if (Allowed(state, request.user, verb, gvr, t.subresource, t.ns, name, &reason)) return;
  const std::string resource =
      t.subresource.empty() ? t.resource : t.resource + "/" + t.subresource;
  std::string why = "User " + GoQuote(request.user.name) + " cannot " + verb + " resource " +
                    GoQuote(resource) + " in API group " + GoQuote(t.group);
  why += t.ns.empty() ? " at the cluster scope" : " in the namespace " + GoQuote(t.ns);
  Fail(Forbidden(gvr, name, why));
}

}  // namespace kcm::devcluster
