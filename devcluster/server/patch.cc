// SPDX-License-Identifier: Apache-2.0
// PATCH requests (spec/apiserver F): which type, applied to what, and the update that follows.
#include "devcluster/server/apply.h"
#include "devcluster/server/convert.h"
#include "devcluster/server/patch_document.h"
#include "devcluster/server/write.h"

namespace kcm::devcluster {

using host::wire::ObjectPtr;

namespace {

enum class PatchType { kJson, kMerge, kStrategic, kApply };

PatchType TypeOf(const Request& request, const Resource& r) {
  std::string media;
  BodyTypeOf(request.http->Header("Content-Type"), &media);
  if (media == "application/json-patch+json") return PatchType::kJson;
  if (media == "application/merge-patch+json") return PatchType::kMerge;
  if (media == "application/strategic-merge-patch+json" && !r.kind->custom)
    return PatchType::kStrategic;
  if (media == "application/apply-patch+yaml") return PatchType::kApply;
  ApiError e = UnsupportedMediaType("415: Unsupported Media Type");
  e.details = Json::object();
  Fail(std::move(e));
}

Json ParsePatch(const std::string& body) {
  try {
    return ParseJson(body, nullptr);
  } catch (const Failure& f) {
    Fail(BadRequest("error decoding patch: " + f.error.message));
  }
}

}  // namespace

bool IsApply(const Request& request) {
  std::string media;
  BodyTypeOf(request.http->Header("Content-Type"), &media);
  return media == "application/apply-patch+yaml";
}

namespace {

std::function<Json(const Json&)> ClassicPatch(const State& state, const Request& request,
                                              const Resource& r) {
  const PatchType type = TypeOf(request, r);
  const Json patch = ParsePatch(request.http->body);
  const Gvr gvr = r.gvr();
  const KindRegistry* kinds = state.kinds;
  switch (type) {
    case PatchType::kJson:
      return [patch](const Json& current) { return ApplyJsonPatch(current, patch); };
    case PatchType::kMerge:
      return [patch](const Json& current) { return ApplyMergePatch(current, patch); };
    default:
      return [patch, gvr, kinds](const Json& current) {
        return ApplyStrategicPatch(
            current, patch, [&](std::string_view path) { return kinds->MergeKey(gvr, path); });
      };
  }
}

}  // namespace

std::function<Json(const Json&)> PatchFunction(const State& state, Request& request,
                                               const Resource& r, const WriteOptions& options,
                                               const Resource& body) {
  if (request.query.Has("force")) {
    Fail(Invalid("meta.k8s.io", "PatchOptions", "",
                 {ForbiddenField("force", "may not be specified for non-apply patch")}));
  }
  const auto patched = ClassicPatch(state, request, r);
  const bool strategic = TypeOf(request, r) == PatchType::kStrategic;
  const std::string shown = strategic ? GoMap(ParsePatch(request.http->body)) : "";
  return [&request, &options, &body, patched, shown](const Json& current) {
    Json next = patched(current);
    // A patch may replace the whole object; the type stays.
    if (next.is_object()) {
      for (const char* member : {"kind", "apiVersion"}) {
        if (!next.contains(member)) next[member] = current[member];
      }
    }
    if (next.is_object() && TextAt(next, {"metadata", "name"}).empty()) {
      Fail(BadRequest("the name of the object (" + request.info.name +
                      " based on URL) was undeterminable: name must be provided"));
    }
    DecodePatched(request, body, options, shown, &next);
    return next;
  };
}

Answer HandlePatch(const State& state, Request& request) {
  const Resource& r = *request.resource;
  Negotiate(request.http->Header("Accept"), OfferFor(r));
  if (TypeOf(request, r) == PatchType::kApply) return HandleApply(state, request);
  const WriteOptions options = ReadWriteOptions(request, "PatchOptions");
  Change change;
  change.patch = true;
  change.make = PatchFunction(state, request, r, options, r);
  return ObjectAnswer(state, request, 200, r, UpdateObject(state, request, r, options, change));
}

}  // namespace kcm::devcluster
