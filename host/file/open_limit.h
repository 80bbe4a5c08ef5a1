// SPDX-License-Identifier: Apache-2.0
// The limit of open files of this process (RLIMIT_NOFILE), and words for when it is reached.
// Thread-safe.
#pragma once
#include <cstdint>
#include <string>

#include "kcm/rules/result.h"

namespace kcm::host::file {

// What a host needs at least: a watch per resource (about 40 with all families), 25 kept
// connections for requests of each of two clients, its own callers, and some files.
inline constexpr uint64_t kFewestOpenFiles = 128;

// Raises the soft limit to the hard one. For the whole process, so for its main() alone.
void RaiseOpenLimit();
// An error that names the fix when fewer than kFewestOpenFiles may be open.
Status CheckOpenLimit();

// What strerror says of an errno, with the fix when it is this limit or the machine's.
std::string ErrnoText(int error);

}  // namespace kcm::host::file
