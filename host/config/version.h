// SPDX-License-Identifier: Apache-2.0
// Version of this binary and the release it behaves as (spec/host.md 1.1 rule 9, 1.5, 1.8).
//
// The host stands in for the manager of Kubernetes 1.36 and says so: `Kubernetes
// v1.36.2+kcm-0.1.0`. The part behind `+` is our own version; it is build metadata, so version
// comparisons of other tools see 1.36.2.
#pragma once
#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "kcm/rules/result.h"

namespace kcm::host::config {

inline constexpr std::string_view kComponent = "kube-controller-manager";
inline constexpr int kMinor = 36;
inline constexpr std::string_view kKubernetesVersion = "v1.36.2";
inline constexpr std::string_view kHostVersion = "0.1.0";
inline constexpr std::string_view kGitVersion = "v1.36.2+kcm-0.1.0";

struct BuildInfo {
  std::string major, minor, git_version, git_commit, git_tree_state, build_date, compiler, platform;
};
// `reported` replaces git_version where --version=vX.Y.Z-suffix was given; "" keeps it.
BuildInfo Build(const std::string& reported);

// `true`, `false`, `raw` or a version that agrees with ours up to its suffix. Error: why not.
Status CheckVersionFlag(std::string_view text);
// What --version=raw prints, without newline.
std::string RawVersion(const BuildInfo& info);

struct Minor {
  int major = 1;
  int minor = kMinor;
  friend auto operator<=>(const Minor&, const Minor&) = default;
  std::string Text() const { return std::to_string(major) + "." + std::to_string(minor); }
};

// The release to behave as.
struct Emulation {
  Minor emulated;
  Minor min_compatible{1, kMinor - 1};
};

// Reads --emulated-version and --min-compatibility-version; what is wrong is appended to `errors`.
Emulation ParseEmulation(const std::vector<std::string>& emulated,
                         const std::vector<std::string>& min_compatible,
                         std::vector<std::string>* errors);

}  // namespace kcm::host::config
