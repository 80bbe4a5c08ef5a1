/* SPDX-License-Identifier: Apache-2.0
 * kcm/queue.h: the controller's work queues, table "kcm.queue/1". The host owns queues: keys
 * outlive a swap of the plugin that added them. A key waits once and is with one worker at most. */
#ifndef KCM_QUEUE_H
#define KCM_QUEUE_H

#include "kcm/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KCM_QUEUE_API_ID "kcm.queue/1"

typedef struct kcm_queue_api {
  uint32_t size;
  uint32_t flags; /* none defined: 0 */

  /* Adds a key; a key that waits already is not added twice.
   * Threads:   [any]
   * Ownership: `key` is copied
   * Lifetime:  -
   * Errors:    KCM_ERR_INVALID (queue, empty key), KCM_ERR_STOPPED: then nothing was added
   * Since:     kcm.queue/1 */
  int32_t (*add)(kcm_context* context, uint32_t queue, kcm_str key);

  /* Adds a key after `delay_ns`. Of two delays for one key the earlier wins. Never blocks.
   * Threads:   [any]
   * Ownership: `key` is copied
   * Lifetime:  -
   * Errors:    KCM_ERR_INVALID (queue, empty key, negative delay), KCM_ERR_STOPPED
   * Since:     kcm.queue/1 */
  int32_t (*add_after)(kcm_context* context, uint32_t queue, kcm_str key, int64_t delay_ns);

  /* Adds a key after its back-off and counts a failure.
   * Threads:   [any]
   * Ownership: `key` is copied
   * Lifetime:  -
   * Errors:    as add
   * Since:     kcm.queue/1 */
  int32_t (*add_rate_limited)(kcm_context* context, uint32_t queue, kcm_str key);

  /* Forgets the failure count of a key; delayed entries stay.
   * Threads:   [any]
   * Ownership: -
   * Lifetime:  -
   * Errors:    KCM_ERR_INVALID
   * Since:     kcm.queue/1 */
  int32_t (*forget)(kcm_context* context, uint32_t queue, kcm_str key);

  /* Failure count of a key.
   * Threads:   [any]
   * Ownership: -
   * Lifetime:  -
   * Errors:    0
   * Since:     kcm.queue/1 */
  int32_t (*requeues)(kcm_context* context, uint32_t queue, kcm_str key);

  /* Number of keys ready for a worker.
   * Threads:   [any]
   * Ownership: -
   * Lifetime:  -
   * Errors:    0
   * Since:     kcm.queue/1 */
  uint64_t (*length)(kcm_context* context, uint32_t queue);

  /* append below this line */
} kcm_queue_api;

#ifdef __cplusplus
}
#endif
#endif /* KCM_QUEUE_H */
