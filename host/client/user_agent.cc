// SPDX-License-Identifier: Apache-2.0
// Builds user agents.
#include "host/client/user_agent.h"

#include <sys/utsname.h>

namespace kcm::host::client {
namespace {

// Go's names of machines: they appear in audit logs.
std::string GoArch() {
#if defined(__x86_64__)
  return "amd64";
#elif defined(__aarch64__)
  return "arm64";
#elif defined(__powerpc64__)
  return "ppc64le";
#elif defined(__s390x__)
  return "s390x";
#else
  utsname u{};
  return uname(&u) == 0 ? u.machine : "";
#endif
}

std::string OrUnknown(std::string_view part) {
  return part.empty() ? "unknown" : std::string(part);
}

}  // namespace

std::string UserAgent(std::string_view argv0, std::string_view version, std::string_view commit,
                      std::string_view suffix) {
  const std::string_view base =
      argv0.substr(argv0.rfind('/') == std::string_view::npos ? 0 : argv0.rfind('/') + 1);
  std::string out = OrUnknown(base) + "/" + OrUnknown(version.substr(0, version.find('-'))) +
                    " (linux/" + OrUnknown(GoArch()) + ") kubernetes/" +
                    OrUnknown(commit.substr(0, 7));
  if (!suffix.empty()) out.append("/").append(suffix);
  return out;
}

}  // namespace kcm::host::client
