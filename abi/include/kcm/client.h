/* SPDX-License-Identifier: Apache-2.0
 * kcm/client.h: requests to the API server with this controller's identity, rate limit and fence,
 * table "kcm.client/1". */
#ifndef KCM_CLIENT_H
#define KCM_CLIENT_H

#include "kcm/object.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KCM_VERB_GET 1u
#define KCM_VERB_LIST 2u
#define KCM_VERB_CREATE 3u
#define KCM_VERB_UPDATE 4u
#define KCM_VERB_PATCH 5u
#define KCM_VERB_DELETE 6u
#define KCM_VERB_DELETE_COLLECTION 7u

#define KCM_PATCH_JSON 1u
#define KCM_PATCH_MERGE 2u
#define KCM_PATCH_STRATEGIC 3u
#define KCM_PATCH_APPLY 4u

/* kcm_request.flags */
#define KCM_REQUEST_METADATA_ONLY 1u /* answer reduced to metadata */
#define KCM_REQUEST_RAW 2u           /* raw_path is used; the answer's bytes come in `raw` */
#define KCM_REQUEST_NO_ANSWER 4u     /* the answer's object is not wanted: not decoded */

typedef struct kcm_request {
  uint32_t size;
  uint32_t verb;
  uint32_t patch_type; /* of KCM_VERB_PATCH */
  uint32_t flags;
  kcm_str group;
  kcm_str version;
  kcm_str resource;
  kcm_str namespace_name; /* empty: cluster scope, or all namespaces of a list */
  kcm_str name;
  kcm_str subresource;
  kcm_str body;       /* JSON; of a delete: DeleteOptions */
  kcm_str query;      /* further parameters, encoded: "fieldManager=x&force=true" */
  kcm_str raw_path;   /* KCM_REQUEST_RAW */
  int64_t timeout_ns; /* 0: none */
} kcm_request;

/* An answer; freed with answer_release. All members are the answer's. */
typedef struct kcm_answer {
  uint32_t size;
  int32_t code;        /* KCM_OK or why it failed */
  int32_t http_status; /* 0: no answer arrived */
  uint32_t reserved;
  kcm_object* object; /* the object (whole), or NULL. Of a list: the list itself with its items */
  kcm_str raw;        /* KCM_REQUEST_RAW */
  kcm_str message;    /* of a failure: the server's text, or ours */
  kcm_str reason;     /* Status reason as sent */
  kcm_str cause;      /* first details.causes[].reason, e.g. NamespaceTerminating */
  int64_t retry_after_ns; /* -1: none */
} kcm_answer;

typedef void (*kcm_completion)(void* data, kcm_answer* answer);

#define KCM_CLIENT_API_ID "kcm.client/1"

typedef struct kcm_client_api {
  uint32_t size;
  uint32_t flags; /* none defined: 0 */

  /* Sends one request and waits. Returns the code of the answer; *out is set in every case but
   * KCM_ERR_INVALID arguments. Writes are recorded for the scope's key (read-your-writes of the
   * host) and refused with KCM_ERR_FENCED when the lease or this generation is not active: then
   * nothing was sent. Threads:   [any & !event & !timer] Ownership: `request` is borrowed for the
   * call; the caller owns *out: answer_release Lifetime:  until released Errors:    the code of the
   * answer; KCM_ERR_INVALID, KCM_ERR_STOPPED, KCM_ERR_CANCELLED, KCM_ERR_FENCED Since: kcm.client/1
   */
  int32_t (*call)(kcm_context* context, kcm_scope* scope, const kcm_request* request,
                  kcm_answer** out);

  /* The same, many at a time: `done(data, answer)` is called once for each accepted request, also
   * when it is cancelled, before stop() returns. Threads:   [any] Ownership: `request` is copied;
   * the answer passed to `done` is the callee's to release Lifetime:  until done was called Errors:
   * KCM_ERR_INVALID, KCM_ERR_STOPPED: then done is never called Since:     kcm.client/1 */
  int32_t (*submit)(kcm_context* context, kcm_scope* scope, const kcm_request* request,
                    kcm_completion done, void* data);

  /* Frees an answer and its reference to the object.
   * Threads:   [any]
   * Ownership: `answer` is gone
   * Lifetime:  -
   * Errors:    NULL is legal
   * Since:     kcm.client/1 */
  void (*answer_release)(kcm_answer* answer);

  /* append below this line */
} kcm_client_api;

#ifdef __cplusplus
}
#endif
#endif /* KCM_CLIENT_H */
