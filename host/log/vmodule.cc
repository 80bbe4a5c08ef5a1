// SPDX-License-Identifier: Apache-2.0
// Vmodule: see the header.
#include "host/log/vmodule.h"

#include <charconv>
#include <optional>

#include "host/log/log.h"

namespace kcm::host::log {
namespace {

struct Part {
  std::string_view pattern;
  int level = 0;
};

std::optional<Part> ParsePart(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) return std::nullopt;
  Part part{text.substr(0, equals), 0};
  const std::string_view number = text.substr(equals + 1);
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), part.level);
  if (error != std::errc() || end != number.data() + number.size() || part.level < 0)
    return std::nullopt;
  return part;
}

// Calls `use` with each comma-separated part that is not empty.
template <class Use>
void ForEachPart(std::string_view text, Use use) {
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    if (!part.empty()) use(part);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
}

// Shell-like: * any run, ? any one character. Linear space, no recursion: patterns come from the
// command line.
bool Matches(std::string_view pattern, std::string_view text) {
  size_t p = 0;
  size_t t = 0;
  size_t star = std::string_view::npos;
  size_t retry = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++retry;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string_view WithoutSuffix(std::string_view file) {
  const size_t slash = file.rfind('/');
  const size_t dot = file.rfind('.');
  const bool has_suffix =
      dot != std::string_view::npos && (slash == std::string_view::npos || dot > slash);
  return has_suffix ? file.substr(0, dot) : file;
}

}  // namespace

std::string CheckVmodule(std::string_view vmodule) {
  std::string wrong;
  ForEachPart(vmodule, [&](std::string_view part) {
    if (wrong.empty() && !ParsePart(part)) {
      wrong = "\"" + std::string(part) + "\" doesn't have the pattern=N format";
    }
  });
  return wrong;
}

Vmodule::Vmodule(std::string_view text) {
  ForEachPart(text, [&](std::string_view part) {
    if (const auto parsed = ParsePart(part))
      rules_.push_back({std::string(parsed->pattern), parsed->level});
  });
}

int Vmodule::LevelFor(std::string_view file, std::string_view name) const {
  const std::string_view path = WithoutSuffix(file);
  const std::string_view base = path.substr(path.rfind('/') + 1);
  for (const Rule& rule : rules_) {
    const bool whole_path = rule.pattern.find('/') != std::string::npos;
    if (Matches(rule.pattern, whole_path ? path : base) ||
        (!name.empty() && Matches(rule.pattern, name))) {
      return rule.level;
    }
  }
  return 0;
}

}  // namespace kcm::host::log
