/* SPDX-License-Identifier: Apache-2.0
 * kcm/abi.h: what every other header of the plugin interface stands on: versions, value types,
 * errors, thread tags.
 *
 * A plugin is a shared object that exports one symbol, the constant `kcm_plugin_entry`
 * (kcm/plugin.h). The host reads its declarations, gives it tables of functions by id
 * ("kcm.cache/1") and calls the controllers in it.
 *
 * Rules of this interface
 *   - C11 only. Fixed-width integers, no enum, bool, bit-field, long or size_t in a struct that
 * crosses.
 *   - Every struct that crosses starts with its size in bytes, but for the frozen value types
 * below. Structs and tables only grow at the end: check KCM_HAS() before using a member that is
 * younger than KCM_ABI 1.0.
 *   - Strings are UTF-8 with a length, never NUL-terminated, never NULL with a length above 0.
 *   - Nothing is thrown and nothing longjmps across.
 *
 * Thread tags, used in the "Threads:" line of every function:
 *   [any]         any thread, several at once
 *   [control]     life cycle calls: create, start, stop, destroy, save_state, load_state, health:
 * one at a time per controller [event]       on_event: one at a time, in order, per watch [worker]
 * reconcile: one thread per key, many keys at once [timer]       timer callbacks: one at a time per
 * controller instance [completion]  a host thread that must not be held up Conditions are joined
 * with '&': [control & !started]. */
#ifndef KCM_ABI_H
#define KCM_ABI_H

#include <stddef.h>
#include <stdint.h>

#include "kcm/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KCM_ABI_MAJOR 1u
#define KCM_ABI_MINOR 0u

/* Frozen value type: a piece of UTF-8 text. `data` may be NULL when `length` is 0. */
typedef struct kcm_str {
  const char* data;
  uint64_t length; /* bytes */
} kcm_str;

/* For constant data: KCM_STR("text"). */
#define KCM_STR(literal) \
  { (literal), sizeof(literal) - 1u }

/* Frozen value type: a place inside an object (kcm/object.h). {0, 0} is "absent". Read it with the
 * object table only. */
typedef struct kcm_cursor {
  uint64_t a;
  uint64_t b;
} kcm_cursor;

/* Where a callee writes the text of an error. The caller owns the struct and the buffer; both live
 * for the call only. A callee writes at most `capacity` bytes, cuts at a character border, and sets
 * `length`. NULL is legal: no text wanted. */
typedef struct kcm_error {
  uint32_t size;     /* of this struct, set by the caller */
  uint32_t capacity; /* bytes in `text` */
  char* text;
  uint64_t length; /* bytes written */
} kcm_error;

/* True when the struct or table at `p` is long enough to hold `member`. */
#define KCM_HAS(type, p, member) ((p)->size >= offsetof(type, member) + sizeof((p)->member))

/* The host's side of one controller instance (one generation). First argument of almost every host
 * function. Valid from create() until destroy() returns. */
typedef struct kcm_context kcm_context;

/* A scope of work that can be cancelled: one reconcile, one task run, or (NULL) the instance's own,
 * which ends at stop(). Host calls that block take one; writes made in it are recorded for its key.
 */
typedef struct kcm_scope kcm_scope;

/* The root of everything the host offers. */
typedef struct kcm_host_api {
  uint32_t size;
  uint32_t flags; /* none defined: written 0, ignored */

  /* The table with this id ("kcm.queue/1"), NULL when this host has no such table.
   * Threads:   [any]
   * Ownership: the table is the host's and constant.
   * Lifetime:  until destroy() of the instance returns.
   * Errors:    NULL for an unknown id.
   * Since:     1.0 */
  const void* (*table)(kcm_context* context, kcm_str id);

  uint32_t abi_major; /* of the host */
  uint32_t abi_minor;
  kcm_str host_version; /* for logs only */
  /* append below this line */
} kcm_host_api;

#ifdef __cplusplus
}
#endif
#endif /* KCM_ABI_H */
