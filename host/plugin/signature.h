// SPDX-License-Identifier: Apache-2.0
// Detached Ed25519 signatures of plugin files: FILE.sig holds 64 raw bytes, or their base64 text.
#pragma once
#include <string>
#include <string_view>

#include "kcm/rules/result.h"

namespace kcm::host::plugin {

// Ok when `signature` over `bytes` verifies with one of the public keys in the PEM file
// `trust_key`. `file` is for messages.
Status VerifySignature(std::string_view bytes, std::string_view signature,
                       const std::string& trust_key, const std::string& file);

std::string Sha256Hex(std::string_view bytes);

}  // namespace kcm::host::plugin
