// SPDX-License-Identifier: Apache-2.0
// The usage text: one block per section, names aligned, help behind them (spec/host.md 1.1 rules 6,
// 7, 9).
#include <algorithm>

#include "host/config/flags.h"
#include "kcm/rules/go_quote.h"

namespace kcm::host::config {
namespace {

// A word in back quotes in the help names the value; the quotes go.
std::pair<std::string, std::string> ValueNameAndHelp(const FlagDeclaration& d) {
  const size_t open = d.help.find('`');
  const size_t close = open == std::string::npos ? open : d.help.find('`', open + 1);
  if (close == std::string::npos) return {std::string(TypeWord(d.type)), d.help};
  const std::string word = d.help.substr(open + 1, close - open - 1);
  return {word, d.help.substr(0, open) + word + d.help.substr(close + 1)};
}

bool IsZero(const FlagDeclaration& d) {
  return d.default_text.empty() || d.default_text == "0" || d.default_text == "false" ||
         d.default_text == "0s";
}

std::string DefaultSuffix(const FlagDeclaration& d) {
  if (IsZero(d)) return "";
  const Result<FlagValue> value = ParseFlagValue(d.type, d.default_text, nullptr);
  if (!value.ok()) return "";
  const std::string text = FormatFlagValue(d.type, *value);
  return " (default " + (d.type == FlagType::kString ? rules::GoQuote(text) : text) + ")";
}

struct Line {
  std::string name, help;
};

std::vector<Line> LinesOf(const std::string& section, const std::vector<const Flag*>& flags) {
  std::vector<Line> lines;
  for (const Flag* flag : flags) {
    const FlagDeclaration& d = flag->declaration;
    if (d.section != section || !d.deprecated.empty()) continue;
    auto [value_name, help] = ValueNameAndHelp(d);
    std::string name = d.shorthand == 0 ? "      --" : std::string("  -") + d.shorthand + ", --";
    name += d.name;
    if (!value_name.empty()) name += " " + value_name;
    lines.push_back({std::move(name), help + DefaultSuffix(d)});
  }
  return lines;
}

}  // namespace

std::string FlagSet::Usage(std::string_view command) const {
  std::string out = "Usage:\n  " + std::string(command) + " [flags]\n";
  const std::vector<const Flag*> all = All();
  for (const std::string& section : sections_) {
    const std::vector<Line> lines = LinesOf(section, all);
    if (lines.empty()) continue;
    out += "\n" + section + " flags:\n\n";
    size_t width = 0;
    for (const Line& line : lines) width = std::max(width, line.name.size());
    for (const Line& line : lines) {
      out += line.name + std::string(width - line.name.size() + 3, ' ');
      for (const char c : line.help) {
        out += c;
        if (c == '\n') out.append(width + 3, ' ');
      }
      out += '\n';
    }
  }
  return out;
}

}  // namespace kcm::host::config
