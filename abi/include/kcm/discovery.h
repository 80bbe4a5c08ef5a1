/* SPDX-License-Identifier: Apache-2.0
 * kcm/discovery.h: what the server serves, and REST mapping, table "kcm.discovery/1". */
#ifndef KCM_DISCOVERY_H
#define KCM_DISCOVERY_H

#include "kcm/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kcm_resource_list kcm_resource_list;

/* One resource of the server; borrowed from its list. */
typedef struct kcm_resource {
  uint32_t size;
  uint32_t namespaced; /* 0 or 1 */
  kcm_str group;
  kcm_str version;
  kcm_str resource;
  kcm_str kind;
  kcm_str verbs; /* comma separated, alphabetical */
} kcm_resource;

#define KCM_DISCOVERY_API_ID "kcm.discovery/1"

typedef struct kcm_discovery_api {
  uint32_t size;
  uint32_t flags; /* none defined: 0 */

  /* Minor version of the server (36); cached.
   * Threads:   [any & !event & !timer]
   * Ownership: -
   * Lifetime:  -
   * Errors:    negative: -code
   * Since:     kcm.discovery/1 */
  int32_t (*server_minor)(kcm_context* context);

  /* Preferred version of every resource, read live. Partial failure (some groups unreadable) is
   * KCM_OK with `failed` set to "group/version: error" lines. Threads:   [any & !event & !timer]
   * Ownership: the caller owns *out: list_release
   * Lifetime:  until released
   * Errors:    codes of the requests when nothing could be read
   * Since:     kcm.discovery/1 */
  int32_t (*preferred)(kcm_context* context, kcm_scope* scope, kcm_resource_list** out,
                       kcm_error* error);

  /* Number of resources in the list.
   * Threads:   [any]
   * Ownership: -
   * Lifetime:  -
   * Errors:    -
   * Since:     kcm.discovery/1 */
  uint64_t (*list_count)(const kcm_resource_list* list);

  /* Resource of the list.
   * Threads:   [any]
   * Ownership: borrowed
   * Lifetime:  of the list
   * Errors:    NULL when out of range
   * Since:     kcm.discovery/1 */
  const kcm_resource* (*list_at)(const kcm_resource_list* list, uint64_t index);

  /* Groups that could not be read: lines "group/version: error"; empty when none.
   * Threads:   [any]
   * Ownership: borrowed
   * Lifetime:  of the list
   * Errors:    -
   * Since:     kcm.discovery/1 */
  kcm_str (*list_failed)(const kcm_resource_list* list);

  /* Frees a list.
   * Threads:   [any]
   * Ownership: `list` is gone
   * Lifetime:  -
   * Errors:    none
   * Since:     kcm.discovery/1 */
  void (*list_release)(kcm_resource_list* list);

  /* Resource of a kind (REST mapping); version may be empty: the preferred one. The list has one
   * entry. Threads:   [any & !event & !timer] Ownership: the caller owns *out Lifetime:  until
   * released Errors:    KCM_ERR_NOT_FOUND: no match; codes of the requests Since: kcm.discovery/1
   */
  int32_t (*for_kind)(kcm_context* context, kcm_scope* scope, kcm_str group, kcm_str version,
                      kcm_str kind, kcm_resource_list** out, kcm_error* error);

  /* append below this line */
} kcm_discovery_api;

#ifdef __cplusplus
}
#endif
#endif /* KCM_DISCOVERY_H */
