// SPDX-License-Identifier: Apache-2.0
// Version texts and the rules for emulated versions.
#include "host/config/version.h"

#include <algorithm>
#include <optional>

#include "host/config/go_syntax.h"
#include "kcm/rules/go_quote.h"

namespace kcm::host::config {
namespace {

using rules::GoQuote;

// How far back behaviour can be emulated; nothing is emulated before 1.31.
constexpr Minor kFloor{1, std::max(kMinor - 3, 31)};

// Numbers of `1.2.3`, at most three; nothing when it is anything else.
std::optional<std::vector<int>> Numbers(std::string_view text) {
  std::vector<int> numbers;
  while (true) {
    const std::string_view part = text.substr(0, text.find('.'));
    if (part.empty() || part.size() > 6 || part.find_first_not_of("0123456789") != part.npos)
      return std::nullopt;
    if (part.size() > 1 && part.front() == '0') return std::nullopt;
    numbers.push_back(std::stoi(std::string(part)));
    if (part.size() == text.size()) break;
    text.remove_prefix(part.size() + 1);
    if (numbers.size() == 3) return std::nullopt;
  }
  return numbers;
}

// One list such as --emulated-version; at most one entry, for component kube.
std::optional<Minor> ParseEntries(const std::vector<std::string>& entries,
                                  std::vector<std::string>* errors) {
  std::optional<Minor> found;
  std::string first;
  for (const std::string& entry : entries) {
    const size_t equals = entry.find('=');
    const std::string component = equals == std::string::npos ? "kube" : entry.substr(0, equals);
    std::string_view text =
        std::string_view(entry).substr(equals == std::string::npos ? 0 : equals + 1);
    const std::string whole = component + "=" + std::string(text);
    if (component != "kube") {
      errors->push_back("component not registered: " + component);
      continue;
    }
    if (found) {
      errors->push_back("duplicate version flag, " + first + " and " + whole);
      continue;
    }
    if (text.starts_with('v')) text.remove_prefix(1);
    const std::optional<std::vector<int>> numbers = Numbers(text);
    if (!numbers || numbers->size() < 2) {
      errors->push_back("illegal version string " + GoQuote(text) + ", want MAJOR.MINOR");
    } else if (numbers->size() == 3) {
      errors->push_back("patch version not allowed, got: " + whole);
    } else {
      found = Minor{(*numbers)[0], (*numbers)[1]};
      first = whole;
    }
  }
  return found;
}

}  // namespace

BuildInfo Build(const std::string& reported) {
  BuildInfo info;
  info.major = "1";
  info.minor = std::to_string(kMinor);
  info.git_version = reported.empty() ? std::string(kGitVersion) : reported;
  info.git_commit = "unknown";
  info.git_tree_state = "unknown";
  info.build_date = "unknown";
#if defined(__clang__)
  info.compiler = "clang " __clang_version__;
#else
  info.compiler = "gcc " __VERSION__;
#endif
#if defined(__aarch64__)
  info.platform = "linux/arm64";
#else
  info.platform = "linux/amd64";
#endif
  return info;
}

Status CheckVersionFlag(std::string_view text) {
  if (text == "raw") return Ok();
  if (!text.starts_with('v')) {
    const Result<bool> word = ParseGoBool(text);
    if (!word.ok()) return word.error();
    return Ok();
  }
  const std::string_view core = text.substr(
      1, text.find_first_of("-+") == text.npos ? text.npos : text.find_first_of("-+") - 1);
  const std::optional<std::vector<int>> numbers = Numbers(core);
  if (!numbers || numbers->size() != 3) {
    return MakeError(Code::kInvalid, "illegal version string " + GoQuote(text));
  }
  if ("v" + std::string(core) != kKubernetesVersion) {
    return MakeError(Code::kInvalid, "version " + GoQuote(text) +
                                         " must match major/minor/patch of default version " +
                                         GoQuote(kKubernetesVersion));
  }
  return Ok();
}

std::string RawVersion(const BuildInfo& i) {
  return "version.Info{Major:" + GoQuote(i.major) + ", Minor:" + GoQuote(i.minor) +
         ", GitVersion:" + GoQuote(i.git_version) + ", GitCommit:" + GoQuote(i.git_commit) +
         ", GitTreeState:" + GoQuote(i.git_tree_state) + ", BuildDate:" + GoQuote(i.build_date) +
         ", Compiler:" + GoQuote(i.compiler) + ", Platform:" + GoQuote(i.platform) + "}";
}

Emulation ParseEmulation(const std::vector<std::string>& emulated,
                         const std::vector<std::string>& min_compatible,
                         std::vector<std::string>* errors) {
  Emulation e;
  e.emulated = ParseEntries(emulated, errors).value_or(Minor{});
  // One release back, but no further than the floor, so that --emulated-version=<floor> alone is
  // legal.
  const Minor one_back{e.emulated.major, e.emulated.minor - 1};
  e.min_compatible = ParseEntries(min_compatible, errors)
                         .value_or(std::max(one_back, std::min(e.emulated, kFloor)));
  if (e.emulated < kFloor || e.emulated > Minor{}) {
    errors->push_back("emulation version " + e.emulated.Text() + " is not between [" +
                      kFloor.Text() + ", " + Minor{}.Text() + ".0]");
  }
  if (e.min_compatible < kFloor || e.min_compatible > e.emulated) {
    errors->push_back("minCompatibilityVersion version " + e.min_compatible.Text() +
                      " is not between [" + kFloor.Text() + ", " + e.emulated.Text() + "]");
  }
  return e;
}

}  // namespace kcm::host::config
