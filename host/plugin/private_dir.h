// SPDX-License-Identifier: Apache-2.0
// Private directories: where copies of plugin files are mapped from, below the system's temporary
// directory, as kcm-host-PID-XXXXXX.
//
// Who owns one is told by flock(2) on the directory and on the file `lock` in it, held until the
// directory is removed or the process ends, however it ends. Process numbers tell nothing: two
// containers that share a temporary directory both have a process 1.
//
//   Result<std::string> dir = MakePrivateDir();
//   ...
//   RemovePrivateDir(*dir);
//
// Thread-safe.
#pragma once
#include <string>

#include "kcm/rules/result.h"

namespace kcm::host::plugin {

// Makes a fresh one, mode 0700, and removes those of this user that nobody owns any more. One that
// has no lock file and was changed less than a minute ago is left alone: it is being made. Links
// are not followed. Errors name the fix.
Result<std::string> MakePrivateDir();

// Makes one of MakePrivateDir again, at the same path, if it or its lock has been removed behind
// our back (a cleaner of temporary files). Any other path: nothing is done. The error names the
// fix.
Status RestorePrivateDir(const std::string& dir);

// Removes one of MakePrivateDir with all that is in it. What is mapped from it stays mapped. Any
// other path, and one that somebody else has by now, stays.
void RemovePrivateDir(const std::string& dir);

// All of this process, for its end: other threads may still run.
void RemovePrivateDirs();

}  // namespace kcm::host::plugin
