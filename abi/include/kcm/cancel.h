/* SPDX-License-Identifier: Apache-2.0
 * kcm/cancel.h: cancellation, table "kcm.cancel/1". */
#ifndef KCM_CANCEL_H
#define KCM_CANCEL_H

#include "kcm/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KCM_CANCEL_API_ID "kcm.cancel/1"

typedef struct kcm_cancel_api {
  uint32_t size;
  uint32_t flags; /* none defined: 0 */

  /* 1 when work in this scope is to end soon (stop, shut-down, hand-over). NULL: the instance's own
   * scope. Threads:   [any] Ownership: - Lifetime:  - Errors:    - Since:     kcm.cancel/1 */
  uint32_t (*cancelled)(kcm_context* context, kcm_scope* scope);

  /* Waits until `ready(data)` is true, `timeout_ns` passed (-1: none) or the scope is cancelled, on
   * the host's clock. `ready` is asked on the calling thread only: at once, after each wake() and at
   * the end; what it looks at must be changed before the wake() that tells of it, and it must not
   * throw. The host holds no lock while it runs: it may take locks of the plugin, those that are
   * held where wake() is called among them, and call the host. Once it has said yes the answer is
   * KCM_OK, also when the scope is cancelled.
   * Threads:   [any & !event & !timer]
   * Ownership: `data` stays the plugin's
   * Lifetime:  for the call
   * Errors:    KCM_OK, KCM_ERR_TIMEOUT, KCM_ERR_CANCELLED
   * Since:     kcm.cancel/1 */
  int32_t (*wait)(kcm_context* context, kcm_scope* scope, int64_t timeout_ns,
                  uint32_t (*ready)(void* data), void* data);

  /* Makes every wait() of the instance look again. Never blocks: locks may be held. A wake between
   * a look and the wait that follows it is not lost.
   * Threads:   [any]
   * Ownership: -
   * Lifetime:  -
   * Errors:    none
   * Since:     kcm.cancel/1 */
  void (*wake)(kcm_context* context);

  /* append below this line */
} kcm_cancel_api;

#ifdef __cplusplus
}
#endif
#endif /* KCM_CANCEL_H */
