// SPDX-License-Identifier: Apache-2.0
// RLIMIT_NOFILE.
#include "host/file/open_limit.h"

#include <sys/resource.h>

#include <cerrno>
#include <cstring>

namespace kcm::host::file {

void RaiseOpenLimit() {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);  // what stays too low, CheckOpenLimit says
}

Status CheckOpenLimit() {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kFewestOpenFiles) return Ok();
  return MakeError(Code::kInvalid,
                   "only " + std::to_string(limit.rlim_cur) + " files may be open, a host needs " +
                       std::to_string(kFewestOpenFiles) +
                       " at least: raise the limit (ulimit -n 1024, LimitNOFILE= of the unit)");
}

std::string ErrnoText(int error) {
  std::string text = std::strerror(error);
  if (error == EMFILE)
    text += ": raise the limit of open files (ulimit -n, LimitNOFILE= of the unit)";
  if (error == ENFILE) text += ": raise the machine's limit of open files (sysctl fs.file-max)";
  return text;
}

}  // namespace kcm::host::file
