// SPDX-License-Identifier: Apache-2.0
// Server-side apply (apply.h).
#include "devcluster/server/apply.h"

#include "devcluster/server/convert.h"
#include "devcluster/server/patch_document.h"

namespace kcm::devcluster {

using host::wire::ObjectPtr;

namespace {

Json ReadConfiguration(const Request& request, const Resource& r) {
  Json j = ParseYaml(request.http->body);
  if (!j.is_object()) Fail(BadRequest("error decoding YAML: the body is not an object"));
  for (const char* member : {"apiVersion", "kind"}) {
    if (TextAt(j, {member}).empty())
      Fail(BadRequest(std::string("Object '") + member +
                      "' is missing in the applied configuration"));
  }
  if (TextAt(j, {"apiVersion"}) != r.type.api_version || TextAt(j, {"kind"}) != r.type.kind) {
    Fail(BadRequest("the applied configuration is " + TextAt(j, {"apiVersion"}) +
                    ", Kind=" + TextAt(j, {"kind"}) + ", the URL is for " + r.type.api_version +
                    ", Kind=" + r.type.kind));
  }
  if (const Json* m = Find(j, {"metadata", "managedFields"}); m != nullptr && !m->is_null()) {
    Fail(BadRequest("metadata.managedFields must be nil"));
  }
  if (!j["metadata"].is_object()) j["metadata"] = Json::object();
  return j;
}

}  // namespace

Answer HandleApply(const State& state, Request& request) {
  const Resource& r = *request.resource;
  const WriteOptions options = ReadWriteOptions(request, "PatchOptions");
  if (!options.manager_given) {
    Fail(Invalid("meta.k8s.io", "PatchOptions", "",
                 {Required("fieldManager", "is required for apply patch")}));
  }
  const Json wanted = ReadConfiguration(request, r);
  const std::string key = Store::Key(request.info.ns, request.info.name);
  if (!state.store->Get(*r.table, key) && request.info.subresource.empty()) {
    Json fresh = wanted;
    fresh["metadata"]["name"] = request.info.name;
    DecodePatched(request, r, options, &fresh);
    return ObjectAnswer(state, request, 201, r,
                        CreateObject(state, request, r, options, std::move(fresh)));
  }
  const Gvr gvr = r.gvr();
  Change change;
  change.patch = change.apply = true;
  change.make = [&](const Json& current) {
    Json next = ApplyStrategicPatch(
        current, wanted, [&](std::string_view path) { return state.kinds->MergeKey(gvr, path); });
    DecodePatched(request, r, options, &next);
    return next;
  };
  return ObjectAnswer(state, request, 200, r, UpdateObject(state, request, r, options, change));
}

}  // namespace kcm::devcluster
