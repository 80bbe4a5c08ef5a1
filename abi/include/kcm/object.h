/* SPDX-License-Identifier: Apache-2.0
 * kcm/object.h: reading objects, table "kcm.object/1". A kcm_object is a counted reference to one
 * immutable version of an API object as one watch (its field mask) or one answer shows it. Nothing
 * is parsed or copied when reading. */
#ifndef KCM_OBJECT_H
#define KCM_OBJECT_H

#include "kcm/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kcm_object kcm_object; /* opaque */

/* Kinds of a value. */
#define KCM_KIND_ABSENT 0u
#define KCM_KIND_NULL 1u
#define KCM_KIND_BOOL 2u
#define KCM_KIND_INT 3u
#define KCM_KIND_DOUBLE 4u
#define KCM_KIND_STRING 5u
#define KCM_KIND_ARRAY 6u
#define KCM_KIND_OBJECT 7u

#define KCM_OBJECT_API_ID "kcm.object/1"

/* Every function of this table: a cursor or string lives as long as the object it was read from;
 * reading what is absent or of another kind gives "absent", "", 0. Cursors of freed objects are
 * undefined behaviour. */
typedef struct kcm_object_api {
  uint32_t size;
  uint32_t flags; /* none defined: 0 */

  /* One more reference.
   * Threads:   [any]
   * Ownership: the caller owns one reference more.
   * Lifetime:  until release.
   * Errors:    none.
   * Since:     kcm.object/1 */
  void (*add_ref)(kcm_object* object);

  /* Gives up one reference. NULL is legal.
   * Threads:   [any]
   * Ownership: the caller's reference is gone.
   * Lifetime:  -
   * Errors:    none.
   * Since:     kcm.object/1 */
  void (*release)(kcm_object* object);

  /* The object's root value.
   * Threads:   [any]
   * Ownership: borrowed from `object`.
   * Lifetime:  as long as a reference is held.
   * Errors:    none.
   * Since:     kcm.object/1 */
  kcm_cursor (*root)(const kcm_object* object);

  /* Id of a member name for field(); 0: no built-in kind has it, use member(). Equal for the life
   * of the process. Threads:   [any] Ownership: `name` is borrowed. Lifetime:  - Errors:    0.
   * Since:     kcm.object/1 */
  uint32_t (*field_id)(kcm_str name);

  /* Member of an object value by id (fast) / by name.
   * Threads:   [any]
   * Ownership: borrowed.
   * Lifetime:  of the object.
   * Errors:    absent.
   * Since:     kcm.object/1 */
  kcm_cursor (*field)(kcm_cursor at, uint32_t field_id);
  /* See field().
   * Threads:   [any]
   * Ownership: borrowed.
   * Lifetime:  of the object.
   * Errors:    absent.
   * Since:     kcm.object/1 */
  kcm_cursor (*member)(kcm_cursor at, kcm_str name);

  /* KCM_KIND_* of the value.
   * Threads:   [any]
   * Ownership: -
   * Lifetime:  -
   * Errors:    KCM_KIND_ABSENT.
   * Since:     kcm.object/1 */
  uint32_t (*kind)(kcm_cursor at);

  /* Number of items or members.
   * Threads:   [any]
   * Ownership: -
   * Lifetime:  -
   * Errors:    0.
   * Since:     kcm.object/1 */
  uint64_t (*count)(kcm_cursor at);

  /* Item of an array.
   * Threads:   [any]
   * Ownership: borrowed.
   * Lifetime:  of the object.
   * Errors:    absent when out of range.
   * Since:     kcm.object/1 */
  kcm_cursor (*at)(kcm_cursor at, uint64_t index);

  /* Member of an object value by place, with its name. Members that the mask hides are not counted.
   * Threads:   [any]
   * Ownership: borrowed.
   * Lifetime:  of the object.
   * Errors:    absent and "" when out of range.
   * Since:     kcm.object/1 */
  kcm_cursor (*entry)(kcm_cursor at, uint64_t index, kcm_str* name);

  /* The scalars.
   * Threads:   [any]
   * Ownership: borrowed.
   * Lifetime:  of the object.
   * Errors:    "" / 0 / 0.0 / 0.
   * Since:     kcm.object/1 */
  kcm_str (*string)(kcm_cursor at);
  /* See string(); doubles are truncated.
   * Threads:   [any]
   * Ownership: -
   * Lifetime:  -
   * Errors:    0.
   * Since:     kcm.object/1 */
  int64_t (*integer)(kcm_cursor at);
  /* See string().
   * Threads:   [any]
   * Ownership: -
   * Lifetime:  -
   * Errors:    0.0.
   * Since:     kcm.object/1 */
  double (*real)(kcm_cursor at);
  /* See string(); 1 is true.
   * Threads:   [any]
   * Ownership: -
   * Lifetime:  -
   * Errors:    0.
   * Since:     kcm.object/1 */
  uint32_t (*boolean)(kcm_cursor at);

  /* Identity without a walk: "" where absent.
   * Threads:   [any]
   * Ownership: borrowed.
   * Lifetime:  of the object.
   * Errors:    "".
   * Since:     kcm.object/1 */
  kcm_str (*namespace_of)(const kcm_object* object);
  /* See namespace_of().
   * Threads:   [any]
   * Ownership: borrowed.
   * Lifetime:  of the object.
   * Errors:    "".
   * Since:     kcm.object/1 */
  kcm_str (*name_of)(const kcm_object* object);
  /* See namespace_of().
   * Threads:   [any]
   * Ownership: borrowed.
   * Lifetime:  of the object.
   * Errors:    "".
   * Since:     kcm.object/1 */
  kcm_str (*uid_of)(const kcm_object* object);
  /* See namespace_of().
   * Threads:   [any]
   * Ownership: borrowed.
   * Lifetime:  of the object.
   * Errors:    "".
   * Since:     kcm.object/1 */
  kcm_str (*resource_version_of)(const kcm_object* object);

  /* 1 when nothing of the object was left out: only then may it become the body of an update.
   * Threads:   [any]
   * Ownership: -
   * Lifetime:  -
   * Errors:    0.
   * Since:     kcm.object/1 */
  uint32_t (*is_whole)(const kcm_object* object);

  /* The value as compact JSON, in one or several pieces. kind and apiVersion are not part of cached
   * objects. Threads:   [any] Ownership: bytes are passed to `write(sink, bytes)`, to be copied at
   * once. Lifetime:  for the call. Errors:    KCM_ERR_NOT_FOUND for an absent value. Since:
   * kcm.object/1 */
  int32_t (*to_json)(kcm_cursor at, void (*write)(void* sink, kcm_str bytes), void* sink);

  /* 1 when both values are equal, members in any order.
   * Threads:   [any]
   * Ownership: -
   * Lifetime:  -
   * Errors:    -
   * Since:     kcm.object/1 */
  uint32_t (*equal)(kcm_cursor x, kcm_cursor y);

  /* append below this line */
} kcm_object_api;

#ifdef __cplusplus
}
#endif
#endif /* KCM_OBJECT_H */
