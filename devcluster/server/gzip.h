// SPDX-License-Identifier: Apache-2.0
// Compressed answers.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace kcm::devcluster {

// Whether the value of an Accept-Encoding header names gzip (not with q=0).
bool AcceptsGzip(std::string_view accept_encoding);
// `text` in the gzip format, fast rather than small. nullopt when zlib fails.
std::optional<std::string> Gzip(std::string_view text);

}  // namespace kcm::devcluster
