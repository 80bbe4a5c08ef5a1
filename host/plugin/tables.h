// SPDX-License-Identifier: Apache-2.0
// The pieces that the tables' files share.
#pragma once
#include <kcm/kcm.h>

#include <charconv>
#include <string>
#include <string_view>

#include "kcm/rules/go_duration.h"

namespace kcm::host::plugin {

inline std::string_view View(kcm_str s) {
  return s.length == 0 || s.data == nullptr ? std::string_view()
                                            : std::string_view(s.data, s.length);
}
inline kcm_str TextOf(std::string_view s) { return {s.data(), s.size()}; }

// Writes the text of a failure into the plugin's buffer; returns `code`.
int32_t Fail(kcm_error* error, int32_t code, std::string_view text);

const kcm_cache_api& CacheTable();
const kcm_client_api& ClientTable();
const kcm_discovery_api& DiscoveryTable();

inline int64_t ParseInteger(std::string_view text, int64_t otherwise) {
  int64_t v = 0;
  return std::from_chars(text.data(), text.data() + text.size(), v).ec == std::errc() ? v
                                                                                      : otherwise;
}
inline double ParseReal(std::string_view text, double otherwise) {
  double v = 0;
  return std::from_chars(text.data(), text.data() + text.size(), v).ec == std::errc() ? v
                                                                                      : otherwise;
}
inline int64_t ParseDurationNs(std::string_view text, int64_t otherwise) {
  const auto d = rules::ParseDuration(text);
  return d.ok() ? d->count() : otherwise;
}

}  // namespace kcm::host::plugin
