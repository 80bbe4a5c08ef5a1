// SPDX-License-Identifier: Apache-2.0
// Maps API errors.
#include "host/client/api_error.h"

#include <array>

#include "host/client/http_exchange.h"

namespace kcm::host::client {
namespace {

constexpr size_t kMaxText = 2048;

struct Row {
  std::string_view reason;
  int http;
  Code code;
};
constexpr auto kRows = std::to_array<Row>({
    {"NotFound", 404, Code::kNotFound},
    {"AlreadyExists", 0, Code::kAlreadyExists},
    {"Conflict", 409, Code::kConflict},
    {"Invalid", 422, Code::kInvalid},
    {"Forbidden", 403, Code::kForbidden},
    {"Unauthorized", 401, Code::kUnauthorized},
    {"TooManyRequests", 429, Code::kTooManyRequests},
    {"Expired", 0, Code::kExpired},
    {"Gone", 410, Code::kExpired},
    {"Timeout", 504, Code::kTimeout},
    {"ServerTimeout", 0, Code::kServerTimeout},
    {"ServiceUnavailable", 503, Code::kUnavailable},
    {"BadRequest", 400, Code::kBadRequest},
    {"RequestEntityTooLarge", 413, Code::kBadRequest},
    {"MethodNotAllowed", 405, Code::kMethodNotAllowed},
    {"NotAcceptable", 406, Code::kNotAcceptable},
    {"UnsupportedMediaType", 415, Code::kUnsupportedMediaType},
    {"InternalError", 500, Code::kInternal},
});

// The generic words of an HTTP code without a Status.
std::string GenericMessage(int status, std::string_view text, std::string_view what) {
  const std::string tail = what.empty() ? "" : " (" + std::string(what) + ")";
  switch (status) {
    case 400:
      return "the server rejected our request for an unknown reason" + tail;
    case 401:
      return "the server has asked for the client to provide credentials" + tail;
    case 403:
      return text.empty() ? "the server does not allow access to the requested resource" + tail
                          : std::string(text);
    case 404:
      return "the server could not find the requested resource" + tail;
    case 405:
      return "the server does not allow this method on the requested resource" + tail;
    case 406:
      return "the server was unable to respond with a content type that the client supports" + tail;
    case 409:
      return "the server reported a conflict" + tail;
    case 415:
      return "the body of the request was in an unknown format" + tail;
    case 422:
      return "the server rejected our request due to an error in our request" + tail;
    case 429:
      return "the server has received too many requests and has asked us to try again later" + tail;
    case 503:
      return "the server is currently unable to handle the request" + tail;
    case 504:
      return "the server was unable to return a response in the time allotted, but may still be "
             "processing the request" +
             tail;
    default:
      break;
  }
  if (status >= 500) {
    return "an error on the server (\"" + (text.empty() ? "unknown" : std::string(text)) +
           "\") has prevented the request from succeeding" + tail;
  }
  return "the server responded with the status code " + std::to_string(status) +
         " but did not return more information" + tail;
}

wire::ObjectPtr DecodeStatus(const ResponseHead& head, std::string_view body) {
  wire::TypeMeta type;
  Result<wire::ObjectPtr> object = head.content_type.find("protobuf") != std::string::npos
                                       ? wire::DecodeEnvelope(body, {}, &type)
                                   : head.content_type.find("json") != std::string::npos
                                       ? wire::DecodeJson(body, {}, &type)
                                       : Result<wire::ObjectPtr>(wire::ObjectPtr());
  return object.ok() && type.kind == "Status" ? *object : wire::ObjectPtr();
}

}  // namespace

Code CodeOf(std::string_view reason, int http_status) {
  for (const Row& row : kRows) {
    if (!reason.empty() && row.reason == reason) return row.code;
  }
  for (const Row& row : kRows) {
    if (row.http != 0 && row.http == http_status) return row.code;
  }
  if (http_status == 502) return Code::kUnavailable;
  return http_status >= 400 && http_status < 500 ? Code::kBadRequest : Code::kInternal;
}

Error ErrorOfStatus(rules::Node status, int http_status) {
  Error e;
  e.http_status = http_status != 0 ? http_status : static_cast<int32_t>(status.Get("code").Int());
  e.reason = status.Get("reason").String();
  e.message = status.Get("message").String();
  e.code = CodeOf(e.reason, e.http_status);
  const rules::Node causes = status.Path("details.causes");
  if (!causes.empty()) e.cause = causes.At(0).Get("reason").String();
  if (const int64_t seconds = status.Path("details.retryAfterSeconds").Int();
      seconds > 0 && seconds < 1'000'000) {
    e.retry_after_ns = seconds * 1'000'000'000;
  }
  return e;
}

Error ErrorOfAnswer(const ResponseHead& head, std::string_view body, std::string_view what) {
  Error e;
  if (const wire::ObjectPtr status = DecodeStatus(head, body)) {
    e = ErrorOfStatus(status->Node(), head.status);
  } else {
    const bool text = head.content_type.rfind("text/", 0) == 0;
    const std::string_view words = text ? body.substr(0, kMaxText) : std::string_view();
    e.http_status = head.status;
    e.code = CodeOf("", head.status);
    e.message = GenericMessage(head.status, words, what);
  }
  if (e.message.empty()) e.message = GenericMessage(head.status, "", what);
  if (head.retry_after_seconds >= 0 && head.retry_after_seconds < 1'000'000'000) {
    e.retry_after_ns = head.retry_after_seconds * 1'000'000'000;
  }
  return e;
}

}  // namespace kcm::host::client
