// SPDX-License-Identifier: Apache-2.0
// Alternate signal stacks: a thread that has used up its stack inside a plugin still has room for
// the crash handler.
#pragma once

namespace kcm::host::plugin {

// Gives the calling thread an alternate signal stack that is the thread's own and goes with it;
// does nothing when it has one already (a sanitizer's, another language's). Cheap after the first
// call.
void EnsureAlternateStack();

}  // namespace kcm::host::plugin
