// SPDX-License-Identifier: Apache-2.0
// Texts that JSON has for protobuf's scalars: times and base64 (spec/wire.md, rules 5 and 6).
// Unlike rules/time.h these keep every year of RFC 3339, since what is decoded here is encoded
// again. Private to host/wire.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace kcm::host::wire {

constexpr size_t kTimeTextSize = 32;
constexpr int64_t kFirstSecond = -62167219200;  // 0000-01-01T00:00:00Z
constexpr int64_t kLastSecond = 253402300799;   // 9999-12-31T23:59:59Z

// Writes "2024-05-01T10:00:00Z", with `micros` >= 0 six decimals, into `text`; returns the view.
// REQUIRES: seconds in kFirstSecond..kLastSecond, micros below a million.
std::string_view FormatTime(int64_t seconds, int32_t micros, char (&text)[kTimeTextSize]);
// RFC 3339 with Z or an offset and up to nine decimals. False when malformed.
bool ParseTime(std::string_view text, int64_t* seconds, int32_t* nanos);

void AppendBase64(std::string_view bytes, std::string* out);
// Standard alphabet with padding; line breaks are ignored. False when malformed.
bool ParseBase64(std::string_view text, std::string* bytes);

}  // namespace kcm::host::wire
