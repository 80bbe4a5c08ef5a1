/* SPDX-License-Identifier: Apache-2.0
 * Turns layout.inc into static assertions; included by a C and by a C++ file, which must agree. */
#include <kcm/kcm.h>

#ifdef __cplusplus
#define KCM_ASSERT static_assert
#else
#define KCM_ASSERT _Static_assert
#endif
#define KCM_SIZE(type, bytes) KCM_ASSERT(sizeof(type) == (bytes), "size of " #type);
#define KCM_OFFSET(type, member, bytes) \
  KCM_ASSERT(offsetof(type, member) == (bytes), "offset of " #type "." #member);
#define KCM_VALUE(name, value) KCM_ASSERT((name) == (value), "value of " #name);

#include "layout.inc"
