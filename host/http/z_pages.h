// SPDX-License-Identifier: Apache-2.0
// /flagz and /statusz: the same facts as text, JSON or YAML, by the Accept header
// (spec/host.md 9.5).
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/http/request.h"

namespace kcm::host::http {

struct Flagz {
  std::string component;
  std::vector<std::pair<std::string, std::string>> flags;  // sorted by name
};
Response FlagzPage(const Flagz& page, const std::string& accept);

struct Statusz {
  std::string component;
  std::string start_time;  // RFC 3339
  int64_t uptime_seconds = 0;
  std::string compiler;
  std::string binary_version, emulation_version;  // "1.36.2", "1.36"
  std::vector<std::string> paths;                 // sorted
};
Response StatuszPage(const Statusz& page, const std::string& accept);

enum class Format : uint8_t { kText, kJson, kYaml, kNone };
struct Wanted {
  Format format = Format::kNone;
  std::string version;  // v1beta1 or v1alpha1 for objects
};
// First entry of `accept` that can be served for `kind` ("Flagz"); kNone when there is none (406).
Wanted Negotiate(std::string_view accept, std::string_view kind);

}  // namespace kcm::host::http
