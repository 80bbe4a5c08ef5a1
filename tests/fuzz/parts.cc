// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>

#include "fuzz/try.h"

namespace kcm::fuzz {

void Check(bool kept, const char* promise) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

std::vector<std::string_view> Parts(std::string_view input, size_t n) {
  std::vector<std::string_view> out;
  while (out.size() + 1 < n) {
    const size_t end = input.find('\0');
    out.push_back(input.substr(0, end));
    input = end == std::string_view::npos ? std::string_view() : input.substr(end + 1);
  }
  out.push_back(input);
  return out;
}

std::string Join(const std::vector<std::string_view>& parts) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += '\0';
    out += parts[i];
  }
  return out;
}

}  // namespace kcm::fuzz
