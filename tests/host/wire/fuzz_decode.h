// SPDX-License-Identifier: Apache-2.0
// One input through every decoder of host/wire. The first byte picks the decoder and the size of
// portions.
#pragma once
#include <string>
#include <string_view>

namespace kcm::host::wire::testing {

// Returns what is wrong, "" when nothing is. Crashes and sanitizer reports are the other findings.
std::string FuzzDecode(std::string_view input);

}  // namespace kcm::host::wire::testing
