// SPDX-License-Identifier: Apache-2.0
// Code points and assertions, for the compiler and the matcher of Regex alone.
#pragma once
#include <cstdint>
#include <string_view>
#include <utility>

namespace kcm::devcluster::kinds {

enum RegexAssertion : uint32_t { kBegin, kEnd, kLineBegin, kLineEnd, kWordEdge, kNotWordEdge };

// The code point at `at`, and its bytes; a broken byte counts as itself. REQUIRES: `at` is inside.
std::pair<char32_t, size_t> RuneAt(std::string_view text, size_t at);
// Whether a letter, digit or underscore is at `at`; false at the end.
bool IsWordAt(std::string_view text, size_t at);

}  // namespace kcm::devcluster::kinds
