// SPDX-License-Identifier: Apache-2.0
// Binding, eviction and what would need a kubelet (spec/apiserver H3, H4, H8).
#include <algorithm>

#include "devcluster/server/convert.h"
#include "devcluster/server/delete.h"
#include "devcluster/server/selector.h"
#include "devcluster/server/subresources.h"
#include "devcluster/server/write.h"

namespace kcm::devcluster {

using host::wire::ObjectPtr;

namespace {

const Gvr kPods{"", "v1", "pods"};
const Gvr kBudgets{"policy", "v1", "poddisruptionbudgets"};
constexpr const char* kViolates =
    "Cannot evict pod as it would violate the pod's disruption budget.";

void MergeMap(Json* metadata, const char* member, const Json& from) {
  const Json* given = Find(from, {"metadata", member});
  if (given == nullptr || !given->is_object()) return;
  for (const auto& [key, value] : given->items()) (*metadata)[member][key] = value;
}

// Replaces the condition of that type, or appends it.
void SetCondition(Json* object, Json condition) {
  Json& conditions = (*object)["status"]["conditions"];
  if (!conditions.is_array()) conditions = Json::array();
  for (Json& c : conditions) {
    if (c["type"] != condition["type"]) continue;
    c = std::move(condition);
    return;
  }
  conditions.push_back(std::move(condition));
}

void SetScheduled(Json* pod, const std::string& now) {
  SetCondition(pod, {{"type", "PodScheduled"},
                     {"status", "True"},
                     {"lastProbeTime", nullptr},
                     {"lastTransitionTime", now}});
}

int64_t Number(const Json& object, std::initializer_list<const char*> path) {
  const Json* j = Find(object, path);
  return j != nullptr && j->is_number_integer() ? j->get<int64_t>() : 0;
}

bool SelectsPod(const Json& budget, const Json& pod) {
  const Json* selector = Find(budget, {"spec", "selector"});
  if (selector == nullptr || !selector->is_object()) return false;
  const Json none = Json::object();
  const Json* labels = Find(pod, {"metadata", "labels"});
  if (labels == nullptr) labels = &none;
  const Json match = selector->value("matchLabels", Json::object());
  for (const auto& [key, value] : match.items()) {
    const auto it = labels->find(key);
    if (it == labels->end() || *it != value) return false;
  }
  for (const Json& e : selector->value("matchExpressions", Json::array())) {
    const std::string key = TextAt(e, {"key"}), op = TextAt(e, {"operator"});
    const Json values = e.value("values", Json::array());
    const auto it = labels->find(key);
    const bool present = it != labels->end();
    const bool listed = present && std::find(values.begin(), values.end(), *it) != values.end();
    const bool ok = op == "In"       ? listed
                    : op == "NotIn"  ? !listed
                    : op == "Exists" ? present
                                     : !present;
    if (!ok) return false;
  }
  return true;
}

bool PodReady(const Json& pod) {
  const Json* conditions = Find(pod, {"status", "conditions"});
  if (conditions == nullptr || !conditions->is_array()) return false;
  return std::any_of(conditions->begin(), conditions->end(), [](const Json& c) {
    return TextAt(c, {"type"}) == "Ready" && TextAt(c, {"status"}) == "True";
  });
}

bool BypassesBudgets(const Json& pod) {
  const std::string phase = TextAt(pod, {"status", "phase"});
  return phase == "Pending" || phase == "Succeeded" || phase == "Failed" ||
         !TextAt(pod, {"metadata", "deletionTimestamp"}).empty();
}

[[noreturn]] void TooMany(const std::string& why, int retry_after) {
  Fail(TooManyRequests(kViolates, {"DisruptionBudget", "", why}, retry_after));
}

// Takes one disruption from the budget. Throws 429.
void SpendBudget(const State& state, const std::string& ns, const Json& budget, const Json& pod,
                 const std::string& now, bool dry_run) {
  const ResourcePtr budgets = state.resources->Find(kBudgets);
  const std::string name = TextAt(budget, {"metadata", "name"}),
                    pod_name = TextAt(pod, {"metadata", "name"});
  const bool ready = PodReady(pod);
  EditStored(state, *budgets, Store::Key(ns, name), dry_run, [&](Json& b) {
    const int64_t current = Number(b, {"status", "currentHealthy"}),
                  desired = Number(b, {"status", "desiredHealthy"});
    const bool always = TextAt(b, {"spec", "unhealthyPodEvictionPolicy"}) == "AlwaysAllow";
    if (!ready && (always || (current >= desired && desired > 0))) return false;
    if (Number(b, {"status", "observedGeneration"}) < Number(b, {"metadata", "generation"})) {
      TooMany("The disruption budget " + name + " is still being processed by the server.", 10);
    }
    const int64_t allowed = Number(b, {"status", "disruptionsAllowed"});
    if (allowed <= 0) {
      TooMany("The disruption budget " + name + " needs " + std::to_string(desired) +
                  " healthy pods and has " + std::to_string(current) + " currently",
              -1);
    }
    b["status"]["disruptionsAllowed"] = allowed - 1;
    b["status"]["disruptedPods"][pod_name] = now;
    if (allowed == 1) {
      SetCondition(&b, {{"type", "DisruptionAllowed"},
                        {"status", "False"},
                        {"observedGeneration", Number(b, {"status", "observedGeneration"})},
                        {"lastTransitionTime", now},
                        {"reason", "InsufficientPods"},
                        {"message", ""}});
    }
    return true;
  });
}

// The condition that tells why the pod went (golden h-03).
void MarkEvicted(const State& state, const Request& request, const Resource& pods,
                 const DeleteOptions& o) {
  EditStored(state, pods, Store::Key(request.info.ns, request.info.name), false, [&](Json& pod) {
    if (!o.uid.empty() && o.uid != TextAt(pod, {"metadata", "uid"}))
      return false;  // the deletion says so
    if (!o.resource_version.empty() || !TextAt(pod, {"metadata", "deletionTimestamp"}).empty())
      return false;
    SetCondition(&pod, {{"type", "DisruptionTarget"},
                        {"status", "True"},
                        {"lastProbeTime", nullptr},
                        {"lastTransitionTime", request.info.now},
                        {"reason", "EvictionByEvictionAPI"},
                        {"message", "Eviction API: evicting"}});
    return true;
  });
}

// What is wrong with the target of a binding is no Status of the API: 500.
void RequireNode(const Json& binding) {
  std::vector<FieldError> errors;
  const std::string kind = TextAt(binding, {"target", "kind"});
  if (!kind.empty() && kind != "Node")
    errors.push_back(NotSupported("target.kind", GoQuote(kind), {"Node", "<empty>"}));
  if (TextAt(binding, {"target", "name"}).empty()) errors.push_back(Required("target.name", ""));
  if (errors.empty()) return;
  std::string text;
  for (const FieldError& e : errors)
    text += (text.empty() ? "" : ", ") + e.field + ": " + e.message;
  Fail(Untyped(errors.size() == 1 ? text : "[" + text + "]"));
}

Json ReadEviction(const State& state, Request& request, const WriteOptions& options) {
  std::vector<std::string> duplicates;
  Json body = ReadBody(request, "Eviction", &duplicates);
  // The same type in its two versions (spec H3).
  if (TextAt(body, {"apiVersion"}) == "policy/v1beta1") body["apiVersion"] = "policy/v1";
  return TypedObject(request, BodyType(state, "policy", "v1", "Eviction"), options, std::move(body),
                     duplicates);
}

}  // namespace

Answer HandleBinding(const State& state, Request& request) {
  const WriteOptions options = ReadWriteOptions(request, "CreateOptions");
  Json body = ReadObject(request, BodyType(state, "", "v1", "Binding"), options);
  SetNamespace(*request.resource, request.info.ns, &body);
  const std::string given = TextAt(body, {"metadata", "name"});
  const std::string name = request.info.name.empty() ? given : request.info.name;
  RequireLiveNamespace(state, *request.resource, request.info.ns, name);
  if (given != name) Fail(BadRequest("name in URL does not match name in Binding object"));
  RequireNode(body);
  const std::string node = TextAt(body, {"target", "name"}),
                    key = Store::Key(request.info.ns, name);
  const ResourcePtr pods = state.resources->Find(kPods);
  EditStored(state, *pods, key, options.dry_run, [&](Json& pod) {
    const Gvr bindings{"", "v1", "pods/binding"};
    for (const auto& [member, what] :
         {std::pair("uid", "UID"), std::pair("resourceVersion", "ResourceVersion")}) {
      const std::string wanted = TextAt(body, {"metadata", member}),
                        have = TextAt(pod, {"metadata", member});
      if (!wanted.empty() && wanted != have)
        Fail(StorePrecondition(kPods, key, name, what, wanted, have));
    }
    if (!TextAt(pod, {"metadata", "deletionTimestamp"}).empty()) {
      Fail(Conflict(bindings, name,
                    "pod " + name + " is being deleted, cannot be assigned to a host"));
    }
    const std::string bound = TextAt(pod, {"spec", "nodeName"});
    if (!bound.empty())
      Fail(Conflict(bindings, name,
                    "pod " + name + " is already assigned to node " + GoQuote(bound)));
    const Json* gates = Find(pod, {"spec", "schedulingGates"});
    if (gates != nullptr && gates->is_array() && !gates->empty()) {
      Fail(Conflict(bindings, name, "pod " + name + " has non-empty .spec.schedulingGates"));
    }
    pod["spec"]["nodeName"] = node;
    MergeMap(&pod["metadata"], "annotations", body);
    MergeMap(&pod["metadata"], "labels", body);
    SetScheduled(&pod, request.info.now);
    return true;
  });
  return SuccessAnswer(201, nullptr, 201);
}

Answer HandleEviction(const State& state, Request& request) {
  const WriteOptions options = ReadWriteOptions(request, "CreateOptions");
  Json body = ReadEviction(state, request, options);
  SetNamespace(*request.resource, request.info.ns, &body);
  RequireLiveNamespace(state, *request.resource, request.info.ns, request.info.name);
  const std::string name = request.info.name, given = TextAt(body, {"metadata", "name"});
  if (given != name) Fail(BadRequest("name in URL does not match name in Eviction object"));
  const Json* delete_options = Find(body, {"deleteOptions"});
  DeleteOptions o = ParseDeleteOptions(
      delete_options != nullptr && delete_options->is_object() ? *delete_options : Json::object());
  o.dry_run = o.dry_run || options.dry_run;
  const Resource& pods = *request.resource;
  const ObjectPtr stored = state.store->Get(*pods.table, Store::Key(request.info.ns, name));
  if (!stored) Fail(NotFound(pods.gvr(), name));
  const Json pod = Editable(*stored, pods.stored_type);
  if (!BypassesBudgets(pod)) {
    std::vector<Json> matching;
    for (Json& b : state.reader->List(kBudgets, request.info.ns)) {
      if (SelectsPod(b, pod)) matching.push_back(std::move(b));
    }
    if (matching.size() > 1) {
      Fail(
          Untyped("This pod has more than one PodDisruptionBudget, which the eviction subresource "
                  "does not support."));
    }
    if (!matching.empty())
      SpendBudget(state, request.info.ns, matching[0], pod, request.info.now, o.dry_run);
  }
  if (!o.dry_run) MarkEvicted(state, request, pods, o);
  DeleteObject(state, request, pods, request.info.ns, name, o);
  return SuccessAnswer(201, nullptr, 201);
}

Answer HandlePodStream(const State& state, Request& request) {
  const Resource& r = *request.resource;
  const std::string name = request.info.name;
  const ObjectPtr stored = state.store->Get(*r.table, Store::Key(request.info.ns, name));
  if (!stored) Fail(NotFound(r.gvr(), name));
  if (r.gvr().resource != "pods") {
    ApiError e = Untyped("no network path to " + r.gvr().resource + " " + name);
    e.code = 503;
    e.reason = "ServiceUnavailable";
    Fail(std::move(e));
  }
  const Json pod = Editable(*stored, r.stored_type);
  std::vector<std::string> containers;
  for (const Json& c : pod["spec"].value("containers", Json::array()))
    containers.push_back(TextAt(c, {"name"}));
  const std::string wanted = request.query.Get("container"),
                    node = TextAt(pod, {"spec", "nodeName"});
  if (request.info.subresource == "log") {
    const std::optional<int64_t> tail = request.query.Integer("tailLines");
    if (tail && *tail < 0) {
      Fail(Invalid("", "PodLogOptions", name,
                   {InvalidValue("tailLines", std::to_string(*tail),
                                 "must be greater than or equal to 0")}));
    }
    if (wanted.empty() && containers.size() > 1) {
      std::string list;
      for (const std::string& c : containers) list += (list.empty() ? "" : " ") + c;
      Fail(BadRequest("a container name must be specified for pod " + name + ", choose one of: [" +
                      list + "]"));
    }
    if (!wanted.empty() &&
        std::find(containers.begin(), containers.end(), wanted) == containers.end()) {
      Fail(BadRequest("container " + wanted + " is not valid for pod " + name));
    }
    if (node.empty()) {
      Answer a;
      a.code = 204;
      a.content_type.clear();
      return a;
    }
  } else if (node.empty()) {
    if (request.info.subresource == "proxy") Fail(BadRequest("address not allowed"));
    Fail(BadRequest("pod " + name + " does not have a host assigned"));
  }
  const Gvr nodes{"", "v1", "nodes"};
  if (!state.reader->Get(nodes, "", node))
    Fail(NotFound(kPods, node));  // the reference names the pods
  ApiError e = Untyped("Get \"https://" + node + ":10250/\": this server has no path to kubelets");
  Fail(std::move(e));
}

}  // namespace kcm::devcluster
