// SPDX-License-Identifier: Apache-2.0
// List options (list_options.h).
#include "devcluster/server/list_options.h"

#include <charconv>

#include "devcluster/server/convert.h"
#include "devcluster/server/tls.h"

namespace kcm::devcluster {
namespace {

void CheckVersionMatch(const ListOptions& o, bool initial_given, bool watch, bool watch_list,
                       std::vector<FieldError>* errors) {
  const auto forbid = [&](const char* field, const char* text) {
    errors->push_back(ForbiddenField(field, text));
  };
  if (watch && initial_given) {
    if (o.resource_version_match != "NotOlderThan") {
      forbid("resourceVersionMatch",
             "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
      if (!o.resource_version_match.empty()) {
        errors->push_back(NotSupported("resourceVersionMatch", GoQuote(o.resource_version_match),
                                       {"NotOlderThan"}));
      }
    }
    if (!watch_list)
      forbid(
          "sendInitialEvents",
          "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled");
    return;
  }
  if (watch) {
    if (o.resource_version_match.empty()) return;
    forbid("resourceVersionMatch",
           "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
    return;
  }
  if (!o.resource_version_match.empty()) {
    if (o.resource_version.empty()) {
      forbid("resourceVersionMatch",
             "resourceVersionMatch is forbidden unless resourceVersion is provided");
    } else if (!o.continue_token.empty()) {
      forbid("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided");
    } else if (o.resource_version_match != "Exact" && o.resource_version_match != "NotOlderThan") {
      errors->push_back(NotSupported("resourceVersionMatch", GoQuote(o.resource_version_match),
                                     {"Exact", "NotOlderThan", ""}));
    } else if (o.resource_version_match == "Exact" && o.resource_version == "0") {
      forbid("resourceVersionMatch",
             "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
    }
  }
  if (initial_given) forbid("sendInitialEvents", "sendInitialEvents is forbidden for list");
}

}  // namespace

ListOptions ReadListOptions(const State& state, const Request& request, bool watch) {
  const Query& q = request.query;
  ListOptions o;
  o.labels = ParseLabelSelector(q.Get("labelSelector"));
  o.fields = ParseFieldSelector(q.Get("fieldSelector"), *request.resource->kind);
  o.limit = q.Integer("limit").value_or(0);
  o.timeout_seconds = q.Integer("timeoutSeconds").value_or(0);
  o.resource_version = q.Get("resourceVersion");
  o.resource_version_match = q.Get("resourceVersionMatch");
  o.continue_token = q.Get("continue");
  o.bookmarks = q.Flag("allowWatchBookmarks");
  o.send_initial_events = q.Flag("sendInitialEvents");
  const bool initial_given = !q.Get("sendInitialEvents").empty();
  std::vector<FieldError> errors;
  CheckVersionMatch(o, initial_given, watch, state.watch_list, &errors);
  if (watch && !o.continue_token.empty() && o.resource_version.empty()) {
    errors.push_back(ForbiddenField("resourceVersionMatch",
                                    "resourceVersionMatch is forbidden when continue is provided"));
  }
  if (!errors.empty()) Fail(Invalid("meta.k8s.io", "ListOptions", "", errors));
  return o;
}

std::string Encode(const ContinueToken& token) {
  std::string text = "{\"v\":\"meta.k8s.io/v1\",\"rv\":" + std::to_string(token.revision) +
                     ",\"start\":" + Dump(token.start) + "}";
  return Base64Url(text);
}

ContinueToken DecodeContinue(const std::string& text) {
  const auto bad = [](const std::string& why) -> ApiError {
    return BadRequest("invalid continue token: continue key is not valid: " + why);
  };
  std::string json;
  if (!DecodeBase64Url(text, &json)) Fail(bad("illegal base64 data"));
  const Json j = Json::parse(json, nullptr, false);
  if (!j.is_object()) {
    char hex[16];
    std::snprintf(hex, sizeof hex, "'\\u%04x'",
                  json.empty() ? 0U : static_cast<unsigned>(static_cast<unsigned char>(json[0])));
    Fail(bad(std::string("invalid character ") + hex + " looking for beginning of value"));
  }
  ContinueToken token;
  const Json* revision = Find(j, {"rv"});
  token.start = TextAt(j, {"start"});
  if (TextAt(j, {"v"}) != "meta.k8s.io/v1" || revision == nullptr ||
      !revision->is_number_integer() || token.start.empty()) {
    Fail(bad("server does not recognize this encoded version"));
  }
  token.revision = revision->get<int64_t>();
  return token;
}

uint64_t RevisionParameter(const std::string& text, int error_code) {
  if (text.empty()) return 0;
  uint64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size()) {
    const std::string why = "resourceVersion: Invalid value: " + GoQuote(text) +
                            ": strconv.ParseUint: parsing " + GoQuote(text) + ": invalid syntax";
    Fail(error_code == 400 ? BadRequest("invalid resource version: " + why) : Untyped(why));
  }
  return n;
}

}  // namespace kcm::devcluster
