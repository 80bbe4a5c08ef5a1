// SPDX-License-Identifier: Apache-2.0
// Paths and queries (url.h).
#include "devcluster/server/url.h"

#include <charconv>

#include "devcluster/server/failure.h"

namespace kcm::devcluster {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string UrlDecode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && HexDigit(text[i + 1]) >= 0 &&
        HexDigit(text[i + 2]) >= 0) {
      out.push_back(static_cast<char>(HexDigit(text[i + 1]) * 16 + HexDigit(text[i + 2])));
      i += 2;
    } else {
      out.push_back(plus_is_space && text[i] == '+' ? ' ' : text[i]);
    }
  }
  return out;
}

Query::Query(std::string_view text) {
  while (!text.empty()) {
    const size_t end = text.find('&');
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (part.empty()) continue;
    const size_t eq = part.find('=');
    const std::string value =
        eq == std::string_view::npos ? "" : UrlDecode(part.substr(eq + 1), true);
    values_[UrlDecode(part.substr(0, eq), true)].push_back(value);
  }
}

std::string Query::Get(std::string_view name) const {
  const auto it = values_.find(name);
  return it == values_.end() ? std::string() : it->second.front();
}

const std::vector<std::string>* Query::All(std::string_view name) const {
  const auto it = values_.find(name);
  return it == values_.end() ? nullptr : &it->second;
}

bool Query::Flag(std::string_view name) const {
  std::string v = Get(name);
  for (char& c : v) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return !v.empty() && v != "0" && v != "false";
}

std::optional<int64_t> Query::Integer(std::string_view name) const {
  const std::string v = Get(name);
  if (v.empty()) return std::nullopt;
  int64_t n = 0;
  const char* first = v.data() + (v[0] == '+' ? 1 : 0);
  const auto [end, error] = std::from_chars(first, v.data() + v.size(), n);
  if (error == std::errc::result_out_of_range) {
    Fail(BadRequest("strconv.ParseInt: parsing " + GoQuote(v) + ": value out of range"));
  }
  if (error != std::errc() || end != v.data() + v.size()) {
    Fail(BadRequest("strconv.ParseInt: parsing " + GoQuote(v) + ": invalid syntax"));
  }
  return n;
}

Target ParsePath(std::string_view path) {
  Target t;
  while (!path.empty()) {
    if (path.front() == '/') {
      path.remove_prefix(1);
      continue;
    }
    const size_t end = path.find('/');
    t.segments.push_back(UrlDecode(path.substr(0, end), false));
    path.remove_prefix(end == std::string_view::npos ? path.size() : end);
  }
  const auto& s = t.segments;
  if (s.empty() || (s[0] != "api" && s[0] != "apis")) return t;
  t.core = s[0] == "api";
  size_t at = 1;
  if (!t.core && at < s.size()) t.group = s[at++];
  if (at < s.size()) t.version = s[at++];
  t.kind = t.core ? (t.version.empty() ? Target::Kind::kGroupList : Target::Kind::kVersion)
           : t.group.empty()   ? Target::Kind::kGroupList
           : t.version.empty() ? Target::Kind::kGroup
                               : Target::Kind::kVersion;
  if (at < s.size() && s[at] == "watch" && at + 1 < s.size()) {
    t.legacy_watch = true;
    ++at;
  }
  if (at >= s.size()) return t;
  t.kind = Target::Kind::kResource;
  if (s[at] == "namespaces" && at + 1 < s.size()) {
    const bool own = at + 2 >= s.size() || s[at + 2] == "status" || s[at + 2] == "finalize";
    if (own) {
      t.resource = "namespaces";
      t.name = s[at + 1];
      t.ns = t.core ? t.name : "";
      if (at + 2 < s.size()) t.subresource = s[at + 2];
      return t;
    }
    t.ns = s[at + 1];
    at += 2;
  }
  t.resource = s[at++];
  if (at < s.size()) t.name = s[at++];
  if (at < s.size()) t.subresource = s[at++];
  for (; at < s.size(); ++at) t.rest += (t.rest.empty() ? "" : "/") + s[at];
  return t;
}

}  // namespace kcm::devcluster
