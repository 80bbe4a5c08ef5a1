/* SPDX-License-Identifier: Apache-2.0
 * kcm/config.h: flags and feature gates, table "kcm.config/1". Values are those of the process and
 * do not change. */
#ifndef KCM_CONFIG_H
#define KCM_CONFIG_H

#include "kcm/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KCM_CONFIG_API_ID "kcm.config/1"

typedef struct kcm_config_api {
  uint32_t size;
  uint32_t flags; /* none defined: 0 */

  /* Value of a flag as text in canonical form (durations in Go form, lists comma separated); only
   * flags the plugin declared or the host's own. Threads:   [any] Ownership: the host's Lifetime:
   * of the process Errors:    KCM_ERR_NOT_FOUND Since:     kcm.config/1 */
  int32_t (*flag)(kcm_context* context, kcm_str name, kcm_str* out);

  /* Value of an integer flag.
   * Threads:   [any]
   * Ownership: -
   * Lifetime:  -
   * Errors:    `otherwise` when there is no such flag
   * Since:     kcm.config/1 */
  int64_t (*integer)(kcm_context* context, kcm_str name, int64_t otherwise);

  /* Value of a duration flag in nanoseconds.
   * Threads:   [any]
   * Ownership: -
   * Lifetime:  -
   * Errors:    `otherwise` when there is no such flag
   * Since:     kcm.config/1 */
  int64_t (*duration_ns)(kcm_context* context, kcm_str name, int64_t otherwise);

  /* Value of a float flag.
   * Threads:   [any]
   * Ownership: -
   * Lifetime:  -
   * Errors:    `otherwise` when there is no such flag
   * Since:     kcm.config/1 */
  double (*real)(kcm_context* context, kcm_str name, double otherwise);

  /* Value of a bool flag: 0 or 1.
   * Threads:   [any]
   * Ownership: -
   * Lifetime:  -
   * Errors:    `otherwise` when there is no such flag
   * Since:     kcm.config/1 */
  uint32_t (*boolean)(kcm_context* context, kcm_str name, uint32_t otherwise);

  /* 1 when the feature gate is on.
   * Threads:   [any]
   * Ownership: -
   * Lifetime:  -
   * Errors:    0 for an unknown gate
   * Since:     kcm.config/1 */
  uint32_t (*gate)(kcm_context* context, kcm_str name);

  /* append below this line */
} kcm_config_api;

#ifdef __cplusplus
}
#endif
#endif /* KCM_CONFIG_H */
