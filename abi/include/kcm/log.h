/* SPDX-License-Identifier: Apache-2.0
 * kcm/log.h: structured log lines, table "kcm.log/1". The host adds plugin, controller and, in a
 * scope, key. */
#ifndef KCM_LOG_H
#define KCM_LOG_H

#include "kcm/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KCM_LOG_INFO 1u
#define KCM_LOG_WARNING 2u
#define KCM_LOG_ERROR 3u

/* kcm_log_pair.kind: which member holds the value. */
#define KCM_LOG_STRING 1u
#define KCM_LOG_INT 2u
#define KCM_LOG_DOUBLE 3u
#define KCM_LOG_BOOL 4u

/* Frozen value type: one key and value of a line. */
typedef struct kcm_log_pair {
  kcm_str key;
  kcm_str text;
  int64_t integer; /* also bool: 0 or 1 */
  double real;
  uint32_t kind;
  uint32_t reserved; /* 0 */
} kcm_log_pair;

#define KCM_LOG_API_ID "kcm.log/1"

typedef struct kcm_log_api {
  uint32_t size;
  uint32_t flags; /* none defined: 0 */

  /* 1 when a line of this level would be written: build costly text only then.
   * Threads:   [any]
   * Ownership: -
   * Lifetime:  -
   * Errors:    -
   * Since:     kcm.log/1 */
  uint32_t (*enabled)(kcm_context* context, int32_t level);

  /* Writes one line. `message` is constant text; `error` is the err="..." of an error line, else
   * empty; `scope` may be NULL. Threads:   [any] Ownership: borrowed for the call Lifetime:  for
   * the call Errors:    none; unknown severities count as info Since:     kcm.log/1 */
  void (*write)(kcm_context* context, kcm_scope* scope, uint32_t severity, int32_t level,
                kcm_str message, kcm_str error, const kcm_log_pair* pairs, uint64_t pair_count);

  /* append below this line */
} kcm_log_api;

#ifdef __cplusplus
}
#endif
#endif /* KCM_LOG_H */
