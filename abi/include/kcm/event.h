/* SPDX-License-Identifier: Apache-2.0
 * kcm/event.h: Events (core/v1) with correlation, table "kcm.event/1". Never blocks; written by the
 * host with the controller's identity, fenced. */
#ifndef KCM_EVENT_H
#define KCM_EVENT_H

#include "kcm/object.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KCM_EVENT_NORMAL 1u
#define KCM_EVENT_WARNING 2u

/* What an Event is about, when it is not an object at hand. */
typedef struct kcm_reference {
  uint32_t size;
  uint32_t reserved;
  kcm_str api_version;
  kcm_str kind;
  kcm_str namespace_name;
  kcm_str name;
  kcm_str uid;
  kcm_str resource_version;
  kcm_str field_path;
} kcm_reference;

#define KCM_EVENT_API_ID "kcm.event/1"

typedef struct kcm_event_api {
  uint32_t size;
  uint32_t flags; /* none defined: 0 */

  /* Records an Event. `reason` is UpperCamelCase and constant.
   * Threads:   [any]
   * Ownership: everything is copied
   * Lifetime:  -
   * Errors:    KCM_ERR_INVALID (type, no reason), KCM_ERR_STOPPED; a full queue drops the event and
   * logs it Since:     kcm.event/1 */
  int32_t (*record)(kcm_context* context, const kcm_reference* about, uint32_t type, kcm_str reason,
                    kcm_str message);

  /* The same with annotations (pairs of name and value).
   * Threads:   [any]
   * Ownership: everything is copied
   * Lifetime:  -
   * Errors:    as record
   * Since:     kcm.event/1 */
  int32_t (*record_annotated)(kcm_context* context, const kcm_reference* about, uint32_t type,
                              kcm_str reason, kcm_str message, const kcm_str* annotations,
                              uint64_t pair_count);

  /* append below this line */
} kcm_event_api;

#ifdef __cplusplus
}
#endif
#endif /* KCM_EVENT_H */
