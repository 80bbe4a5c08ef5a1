// SPDX-License-Identifier: Apache-2.0
// The request target at the host's own port.
#include "fuzz/try.h"
#include "host/http/request.h"

namespace kcm::fuzz {

void Try(std::string_view input) {
  std::string path;
  std::vector<std::pair<std::string, std::string>> query;
  if (host::http::ParseTarget(input, &path, &query))
    Check(!path.empty() && path.front() == '/', "a path begins with a slash");
}

std::vector<std::string> Seeds() {
  return {"/healthz?verbose", "/metrics", "/a%20b?x=1&y&z=%2f+", "https://h:1/configz?a=b;c",
          "/debug/controllers/x"};
}

}  // namespace kcm::fuzz
