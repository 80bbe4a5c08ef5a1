// SPDX-License-Identifier: Apache-2.0
// The busy marks of a thread: a list of scopes on its stack, reached through one thread-local
// pointer.
#include "host/clock/clock.h"

namespace kcm::host::clock {
namespace {
// A plain pointer: no destructor that would run at thread exit (or pin a library).
thread_local BusyScope* innermost = nullptr;
}  // namespace

BusyScope::BusyScope(Clock& clock) : clock_(clock), outer_(innermost) {
  clock_.BeginWork();
  innermost = this;
}

BusyScope::~BusyScope() {
  innermost = outer_;
  // A pause that was begun inside this scope and outlives it has taken the mark off already.
  if (paused_by_ == nullptr) clock_.EndWork();
}

BusyPause::BusyPause(Clock& clock) : clock_(clock) {
  for (BusyScope* s = innermost; s != nullptr; s = s->outer_) {
    if (&s->clock_ != &clock_ || s->paused_by_ != nullptr) continue;
    s->paused_by_ = this;
    clock_.EndWork();
  }
}

BusyPause::~BusyPause() {
  for (BusyScope* s = innermost; s != nullptr; s = s->outer_) {
    if (s->paused_by_ != this) continue;
    clock_.BeginWork();
    s->paused_by_ = nullptr;
  }
}

}  // namespace kcm::host::clock
