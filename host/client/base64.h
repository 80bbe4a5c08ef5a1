// SPDX-License-Identifier: Apache-2.0
// Standard base64 (kubeconfig data, basic authentication, exec cluster info), over OpenSSL's block
// functions.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace kcm::host::client {

std::string EncodeBase64(std::string_view bytes);
// White space is ignored. nullopt: not base64.
std::optional<std::string> DecodeBase64(std::string_view text);

}  // namespace kcm::host::client
