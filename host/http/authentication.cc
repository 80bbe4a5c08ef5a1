// SPDX-License-Identifier: Apache-2.0
// Authentication of requests, step by step.
#include "host/http/authentication.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "host/file/regular_file.h"

namespace kcm::host::http {
namespace {

using Json = nlohmann::json;

std::string Lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::string_view Trim(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
  return s;
}

std::vector<std::string> AllOf(const Headers& headers, const std::vector<std::string>& names) {
  std::vector<std::string> values;
  for (const std::string& name : names) {
    const std::string wanted = Lower(name);
    for (const auto& [key, value] : headers) {
      if (Lower(key) == wanted) values.push_back(value);
    }
  }
  return values;
}

std::string FirstOf(const Headers& headers, const std::vector<std::string>& names) {
  for (std::string& value : AllOf(headers, names)) {
    if (!value.empty()) return std::move(value);
  }
  return "";
}

std::string TextAt(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

std::vector<std::string> TextsAt(const Json& object, const char* key) {
  std::vector<std::string> out;
  const auto it = object.find(key);
  if (it == object.end() || !it->is_array()) return out;
  for (const Json& item : *it) {
    if (item.is_string()) out.push_back(item.get<std::string>());
  }
  return out;
}

// A JSON list inside a ConfigMap value; "" is the empty list.
std::vector<std::string> ListAt(const Json& data, const char* key) {
  const std::string text = TextAt(data, key);
  const Json list = text.empty() ? Json::array() : Json::parse(text, nullptr, false);
  std::vector<std::string> out;
  if (!list.is_array()) return out;
  for (const Json& item : list) {
    if (item.is_string()) out.push_back(item.get<std::string>());
  }
  return out;
}

User UserOfReview(const Json& user) {
  User out;
  out.name = TextAt(user, "username");
  out.uid = TextAt(user, "uid");
  out.groups = TextsAt(user, "groups");
  const auto extra = user.find("extra");
  if (extra != user.end() && extra->is_object()) {
    for (const auto& [key, values] : extra->items()) out.extra[key] = TextsAt(*extra, key.c_str());
  }
  return out;
}

Result<std::shared_ptr<const CaBundle>> ReadCa(const std::string& path, const std::string& flag) {
  const Result<std::string> text = file::ReadRegularFile(path);
  if (!text.ok()) return MakeError(text.code(), flag + ": " + text.error().message);
  return CaBundle::Parse(*text, flag + " " + path);
}

}  // namespace

std::string PercentDecode(std::string_view text) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    const char l = static_cast<char>(c | 0x20);
    return l >= 'a' && l <= 'f' ? l - 'a' + 10 : -1;
  };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 &&
        digit(text[i + 2]) >= 0) {
      out += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::optional<User> UserFromHeaders(const ProxyHeaders& proxy, const Headers& headers) {
  User user;
  user.name = FirstOf(headers, proxy.username);
  if (user.name.empty()) return std::nullopt;
  user.uid = FirstOf(headers, proxy.uid);
  user.groups = AllOf(headers, proxy.group);
  for (const std::string& prefix : proxy.extra_prefixes) {
    const std::string wanted = Lower(prefix);
    for (const auto& [key, value] : headers) {
      const std::string name = Lower(key);
      if (name.starts_with(wanted))
        user.extra[PercentDecode(name.substr(wanted.size()))].push_back(value);
    }
  }
  return user;
}

std::string BearerToken(const Headers& headers) {
  const std::string value = FirstOf(headers, {"authorization"});
  const std::string_view text = Trim(value);
  const size_t space = text.find(' ');
  if (space == text.npos || Lower(text.substr(0, space)) != "bearer") return "";
  const std::string_view token = Trim(text.substr(space + 1));
  return std::string(token.substr(0, token.find(' ')));
}

Authenticator::Authenticator(const config::AuthenticationOptions& options, ReviewClient* client,
                             clock::Clock* clock, log::Logger log)
    : options_(options), client_(client), log_(std::move(log)), retry_(clock), tokens_(clock) {}

bool Authenticator::LooksUpConfigMap() const { return client_ != nullptr && !options_.skip_lookup; }

Status Authenticator::LoadFiles(Trust* trust) const {
  if (!options_.client_ca_file.empty()) {
    auto ca = ReadCa(options_.client_ca_file, "--client-ca-file");
    if (!ca.ok()) return ca.error();
    trust->client_ca = *std::move(ca);
  }
  if (!options_.request_header_ca_file.empty()) {
    auto ca = ReadCa(options_.request_header_ca_file, "--requestheader-client-ca-file");
    if (!ca.ok()) return ca.error();
    trust->proxy = {*std::move(ca),
                    options_.request_header_allowed_names,
                    options_.username_headers,
                    options_.uid_headers,
                    options_.group_headers,
                    options_.extra_prefixes};
  }
  return Ok();
}

// Flags beat the ConfigMap, part by part.
Status Authenticator::LoadConfigMap(Trust* trust) const {
  const Result<std::string> text = client_->GetAuthenticationConfigMap();
  if (!text.ok() && text.error().Is(Code::kNotFound)) return Ok();
  if (!text.ok()) return text.error();
  const Json object = Json::parse(*text, nullptr, false);
  const auto found = object.is_object() ? object.find("data") : object.end();
  if (object.is_discarded()) return MakeError(Code::kInternal, "the answer is not JSON");
  if (!object.is_object() || found == object.end() || !found->is_object()) return Ok();
  const Json& data = *found;
  if (const std::string pem = TextAt(data, "client-ca-file");
      options_.client_ca_file.empty() && !pem.empty()) {
    auto ca = CaBundle::Parse(pem, "client-ca-file");
    if (!ca.ok()) return ca.error();
    trust->client_ca = *std::move(ca);
  }
  const std::string pem = TextAt(data, "requestheader-client-ca-file");
  if (options_.request_header_ca_file.empty() && !pem.empty()) {
    auto ca = CaBundle::Parse(pem, "requestheader-client-ca-file");
    if (!ca.ok()) return ca.error();
    trust->proxy = {*std::move(ca),
                    ListAt(data, "requestheader-allowed-names"),
                    ListAt(data, "requestheader-username-headers"),
                    ListAt(data, "requestheader-uid-headers"),
                    ListAt(data, "requestheader-group-headers"),
                    ListAt(data, "requestheader-extra-headers-prefix")};
  }
  return Ok();
}

Status Authenticator::Start() {
  Trust trust;
  if (Status files = LoadFiles(&trust); !files.ok()) return files;
  if (client_ == nullptr) {
    log_.Warning(
        "No authentication-kubeconfig provided in order to lookup client-ca-file, so client "
        "certificate "
        "authentication won't work unless flags name a CA");
    log_.Warning("No authentication-kubeconfig provided, so token authentication won't work");
  }
  if (LooksUpConfigMap()) {
    if (const Status map = LoadConfigMap(&trust); !map.ok()) {
      const std::string what =
          "unable to load configmap based request-header-client-ca-file: " + map.error().message;
      if (!options_.tolerate_lookup_failure) return MakeError(map.error().code, what);
      log_.Warning("Error looking up in-cluster authentication configuration", {{"err", what}});
      log_.Warning(
          "Continuing without authentication configuration. This may treat all requests as "
          "anonymous");
    }
  }
  const std::lock_guard lock(mutex_);
  trust_ = std::move(trust);
  return Ok();
}

void Authenticator::Refresh(Source source) {
  Trust fresh = Current();
  if (const Status files = LoadFiles(&fresh); !files.ok()) {
    log_.Error(files.error().message, "Failed to reload client CA files, the old ones stay");
  }
  if (source == Source::kAll && LooksUpConfigMap()) {
    if (const Status map = LoadConfigMap(&fresh); !map.ok()) {
      log_.Error(map.error().message,
                 "Failed to read the authentication ConfigMap, what was known stays");
    }
  }
  const std::lock_guard lock(mutex_);
  trust_ = std::move(fresh);
}

Authenticator::Trust Authenticator::Current() const {
  const std::lock_guard lock(mutex_);
  return trust_;
}

bool Authenticator::WantsClientCertificates() const {
  const std::lock_guard lock(mutex_);
  return trust_.client_ca != nullptr || trust_.proxy.ca != nullptr;
}

std::optional<User> Authenticator::FromProxy(const Trust& trust, const Headers& headers,
                                             const std::vector<CertPtr>& peer,
                                             std::string* error) const {
  const Status verified = trust.proxy.ca->Verify(peer);
  if (!verified.ok()) {
    *error = verified.error().message;
    return std::nullopt;
  }
  const std::string name = CommonNameOf(peer.front().get());
  const auto& allowed = trust.proxy.allowed_names;
  if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), name) == allowed.end()) {
    *error = "x509: subject with cn=" + name + " is not in the allowed list";
    return std::nullopt;
  }
  return UserFromHeaders(trust.proxy, headers);
}

std::optional<User> Authenticator::FromToken(const std::string& token, std::string* error) {
  const Digest key = DigestOf(token);
  std::optional<TokenAnswer> answer = tokens_.Find(key);
  if (!answer) {
    const Json review = {{"kind", "TokenReview"},
                         {"apiVersion", "authentication.k8s.io/v1"},
                         {"metadata", {{"creationTimestamp", nullptr}}},
                         {"spec", {{"token", token}}}};
    const std::string body = review.dump(-1, ' ', false, Json::error_handler_t::replace);
    const Result<std::string> text = retry_.Call([&] { return client_->CreateTokenReview(body); });
    if (!text.ok()) {
      *error = text.error().message;
      return std::nullopt;
    }
    const Json object = Json::parse(*text, nullptr, false);
    const auto status = object.is_object() ? object.find("status") : object.end();
    if (!object.is_object() || status == object.end() || !status->is_object()) {
      *error = "token review: the answer has no status";
      return std::nullopt;
    }
    if (const std::string failed = TextAt(*status, "error"); !failed.empty()) {
      *error = failed;
      return std::nullopt;
    }
    answer.emplace();
    const auto authenticated = status->find("authenticated");
    const auto user = status->find("user");
    answer->authenticated =
        authenticated != status->end() && authenticated->is_boolean() && authenticated->get<bool>();
    if (user != status->end() && user->is_object()) answer->user = UserOfReview(*user);
    tokens_.Put(key, *answer, options_.token_cache_ttl);
  }
  if (answer->authenticated && !answer->user.name.empty()) return answer->user;
  *error = "invalid bearer token";
  return std::nullopt;
}

Result<User> Authenticator::Authenticate(const Headers& headers, const std::vector<CertPtr>& peer) {
  const Trust trust = Current();
  std::string errors;
  std::string error;
  const auto note = [&] {
    if (!error.empty()) errors += (errors.empty() ? "" : ", ") + error;
    error.clear();
  };
  std::optional<User> user;
  if (trust.proxy.ca && !peer.empty()) user = FromProxy(trust, headers, peer, &error);
  note();
  if (!user && trust.client_ca && !peer.empty()) {
    const Status verified = trust.client_ca->Verify(peer);
    if (verified.ok()) {
      Result<User> owner = UserOf(peer.front().get());
      if (owner.ok()) {
        user = *std::move(owner);
      } else {
        error = owner.error().message;
      }
    } else {
      error = verified.error().message;
    }
    note();
  }
  if (!user && client_ != nullptr) {
    const std::string token = BearerToken(headers);
    if (!token.empty()) user = FromToken(token, &error);
    note();
  }
  if (user) {
    if (!user->InGroup(kAuthenticated) && !user->InGroup(kUnauthenticated))
      user->groups.push_back(kAuthenticated);
    return *std::move(user);
  }
  if (!errors.empty()) return MakeError(Code::kUnauthorized, errors);
  User anonymous;
  anonymous.name = kAnonymous;
  anonymous.groups = {kUnauthenticated};
  return anonymous;
}

}  // namespace kcm::host::http
