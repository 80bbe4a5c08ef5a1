// SPDX-License-Identifier: Apache-2.0
// Wall time and its texts in the API: RFC 3339, whole seconds (meta/v1 Time), six digits
// (MicroTime), nanoseconds (annotations). Sources: spec/wire.md 5, spec/endpoints.md E6,
// spec/namespace.md (token cleaner: zone offsets count).
//
//   std::optional<WallTime> t = TimeOf(pod.Path("metadata.creationTimestamp"));
//   FormatTime(*t) == "2024-05-01T10:00:00Z"
//
// The zero time of the API (null, absent, "") is nullopt here; an epoch of 1970 is an ordinary
// time.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "kcm/rules/node.h"

namespace kcm::rules {

// Nanoseconds since 1970 UTC; the same type as host::clock::WallTime.
using WallTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::nanoseconds>;

// Parses RFC 3339 with `Z` or a numeric offset and up to any number of fraction digits (beyond nine
// cut off). nullopt when malformed (lower case `t`/`z`, 30 February, second 60 included). Years
// outside 1678..2261 are legal text and are saturated to WallTime::min()/max(): "expires
// 9999-12-31" stays far in the future.
std::optional<WallTime> ParseTime(std::string_view text);

// The time in a string node; nullopt for absent, null, empty and malformed.
std::optional<WallTime> TimeOf(Node node);

// `2024-05-01T10:00:00Z`: fractions are cut off (towards the past), as meta/v1 Time does.
std::string FormatTime(WallTime t);
// `2024-05-01T10:00:00.123456Z`: always six digits (MicroTime of Lease and Event).
std::string FormatMicroTime(WallTime t);
// `2024-05-01T10:00:00.12Z`: as many digits as needed, none when whole (RFC3339Nano).
std::string FormatNanoTime(WallTime t);
// Whole seconds in a zone `offset` east of UTC: `2016-05-19T06:00:00-04:00`; `Z` for offset 0.
// Offset seconds are dropped.
std::string FormatTimeInZone(WallTime t, std::chrono::seconds offset);

// `to` - `from`, saturated: the ends of WallTime are more than int64 nanoseconds apart, and objects
// may carry any time.
std::chrono::nanoseconds Elapsed(WallTime from, WallTime to);
// `t` + `d`, saturated likewise.
WallTime Plus(WallTime t, std::chrono::nanoseconds d);

// The largest whole second that is not after `t`.
WallTime TruncateToSecond(WallTime t);

}  // namespace kcm::rules
