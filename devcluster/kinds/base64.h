// SPDX-License-Identifier: Apache-2.0
// Standard base64 of byte fields.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace kcm::devcluster::kinds {

std::string EncodeBase64(std::string_view bytes);
// Line breaks are skipped; nullopt unless the rest is padded base64.
std::optional<std::string> DecodeBase64(std::string_view text);

}  // namespace kcm::devcluster::kinds
