// SPDX-License-Identifier: Apache-2.0
// OpenAPI documents (open_api.h).
#include "devcluster/server/open_api.h"

#include <map>

#include "devcluster/kinds/open_api.h"
#include "devcluster/server/api_services.h"
#include "devcluster/server/convert.h"
#include "devcluster/server/hash.h"

namespace kcm::devcluster {
namespace {

std::string PathOf(const GroupVersionResources& v) {
  return v.group.empty() ? "api/" + v.version : "apis/" + v.group + "/" + v.version;
}

// The schema in a custom kind's definition; an empty one for any other.
Json SchemaOf(const State& state, const Resource& r) {
  if (!r.kind->custom) return Json::object();
  const std::optional<Json> crd =
      state.reader->Get(Gvr{"apiextensions.k8s.io", "v1", "customresourcedefinitions"}, "",
                        r.gvr().resource + "." + r.gvr().group);
  const Json* versions = crd ? Find(*crd, {"spec", "versions"}) : nullptr;
  if (versions == nullptr || !versions->is_array()) return Json::object();
  for (const Json& v : *versions) {
    const Json* schema = Find(v, {"schema", "openAPIV3Schema"});
    if (TextAt(v, {"name"}) == r.gvr().version && schema != nullptr && schema->is_object())
      return *schema;
  }
  return Json::object();
}

// What a document depends on: kinds, and the schemas of custom ones.
std::string HashOf(const State& state, const GroupVersionResources& v) {
  std::string all = PathOf(v);
  for (const ResourcePtr& r : v.resources) {
    all += "," + r->kind->kind;
    if (r->kind->custom) all += Dump(SchemaOf(state, *r));
  }
  return UpperHex(Sha256(all));
}

// "example.com" and "Widget" -> "com.example.v1.Widget".
std::string SchemaName(const Resource& r) {
  std::string name, rest = r.gvr().group;
  while (!rest.empty()) {
    const size_t dot = rest.rfind('.');
    name += (dot == std::string::npos ? rest : rest.substr(dot + 1)) + ".";
    rest.resize(dot == std::string::npos ? 0 : dot);
  }
  return name + r.gvr().version + "." + r.kind->kind;
}

Json GroupVersionKind(const Resource& r) {
  return {{"group", r.gvr().group}, {"version", r.gvr().version}, {"kind", r.kind->kind}};
}

// A CRD's schema, completed with what every object has.
Json CompletedSchema(const State& state, const Resource& r) {
  Json out = SchemaOf(state, r);
  out["type"] = "object";
  Json& properties = out["properties"];
  if (!properties.is_object()) properties = Json::object();
  for (const char* name : {"apiVersion", "kind"}) properties[name] = {{"type", "string"}};
  properties["metadata"] = {
      {"allOf",
       Json::array(
           {{{"$ref", "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}}})}};
  out["x-kubernetes-group-version-kind"] = Json::array({GroupVersionKind(r)});
  return out;
}

Json PatchOperation(const Resource& r) {
  Json parameters = Json::array();
  for (const char* name : {"dryRun", "fieldManager", "fieldValidation", "force"}) {
    parameters.push_back({{"name", name}, {"in", "query"}, {"schema", {{"type", "string"}}}});
  }
  return {{"operationId", "patch" + r.kind->kind},
          {"parameters", parameters},
          {"responses", {{"200", {{"description", "OK"}}}}},
          {"x-kubernetes-action", "patch"},
          {"x-kubernetes-group-version-kind", GroupVersionKind(r)}};
}

}  // namespace

Answer OpenApiIndex(const State& state, const ResourceSet& set) {
  std::map<std::string, std::string> hashes;
  for (const char* path :
       {".well-known/openid-configuration", "api", "apis", "openid/v1/jwks", "version"})
    hashes[path] = UpperHex(Sha256(path));
  for (const GroupVersionResources& v : set.versions) {
    if (IsForwarded(v)) continue;
    if (!v.group.empty()) hashes["apis/" + v.group] = UpperHex(Sha256(v.group));
    hashes[PathOf(v)] = HashOf(state, v);
  }
  std::string paths;
  for (const auto& [path, hash] : hashes) {
    paths += (paths.empty() ? "" : ",") + Dump(path) +
             ":{\"serverRelativeURL\":" + Dump("/openapi/v3/" + path + "?hash=" + hash) + "}";
  }
  Answer a = Answer::Of(200, "{\"paths\":{" + paths + "}}\n");
  a.content_type = "text/plain; charset=utf-8";
  return a;
}

Answer OpenApiDocument(const State& state, const Request& request, const GroupVersionResources& v) {
  const std::string hash = HashOf(state, v), etag = "\"" + hash + "\"";
  const std::string headers = "ETag: " + etag + "\r\n";
  Answer a;
  a.headers = headers;
  if (request.http->Header("If-None-Match") == etag) {
    a.code = 304;
    return a;
  }
  Json paths = Json::object();
  std::vector<Gvr> built_in;
  for (const ResourcePtr& r : v.resources) {
    const std::string path = "/" + PathOf(v) +
                             (r->kind->namespaced ? "/namespaces/{namespace}/" : "/") +
                             r->gvr().resource + "/{name}";
    paths[path]["patch"] = PatchOperation(*r);
    if (!r->kind->custom) built_in.push_back(r->gvr());
  }
  Json schemas = kinds::OpenApiSchemas(built_in);
  for (const ResourcePtr& r : v.resources) {
    if (r->kind->custom) schemas[SchemaName(*r)] = CompletedSchema(state, *r);
  }
  a.body = Dump({{"openapi", "3.0.0"},
                 {"info", {{"title", "Kubernetes"}, {"version", "unversioned"}}},
                 {"paths", std::move(paths)},
                 {"components", {{"schemas", std::move(schemas)}}}}) +
           "\n";
  return a;
}

Answer OpenApiV2(const Request& request) {
  if (request.http->Header("Accept").find("proto-openapi") == std::string_view::npos) {
    return Answer::Of(200, R"({"swagger":"2.0","info":{"title":"k","version":"v1."},"paths":{}})");
  }
  constexpr std::string_view kDocument(
      "\x0a\x03"
      "2.0"
      "\x12\x08\x0a\x01k\x12\x03v1.",
      15);
  Answer a = Answer::Of(200, std::string(kDocument));
  a.content_type = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
  return a;
}

}  // namespace kcm::devcluster
