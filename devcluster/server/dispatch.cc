// SPDX-License-Identifier: Apache-2.0
// Routing (dispatch.h).
#include "devcluster/server/dispatch.h"

#include <algorithm>
#include <exception>

#include "devcluster/server/api_services.h"
#include "devcluster/server/authenticate.h"
#include "devcluster/server/convert.h"
#include "devcluster/server/crd.h"
#include "devcluster/server/discovery.h"
#include "devcluster/server/subresources.h"
#include "devcluster/server/write.h"

namespace kcm::devcluster {
namespace {

std::string MethodAsVerb(std::string m) {
  for (char& c : m) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return m;
}

bool IsRead(const std::string& method) { return method == "GET" || method == "HEAD"; }

std::string VerbOf(const Request& request) {
  const Target& t = request.target;
  const std::string& m = request.http->method;
  if (t.kind != Target::Kind::kResource) return MethodAsVerb(m);
  if (IsRead(m)) {
    if (t.legacy_watch) return "watch";
    if (!t.name.empty()) return "get";
    return request.query.Flag("watch") ? "watch" : "list";
  }
  if (m == "POST") return "create";
  if (m == "PUT") return "update";
  if (m == "PATCH") return "patch";
  if (m == "DELETE") return t.name.empty() ? "deletecollection" : "delete";
  return MethodAsVerb(m);
}

// Which verb a user needs: subresource verbs are those of the method.
const Subresource& RequireSubresource(const Request& request) {
  const Subresource* sub = request.resource->Sub(request.target.subresource);
  if (sub == nullptr) Fail(NoSuchResource());
  return *sub;
}

bool Lists(const std::vector<std::string>& verbs, const std::string& verb) {
  return std::find(verbs.begin(), verbs.end(), verb) != verbs.end();
}

Answer RouteSubresource(const State& state, Request& request, const std::string& verb) {
  const Subresource& sub = RequireSubresource(request);
  const std::string& name = sub.name;
  const bool stream = name == "log" || name == "exec" || name == "attach" ||
                      name == "portforward" || name == "proxy";
  if (stream) return HandlePodStream(state, request);
  if (!Lists(sub.verbs, verb) || !request.target.rest.empty()) Fail(MethodNotAllowed());
  if (name == "scale") return HandleScale(state, request);
  if (name == "binding") return HandleBinding(state, request);
  if (name == "eviction") return HandleEviction(state, request);
  if (name == "token") return HandleTokenRequest(state, request);
  if (verb == "get") return HandleGet(state, request);
  if (verb == "update") return HandleUpdate(state, request);
  if (verb == "patch") return HandlePatch(state, request);
  Fail(MethodNotAllowed());
}

// Namespace and name of the URL must suit the resource's scope.
void CheckScope(const Request& request) {
  const Target& t = request.target;
  const bool namespaced = request.resource->kind->namespaced;
  const bool own = t.resource == "namespaces" && t.group.empty();
  if (!namespaced && !t.ns.empty() && !own) Fail(NoSuchResource());
  if (namespaced && t.ns.empty() && !t.name.empty() && !t.legacy_watch) Fail(NoSuchResource());
}

Answer RouteResource(const State& state, Request& request, const std::string& verb) {
  const Target& t = request.target;
  const Resource& r = *request.resource;
  CheckScope(request);
  if (!t.subresource.empty()) return RouteSubresource(state, request, verb);
  const bool across = r.kind->namespaced && t.ns.empty();
  if (across && verb != "list" && verb != "watch") Fail(MethodNotAllowed());
  if (verb == "create" && !t.name.empty()) Fail(MethodNotAllowed());
  if ((verb == "update" || verb == "patch") && t.name.empty()) Fail(MethodNotAllowed());
  if (IsReview(r.gvr()) && verb == "create") return HandleReview(state, request);
  if (r.gvr().resource == "bindings" && verb == "create") return HandleBinding(state, request);
  if (!r.HasVerb(verb)) Fail(MethodNotAllowed());
  if (verb == "get") return HandleGet(state, request);
  if (verb == "list") return HandleList(state, request);
  if (verb == "watch") return HandleWatch(state, request);
  if (verb == "create") return HandleCreate(state, request);
  if (verb == "update") return HandleUpdate(state, request);
  if (verb == "patch") return HandlePatch(state, request);
  if (verb == "delete") return HandleDelete(state, request);
  if (verb == "deletecollection") return HandleDeleteCollection(state, request);
  Fail(MethodNotAllowed());
}

// Whether kinds of the group are not all of CRDs: what is unknown there gets a Status.
bool HasBuiltIn(const ResourceSet& set, const std::string& group) {
  return std::any_of(set.versions.begin(), set.versions.end(), [&](const auto& v) {
    return v.group == group && std::any_of(v.resources.begin(), v.resources.end(),
                                           [](const ResourcePtr& r) { return !r->kind->custom; });
  });
}

Answer Route(const State& state, Request& request) {
  const Target& t = request.target;
  const std::string verb = VerbOf(request);
  Impersonate(state, &request, verb);
  Authorize(state, request, verb);
  const std::shared_ptr<const ResourceSet> set = Announced(state);
  const GroupVersionResources* v = set->Version(t.group, t.version);
  if (v != nullptr && IsForwarded(*v)) return state.custom->groups().Forward(request);
  if (t.kind != Target::Kind::kResource) return HandleNonResource(state, request);
  const auto found = set->by_gvr.find(Gvr{t.group, t.version, t.resource});
  if (found == set->by_gvr.end()) {
    if (!t.core && !HasBuiltIn(*set, t.group)) return PlainNotFound();
    Fail(NoSuchResource());
  }
  request.resource = found->second;
  RequestInfo& info = request.info;
  info.verb = verb;
  info.ns = request.resource->kind->namespaced ? t.ns : "";
  info.name = t.name;
  info.subresource = t.subresource;
  info.user = request.user;
  info.now = FormatSeconds(state.clock->Now());
  info.now_micro = FormatMicros(state.clock->Now());
  info.warnings = &request.warnings;
  info.reader = state.reader;
  if (request.resource->kind->kind == "Endpoints" && t.group.empty()) {
    request.warnings.emplace_back(
        "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice");
  }
  return RouteResource(state, request, verb);
}

}  // namespace

Answer Dispatch(const State& state, Request& request) {
  Answer a;
  try {
    a = Route(state, request);
  } catch (const Failure& f) {
    a = StatusAnswer(f.error);
  } catch (const std::exception& e) {
    // Of a library, on input that no check of ours foresaw: the client learns what, the server
    // lives on.
    a = StatusAnswer(Untyped(std::string("internal error: ") + e.what()));
  }
  if (!a.sent) a.headers += WarningHeaders(request.warnings);
  return a;
}

}  // namespace kcm::devcluster
