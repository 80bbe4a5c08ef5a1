// SPDX-License-Identifier: Apache-2.0
// Crashes: a fatal signal inside a plugin, and exit() called by one, are attributed in the last log
// line and remembered, so that a build which takes the process down again and again is not loaded
// any more (design 9). Not seen: _exit(), _Exit() and the system call itself, which run no handler.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "kcm/rules/result.h"

namespace kcm::host::plugin {

// Process-wide, once, from main. On SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT: one line on stderr
// that names plugin, build, controller and key of the crashing thread, a record file when
// SetCrashDir was called, then the signal's default action. Only async-signal-safe calls. Library
// code and tests do not install it.
// On exit() and quick_exit(), which nothing of the host calls: the same line and record, then the
// process ends with the code given, or with 1 instead of 0. Nothing of other plugins runs.
void InstallCrashHandler();
// How the host's program ends: private directories are removed, then as exit() would, but static
// destructors of plugins that could not be unmapped do not run.
[[noreturn]] void EndProcess(int code);
// Where record files go: DIR/crash-<digest prefix>-<time>.txt. The build id of the frame is its
// digest's first characters.
void SetCrashDir(const std::string& dir);
// Makes the directory (mode 0700) when only its last part is missing. An error, which names the
// fix, when records could not be written to it or counted in it.
Status PrepareCrashDir(const std::string& dir);

// Characters of a digest that name a build in frames and records.
inline constexpr size_t kBuildLength = 16;

// Number of records of this build in the directory.
int CrashCount(const std::string& dir, std::string_view build);

// Whether a file may be mapped: an error names the fix when its build has `threshold` or more
// records in `dir`. No directory or a threshold of 0 or less: every file may.
Status Admit(const std::string& dir, int64_t threshold, const std::string& file,
             const std::string& digest);

}  // namespace kcm::host::plugin
