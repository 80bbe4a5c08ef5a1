// SPDX-License-Identifier: Apache-2.0
// Escapes query values.
#include "kcm/rules/url_query.h"

namespace kcm::rules {
namespace {

bool IsUnreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-_.~").find(c) != std::string_view::npos;
}

}  // namespace

void AddParameter(std::string* query, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  if (!query->empty()) *query += '&';
  *query += name;
  *query += '=';
  for (const char c : value) {
    if (IsUnreserved(c)) {
      *query += c;
      continue;
    }
    constexpr std::string_view kHex = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(c);
    *query += '%';
    *query += kHex[byte >> 4];
    *query += kHex[byte & 15];
  }
}

}  // namespace kcm::rules
