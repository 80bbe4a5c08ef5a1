// SPDX-License-Identifier: Apache-2.0
// The pinned layout as C++20 sees it; layout.c checks the same list.
#include <type_traits>

#include "layout.h"

// What crosses is plain data: copied byte by byte, the same in both languages.
#define KCM_PLAIN(type) \
  static_assert(std::is_standard_layout_v<type> && std::is_trivially_copyable_v<type>, #type);
#undef KCM_SIZE
#undef KCM_OFFSET
#undef KCM_VALUE
#define KCM_SIZE(type, bytes) KCM_PLAIN(type)
#define KCM_OFFSET(type, member, bytes)
#define KCM_VALUE(name, value)
#include "layout.inc"

int main() { return 0; }
