// SPDX-License-Identifier: Apache-2.0
// Utf8Length: how long the character at the front of a text is; the one place that judges UTF-8.
#pragma once
#include <cstddef>
#include <string_view>

namespace kcm::rules {

// Bytes of the well-formed UTF-8 character that `text` starts with (1 to 4); 0 when the front byte
// does not start one (overlong forms, surrogates, cut off and above U+10FFFF included). REQUIRES:
// !text.empty().
size_t Utf8Length(std::string_view text);

}  // namespace kcm::rules
