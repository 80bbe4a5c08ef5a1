// SPDX-License-Identifier: Apache-2.0
// Discovery and the small fixed paths (discovery.h).
#include "devcluster/server/discovery.h"

#include <algorithm>

#include "devcluster/server/api_services.h"
#include "devcluster/server/convert.h"
#include "devcluster/server/crd.h"
#include "devcluster/server/hash.h"
#include "devcluster/server/open_api.h"
#include "devcluster/server/tls.h"

namespace kcm::devcluster {
namespace {

using Strings = std::vector<std::string>;

// The order of members counts for people who read it, not for clients: text is put together in the
// server's order.
std::string List(const Strings& words) {
  std::string out = "[";
  for (const std::string& w : words) out += (out.size() > 1 ? "," : "") + Dump(w);
  return out + "]";
}

std::string JoinedItems(const Strings& items) {
  std::string out;
  for (const std::string& i : items) out += (out.empty() ? "" : ",") + i;
  return out;
}

std::string StorageHash(const Resource& r) {
  std::string group = r.stored_type.api_version, version = group;
  const size_t slash = group.find('/');
  group = slash == std::string::npos ? "" : group.substr(0, slash);
  version = slash == std::string::npos ? version : version.substr(slash + 1);
  // These are hashed under the version that a real store keeps them in.
  const std::string& kind = r.kind->kind;
  if (kind == "CustomResourceDefinition" || kind == "MutatingAdmissionPolicy" ||
      kind == "MutatingAdmissionPolicyBinding") {
    version = "v1beta1";
  }
  if (r.kind->kind == "HorizontalPodAutoscaler") version = "v2";
  if (r.kind->kind == "Event") {
    group.clear();
    version = "v1";
  }
  return Base64(Sha256(group + "/" + version + "/" + r.kind->kind).substr(0, 8));
}

bool Stored(const Resource& r) { return r.HasVerb("watch") || r.HasVerb("delete"); }

void LegacyEntries(const Resource& r, Strings* out) {
  const ResourceKind& k = *r.kind;
  const std::string scope = std::string(",\"namespaced\":") + (k.namespaced ? "true" : "false");
  std::string e = "{\"name\":" + Dump(k.gvr.resource) + ",\"singularName\":" + Dump(k.singular) +
                  scope + ",\"kind\":" + Dump(k.kind) + ",\"verbs\":" + List(k.verbs);
  if (!k.short_names.empty()) e += ",\"shortNames\":" + List(k.short_names);
  if (!k.categories.empty()) e += ",\"categories\":" + List(k.categories);
  if (Stored(r)) e += ",\"storageVersionHash\":" + Dump(StorageHash(r));
  out->push_back(e + "}");
  Strings subs;
  for (const Subresource& s : k.subresources) {
    std::string sub =
        "{\"name\":" + Dump(k.gvr.resource + "/" + s.name) + ",\"singularName\":\"\"" + scope;
    if (!s.kind.empty()) {
      if (!s.group.empty()) sub += ",\"group\":" + Dump(s.group);
      if (!s.version.empty()) sub += ",\"version\":" + Dump(s.version);
    }
    out->push_back(sub + ",\"kind\":" + Dump(s.kind.empty() ? k.kind : s.kind) +
                   ",\"verbs\":" + List(s.verbs) + "}");
  }
}

std::string ResponseKind(const std::string& group, const std::string& version,
                         const std::string& kind) {
  return "{\"group\":" + Dump(group) + ",\"version\":" + Dump(version) + ",\"kind\":" + Dump(kind) +
         "}";
}

std::string AggregatedResource(const Resource& r) {
  const ResourceKind& k = *r.kind;
  std::string e = "{\"resource\":" + Dump(k.gvr.resource) +
                  ",\"responseKind\":" + ResponseKind("", "", k.kind) + ",\"scope\":\"" +
                  (k.namespaced ? "Namespaced" : "Cluster") +
                  "\",\"singularResource\":" + Dump(k.singular) + ",\"verbs\":" + List(k.verbs);
  if (!k.short_names.empty()) e += ",\"shortNames\":" + List(k.short_names);
  if (!k.categories.empty()) e += ",\"categories\":" + List(k.categories);
  Strings subs;
  for (const Subresource& s : k.subresources) {
    const bool own =
        s.kind.empty() || (s.group == k.gvr.group && s.version == k.gvr.version) || s.group.empty();
    subs.push_back(
        "{\"subresource\":" + Dump(s.name) + ",\"responseKind\":" +
        ResponseKind(own ? "" : s.group, own ? "" : s.version, s.kind.empty() ? k.kind : s.kind) +
        ",\"verbs\":" + List(s.verbs) + "}");
  }
  if (!subs.empty()) e += ",\"subresources\":[" + JoinedItems(subs) + "]";
  return e + "}";
}

std::string GroupText(const ResourceSet& set, const std::string& group) {
  Strings versions;
  for (const GroupVersionResources& v : set.versions) {
    if (v.group != group) continue;
    versions.push_back("{\"groupVersion\":" + Dump(GroupVersion(v.group, v.version)) +
                       ",\"version\":" + Dump(v.version) + "}");
  }
  return "\"name\":" + Dump(group) + ",\"versions\":[" + JoinedItems(versions) +
         "],\"preferredVersion\":" + (versions.empty() ? "null" : versions.front());
}

Strings Groups(const ResourceSet& set) {
  Strings out;
  for (const GroupVersionResources& v : set.versions) {
    if (!v.group.empty() && std::find(out.begin(), out.end(), v.group) == out.end())
      out.push_back(v.group);
  }
  return out;
}

std::string ForwardedVersion(const State& state, const GroupVersionResources& v) {
  const Json resources = state.custom->groups().Resources(v);
  return "{\"version\":" + Dump(v.version) +
         (resources.is_null()
              ? std::string(",\"freshness\":\"Stale\"}")
              : ",\"resources\":" + Dump(resources) + ",\"freshness\":\"Current\"}");
}

std::string Aggregated(const State& state, const ResourceSet& set, bool core) {
  Strings items;
  const Strings groups = core ? Strings{""} : Groups(set);
  for (const std::string& group : groups) {
    Strings versions;
    for (const GroupVersionResources& v : set.versions) {
      if (v.group != group) continue;
      if (IsForwarded(v)) {
        versions.push_back(ForwardedVersion(state, v));
        continue;
      }
      Strings resources;
      for (const ResourcePtr& r : v.resources) resources.push_back(AggregatedResource(*r));
      versions.push_back("{\"version\":" + Dump(v.version) + ",\"resources\":[" +
                         JoinedItems(resources) + "],\"freshness\":\"Current\"}");
    }
    items.push_back("{\"metadata\":{" + (core ? "" : "\"name\":" + Dump(group)) +
                    "},\"versions\":[" + JoinedItems(versions) + "]}");
  }
  return R"({"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[)" +
         JoinedItems(items) + "]}\n";
}

Answer GroupListAnswer(const State& state, const Request& request, bool core) {
  Offer offer;
  offer.table = offer.partial = offer.protobuf = false;
  offer.discovery = true;
  Media media;
  try {
    media = Negotiate(request.http->Header("Accept"), offer);
  } catch (Failure& f) {
    // Discovery of the reference offers protobuf too; the text says so.
    f.error.message += ", application/vnd.kubernetes.protobuf";
    throw;
  }
  const std::shared_ptr<const ResourceSet> set = Announced(state);
  Answer a;
  a.content_type = media.ContentType();
  if (media.as == Media::As::kDiscovery) {
    a.body = Aggregated(state, *set, core);
    const std::string etag = "\"" + UpperHex(Sha256(a.body)) + "\"";
    a.headers = "ETag: " + etag + "\r\nVary: Accept\r\n";
    if (request.http->Header("If-None-Match") == etag) {
      a.code = 304;
      a.body.clear();
    }
  } else if (core) {
    a.body =
        R"({"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[{"clientCIDR":"0.0.0.0/0","serverAddress":)" +
        Dump(state.address_and_port) + "}]}\n";
  } else {
    Strings groups;
    for (const std::string& g : Groups(*set)) groups.push_back("{" + GroupText(*set, g) + "}");
    a.body =
        R"({"kind":"APIGroupList","apiVersion":"v1","groups":[)" + JoinedItems(groups) + "]}\n";
  }
  return a;
}

Answer VersionAnswer(const ResourceSet& set, const Target& t) {
  const GroupVersionResources* v = set.Version(t.group, t.version);
  if (v == nullptr) {
    if (t.core || set.HasGroup(t.group)) Fail(NoSuchResource());
    return PlainNotFound();
  }
  Strings entries;
  for (const ResourcePtr& r : v->resources) LegacyEntries(*r, &entries);
  // Sorted as the reference sorts them: by the whole name.
  return Answer::Of(200, std::string("{\"kind\":\"APIResourceList\"") +
                             (t.core ? "" : ",\"apiVersion\":\"v1\"") +
                             ",\"groupVersion\":" + Dump(GroupVersion(t.group, t.version)) +
                             ",\"resources\":[" + JoinedItems(entries) + "]}\n");
}

Answer Plain(int code, std::string text) {
  Answer a = Answer::Of(code, std::move(text));
  a.content_type = "text/plain; charset=utf-8";
  return a;
}

Answer VersionInfo(const State& state) {
  // v1.36.2 -> 1, 36
  const std::string& v = state.server_version;
  const size_t dot = v.find('.');
  const std::string major = v.substr(1, dot - 1),
                    minor = v.substr(dot + 1, v.find('.', dot + 1) - dot - 1);
  const Json j = {
      {"major", major},      {"minor", minor},          {"gitVersion", v},
      {"gitCommit", ""},     {"gitTreeState", "clean"}, {"buildDate", "1970-01-01T00:00:00Z"},
      {"goVersion", "none"}, {"compiler", "gcc"},       {"platform", "linux/amd64"}};
  return Answer::Of(200, j.dump(2));
}

Answer Paths(const ResourceSet& set) {
  Strings paths = {"/.well-known/openid-configuration",
                   "/api",
                   "/apis",
                   "/healthz",
                   "/livez",
                   "/metrics",
                   "/openapi/v2",
                   "/openapi/v3",
                   "/openid/v1/jwks",
                   "/readyz",
                   "/version"};
  for (const GroupVersionResources& v : set.versions) {
    if (!v.group.empty()) paths.push_back("/apis/" + v.group);
    paths.push_back(v.group.empty() ? "/api/" + v.version : "/apis/" + v.group + "/" + v.version);
  }
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  return Answer::Of(200, "{\"paths\":" + List(paths) + "}\n");
}

Answer HealthAnswer(const Request& request, const Strings& s) {
  if (s.size() > 2 || (s.size() == 2 && s[1] != "ping")) return PlainNotFound();
  if (!request.query.Has("verbose")) return Plain(200, "ok");
  return Plain(200, "[+]ping ok\n[+]log ok\n[+]store ok\n" + s[0] + " check passed\n");
}

}  // namespace

Answer PlainNotFound() { return Plain(404, "404 page not found\n"); }

Answer HandleNonResource(const State& state, Request& request) {
  const Target& t = request.target;
  const Strings& s = t.segments;
  const std::string& method = request.http->method;
  const std::shared_ptr<const ResourceSet> set = Announced(state);
  const auto known = [&](Answer a) {
    if (method != "GET" && method != "HEAD") Fail(MethodNotAllowed());
    return a;
  };
  switch (t.kind) {
    case Target::Kind::kGroupList:
      return known(GroupListAnswer(state, request, t.core));
    case Target::Kind::kVersion:
      return known(VersionAnswer(*set, t));
    case Target::Kind::kGroup:
      if (!set->HasGroup(t.group)) return PlainNotFound();
      return known(Answer::Of(
          200, R"({"kind":"APIGroup","apiVersion":"v1",)" + GroupText(*set, t.group) + "}\n"));
    default:
      break;
  }
  if (s.empty()) return known(Paths(*set));
  if (s[0] == "version" && s.size() == 1) return known(VersionInfo(state));
  if (s[0] == "healthz" || s[0] == "livez" || s[0] == "readyz")
    return known(HealthAnswer(request, s));
  if (s[0] == "metrics" && s.size() == 1) return known(Plain(200, ""));
  if (s[0] == "openapi" && s.size() == 2 && s[1] == "v2") return known(OpenApiV2(request));
  if (s[0] == "openapi" && s.size() == 2 && s[1] == "v3") return known(OpenApiIndex(state, *set));
  if (s[0] == "openapi" && s.size() >= 3 && s[1] == "v3") {
    const Target of =
        ParsePath(request.http->path().substr(std::string_view("/openapi/v3").size()));
    const GroupVersionResources* v = set->Version(of.group, of.version);
    if (v != nullptr && !IsForwarded(*v)) return known(OpenApiDocument(state, request, *v));
  }
  return PlainNotFound();
}

}  // namespace kcm::devcluster
