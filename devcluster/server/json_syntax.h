// SPDX-License-Identifier: Apache-2.0
// What the API server says of a text that is no JSON.
#pragma once
#include <string>
#include <string_view>

namespace kcm::devcluster {

// `invalid character 'o' in literal null (expecting 'u')`, `unexpected end of JSON input`; "" when
// the text is one JSON value, however deep.
std::string JsonSyntaxError(std::string_view text);

}  // namespace kcm::devcluster
