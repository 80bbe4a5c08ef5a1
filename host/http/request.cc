// SPDX-License-Identifier: Apache-2.0
// Request lookups, targets, bodies of errors.
#include "host/http/request.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

namespace kcm::host::http {
namespace {

bool EqualFold(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

std::string DecodeQuery(std::string_view text) {
  std::string spaced(text);
  std::replace(spaced.begin(), spaced.end(), '+', ' ');
  return PercentDecode(spaced);
}

}  // namespace

std::string Request::Header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (EqualFold(key, name)) return value;
  }
  return "";
}

bool Request::HasQuery(std::string_view name) const {
  return std::any_of(query.begin(), query.end(), [&](const auto& q) { return q.first == name; });
}

std::vector<std::string> Request::QueryValues(std::string_view name) const {
  std::vector<std::string> values;
  for (const auto& [key, value] : query) {
    if (key == name) values.push_back(value);
  }
  return values;
}

bool ParseTarget(std::string_view target, std::string* path,
                 std::vector<std::pair<std::string, std::string>>* query) {
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (!target.starts_with(scheme)) continue;
    const size_t slash = target.find('/', scheme.size());
    target = slash == target.npos ? "/" : target.substr(slash);
  }
  if (!target.starts_with('/')) return false;
  const size_t mark = target.find('?');
  *path = PercentDecode(target.substr(0, mark));
  if (path->find('\0') != path->npos) return false;
  std::string_view rest = mark == target.npos ? std::string_view() : target.substr(mark + 1);
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    if (part.empty()) continue;
    const size_t equals = part.find('=');
    query->emplace_back(DecodeQuery(part.substr(0, equals)),
                        equals == part.npos ? "" : DecodeQuery(part.substr(equals + 1)));
  }
  return true;
}

Response TextError(int status, const std::string& text) {
  Response r;
  r.status = status;
  r.body = text + "\n";
  r.headers.emplace_back("X-Content-Type-Options", "nosniff");
  return r;
}

Response JsonResponse(int status, std::string json) {
  Response r;
  r.status = status;
  r.content_type = "application/json";
  r.body = std::move(json);
  return r;
}

Response StatusError(int status, const std::string& reason, const std::string& message,
                     bool details) {
  nlohmann::ordered_json body = {
      {"kind", "Status"},    {"apiVersion", "v1"}, {"metadata", nlohmann::ordered_json::object()},
      {"status", "Failure"}, {"message", message}, {"reason", reason}};
  if (details) body["details"] = nlohmann::ordered_json::object();
  body["code"] = status;
  Response r = JsonResponse(
      status, body.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  r.headers.emplace_back("X-Content-Type-Options", "nosniff");
  return r;
}

}  // namespace kcm::host::http
