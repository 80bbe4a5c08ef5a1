/* SPDX-License-Identifier: Apache-2.0
 * The smallest useful plugin, in plain C: greets every ConfigMap that carries the label
 * example.com/greet by writing the annotation example.com/greeting. It watches metadata only, so
 * the ConfigMaps' data never enters the process. */
#include <kcm/kcm.h>
#include <stdlib.h>
#include <string.h>

/* One instance of the controller: one generation of one build. Everything it needs comes from the
 * host at create. */
struct kcm_controller {
  kcm_context* context; /* first argument of most host functions */
  const kcm_object_api* object;
  const kcm_cache_api* cache;
  const kcm_queue_api* queue;
  const kcm_client_api* client;
  const kcm_log_api* log;
};

enum { CONFIGMAPS = 0, KEYS = 0 }; /* places in the lists of the declaration below */

/* Texts have a length and no terminating NUL. */
static kcm_str text(const char* s) {
  kcm_str out = {s, strlen(s)};
  return out;
}

/* metadata.<map>[name]; reading what is not there gives "absent", so the chain needs no checks. */
static kcm_cursor metadata(const kcm_controller* self, kcm_object* object, const char* map,
                           const char* name) {
  const kcm_object_api* o = self->object;
  return o->member(o->member(o->member(o->root(object), text("metadata")), text(map)), text(name));
}

/* Tells the host why. It logs the text beside the key, and kcmctl why shows it. */
static int32_t fail(kcm_error* error, int32_t code, kcm_str why) {
  uint64_t length = why.length;
  if (error == NULL) return code;
  if (length > error->capacity) { /* cut, but not inside a UTF-8 character */
    length = error->capacity;
    while (length > 0 && ((unsigned char)why.data[length] & 0xC0u) == 0x80u) --length;
  }
  if (length > 0) memcpy(error->text, why.data, length);
  error->length = length;
  return code;
}

/* create: take the tables, check the configuration, nothing else. Any code but KCM_OK refuses this
 * build. */
static int32_t create(const kcm_create* args, kcm_controller** out, kcm_error* error) {
  kcm_controller* self = calloc(1, sizeof(*self));
  if (self == NULL) return fail(error, KCM_ERR_INTERNAL, text("out of memory"));
  self->context = args->context;
  self->object = args->host->table(args->context, text(KCM_OBJECT_API_ID));
  self->cache = args->host->table(args->context, text(KCM_CACHE_API_ID));
  self->queue = args->host->table(args->context, text(KCM_QUEUE_API_ID));
  self->client = args->host->table(args->context, text(KCM_CLIENT_API_ID));
  self->log = args->host->table(args->context, text(KCM_LOG_API_ID));
  *out = self;
  return KCM_OK;
}

static int32_t start(kcm_controller* self, kcm_error* error) {
  (void)self;
  (void)error;
  return KCM_OK;
}

/* A ConfigMap changed. Events are a reason to look, never to act: put its key into the queue. */
static void on_event(kcm_controller* self, const kcm_event* event) {
  const kcm_str ns = self->object->namespace_of(event->object),
                name = self->object->name_of(event->object);
  char* key = NULL;
  if (self->object->kind(metadata(self, event->object, "labels", "example.com/greet")) !=
      KCM_KIND_STRING)
    return;
  key = malloc(ns.length + 1 + name.length);
  if (key == NULL) return; /* the next event or resync brings it back */
  memcpy(key, ns.data, ns.length);
  key[ns.length] = '/';
  memcpy(key + ns.length + 1, name.data, name.length);
  self->queue->add(self->context, KEYS,
                   (kcm_str){key, ns.length + 1 + name.length}); /* copies the key */
  free(key);
}

/* Brings one key to its wanted state. The host runs one key on one thread at a time, different keys
 * on several. */
static int32_t reconcile(kcm_controller* self, const kcm_reconcile* run, kcm_outcome* outcome,
                         kcm_error* error) {
  kcm_object* map = NULL;
  kcm_answer* answer = NULL;
  int32_t code = self->cache->get(self->context, CONFIGMAPS, run->key, &map);
  if (code != KCM_OK || map == NULL) return code; /* gone: nothing to do */
  if (self->object->kind(metadata(self, map, "labels", "example.com/greet")) == KCM_KIND_STRING &&
      self->object->kind(metadata(self, map, "annotations", "example.com/greeting")) ==
          KCM_KIND_ABSENT) {
    kcm_request patch = {.size = sizeof(patch),
                         .verb = KCM_VERB_PATCH,
                         .patch_type = KCM_PATCH_MERGE,
                         .flags = KCM_REQUEST_NO_ANSWER};
    kcm_log_pair pair = {.key = text("configmap"), .text = run->key, .kind = KCM_LOG_STRING};
    patch.version = text("v1");
    patch.resource = text("configmaps");
    patch.namespace_name = self->object->namespace_of(map);
    patch.name = self->object->name_of(map);
    patch.body =
        text("{\"metadata\":{\"annotations\":{\"example.com/greeting\":\"hello from C\"}}}");
    /* run->scope ties the request to this key: it is cancelled with the run and recorded for a hot
     * swap. */
    code = self->client->call(self->context, run->scope, &patch, &answer);
    if (code == KCM_OK)
      self->log->write(self->context, run->scope, KCM_LOG_INFO, 2, text("Greeted"), text(""), &pair,
                       1);
    if (code == KCM_ERR_NOT_FOUND) code = KCM_OK; /* deleted meanwhile */
    if (code != KCM_OK) {
      outcome->kind = KCM_OUTCOME_RETRY; /* again, with back-off */
      fail(error, code, answer != NULL ? answer->message : text("the request is not legal"));
    }
    self->client->answer_release(answer);
  }
  self->object->release(map); /* what get() gave is ours to release */
  return code;
}

static void stop(kcm_controller* self) { (void)self; }
static void destroy(kcm_controller* self) { free(self); }

static const kcm_controller_api api = {.size = sizeof(api),
                                       .create = create,
                                       .start = start,
                                       .on_event = on_event,
                                       .reconcile = reconcile,
                                       .stop = stop,
                                       .destroy = destroy};

/* ---- The declaration: constant data that the host reads without running any code of ours. ---- */
static const kcm_watch configmaps = {.size = sizeof(configmaps),
                                     .flags = KCM_WATCH_METADATA_ONLY,
                                     .version = KCM_STR("v1"),
                                     .resource = KCM_STR("configmaps")};
static const kcm_watch* const watches[] = {&configmaps};
static const kcm_queue_declaration keys = {.size = sizeof(keys),
                                           .key_version = 1,
                                           .name = KCM_STR("configmap_greeter"),
                                           .workers = 2,
                                           .max_retries = -1};
static const kcm_queue_declaration* const queues[] = {&keys};

/* The host generates the RBAC manifests from this. */
static const kcm_str core[] = {KCM_STR("")}, resources[] = {KCM_STR("configmaps")},
                     verbs[] = {KCM_STR("list"), KCM_STR("watch"), KCM_STR("patch")};
static const kcm_rbac_rule rule = {.size = sizeof(rule),
                                   .api_groups = core,
                                   .api_group_count = 1,
                                   .resources = resources,
                                   .resource_count = 1,
                                   .verbs = verbs,
                                   .verb_count = 3};
static const kcm_rbac_rule* const rules[] = {&rule};

static const kcm_controller_declaration greeter = {
    .size = sizeof(greeter),
    .name = KCM_STR("configmap-greeter-controller"),
    .client_name = KCM_STR("configmap-greeter-controller"),
    .rules = rules,
    .rule_count = 1,
    .watches = watches,
    .watch_count = 1,
    .queues = queues,
    .queue_count = 1,
    .api = &api};
static const kcm_controller_declaration* const controllers[] = {&greeter};

const kcm_plugin kcm_plugin_entry = {.size = sizeof(kcm_plugin),
                                     .magic = KCM_PLUGIN_MAGIC,
                                     .abi_major = KCM_ABI_MAJOR,
                                     .abi_minor = KCM_ABI_MINOR,
                                     .name = KCM_STR("hello"),
                                     .version = KCM_STR("1.0.0"),
                                     .vendor = KCM_STR("example.com"),
                                     .build_id = KCM_STR("1"),
                                     .controllers = controllers,
                                     .controller_count = 1};
