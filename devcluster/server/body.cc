// SPDX-License-Identifier: Apache-2.0
// Bodies and options of writes (write.h).
#include <algorithm>

#include "devcluster/server/convert.h"
#include "devcluster/server/json_syntax.h"
#include "devcluster/server/write.h"

namespace kcm::devcluster {

using host::wire::ObjectPtr;
using host::wire::TypeMeta;

namespace {

constexpr size_t kShownBody = 30;

// Go's decoder errors for bodies that are no JSON object at all.
std::string WhyNotAnObject(const std::string& body) {
  size_t at = 0;
  while (at < body.size() &&
         (body[at] == ' ' || body[at] == '\n' || body[at] == '\t' || body[at] == '\r'))
    ++at;
  if (at == body.size()) return "unexpected end of JSON input (<empty>)";
  if (body[at] == '[') {
    std::string hex;
    for (const char c : body.substr(0, kShownBody)) {
      char two[3];
      std::snprintf(two, sizeof two, "%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      hex += two;
    }
    return "json: cannot unmarshal array into Go value of type struct { APIVersion string "
           "\"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" } "
           "(" +
           hex + ")";
  }
  std::string shown = body.substr(0, kShownBody);
  if (body.size() > kShownBody) shown += " ...";
  const std::string syntax = JsonSyntaxError(body);
  return (syntax.empty() ? "json: no object" : syntax) + " (" + shown + ")";
}

}  // namespace

WriteOptions ReadWriteOptions(const Request& request, const char* options_kind) {
  WriteOptions o;
  const Query& q = request.query;
  std::vector<FieldError> errors;
  if (const std::vector<std::string>* values = q.All("dryRun")) {
    std::string shown;
    bool bad = false;
    for (const std::string& v : *values) {
      if (v.empty()) continue;
      o.dry_run = true;
      bad = bad || v != "All";
      shown += (shown.empty() ? "" : ",") + GoQuote(v);
    }
    if (bad) errors.push_back(NotSupported("dryRun", "[" + shown + "]", {"All"}));
  }
  const std::string validation = q.Get("fieldValidation");
  if (!validation.empty() && validation != "Ignore" && validation != "Warn" &&
      validation != "Strict") {
    errors.push_back(
        NotSupported("fieldValidation", GoQuote(validation), {"", "Ignore", "Strict", "Warn"}));
  }
  o.strict = validation == "Strict";
  o.warn = validation.empty() || validation == "Warn";
  o.manager = q.Get("fieldManager");
  o.manager_given = !o.manager.empty();
  if (o.manager.size() > 128) errors.push_back(TooLong("fieldManager", 128));
  if (std::any_of(o.manager.begin(), o.manager.end(),
                  [](char c) { return static_cast<unsigned char>(c) < 0x20; })) {
    errors.push_back(InvalidValue("fieldManager", GoQuote(o.manager),
                                  "should only contain printable characters"));
  }
  if (!errors.empty()) Fail(Invalid("meta.k8s.io", options_kind, "", errors));
  if (!o.manager_given) o.manager = request.field_manager;
  return o;
}

Json ReadBody(const Request& request, const std::string& kind,
              std::vector<std::string>* duplicates) {
  const std::string& body = request.http->body;
  std::string media_type;
  switch (BodyTypeOf(request.http->Header("Content-Type"), &media_type)) {
    case BodyType::kProtobuf: {
      host::wire::DecodeOptions options;
      options.keep_managed_fields = true;
      TypeMeta type;
      Result<ObjectPtr> object = host::wire::DecodeEnvelope(body, options, &type);
      if (!object.ok())
        Fail(BadRequest("the protobuf body can not be decoded: " + object.error().message));
      return Editable(**object, type);
    }
    case BodyType::kYaml: {
      Json j = ParseYaml(body);
      if (!j.is_object())
        Fail(BadRequest("the object provided is unrecognized (must be of type " + kind + ")"));
      return j;
    }
    case BodyType::kJson: {
      Json j;
      bool ok = true;
      try {
        j = ParseJson(body, duplicates);
        ok = j.is_object();
      } catch (const Failure&) {
        ok = false;
      }
      if (!ok) {
        Fail(BadRequest("the object provided is unrecognized (must be of type " + kind +
                        "): couldn't get version/kind; json parse error: " + WhyNotAnObject(body)));
      }
      return j;
    }
    default:
      Fail(
          UnsupportedMediaType("the body of the request was in an unknown format - accepted media "
                               "types include: application/json, "
                               "application/yaml, application/vnd.kubernetes.protobuf"));
  }
}

namespace {

std::string InVersionText(const std::string& api_version) {
  const size_t slash = api_version.find('/');
  return slash == std::string::npos ? api_version : api_version.substr(slash + 1);
}

std::string GoVersioned(const std::string& api_version, const std::string& kind) {
  return "(" + InVersionText(api_version) + "." + kind + ")";
}

std::string GoInternal(const Resource& r) {
  const std::string group = r.gvr().group.substr(0, r.gvr().group.find('.'));
  return "(" + (group.empty() ? "core" : group) + "." + r.kind->kind + ")";
}

void RequireKind(const Resource& r, Json* object) {
  const auto slot = [&](const char* member) -> std::string {
    const Json* j = Find(*object, {member});
    if (j == nullptr || j->is_null()) return "";
    if (!j->is_string()) {
      Fail(BadRequest("the object provided is unrecognized (must be of type " + r.kind->kind +
                      "): couldn't get version/kind; json parse error: " + member +
                      " is not a string"));
    }
    return j->get<std::string>();
  };
  std::string kind = slot("kind"), version = slot("apiVersion");
  if (kind.empty()) kind = r.type.kind;
  if (version.empty()) version = r.type.api_version;
  const std::string head = kind + " in version " + GoQuote(InVersionText(version)) +
                           " cannot be handled as a " + r.kind->kind + ": ";
  const bool known = kind == r.type.kind && version == r.type.api_version;
  if (!known && version != r.type.api_version && host::wire::MessageFor(version, kind).empty()) {
    Fail(BadRequest(head + "no kind " + GoQuote(kind) + " is registered for version " +
                    GoQuote(version) + " in scheme \"pkg/api/legacyscheme/scheme.go:30\""));
  }
  if (kind != r.type.kind) {
    Fail(BadRequest(head + "converting " + GoVersioned(version, kind) + " to " + GoInternal(r) +
                    ": unknown conversion"));
  }
  if (!known) {
    Fail(BadRequest("the API version in the data (" + version +
                    ") does not match the expected API version (" + r.type.api_version + ")"));
  }
  (*object)["kind"] = kind;
  (*object)["apiVersion"] = version;
}

// Lists `unknown field "x"` / `duplicate field "x"`.
std::vector<std::string> StrictErrors(const std::vector<std::string>& duplicates,
                                      const std::vector<std::string>& unknown) {
  std::vector<std::string> out;
  for (const std::string& u : unknown) out.push_back("unknown field " + GoQuote(u));
  for (const std::string& d : duplicates) out.push_back("duplicate field " + GoQuote(d));
  return out;
}

std::string Joined(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& s : list) out += (out.empty() ? "" : ", ") + s;
  return out;
}

}  // namespace

Json ReadObject(Request& request, const Resource& resource, const WriteOptions& options) {
  std::vector<std::string> duplicates;
  Json object = ReadBody(request, resource.kind->kind, &duplicates);
  return TypedObject(request, resource, options, std::move(object), duplicates);
}

Json TypedObject(Request& request, const Resource& resource, const WriteOptions& options,
                 Json object, const std::vector<std::string>& duplicates) {
  std::vector<std::string> unknown;
  RequireKind(resource, &object);
  const std::string head = resource.kind->kind + " in version " + GoQuote(resource.gvr().version) +
                           " cannot be handled as a " + resource.kind->kind + ": ";
  if (resource.kind->decode) {
    if (const std::optional<std::string> error = resource.kind->decode(object, &unknown)) {
      Fail(BadRequest(head + *error));
    }
  }
  if (!object["metadata"].is_object()) object["metadata"] = Json::object();
  const std::vector<std::string> errors = StrictErrors(duplicates, unknown);
  if (options.strict && !errors.empty())
    Fail(BadRequest(head + "strict decoding error: " + Joined(errors)));
  if (options.warn) request.warnings.insert(request.warnings.end(), errors.begin(), errors.end());
  return object;
}

Resource BodyType(const State& state, const std::string& group, const std::string& version,
                  const std::string& kind) {
  auto described = std::make_shared<ResourceKind>();
  described->gvr = {group, version, ""};
  described->kind = kind;
  const std::string package = group.empty() ? "core" : group.substr(0, group.find('.'));
  described->decode = state.kinds->DecoderOf(package + "." + version + "." + kind);
  Resource r;
  r.type = {GroupVersion(group, version), kind};
  r.kind = std::move(described);
  return r;
}

void DecodePatched(Request& request, const Resource& resource, const WriteOptions& options,
                   const std::string& shown, Json* object) {
  if (!object->is_object()) Fail(Unprocessable());
  const auto invalid = [&](const std::string& text) {
    Fail(Invalid("", "", "",
                 {InvalidValue("patch", GoQuote(shown.empty() ? Dump(*object) : shown), text)}));
  };
  const std::string kind = TextAt(*object, {"kind"}), version = TextAt(*object, {"apiVersion"});
  if (version != resource.type.api_version || kind != resource.type.kind) {
    if (version == resource.type.api_version) {
      invalid("converting " + GoVersioned(version, kind) + " to " + GoInternal(resource) +
              ": unknown conversion");
    }
    invalid("no kind " + GoQuote(kind) + " is registered for version " + GoQuote(version) +
            " in scheme \"pkg/api/legacyscheme/scheme.go:30\"");
  }
  std::vector<std::string> unknown;
  if (resource.kind->decode) {
    Json decoded = *object;
    if (const std::optional<std::string> error = resource.kind->decode(decoded, &unknown)) {
      // A strategic patch is laid over the typed object, where the same mistake has another name.
      const bool slice = !shown.empty() &&
                         error->find("cannot unmarshal string into") != std::string::npos &&
                         error->find("of type []") != std::string::npos;
      invalid(slice ? "cannot restore slice from string" : *error);
    }
    const std::vector<std::string> errors = StrictErrors({}, unknown);
    if (options.strict && !errors.empty()) invalid("strict decoding error: " + Joined(errors));
    if (options.warn) request.warnings.insert(request.warnings.end(), errors.begin(), errors.end());
    *object = std::move(decoded);
  }
  if (!(*object)["metadata"].is_object()) (*object)["metadata"] = Json::object();
}

}  // namespace kcm::devcluster
