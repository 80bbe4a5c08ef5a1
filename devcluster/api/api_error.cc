// SPDX-License-Identifier: Apache-2.0
// Builders of API errors (api_error.h).
#include "devcluster/api/api_error.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace kcm::devcluster {
namespace {

Json ResourceDetails(std::string_view name, std::string_view group, std::string_view kind) {
  Json d = Json::object();
  if (!name.empty()) d["name"] = std::string(name);
  if (!group.empty()) d["group"] = std::string(group);
  if (!kind.empty()) d["kind"] = std::string(kind);
  return d;
}

Json Cause(const FieldError& e) {
  Json c = Json::object();
  c["reason"] = e.reason;
  c["message"] = e.message;
  if (!e.field.empty()) c["field"] = e.field;
  return c;
}

ApiError Make(int code, std::string reason, std::string message, Json details = nullptr) {
  ApiError e;
  e.code = code;
  e.reason = std::move(reason);
  e.message = std::move(message);
  e.details = std::move(details);
  return e;
}

std::string Join(std::initializer_list<std::string_view> parts) {
  std::string s;
  for (const std::string_view p : parts) s.append(p);
  return s;
}

}  // namespace

std::string QualifiedResource(const Gvr& gvr) {
  return gvr.group.empty() ? gvr.resource : gvr.resource + "." + gvr.group;
}

std::string QualifiedKind(std::string_view group, std::string_view kind) {
  return group.empty() ? std::string(kind) : Join({kind, ".", group});
}

ApiError BadRequest(std::string message) { return Make(400, "BadRequest", std::move(message)); }

ApiError Unauthorized() { return Make(401, "Unauthorized", "Unauthorized"); }

ApiError Forbidden(const Gvr& gvr, std::string_view name, std::string_view why) {
  const std::string quoted = name.empty() ? "" : Join({" \"", name, "\""});
  return Make(403, "Forbidden", Join({QualifiedResource(gvr), quoted, " is forbidden: ", why}),
              ResourceDetails(name, gvr.group, gvr.resource));
}

ApiError ForbiddenWithCause(const Gvr& gvr, std::string_view name, std::string_view why,
                            const FieldError& cause) {
  ApiError e = Forbidden(gvr, name, why);
  e.details["causes"] = Json::array({Cause(cause)});
  return e;
}

ApiError NotFound(const Gvr& gvr, std::string_view name) {
  return Make(404, "NotFound", Join({QualifiedResource(gvr), " \"", name, "\" not found"}),
              ResourceDetails(name, gvr.group, gvr.resource));
}

ApiError NoSuchResource() {
  return Make(404, "NotFound", "the server could not find the requested resource", Json::object());
}

ApiError MethodNotAllowed() {
  return Make(405, "MethodNotAllowed",
              "the server does not allow this method on the requested resource", Json::object());
}

ApiError NotAcceptable(std::string message) {
  return Make(406, "NotAcceptable", std::move(message));
}

ApiError UnsupportedMediaType(std::string message) {
  return Make(415, "UnsupportedMediaType", std::move(message));
}

ApiError AlreadyExists(const Gvr& gvr, std::string_view name) {
  return Make(409, "AlreadyExists",
              Join({QualifiedResource(gvr), " \"", name, "\" already exists"}),
              ResourceDetails(name, gvr.group, gvr.resource));
}

ApiError Conflict(const Gvr& gvr, std::string_view name, std::string_view why) {
  return Make(
      409, "Conflict",
      Join({"Operation cannot be fulfilled on ", QualifiedResource(gvr), " \"", name, "\": ", why}),
      ResourceDetails(name, gvr.group, gvr.resource));
}

ApiError StaleVersion(const Gvr& gvr, std::string_view name) {
  return Conflict(gvr, name,
                  "the object has been modified; please apply your changes to the latest version "
                  "and try again");
}

ApiError ConflictOfKind(std::string_view group, std::string_view kind, std::string_view name,
                        std::string_view why) {
  return Make(409, "Conflict",
              Join({"Operation cannot be fulfilled on ", QualifiedKind(group, kind), " \"", name,
                    "\": ", why}),
              ResourceDetails(name, group, kind));
}

ApiError Expired(std::string message) { return Make(410, "Expired", std::move(message)); }

ApiError Invalid(std::string_view group, std::string_view kind, std::string_view name,
                 const std::vector<FieldError>& errors) {
  // The message names equal errors once; every cause stays.
  std::vector<std::string> texts;
  Json causes = Json::array();
  for (const FieldError& e : errors) {
    std::string one = e.field.empty() ? e.message : e.field + ": " + e.message;
    if (std::find(texts.begin(), texts.end(), one) == texts.end()) texts.push_back(std::move(one));
    causes.push_back(Cause(e));
  }
  std::string text;
  for (const std::string& one : texts) text += (text.empty() ? "" : ", ") + one;
  if (texts.size() > 1) text = "[" + text + "]";
  Json details = ResourceDetails(name, group, kind);
  details["causes"] = std::move(causes);
  return Make(422, "Invalid",
              Join({QualifiedKind(group, kind), " \"", name, "\" is invalid: ", text}),
              std::move(details));
}

ApiError Unprocessable() {
  return Make(422, "Invalid", "the server rejected our request due to an error in our request",
              Json::object());
}

ApiError TooManyRequests(std::string message, const FieldError& cause, int retry_after_seconds) {
  Json details = Json::object();
  if (!cause.reason.empty()) details["causes"] = Json::array({Cause(cause)});
  if (retry_after_seconds >= 0) details["retryAfterSeconds"] = retry_after_seconds;
  return Make(429, "TooManyRequests", std::move(message), std::move(details));
}

ApiError Untyped(std::string message) { return Make(500, "", std::move(message)); }

ApiError TooLargeResourceVersion(uint64_t wanted, uint64_t current) {
  Json details = Json::object();
  details["causes"] = Json::array(
      {Json{{"reason", "ResourceVersionTooLarge"}, {"message", "Too large resource version"}}});
  details["retryAfterSeconds"] = 1;
  return Make(504, "Timeout",
              "Timeout: Too large resource version: " + std::to_string(wanted) +
                  ", current: " + std::to_string(current),
              std::move(details));
}

FieldError Required(std::string field, std::string_view detail) {
  return {"FieldValueRequired", std::move(field),
          detail.empty() ? "Required value" : Join({"Required value: ", detail})};
}

FieldError InvalidValue(std::string field, std::string_view shown_value, std::string_view detail) {
  return {"FieldValueInvalid", std::move(field),
          Join({"Invalid value: ", shown_value, ": ", detail})};
}

FieldError NotSupported(std::string field, std::string_view shown_value,
                        const std::vector<std::string>& supported) {
  std::string text = Join({"Unsupported value: ", shown_value});
  for (size_t i = 0; i < supported.size(); ++i) {
    text += i == 0 ? ": supported values: " : ", ";
    text += GoQuote(supported[i]);
  }
  return {"FieldValueNotSupported", std::move(field), std::move(text)};
}

FieldError Duplicate(std::string field, std::string_view shown_value) {
  return {"FieldValueDuplicate", std::move(field), Join({"Duplicate value: ", shown_value})};
}

FieldError ForbiddenField(std::string field, std::string_view detail) {
  return {"FieldValueForbidden", std::move(field), Join({"Forbidden: ", detail})};
}

FieldError NotFoundField(std::string field, std::string_view shown_value) {
  return {"FieldValueNotFound", std::move(field), Join({"Not found: ", shown_value})};
}

FieldError TooLong(std::string field, int64_t max_bytes) {
  return {"FieldValueTooLong", std::move(field),
          "Too long: may not be more than " + std::to_string(max_bytes) + " bytes"};
}

FieldError TooMany(std::string field, int64_t actual, int64_t max) {
  return {"FieldValueTooMany", std::move(field),
          "Too many: " + std::to_string(actual) + ": must have at most " + std::to_string(max) +
              " items"};
}

std::string GoQuote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\r':
        out += "\\r";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          char hex[8];
          std::snprintf(hex, sizeof hex, "\\x%02x",
                        static_cast<unsigned>(static_cast<unsigned char>(c)));
          out += hex;
        } else {
          out += c;
        }
    }
  }
  return out + "\"";
}

Json ToStatus(const ApiError& error) {
  Json s = {{"kind", "Status"},    {"apiVersion", "v1"},       {"metadata", Json::object()},
            {"status", "Failure"}, {"message", error.message}, {"code", error.code}};
  if (!error.reason.empty()) s["reason"] = error.reason;
  if (!error.details.is_null()) s["details"] = error.details;
  return s;
}

std::string ToStatusText(const ApiError& error) {
  const auto text = [](const Json& j) {
    return j.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  std::string s = R"({"kind":"Status","apiVersion":"v1","metadata":{)";
  if (!error.metadata_continue.empty()) s += "\"continue\":" + text(error.metadata_continue);
  s += R"(},"status":"Failure","message":)";
  s += text(error.message);
  if (!error.reason.empty()) s += ",\"reason\":" + text(error.reason);
  if (!error.details.is_null()) s += ",\"details\":" + text(error.details);
  return s + ",\"code\":" + std::to_string(error.code) + "}";
}

}  // namespace kcm::devcluster
