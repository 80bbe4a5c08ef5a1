// SPDX-License-Identifier: Apache-2.0
// The admin API.
#include "host/main/admin.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "kcm/rules/go_quote.h"

namespace kcm::host::main {
namespace {

http::Response Answer(const Status& s) {
  if (s.ok())
    return http::JsonResponse(
        200,
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Success\"}\n");
  switch (s.code()) {
    case Code::kNotFound:
      return http::StatusError(404, "NotFound", s.error().message, false);
    case Code::kConflict:
      return http::StatusError(409, "Conflict", s.error().message, false);
    case Code::kTimeout:
      return http::StatusError(504, "Timeout", s.error().message, false);
    case Code::kForbidden:
      return http::StatusError(403, "Forbidden", s.error().message, false);
    case Code::kAlreadyExists:
    case Code::kInvalid:
    case Code::kUnsupported:
      return http::StatusError(422, "Invalid", s.error().message, false);
    default:
      return http::StatusError(500, "InternalError", s.error().message, false);
  }
}

constexpr size_t kMostKeys = 10000;

// How many keys of each queue are asked for; 0 when nothing is said.
Result<size_t> Keys(const http::Request& request) {
  const std::vector<std::string> values = request.QueryValues("keys");
  size_t keys = 0;
  for (const std::string& text : values) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), keys);
    if (error != std::errc() || end != text.data() + text.size() || keys > kMostKeys)
      return MakeError(Code::kBadRequest, "query parameter keys: must be a number from 0 to " +
                                              std::to_string(kMostKeys) + ", got " +
                                              rules::GoQuote(text));
  }
  return keys;
}

}  // namespace

http::Response ServeAdmin(plugin::Manager& manager, const http::Request& request) {
  if (request.path == "/plugins" && request.method == "GET") {
    const Result<size_t> keys = Keys(request);
    if (!keys.ok()) return http::StatusError(400, "BadRequest", keys.error().message, false);
    return http::JsonResponse(200, manager.Report(*keys));
  }
  if (request.method != "POST")
    return http::StatusError(405, "MethodNotAllowed", "use GET /plugins or POST below it", false);
  if (request.path == "/plugins/rescan") {
    (void)manager.Rescan();
    return Answer(manager.Directories());
  }
  if (request.path == "/plugins/swap") {
    const nlohmann::json body = nlohmann::json::parse(request.body, nullptr, false);
    if (!body.is_object() || !body.contains("file") || !body["file"].is_string())
      return http::StatusError(400, "BadRequest",
                               "the body must be {\"file\": \"/path/to/plugin.so\"}", false);
    const std::string file = body["file"];
    if (!file.starts_with("/"))
      return http::StatusError(
          400, "BadRequest", "\"file\" must be an absolute path on the host's machine, got " + file,
          false);
    return Answer(manager.SwapFile(file, "user " + request.user.name));
  }
  constexpr std::string_view kPrefix = "/plugins/", kSuffix = "/rollback";
  if (request.path.starts_with(kPrefix) && request.path.ends_with(kSuffix) &&
      request.path.size() > kPrefix.size() + kSuffix.size())
    return Answer(manager.Rollback(
        request.path.substr(kPrefix.size(), request.path.size() - kPrefix.size() - kSuffix.size()),
        "user " + request.user.name));
  return http::StatusError(404, "NotFound", "no such admin path: " + request.path, false);
}

}  // namespace kcm::host::main
