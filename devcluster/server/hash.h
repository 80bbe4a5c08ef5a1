// SPDX-License-Identifier: Apache-2.0
// Hashes that name documents and storage versions.
#pragma once
#include <string>
#include <string_view>

namespace kcm::devcluster {

std::string Sha256(std::string_view text);     // 32 bytes
std::string UpperHex(std::string_view bytes);  // "0AFF"

}  // namespace kcm::devcluster
