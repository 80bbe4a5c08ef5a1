/* SPDX-License-Identifier: Apache-2.0
 * kcm/plugin.h: the entry of a plugin and what its controllers implement.
 *
 * Life of a controller instance (one generation of one controller):
 *   create -> on_event (initial objects) -> [load_state] -> start -> reconcile, on_event, on_task,
 * timers -> [save_state] -> stop -> destroy on_event may be called from create's return on. Between
 * stop's return and destroy nothing is called; after destroy nothing at all. A stopped instance
 * never runs again: a rollback creates a new one. */
#ifndef KCM_PLUGIN_H
#define KCM_PLUGIN_H

#include "kcm/declaration.h"
#include "kcm/object.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kcm_controller kcm_controller; /* the plugin's own instance, opaque to the host */

/* What create gets. */
typedef struct kcm_create {
  uint32_t size;
  uint32_t generation; /* counts the loads of this plugin in this process, from 1 */
  const kcm_host_api* host;
  kcm_context* context;
} kcm_create;

/* kcm_event.type */
#define KCM_EVENT_ADD 1u
#define KCM_EVENT_UPDATE 2u
#define KCM_EVENT_DELETE 3u
/* kcm_event.flags */
#define KCM_EVENT_INITIAL 1u /* add of the first list, or of the replay to a new instance */
#define KCM_EVENT_TOMBSTONE                                                                    \
  2u                        /* delete seen by a relist only: the object may be arbitrarily old \
                             */
#define KCM_EVENT_RESYNC 4u /* update without a change */

/* One change of one watched object. Objects are borrowed for the call: add_ref to keep one. */
typedef struct kcm_event {
  uint32_t size;
  uint32_t type;
  uint32_t watch; /* place in the declaration, or the id of a runtime watch */
  uint32_t flags;
  kcm_object* object;     /* add, update: the new state; delete: the last known one */
  kcm_object* old_object; /* update: the state before; else NULL */
} kcm_event;

/* One run for one key. */
typedef struct kcm_reconcile {
  uint32_t size;
  uint32_t queue; /* place in the declaration */
  kcm_str key;    /* valid for the call */
  kcm_scope* scope;
  int32_t failures; /* consecutive failed runs of this key before this one */
  int32_t reserved;
} kcm_reconcile;

/* kcm_outcome.kind */
#define KCM_OUTCOME_DONE 1u /* nothing more to do: the failure count is forgotten */
#define KCM_OUTCOME_AFTER \
  2u /* done for now, again after delay_ns: the failure count is forgotten */
#define KCM_OUTCOME_RETRY 3u /* passes: again with back-off; an error line, of a conflict at 2 */
#define KCM_OUTCOME_ERROR \
  4u /* failed: again with back-off, logged as error, counted against the build */

typedef struct kcm_outcome {
  uint32_t size;
  uint32_t kind;
  int64_t delay_ns; /* of KCM_OUTCOME_AFTER */
} kcm_outcome;

typedef struct kcm_controller_api {
  uint32_t size;
  uint32_t flags; /* none defined: 0 */

  /* Makes an instance. Must not write to the API server and should not block; configuration is
   * checked here. Threads:   [control & !started] Ownership: *out is the plugin's until destroy;
   * `args` is borrowed for the call, args->host and args->context stay valid. Lifetime:  the
   * instance lives until destroy. Errors:    any code but KCM_OK refuses this build (or this
   * controller at start-up): text says what and the fix. KCM_ERR_UNSUPPORTED: the controller
   * decided to skip itself (logged, not an error). Since:     1.0 */
  int32_t (*create)(const kcm_create* args, kcm_controller** out, kcm_error* error);

  /* Work may begin: caches are synced, the lease is held. Workers run once it has returned.
   * Threads:   [control & !started]
   * Ownership: none changes.
   * Lifetime:  -
   * Errors:    any code but KCM_OK refuses the build as in create.
   * Since:     1.0 */
  int32_t (*start)(kcm_controller* self, kcm_error* error);

  /* A watched object changed. Look, and add keys; do not act.
   * Threads:   [event]
   * Ownership: `event` and its objects are borrowed.
   * Lifetime:  for the call.
   * Errors:    none.
   * Since:     1.0 */
  void (*on_event)(kcm_controller* self, const kcm_event* event);

  /* Brings one key to its wanted state.
   * Threads:   [worker]
   * Ownership: `run` is borrowed; `outcome` is the host's.
   * Lifetime:  for the call.
   * Errors:    with KCM_OUTCOME_RETRY the code says what stood in the way. With any other kind a
   * code but KCM_OK means that the call itself failed (an exception was caught): handled as
   * KCM_OUTCOME_ERROR.
   * Since:     1.0 */
  int32_t (*reconcile)(kcm_controller* self, const kcm_reconcile* run, kcm_outcome* outcome,
                       kcm_error* error);

  /* A declared task is due. NULL when no tasks are declared.
   * Threads:   one thread per task
   * Ownership: `scope` is borrowed for the call.
   * Lifetime:  for the call.
   * Errors:    logged; the task runs again after its period.
   * Since:     1.0 */
  int32_t (*on_task)(kcm_controller* self, uint32_t task, kcm_scope* scope, kcm_error* error);

  /* Ends work. Every callback the host owes (timers, completions) has been delivered, cancelled,
   * before it returns; blocked host calls of other threads return KCM_ERR_STOPPED. Threads:
   * [control & started] Ownership: none changes. Lifetime:  - Errors:    none. Since:     1.0 */
  void (*stop)(kcm_controller* self);

  /* Frees the instance and every object reference it holds.
   * Threads:   [control]
   * Ownership: `self` is gone.
   * Lifetime:  -
   * Errors:    none.
   * Since:     1.0 */
  void (*destroy)(kcm_controller* self);

  /* Optional (NULL). Writes state that makes the next build's start cheaper; never needed for
   * correctness. Threads:   [control & started], no reconcile running Ownership: the text is passed
   * to `write(sink, bytes)`, copied at once. Lifetime:  for the call. Errors:    anything but
   * KCM_OK: no state is handed over. Since:     1.0 */
  int32_t (*save_state)(kcm_controller* self, void (*write)(void* sink, kcm_str bytes), void* sink,
                        kcm_error* error);

  /* Optional (NULL). Reads what the old build's save_state wrote; must accept foreign and old
   * content. Threads:   [control & !started] Ownership: `bytes` is borrowed. Lifetime:  for the
   * call. Errors:    anything but KCM_OK: state is ignored, the swap goes on. Since:     1.0 */
  int32_t (*load_state)(kcm_controller* self, kcm_str bytes, kcm_error* error);

  /* Optional (NULL: always healthy). Cheap.
   * Threads:   [control]
   * Ownership: -
   * Lifetime:  -
   * Errors:    anything but KCM_OK fails /healthz under the controller's name and ends the
   * probation of a new build. Since:     1.0 */
  int32_t (*health)(kcm_controller* self, kcm_error* error);

  /* append below this line */
} kcm_controller_api;

#define KCM_PLUGIN_MAGIC 0x504d434bu /* "KCMP" */

/* The constant that a plugin exports under the name kcm_plugin_entry. */
typedef struct kcm_plugin {
  uint32_t size;
  uint32_t magic;     /* KCM_PLUGIN_MAGIC */
  uint32_t abi_major; /* KCM_ABI_MAJOR of the headers it was built with */
  uint32_t abi_minor;
  kcm_str name; /* unique in a host: "pod". A file with the same name replaces the loaded build. */
  kcm_str version;
  kcm_str vendor;
  kcm_str build_id; /* anything that tells two builds apart */
  const kcm_controller_declaration* const* controllers;
  uint64_t controller_count;
  /* append below this line */
} kcm_plugin;

#if defined(__GNUC__)
#define KCM_EXPORT __attribute__((visibility("default")))
#else
#define KCM_EXPORT
#endif

#define KCM_PLUGIN_SYMBOL "kcm_plugin_entry"
extern KCM_EXPORT const kcm_plugin kcm_plugin_entry;

#ifdef __cplusplus
}
#endif
#endif /* KCM_PLUGIN_H */
