/* SPDX-License-Identifier: Apache-2.0
 * kcm/declaration.h: what a plugin declares about itself, as constant data. The host reads it
 * without running plugin code and derives --help, caches, queues, credentials and the RBAC
 * manifests from it. All pointers point into the plugin's image. Lists are arrays of pointers with
 * a count, because the structs may grow. */
#ifndef KCM_DECLARATION_H
#define KCM_DECLARATION_H

#include "kcm/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* kcm_flag.type */
#define KCM_FLAG_BOOL 1u
#define KCM_FLAG_INT 2u /* int32 unless the help says otherwise */
#define KCM_FLAG_FLOAT 3u
#define KCM_FLAG_DURATION 4u /* Go syntax: "1h30m" */
#define KCM_FLAG_STRING 5u
#define KCM_FLAG_STRINGS 6u /* comma separated, repeatable */

typedef struct kcm_flag {
  uint32_t size;
  uint32_t type;         /* KCM_FLAG_* */
  kcm_str name;          /* without dashes: "concurrent-deployment-syncs" */
  kcm_str default_value; /* as text */
  kcm_str help;
  kcm_str deprecated; /* non-empty: the message printed when the flag is used */
} kcm_flag;

typedef struct kcm_rbac_rule {
  uint32_t size;
  uint32_t flags; /* none defined: 0 */
  const kcm_str* api_groups;
  uint64_t api_group_count;
  const kcm_str* resources; /* "pods", "pods/status" */
  uint64_t resource_count;
  const kcm_str* verbs;
  uint64_t verb_count;
  const kcm_str* resource_names;
  uint64_t resource_name_count;
  const kcm_str* non_resource_urls;
  uint64_t non_resource_url_count;
} kcm_rbac_rule;

/* kcm_index.by: how the host computes an object's values in an index. */
#define KCM_INDEX_CONTROLLER_UID \
  1u /* uid of the controller owner reference; objects without one: "orphan:<namespace>" */
#define KCM_INDEX_OWNER_UID 2u /* uid of every owner reference */
#define KCM_INDEX_FIELD 3u     /* string at the dotted path `path`; absent: not in the index */
#define KCM_INDEX_LABEL 4u     /* value of the label `path` */

typedef struct kcm_index {
  uint32_t size;
  uint32_t by;
  kcm_str path;
} kcm_index;

/* kcm_watch.flags */
#define KCM_WATCH_METADATA_ONLY 1u /* only metadata ever enters the process */
#define KCM_WATCH_OPTIONAL \
  2u /* the resource may be missing on the server: the cache then stays empty and synced */
#define KCM_WATCH_NO_EVENTS 4u /* cache only: on_event is not called for it */

/* A resource the controller reads. Watches are numbered by their place in the controller's list. */
typedef struct kcm_watch {
  uint32_t size;
  uint32_t flags;
  kcm_str group; /* "" is core */
  kcm_str version;
  kcm_str resource; /* lower-case plural */
  kcm_str scope;    /* namespace; empty: all */
  /* Fields the controller reads, as dotted paths ("status.conditions", "spec.containers[].name",
   * "metadata.annotations[a/b]"). metadata is always there. No fields: the whole object. Reading
   * another field gives "absent". */
  const kcm_str* fields;
  uint64_t field_count;
  const kcm_index* const* indexes; /* numbered by place */
  uint64_t index_count;
  kcm_str field_selector; /* empty: none */
  int64_t resync_ns;      /* wanted resync period; 0: the host's own (12 to 24 h) */
} kcm_watch;

/* A work queue of the controller. Queues are numbered by their place in the controller's list. */
typedef struct kcm_queue_declaration {
  uint32_t size;
  uint32_t key_version; /* keys survive a hot swap only when equal in both builds */
  kcm_str name;         /* label `name` of workqueue_* metrics; empty: no metrics */
  kcm_str workers_flag; /* flag that holds the number of workers; empty: `workers` */
  int32_t workers;
  int32_t max_retries;   /* consecutive failures after which a key is dropped until its next event;
                            -1: never */
  int64_t base_delay_ns; /* per-key exponential back-off; 0: 5 ms */
  int64_t max_delay_ns;  /* 0: 1000 s */
  double bucket_qps;     /* overall token bucket: 0: 10 per second, burst 100; negative: none */
  int32_t bucket_burst;
  int32_t reserved; /* 0 */
} kcm_queue_declaration;

/* Work that the host runs every period on one thread, not overlapping itself. */
typedef struct kcm_task {
  uint32_t size;
  uint32_t flags; /* none defined: 0 */
  kcm_str name;
  kcm_str period_flag; /* duration flag; empty: period_ns */
  int64_t period_ns;
  int64_t first_after_ns; /* delay of the first run after start */
} kcm_task;

/* kcm_controller_declaration.flags */
#define KCM_CONTROLLER_OFF_BY_DEFAULT 1u
#define KCM_CONTROLLER_ROOT_IDENTITY 2u /* never uses a service account of its own */

struct kcm_controller_api; /* kcm/plugin.h */

typedef struct kcm_controller_declaration {
  uint32_t size;
  uint32_t flags;
  kcm_str name;           /* canonical: "deployment-controller" */
  const kcm_str* aliases; /* "deployment" */
  uint64_t alias_count;
  kcm_str client_name;          /* service account in kube-system and user agent suffix */
  kcm_str event_source;         /* Event source.component; empty: writes no events */
  const kcm_str* feature_gates; /* all must be on */
  uint64_t feature_gate_count;
  const kcm_str*
      required_resources; /* "apps/v1/deployments": without them the controller is skipped */
  uint64_t required_resource_count;
  const kcm_flag* const* controller_flags;
  uint64_t controller_flag_count;
  const kcm_rbac_rule* const* rules;
  uint64_t rule_count;
  const kcm_watch* const* watches;
  uint64_t watch_count;
  const kcm_queue_declaration* const* queues;
  uint64_t queue_count;
  const kcm_task* const* tasks;
  uint64_t task_count;
  const struct kcm_controller_api* api;
  double qps_factor;   /* multiplies --kube-api-qps for this controller's client; 0: 1 */
  double burst_factor; /* likewise --kube-api-burst */
} kcm_controller_declaration;

#ifdef __cplusplus
}
#endif
#endif /* KCM_DECLARATION_H */
