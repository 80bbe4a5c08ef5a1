/* SPDX-License-Identifier: Apache-2.0
 * kcm/cache.h: the informer caches, table "kcm.cache/1". One call reads one snapshot; two calls may
 * differ. */
#ifndef KCM_CACHE_H
#define KCM_CACHE_H

#include "kcm/object.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kcm_list
    kcm_list; /* an answer of list(): counted references, freed with list_release */

/* What to list. All given conditions must hold; an index is the cheap one. */
typedef struct kcm_query {
  uint32_t size;
  uint32_t watch;
  int32_t index;  /* place in the watch's indexes; -1: none */
  uint32_t flags; /* none defined: 0 */
  kcm_str index_value;
  kcm_str namespace_name; /* empty: all */
  kcm_str label_selector; /* "a=b,c in (d,e)"; empty: everything */
} kcm_query;

#define KCM_CACHE_API_ID "kcm.cache/1"

typedef struct kcm_cache_api {
  uint32_t size;
  uint32_t flags; /* none defined: 0 */

  /* The object with this key ("namespace/name", or "name" for cluster scope) as the watch's mask
   * shows it. *out is NULL when the cache has none. Threads:   [any] Ownership: the caller owns one
   * reference of *out: release it Lifetime:  until released Errors:    KCM_ERR_INVALID for an
   * unknown watch, KCM_ERR_STOPPED Since:     kcm.cache/1 */
  int32_t (*get)(kcm_context* context, uint32_t watch, kcm_str key, kcm_object** out);

  /* Objects that match, ordered by key.
   * Threads:   [any]
   * Ownership: the caller owns *out: list_release
   * Lifetime:  until released
   * Errors:    KCM_ERR_INVALID (watch, index, selector), KCM_ERR_STOPPED
   * Since:     kcm.cache/1 */
  int32_t (*list)(kcm_context* context, const kcm_query* query, kcm_list** out, kcm_error* error);

  /* Number of objects in a list.
   * Threads:   [any]
   * Ownership: -
   * Lifetime:  -
   * Errors:    -
   * Since:     kcm.cache/1 */
  uint64_t (*list_count)(const kcm_list* list);

  /* Object of a list, borrowed.
   * Threads:   [any]
   * Ownership: borrowed from the list: add_ref to keep it longer
   * Lifetime:  of the list
   * Errors:    NULL when out of range
   * Since:     kcm.cache/1 */
  kcm_object* (*list_at)(const kcm_list* list, uint64_t index);

  /* Frees a list and its references.
   * Threads:   [any]
   * Ownership: `list` is gone
   * Lifetime:  -
   * Errors:    none
   * Since:     kcm.cache/1 */
  void (*list_release)(kcm_list* list);

  /* 1 when the first list of this watch is in the cache and delivered.
   * Threads:   [any]
   * Ownership: -
   * Lifetime:  -
   * Errors:    0 for an unknown watch
   * Since:     kcm.cache/1 */
  uint32_t (*synced)(kcm_context* context, uint32_t watch);

  /* Highest resourceVersion this cache has seen, 0 before the first list.
   * Threads:   [any]
   * Ownership: -
   * Lifetime:  -
   * Errors:    0
   * Since:     kcm.cache/1 */
  uint64_t (*resource_version)(kcm_context* context, uint32_t watch);

  /* Starts watching a resource at run time, metadata only; events arrive in on_event under the
   * returned id (>= 0x80000000). Asking twice gives the same id. Threads:   [any] Ownership: -
   * Lifetime:  until remove_watch or stop()
   * Errors:    KCM_ERR_INVALID, KCM_ERR_STOPPED, KCM_ERR_UNAVAILABLE (the system has no thread left
   *            for it: try again later)
   * Since:     kcm.cache/1 */
  int32_t (*add_watch)(kcm_context* context, kcm_str group, kcm_str version, kcm_str resource,
                       uint32_t* watch, kcm_error* error);

  /* Ends a runtime watch; no event of it arrives after the return, unless called from on_event.
   * Threads:   [any]
   * Ownership: -
   * Lifetime:  -
   * Errors:    KCM_ERR_INVALID
   * Since:     kcm.cache/1 */
  int32_t (*remove_watch)(kcm_context* context, uint32_t watch);

  /* append below this line */
} kcm_cache_api;

#ifdef __cplusplus
}
#endif
#endif /* KCM_CACHE_H */
