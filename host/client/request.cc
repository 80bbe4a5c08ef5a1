// SPDX-License-Identifier: Apache-2.0
// Builds paths, queries and content negotiation.
#include "host/client/request.h"

#include "host/client/resource_kinds.h"
#include "kcm/rules/go_duration.h"

namespace kcm::host::client {
namespace {

constexpr char kProtobuf[] = "application/vnd.kubernetes.protobuf";
constexpr char kJson[] = "application/json";

void AddQuery(std::string_view parameter, std::string* target) {
  if (parameter.empty()) return;
  target->push_back(target->find('?') == std::string::npos ? '?' : '&');
  target->append(parameter);
}

std::string MetadataAccept(std::string_view base, bool stream, bool list) {
  std::string out(base);
  if (stream) out += ";stream=watch";
  return out + ";as=PartialObjectMetadata" + (list ? "List" : "") + ";g=meta.k8s.io;v=v1";
}

}  // namespace

std::string_view MethodOf(Verb verb) {
  switch (verb) {
    case Verb::kGet:
    case Verb::kList:
    case Verb::kWatch:
      return "GET";
    case Verb::kCreate:
      return "POST";
    case Verb::kUpdate:
      return "PUT";
    case Verb::kPatch:
      return "PATCH";
    case Verb::kDelete:
    case Verb::kDeleteCollection:
      return "DELETE";
  }
  return "GET";
}

std::string_view VerbWord(Verb verb) {
  switch (verb) {
    case Verb::kGet:
      return "get";
    case Verb::kList:
      return "list";
    case Verb::kWatch:
      return "watch";
    case Verb::kCreate:
      return "create";
    case Verb::kUpdate:
      return "update";
    case Verb::kPatch:
      return "patch";
    case Verb::kDelete:
      return "delete";
    case Verb::kDeleteCollection:
      return "deletecollection";
  }
  return "get";
}

bool ChangesSomething(Verb verb) { return MethodOf(verb) != "GET"; }

std::string EscapeSegment(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      out.push_back(c);
    } else {
      const unsigned char u = static_cast<unsigned char>(c);
      out += {'%', kHex[u >> 4], kHex[u & 15]};
    }
  }
  return out;
}

std::string TargetOf(const Call& call) {
  std::string out = call.raw_path;
  if (out.empty()) {
    out =
        call.resource.group.empty() ? "/api/" : "/apis/" + EscapeSegment(call.resource.group) + "/";
    out += EscapeSegment(call.resource.version);
    if (!call.ns.empty()) out += "/namespaces/" + EscapeSegment(call.ns);
    out += "/" + EscapeSegment(call.resource.resource);
    if (!call.name.empty()) out += "/" + EscapeSegment(call.name);
    if (!call.subresource.empty()) out += "/" + EscapeSegment(call.subresource);
  }
  if (call.verb == Verb::kWatch) AddQuery("watch=true", &out);
  AddQuery(call.query, &out);
  if (call.timeout.count() > 0) AddQuery("timeout=" + rules::FormatDuration(call.timeout), &out);
  return out;
}

std::string_view ItemMessageOf(const Call& call) {
  if (call.form == Form::kMetadataOnly) return "meta.v1.PartialObjectMetadata";
  return MessageOfResource(call.resource);
}

Accept AcceptOf(const Call& call, bool json_only) {
  if (!call.accept.empty()) return {call.accept, false};
  const bool watch = call.verb == Verb::kWatch;
  if (call.form == Form::kMetadataOnly) {
    const bool list = call.verb == Verb::kList;
    const std::string json = MetadataAccept(kJson, false, list) + "," + kJson;
    if (json_only) return {json, false};
    return {MetadataAccept(kProtobuf, watch, list) + "," + json, true};
  }
  if (call.form == Form::kRaw) return {kJson, false};
  if (json_only || !call.raw_path.empty() || MessageOfResource(call.resource).empty())
    return {kJson, false};
  return {std::string(kProtobuf) + (watch ? ";stream=watch," : ",") + kJson, true};
}

std::string ContentTypeOf(const Call& call) {
  if (call.body.empty()) return "";
  if (!call.content_type.empty()) return call.content_type;
  switch (call.patch) {
    case PatchType::kNone:
      return kJson;
    case PatchType::kJson:
      return "application/json-patch+json";
    case PatchType::kMerge:
      return "application/merge-patch+json";
    case PatchType::kStrategic:
      return "application/strategic-merge-patch+json";
    case PatchType::kApply:
      return "application/apply-patch+yaml";
  }
  return kJson;
}

}  // namespace kcm::host::client
