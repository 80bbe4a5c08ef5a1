// SPDX-License-Identifier: Apache-2.0
// probe.c: a small plugin in C whose builds differ by macros: a good one, and one for each way of
// being bad. Its controller stamps every ConfigMap that has the annotation kcm.test/probe with the
// id of the build that ran, so that tests see who wrote.
//
//   PROBE_BUILD "a"                     build id
//   PROBE_PLUGIN, PROBE_CONTROLLER      names, for clashes
//   PROBE_BASE_DELAY_NS 0               first delay of a failed key; 0: the host's
//   PROBE_MAJOR, PROBE_MINOR            ABI version claimed
//   PROBE_SHORT_ENTRY, PROBE_SHORT_TABLE, PROBE_NO_RECONCILE, PROBE_NO_ENTRY, PROBE_UNDEFINED
//                                       broken declarations
//   PROBE_FAIL_CREATE, PROBE_FAIL_START, PROBE_FAIL_HEALTH, PROBE_FAIL_RECONCILE
//                                       broken behaviour
//   PROBE_RUDE                          writes when it may not: in create, load_state, stop and
//                                       destroy
//   PROBE_SECOND                        a second controller, "probe-second-controller"
//   PROBE_SECOND_FAILS                  and its create fails
//   PROBE_HOLD                          keeps an object reference in a static, so that the image
//                                       can not be unmapped
//   PROBE_HANG_CREATE, _START, _EVENT (of annotated objects), _HEALTH, _SAVE_STATE, _STOP, _DESTROY
//                                       do not return before the file that KCM_TEST_RELEASE names
//                                       is there
//   PROBE_WAIT_CREATE                   create waits on the host's clock for an hour, or until it
//                                       is cancelled
//   PROBE_CRASH_EVENT                   a signal in on_event of an annotated object
//   PROBE_EXIT                          exit(0) in a run
#define _POSIX_C_SOURCE 200809L  // access, nanosleep
#include <kcm/kcm.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef PROBE_BUILD
#define PROBE_BUILD "a"
#endif
#ifndef PROBE_PLUGIN
#define PROBE_PLUGIN "probe"
#endif
#ifndef PROBE_CONTROLLER
#define PROBE_CONTROLLER "probe-controller"
#endif
#ifndef PROBE_BASE_DELAY_NS
#define PROBE_BASE_DELAY_NS 0
#endif
#ifndef PROBE_MAJOR
#define PROBE_MAJOR KCM_ABI_MAJOR
#endif
#ifndef PROBE_MINOR
#define PROBE_MINOR KCM_ABI_MINOR
#endif

struct kcm_controller {
  kcm_context* context;
  const kcm_log_api* log;
  const kcm_queue_api* queue;
  const kcm_cache_api* cache;
  const kcm_client_api* client;
  const kcm_object_api* object;
  const kcm_cancel_api* cancel;
  uint32_t generation;
};

static kcm_str str(const char* text) {
  kcm_str s;
  s.data = text;
  s.length = strlen(text);
  return s;
}

static int32_t fail(kcm_error* error, int32_t code, const char* text) {
  if (error != NULL && error->text != NULL) {
    uint64_t n = strlen(text);
    if (n > error->capacity) n = error->capacity;
    memcpy(error->text, text, n);
    error->length = n;
  }
  return code;
}

static const void* table(const kcm_create* args, const char* id) {
  return args->host->table(args->context, str(id));
}

static void log_code(kcm_controller* self, const char* where, int32_t code) {
  kcm_log_pair pairs[2];
  memset(pairs, 0, sizeof(pairs));
  pairs[0].key = str("where");
  pairs[0].text = str(where);
  pairs[0].kind = KCM_LOG_STRING;
  pairs[1].key = str("code");
  pairs[1].integer = code;
  pairs[1].kind = KCM_LOG_INT;
  self->log->write(self->context, NULL, KCM_LOG_INFO, 0, str("Rude write"), str(""), pairs, 2);
}

/* Stamps default/target; says what became of it. */
static void rude_write(kcm_controller* self, const char* where) {
#ifdef PROBE_RUDE
  kcm_request request;
  kcm_answer* answer = NULL;
  int32_t code;
  memset(&request, 0, sizeof(request));
  request.size = sizeof(request);
  request.verb = KCM_VERB_PATCH;
  request.patch_type = KCM_PATCH_MERGE;
  request.version = str("v1");
  request.resource = str("configmaps");
  request.namespace_name = str("default");
  request.name = str("target");
  request.body = str("{\"metadata\":{\"annotations\":{\"kcm.test/rude\":\"" PROBE_BUILD "\"}}}");
  code = self->client->call(self->context, NULL, &request, &answer);
  self->client->answer_release(answer);
  log_code(self, where, code);
#else
  (void)self;
  (void)where;
  (void)log_code;
#endif
}

#if defined(PROBE_HANG_CREATE) || defined(PROBE_HANG_START) || defined(PROBE_HANG_EVENT) ||     \
    defined(PROBE_HANG_HEALTH) || defined(PROBE_HANG_SAVE_STATE) || defined(PROBE_HANG_STOP) || \
    defined(PROBE_HANG_DESTROY)
static void hang(void) {
  const char* release = getenv("KCM_TEST_RELEASE");
  const struct timespec nap = {0, 10000000};
  while (release == NULL || access(release, F_OK) != 0) (void)nanosleep(&nap, NULL);
}
#endif

#ifdef PROBE_WAIT_CREATE
static uint32_t not_yet(void* data) {
  (void)data;
  return 0;
}
#endif

static int32_t create(const kcm_create* args, kcm_controller** out, kcm_error* error) {
#ifdef PROBE_FAIL_CREATE
  (void)table;
  (void)args;
  (void)out;
  return fail(error, KCM_ERR_INVALID, "--probe-level: must not be negative: set it to 0 or more");
#else
  kcm_controller* self = calloc(1, sizeof(*self));
  if (self == NULL) return fail(error, KCM_ERR_INTERNAL, "out of memory");
  self->context = args->context;
  self->generation = args->generation;
  self->log = table(args, KCM_LOG_API_ID);
  self->queue = table(args, KCM_QUEUE_API_ID);
  self->cache = table(args, KCM_CACHE_API_ID);
  self->client = table(args, KCM_CLIENT_API_ID);
  self->object = table(args, KCM_OBJECT_API_ID);
  self->cancel = table(args, KCM_CANCEL_API_ID);
  rude_write(self, "create");
#ifdef PROBE_HANG_CREATE
  hang();
#endif
#ifdef PROBE_WAIT_CREATE
  (void)self->cancel->wait(self->context, NULL, INT64_C(3600000000000), not_yet, NULL);
#endif
  *out = self;
  return KCM_OK;
#endif
}

static int32_t start(kcm_controller* self, kcm_error* error) {
  (void)self;
#ifdef PROBE_HANG_START
  hang();
#endif
#ifdef PROBE_FAIL_START
  return fail(error, KCM_ERR_UNAVAILABLE,
              "the licence server does not answer: check --probe-licence");
#else
  (void)error;
  return KCM_OK;
#endif
}

static kcm_cursor annotation(kcm_controller* self, kcm_object* object, const char* name) {
  const kcm_object_api* o = self->object;
  return o->member(o->member(o->member(o->root(object), str("metadata")), str("annotations")),
                   str(name));
}

#ifdef PROBE_HOLD
// volatile: a compiler that sees only comparisons with NULL keeps one bit of it, and the leak
// checker then finds nobody who refers to the object.
static kcm_object* volatile held;
#endif

static void on_event(kcm_controller* self, const kcm_event* event) {
  char key[512];
  const kcm_object_api* o = self->object;
  const kcm_str ns = o->namespace_of(event->object), name = o->name_of(event->object);
  if (o->kind(annotation(self, event->object, "kcm.test/probe")) != KCM_KIND_STRING) return;
#ifdef PROBE_HANG_EVENT
  hang();
#endif
#ifdef PROBE_CRASH_EVENT
  (void)raise(SIGSEGV);
#endif
#ifdef PROBE_HOLD
  if (held == NULL) {
    held = event->object;
    o->add_ref(held);
  }
#endif
  /* What an earlier build had in its queue must come from there, not from this build's replay. */
  if ((event->flags & KCM_EVENT_INITIAL) != 0 && self->generation > 1) return;
  if (ns.length + name.length + 2 > sizeof(key)) return;
  memcpy(key, ns.data, ns.length);
  key[ns.length] = '/';
  memcpy(key + ns.length + 1, name.data, name.length);
  key[ns.length + 1 + name.length] = '\0';
  (void)self->queue->add(self->context, 0, str(key));
}

static uint32_t never(void* data) {
  (void)data;
  return 0;
}

/* "after": run again in 30 s; "fail": fails as passing; "mute": its write is refused, it fails
 * without a text; "wait": until the run is cancelled;
 * "stuck": an hour, deaf to cancellation; "stamp": writes the build's id. */
static int32_t reconcile(kcm_controller* self, const kcm_reconcile* run, kcm_outcome* outcome,
                         kcm_error* error) {
  kcm_object* object = NULL;
  kcm_request request;
  kcm_answer* answer = NULL;
  kcm_str mode, seen;
  int32_t code;
#ifdef PROBE_EXIT
  exit(0);
#endif
#ifdef PROBE_FAIL_RECONCILE
  outcome->kind = KCM_OUTCOME_ERROR;
  return fail(error, KCM_OK, "every run of this build fails");
#endif
  code = self->cache->get(self->context, 0, run->key, &object);
  if (code != KCM_OK) return fail(error, code, "cache");
  if (object == NULL) return KCM_OK;
  mode = self->object->string(annotation(self, object, "kcm.test/probe"));
  seen = self->object->string(annotation(self, object, "kcm.test/build"));
  if (mode.length == 4 && memcmp(mode.data, "fail", 4) == 0) {
    self->object->release(object);
    outcome->kind = KCM_OUTCOME_RETRY;
    return fail(error, KCM_OK, "asked to fail");
  }
  if (self->generation == 1 && mode.length == 4 && memcmp(mode.data, "wait", 4) == 0)
    (void)self->cancel->wait(self->context, run->scope, -1, never, NULL);
  if (self->generation == 1 && mode.length == 5 && memcmp(mode.data, "stuck", 5) == 0)
    (void)self->cancel->wait(self->context, NULL, INT64_C(3600000000000), never, NULL);
  if (seen.length == strlen(PROBE_BUILD) && memcmp(seen.data, PROBE_BUILD, seen.length) == 0) {
    if (mode.length == 5 && memcmp(mode.data, "after", 5) == 0) {
      outcome->kind = KCM_OUTCOME_AFTER;
      outcome->delay_ns = INT64_C(30000000000);
    }
    self->object->release(object);
    return KCM_OK;
  }
  memset(&request, 0, sizeof(request));
  request.size = sizeof(request);
  request.verb = KCM_VERB_PATCH;
  request.patch_type = KCM_PATCH_MERGE;
  request.flags = KCM_REQUEST_NO_ANSWER;
  request.version = str("v1");
  request.resource = str("configmaps");
  request.namespace_name = self->object->namespace_of(object);
  request.name = self->object->name_of(object);
  request.body = str("{\"metadata\":{\"annotations\":{\"kcm.test/build\":\"" PROBE_BUILD "\"}}}");
  const int mute = mode.length == 4 && memcmp(mode.data, "mute", 4) == 0;
  if (mute) request.name = str("absent");
  code = self->client->call(self->context, run->scope, &request, &answer);
  self->object->release(object);
  if (code != KCM_OK) {
    outcome->kind = KCM_OUTCOME_RETRY;
    if (!mute) fail(error, code, "patch");
  }
  self->client->answer_release(answer);
  return KCM_OK;
}

static void stop(kcm_controller* self) {
  rude_write(self, "stop");
#ifdef PROBE_HANG_STOP
  hang();
#endif
}

static void destroy(kcm_controller* self) {
  rude_write(self, "destroy");
#ifdef PROBE_HANG_DESTROY
  hang();
#endif
  free(self);
}

static int32_t save_state(kcm_controller* self, void (*write)(void* sink, kcm_str bytes),
                          void* sink, kcm_error* error) {
  (void)self;
  (void)error;
#ifdef PROBE_HANG_SAVE_STATE
  hang();
#endif
  write(sink, str("state of " PROBE_BUILD));
  return KCM_OK;
}

static int32_t load_state(kcm_controller* self, kcm_str bytes, kcm_error* error) {
  kcm_log_pair pair;
  (void)error;
  memset(&pair, 0, sizeof(pair));
  pair.key = str("state");
  pair.text = bytes;
  pair.kind = KCM_LOG_STRING;
  self->log->write(self->context, NULL, KCM_LOG_INFO, 0, str("State loaded by " PROBE_BUILD),
                   str(""), &pair, 1);
  rude_write(self, "load_state");
  return KCM_OK;
}

static int32_t health(kcm_controller* self, kcm_error* error) {
  (void)self;
#ifdef PROBE_HANG_HEALTH
  hang();
#endif
#ifdef PROBE_FAIL_HEALTH
  return fail(error, KCM_ERR_UNAVAILABLE, "its backend is gone");
#else
  (void)error;
  return KCM_OK;
#endif
}

#ifdef PROBE_SHORT_TABLE
#define TABLE_SIZE ((uint32_t)(sizeof(kcm_controller_api) - sizeof(void*)))
#else
#define TABLE_SIZE ((uint32_t)sizeof(kcm_controller_api))
#endif
#ifdef PROBE_NO_RECONCILE
#define RECONCILE (1 ? NULL : reconcile)
#else
#define RECONCILE reconcile
#endif

static const kcm_controller_api api = {TABLE_SIZE, 0,    create,  start,      on_event,   RECONCILE,
                                       NULL,       stop, destroy, save_state, load_state, health};

static const kcm_str groups[] = {KCM_STR("")};
static const kcm_str resources[] = {KCM_STR("configmaps")};
static const kcm_str verbs[] = {KCM_STR("get"), KCM_STR("list"), KCM_STR("watch"),
                                KCM_STR("patch")};
static const kcm_rbac_rule rule = {.size = sizeof(kcm_rbac_rule),
                                   .api_groups = groups,
                                   .api_group_count = 1,
                                   .resources = resources,
                                   .resource_count = 1,
                                   .verbs = verbs,
                                   .verb_count = 4};
static const kcm_rbac_rule* const rules[] = {&rule};
static const kcm_watch watch = {.size = sizeof(kcm_watch),
                                .flags = KCM_WATCH_METADATA_ONLY,
                                .version = KCM_STR("v1"),
                                .resource = KCM_STR("configmaps")};
static const kcm_watch* const watches[] = {&watch};
static const kcm_queue_declaration queue_declaration = {.size = sizeof(kcm_queue_declaration),
                                                        .key_version = 1,
                                                        .name = KCM_STR("probe"),
                                                        .workers = 2,
                                                        .max_retries = -1,
                                                        .base_delay_ns = PROBE_BASE_DELAY_NS};
static const kcm_queue_declaration* const queues[] = {&queue_declaration};
static const kcm_controller_declaration declaration = {.size = sizeof(kcm_controller_declaration),
                                                       .name = KCM_STR(PROBE_CONTROLLER),
                                                       .client_name = KCM_STR("probe-controller"),
                                                       .rules = rules,
                                                       .rule_count = 1,
                                                       .watches = watches,
                                                       .watch_count = 1,
                                                       .queues = queues,
                                                       .queue_count = 1,
                                                       .api = &api};

#ifdef PROBE_SECOND
static int32_t create_second(const kcm_create* args, kcm_controller** out, kcm_error* error) {
#ifdef PROBE_SECOND_FAILS
  (void)args;
  (void)out;
  return fail(error, KCM_ERR_INVALID,
              "the second controller refuses this configuration: unset --probe-second");
#else
  return create(args, out, error);
#endif
}
static const kcm_controller_api second_api = {TABLE_SIZE, 0,          create_second, start,
                                              on_event,   RECONCILE,  NULL,          stop,
                                              destroy,    save_state, load_state,    health};
static const kcm_controller_declaration second = {.size = sizeof(kcm_controller_declaration),
                                                  .name = KCM_STR("probe-second-controller"),
                                                  .client_name = KCM_STR("probe-controller"),
                                                  .watches = watches,
                                                  .watch_count = 1,
                                                  .api = &second_api};
static const kcm_controller_declaration* const controllers[] = {&declaration, &second};
#else
static const kcm_controller_declaration* const controllers[] = {&declaration};
#endif

#ifdef PROBE_UNDEFINED
extern int kcm_function_that_nobody_has(void);
KCM_EXPORT int kcm_use_it(void);
int kcm_use_it(void) { return kcm_function_that_nobody_has(); }
#endif
#ifdef PROBE_LIBRARY
extern int kcm_absent(void);
KCM_EXPORT int kcm_use_it(void);
int kcm_use_it(void) { return kcm_absent(); }
#endif

#ifdef PROBE_NO_ENTRY
KCM_EXPORT extern const kcm_plugin kcm_plugin_other;
#define kcm_plugin_entry kcm_plugin_other
#endif
const kcm_plugin kcm_plugin_entry = {
#ifdef PROBE_SHORT_ENTRY
    .size = offsetof(kcm_plugin, controllers),
#else
    .size = sizeof(kcm_plugin),
#endif
    .magic = KCM_PLUGIN_MAGIC,
    .abi_major = PROBE_MAJOR,
    .abi_minor = PROBE_MINOR,
    .name = KCM_STR(PROBE_PLUGIN),
    .version = KCM_STR("1.0.0"),
    .vendor = KCM_STR("tests"),
    .build_id = KCM_STR(PROBE_BUILD),
    .controllers = controllers,
    .controller_count = sizeof(controllers) / sizeof(controllers[0])};
