// SPDX-License-Identifier: Apache-2.0
// Answers with one object (core.h).
#include "devcluster/server/convert.h"
#include "devcluster/server/core.h"
#include "devcluster/server/table.h"

namespace kcm::devcluster {

using host::wire::ObjectPtr;
using host::wire::TypeMeta;

Offer OfferFor(const Resource& resource) {
  Offer offer;
  offer.protobuf = !resource.message.empty();
  return offer;
}

Json EditableInVersion(const Resource& resource, const host::wire::Object& stored) {
  Json j = Editable(stored, resource.stored_type);
  if (resource.kind->from_storage) {
    j = resource.kind->from_storage(j);
  }
  j["kind"] = resource.type.kind;
  j["apiVersion"] = resource.type.api_version;
  return j;
}

ObjectPtr InVersion(const Resource& resource, const ObjectPtr& stored) {
  if (resource.stored_form) return stored;
  return ToFlat(EditableInVersion(resource, *stored));
}

namespace {

std::string PartialBody(const host::wire::Object& object, const Media& media) {
  const ObjectPtr partial = host::wire::MetadataOnly(object);
  const TypeMeta type{"meta.k8s.io/" + media.version, "PartialObjectMetadata"};
  std::string out;
  if (media.protobuf()) {
    std::string raw;
    (void)host::wire::EncodeProtobuf("meta.v1.PartialObjectMetadata", partial->Root(), &raw).ok();
    host::wire::WrapEnvelope(type, raw, &out);
  } else {
    host::wire::EncodeJson(partial->Root(), &type, &out);
    out += "\n";
  }
  return out;
}

std::string FullBody(const Resource& resource, const host::wire::Object& object,
                     const Media& media) {
  std::string out;
  if (media.protobuf()) {
    std::string raw;
    const Status encoded = host::wire::EncodeProtobuf(resource.message, object.Root(), &raw);
    if (!encoded.ok()) Fail(Untyped("cannot encode the object: " + encoded.error().message));
    host::wire::WrapEnvelope(resource.type, raw, &out);
  } else {
    host::wire::EncodeJson(object.Root(), &resource.type, &out);
    out += "\n";
  }
  return out;
}

std::string Indented(const std::string& json) { return ParseJson(json, nullptr).dump(2) + "\n"; }

}  // namespace

Answer ObjectAnswer(const State& state, const Request& request, int code, const Resource& resource,
                    const ObjectPtr& object) {
  const Media media = Negotiate(request.http->Header("Accept"), OfferFor(resource));
  const ObjectPtr shown = InVersion(resource, object);
  Answer a;
  a.code = code;
  a.content_type = media.ContentType();
  switch (media.as) {
    case Media::As::kTable:
      a.body = TableOfOne(state, request, resource, *shown, media);
      break;
    case Media::As::kPartial:
      a.body = PartialBody(*shown, media);
      break;
    case Media::As::kPartialList:
      Fail(NotAcceptable(
          "you requested PartialObjectMetadataList, but the requested object is not a list (*" +
          std::string("core.") + resource.kind->kind + ")"));
    default:
      a.body = FullBody(resource, *shown, media);
  }
  if (!media.protobuf() && (media.pretty || request.query.Flag("pretty")))
    a.body = Indented(a.body);
  return a;
}

Answer JsonAnswer(const Request& request, int code, const Json& body) {
  Offer offer;
  offer.table = offer.partial = false;
  const std::string kind = TextAt(body, {"kind"}), version = TextAt(body, {"apiVersion"});
  const std::string_view message = host::wire::MessageFor(version, kind);
  offer.protobuf = !message.empty();
  const Media media = Negotiate(request.http->Header("Accept"), offer);
  const ObjectPtr flat = ToFlat(body);
  const TypeMeta type{version, kind};
  Answer a;
  a.code = code;
  a.content_type = media.ContentType();
  if (media.protobuf()) {
    std::string raw;
    const Status encoded = host::wire::EncodeProtobuf(message, flat->Root(), &raw);
    if (!encoded.ok()) Fail(Untyped("cannot encode the object: " + encoded.error().message));
    host::wire::WrapEnvelope(type, raw, &a.body);
  } else {
    host::wire::EncodeJson(flat->Root(), &type, &a.body);
    a.body += "\n";
  }
  return a;
}

Answer StatusAnswer(const ApiError& error) {
  Answer a = Answer::Of(error.code, ToStatusText(error) + "\n");
  if (error.details.is_object() && error.details.contains("retryAfterSeconds")) {
    a.headers =
        "Retry-After: " + std::to_string(error.details["retryAfterSeconds"].get<int64_t>()) +
        "\r\n";
  }
  return a;
}

Answer SuccessAnswer(int http_code, const Json& details, int code) {
  std::string body = R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success")";
  if (!details.is_null()) body += ",\"details\":" + Dump(details);
  if (code != 0) body += ",\"code\":" + std::to_string(code);
  return Answer::Of(http_code, body + "}\n");
}

}  // namespace kcm::devcluster
