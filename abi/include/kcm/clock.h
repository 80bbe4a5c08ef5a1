/* SPDX-License-Identifier: Apache-2.0
 * kcm/clock.h: time and timers, table "kcm.clock/1". Virtual in tests: never read time from
 * anywhere else. */
#ifndef KCM_CLOCK_H
#define KCM_CLOCK_H

#include "kcm/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t kcm_timer; /* 0 is never a timer */

#define KCM_CLOCK_API_ID "kcm.clock/1"

typedef struct kcm_clock_api {
  uint32_t size;
  uint32_t flags; /* none defined: 0 */

  /* Monotonic nanoseconds since an unspecified start (suspend counts).
   * Threads:   [any]
   * Ownership: -
   * Lifetime:  -
   * Errors:    none
   * Since:     kcm.clock/1 */
  int64_t (*monotonic_ns)(kcm_context* context);

  /* Nanoseconds since 1970 UTC.
   * Threads:   [any]
   * Ownership: -
   * Lifetime:  -
   * Errors:    none
   * Since:     kcm.clock/1 */
  int64_t (*wall_ns)(kcm_context* context);

  /* Calls `fire(data)` once after `delay_ns`. None fires before create() has returned KCM_OK, or
   * when it fails; timers end, uncalled, before stop() returns.
   * Threads:   [any]
   * Ownership: `data` stays the plugin's
   * Lifetime:  until it fired, was cancelled or stop()
   * Errors:    0 after stop()
   * Since:     kcm.clock/1 */
  kcm_timer (*after)(kcm_context* context, int64_t delay_ns, void (*fire)(void* data), void* data);

  /* Prevents a timer; once it has returned the callback is not running, unless called from within
   * it. Threads:   [any] Ownership: - Lifetime:  - Errors:    0 when it had fired or is unknown,
   * else 1 Since:     kcm.clock/1 */
  uint32_t (*cancel)(kcm_context* context, kcm_timer timer);

  /* append below this line */
} kcm_clock_api;

#ifdef __cplusplus
}
#endif
#endif /* KCM_CLOCK_H */
