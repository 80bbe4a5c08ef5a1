// SPDX-License-Identifier: Apache-2.0
// A library whose constructor, which runs when the file is mapped, takes the process down: by a
// signal, or (CRASH_BY_STACK) by using up its stack, or (EXIT) by exit(0), or (HANG) never returns.
// DESTRUCTOR: a signal when the file is unmapped. PINNED: the same in a file that the loader never
// unmaps (targets.cmake), so at the end of the process.
#include <kcm/plugin.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

namespace {

#ifdef CRASH_BY_STACK
volatile bool g_on = true;

// Never in place: each call needs what the one before it holds.
__attribute__((noinline)) int Deeper(const char* outer) {
  volatile char room[4096];
  for (char& c : const_cast<char(&)[4096]>(room)) c = outer[0];
  return g_on ? Deeper(const_cast<const char*>(room)) + room[17] : room[0];
}
const int g_depth = Deeper("x");
#elif defined(HANG)
const int g_paused = [] {
  for (;;) ::pause();
  return 0;
}();
#elif defined(EXIT)
const int g_ended = [] {
  ::exit(0);
  return 0;
}();
#elif defined(DESTRUCTOR)
struct Raises {
  ~Raises() { ::raise(SIGSEGV); }
};
const Raises g_raises;
#else
const int g_raised = ::raise(SIGSEGV);
#endif

}  // namespace

extern "C" KCM_EXPORT const kcm_plugin kcm_plugin_entry = {};
