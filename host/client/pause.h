// SPDX-License-Identifier: Apache-2.0
// Pause: a wait on the clock that a Cancellation ends. Private to host/client.
#pragma once
#include "host/client/client.h"

namespace kcm::host::client {

// Waits `d`. False: cancelled before or meanwhile. `cancel` may be null.
bool Pause(clock::Clock* clock, clock::Duration d, Cancellation* cancel);

}  // namespace kcm::host::client
