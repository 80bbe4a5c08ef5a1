// SPDX-License-Identifier: Apache-2.0
// Values of Error::cause of transport errors (Code::kTransport): the retry rules of
// spec/host.md 5.2, 5.3 and 7.2 tell them apart.
#pragma once

namespace kcm::host::client {

inline constexpr char kCauseRefused[] = "ConnectionRefused";
inline constexpr char kCauseReset[] = "ConnectionReset";
inline constexpr char kCauseEof[] = "UnexpectedEOF";
inline constexpr char kCauseTls[] = "TLS";
inline constexpr char kCauseOther[] = "Other";

}  // namespace kcm::host::client
