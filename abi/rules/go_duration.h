// SPDX-License-Identifier: Apache-2.0
// Durations as Go writes them (flags, meta/v1 Duration, @every schedules) and as kubectl shows
// ages. Sources: spec/host.md 1.1, spec/pod-batch.md (@every), spec/apiserver.md K (Age cell).
//
//   *ParseDuration("1h2m3.5s");  FormatDuration(15s) == "15s";  ShortAge(190s) == "3m10s"
#pragma once
#include <chrono>
#include <string>
#include <string_view>

#include "kcm/rules/result.h"

namespace kcm::rules {

// Parses `[+-]` then a sequence of decimal number + unit (ns, us, µs, ms, s, m, h), or a bare `0`.
// Fractions below a nanosecond are cut off. Error kInvalid with Go's texts: `time: invalid duration
// "x"`, `time: missing unit in duration "x"`, `time: unknown unit "x" in duration "y"`. Beyond
// +-292 years: invalid.
Result<std::chrono::nanoseconds> ParseDuration(std::string_view text);

// Go's canonical text: `1h0m0s`, `2m30s`, `15s`, `1.5s`, `300ms`, `10µs`, `0s`.
std::string FormatDuration(std::chrono::nanoseconds d);

// kubectl's age: `5s`, `3m10s`, `3h5m`, `2d3h`, `400d`, `3y10d`; `<invalid>` more than a second in
// the future.
std::string ShortAge(std::chrono::nanoseconds d);

}  // namespace kcm::rules
