// SPDX-License-Identifier: Apache-2.0
// Authorization of requests.
#include "host/http/authorization.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

namespace kcm::host::http {
namespace {

using Json = nlohmann::json;

std::string VerbOf(std::string method) {
  std::transform(method.begin(), method.end(), method.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return method;
}

std::string ReviewOf(const User& user, const std::string& method, const std::string& path) {
  Json spec = {{"nonResourceAttributes", {{"path", path}, {"verb", VerbOf(method)}}},
               {"user", user.name}};
  if (!user.groups.empty()) spec["groups"] = user.groups;
  if (!user.uid.empty()) spec["uid"] = user.uid;
  if (!user.extra.empty()) spec["extra"] = user.extra;
  const Json review = {{"kind", "SubjectAccessReview"},
                       {"apiVersion", "authorization.k8s.io/v1"},
                       {"metadata", {{"creationTimestamp", nullptr}}},
                       {"spec", std::move(spec)}};
  return review.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Decision> DecisionOf(const std::string& text) {
  const Json object = Json::parse(text, nullptr, false);
  const auto status = object.is_object() ? object.find("status") : object.end();
  if (!object.is_object() || status == object.end() || !status->is_object()) {
    return MakeError(Code::kInternal, "subject access review: the answer has no status");
  }
  Decision decision;
  const auto allowed = status->find("allowed");
  decision.allowed = allowed != status->end() && allowed->is_boolean() && allowed->get<bool>();
  const auto reason = status->find("reason");
  if (reason != status->end() && reason->is_string()) decision.reason = reason->get<std::string>();
  return decision;
}

}  // namespace

bool PathMatches(std::string_view pattern, std::string_view path) {
  if (pattern.starts_with('/')) pattern.remove_prefix(1);
  if (path.starts_with('/')) path.remove_prefix(1);
  if (pattern.ends_with('*')) return path.starts_with(pattern.substr(0, pattern.size() - 1));
  return path == pattern;
}

Authorizer::Authorizer(const config::AuthorizationOptions& options, ReviewClient* client,
                       clock::Clock* clock)
    : options_(options), client_(client), retry_(clock), answers_(clock) {}

Result<Decision> Authorizer::Authorize(const User& user, const std::string& method,
                                       const std::string& path) {
  if (user.InGroup(kMasters)) return Decision{true, ""};
  for (const std::string& pattern : options_.always_allow_paths) {
    if (PathMatches(pattern, path)) return Decision{true, ""};
  }
  if (client_ == nullptr) return Decision{};
  const std::string review = ReviewOf(user, method, path);
  const Digest key = DigestOf(review);
  if (std::optional<Decision> known = answers_.Find(key)) return *std::move(known);
  const Result<std::string> text =
      retry_.Call([&] { return client_->CreateSubjectAccessReview(review); });
  if (!text.ok()) return text.error();
  Result<Decision> decision = DecisionOf(*text);
  if (decision.ok()) {
    answers_.Put(key, *decision,
                 decision->allowed ? options_.authorized_ttl : options_.unauthorized_ttl);
  }
  return decision;
}

}  // namespace kcm::host::http
