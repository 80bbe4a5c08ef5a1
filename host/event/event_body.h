// SPDX-License-Identifier: Apache-2.0
// Names and JSON of Events (spec/host.md 8.1, 8.4). Pure but for the random UUID. Broken UTF-8 is
// replaced.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "host/event/event.h"

namespace kcm::host::event {

// `<involved>.<hex of nanos>`, or a random UUID where that is no DNS-1123 subdomain.
std::string EventName(std::string_view involved, int64_t unix_nanos);

// The object for a POST.
std::string PostBody(const Event& event);
// {"count":N,"lastTimestamp":"T","message":"M"}, a strategic merge patch.
std::string PatchBody(const Event& event);

}  // namespace kcm::host::event
