// SPDX-License-Identifier: Apache-2.0
// DELETE of objects and collections (spec/apiserver G).
#include "devcluster/server/delete.h"

#include <algorithm>

#include "devcluster/server/convert.h"
#include "devcluster/server/crd.h"
#include "devcluster/server/list_options.h"
#include "devcluster/server/write.h"

namespace kcm::devcluster {

using host::wire::ObjectPtr;

namespace {

constexpr const char* kOrphan = "orphan";
constexpr const char* kForeground = "foregroundDeletion";

void ReadPolicy(const Json& body, DeleteOptions* o, std::vector<FieldError>* errors) {
  const Json* orphan = Find(body, {"orphanDependents"});
  if (orphan != nullptr && orphan->is_boolean()) o->orphan_dependents = orphan->get<bool>();
  o->policy = TextAt(body, {"propagationPolicy"});
  if (o->orphan_dependents && !o->policy.empty()) {
    errors->push_back(InvalidValue("propagationPolicy", GoQuote(o->policy),
                                   "orphanDependents and deletionPropagation cannot be both set"));
  }
  if (!o->policy.empty() && o->policy != "Foreground" && o->policy != "Background" &&
      o->policy != "Orphan") {
    errors->push_back(NotSupported("propagationPolicy", GoQuote(o->policy),
                                   {"Foreground", "Background", "Orphan", "nil"}));
  }
}

Json OptionsFromQuery(const Query& q) {
  Json body = Json::object();
  if (!q.Get("propagationPolicy").empty()) body["propagationPolicy"] = q.Get("propagationPolicy");
  if (q.Has("orphanDependents")) body["orphanDependents"] = q.Flag("orphanDependents");
  if (const auto grace = q.Integer("gracePeriodSeconds")) body["gracePeriodSeconds"] = *grace;
  if (const std::vector<std::string>* dry = q.All("dryRun")) body["dryRun"] = *dry;
  return body;
}

void RequireOptionsKind(const Request& request, const Json& body) {
  const std::string kind = TextAt(body, {"kind"}), version = TextAt(body, {"apiVersion"});
  if (kind.empty() && version.empty()) return;
  const bool known = version.empty() || version == "v1" || version == "meta.k8s.io/v1" ||
                     version == "meta.k8s.io/v1beta1" ||
                     (request.resource && version == request.resource->type.api_version);
  if ((kind.empty() || kind == "DeleteOptions") && known) return;
  Fail(BadRequest(
      "no kind " + GoQuote(kind) + " is registered for version " + GoQuote(version) +
      " in scheme \"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27\""));
}

}  // namespace

DeleteOptions ParseDeleteOptions(const Json& body) {
  DeleteOptions o;
  std::vector<FieldError> errors;
  if (const Json* dry = Find(body, {"dryRun"});
      dry != nullptr && dry->is_array() && !dry->empty()) {
    o.dry_run = true;
    if (std::any_of(dry->begin(), dry->end(), [](const Json& v) { return v != "All"; })) {
      std::string shown;
      for (const Json& v : *dry) shown += (shown.empty() ? "" : ",") + v.dump();
      errors.push_back(NotSupported("dryRun", "[" + shown + "]", {"All"}));
    }
  }
  ReadPolicy(body, &o, &errors);
  if (!errors.empty()) Fail(Invalid("meta.k8s.io", "DeleteOptions", "", errors));
  if (const Json* grace = Find(body, {"gracePeriodSeconds"});
      grace != nullptr && grace->is_number_integer()) {
    o.grace_seconds = grace->get<int64_t>();
  }
  o.uid = TextAt(body, {"preconditions", "uid"});
  o.resource_version = TextAt(body, {"preconditions", "resourceVersion"});
  return o;
}

DeleteOptions ReadDeleteOptions(const State& state, const Request& request) {
  if (request.http->body.empty()) return ParseDeleteOptions(OptionsFromQuery(request.query));
  Json body = ReadBody(request, "DeleteOptions", nullptr);
  RequireOptionsKind(request, body);
  std::vector<std::string> unknown;  // of no account here, whatever fieldValidation says
  if (const auto error = state.kinds->DecoderOf("meta.v1.DeleteOptions")(body, &unknown))
    Fail(BadRequest(*error));
  return ParseDeleteOptions(body);
}

namespace {

void CheckPreconditions(const Resource& r, const Json& object, const DeleteOptions& o) {
  const std::string name = TextAt(object, {"metadata", "name"});
  const std::string uid = TextAt(object, {"metadata", "uid"});
  const std::string version = TextAt(object, {"metadata", "resourceVersion"});
  if (r.gvr().group.empty() && r.gvr().resource == "namespaces") {
    if (!o.uid.empty() && o.uid != uid) {
      Fail(Conflict(
          r.gvr(), name,
          "Precondition failed: UID in precondition: " + o.uid + ", UID in object meta: " + uid));
    }
    if (!o.resource_version.empty() && o.resource_version != version) {
      Fail(Conflict(r.gvr(), name,
                    "Precondition failed: ResourceVersion in precondition: " + o.resource_version +
                        ", ResourceVersion in object meta: " + version));
    }
    return;
  }
  if (!o.uid.empty() && o.uid != uid) {
    Fail(ConflictOfKind(r.gvr().group, r.kind->kind, name,
                        "the UID in the precondition (" + o.uid +
                            ") does not match the UID in record (" + uid +
                            "). The object might have been deleted and then recreated"));
  }
  if (!o.resource_version.empty() && o.resource_version != version) {
    Fail(ConflictOfKind(r.gvr().group, r.kind->kind, name,
                        "the ResourceVersion in the precondition (" + o.resource_version +
                            ") does not match the ResourceVersion in record (" + version +
                            "). The object might have been modified"));
  }
}

Json::array_t FinalizersOf(const Json& object) {
  const Json* f = Find(object, {"metadata", "finalizers"});
  return f != nullptr && f->is_array() ? f->get<Json::array_t>() : Json::array_t();
}

// The finalizers after the policy had its say (spec G3).
Json::array_t PolicyFinalizers(const Resource& r, const Json& object, const DeleteOptions& o) {
  Json::array_t have = FinalizersOf(object);
  if (!r.kind->has_dependents) return have;
  const auto has = [&](const char* name) {
    return std::find(have.begin(), have.end(), Json(name)) != have.end();
  };
  bool orphan = false, foreground = false;
  if (o.orphan_dependents) {
    orphan = *o.orphan_dependents;
  } else if (!o.policy.empty()) {
    orphan = o.policy == "Orphan";
    foreground = o.policy == "Foreground";
  } else if (has(kOrphan) || has(kForeground)) {
    orphan = has(kOrphan);
    foreground = has(kForeground);
  } else {
    orphan = r.kind->default_orphan;
  }
  Json::array_t out;
  for (const Json& f : have) {
    if (f == kOrphan ? orphan : f == kForeground ? foreground : true) out.push_back(f);
  }
  if (orphan && !has(kOrphan)) out.emplace_back(kOrphan);
  if (foreground && !has(kForeground)) out.emplace_back(kForeground);
  return out;
}

void BumpGeneration(Json* metadata) {
  const auto it = metadata->find("generation");
  if (it != metadata->end() && it->is_number_integer() && it->get<int64_t>() > 0)
    *it = it->get<int64_t>() + 1;
}

void SetFinalizers(Json* object, Json::array_t finalizers) {
  if (finalizers.empty()) {
    (*object)["metadata"].erase("finalizers");
  } else {
    (*object)["metadata"]["finalizers"] = std::move(finalizers);
  }
}

// What one DELETE does to an object.
struct Plan {
  Json next;
  bool vanish = false;  // remove it
  bool marks = false;   // graceful: `next` is written, and seen by watches, even before a removal
};

int64_t PodGrace(const Json& pod, const DeleteOptions& o) {
  const std::string phase = TextAt(pod, {"status", "phase"});
  if (TextAt(pod, {"spec", "nodeName"}).empty() || phase == "Succeeded" || phase == "Failed")
    return 0;
  const Json* own = Find(pod, {"spec", "terminationGracePeriodSeconds"});
  const int64_t grace = o.grace_seconds                              ? *o.grace_seconds
                        : own != nullptr && own->is_number_integer() ? own->get<int64_t>()
                                                                     : 30;
  return grace < 0 ? 1 : grace;
}

Plan PlanPod(const Resource& r, const Json& pod, const DeleteOptions& o, int64_t now) {
  Plan plan{pod, false};
  Json& m = plan.next["metadata"];
  const std::string deleted = TextAt(pod, {"metadata", "deletionTimestamp"});
  const Json* current = Find(pod, {"metadata", "deletionGracePeriodSeconds"});
  int64_t grace = 0;
  const int64_t had =
      current != nullptr && current->is_number_integer() ? current->get<int64_t>() : 0;
  if (!deleted.empty() && had > 0) {
    int64_t wanted = o.grace_seconds.value_or(had);
    if (wanted < 0) wanted = 1;
    if (wanted >= had) return plan;  // nothing to shorten, and finalizers stay until the time is up
    m["deletionTimestamp"] = SecondsText(ParseSeconds(deleted).value_or(now + had) - had + wanted);
    grace = wanted;
  } else if (deleted.empty()) {
    grace = PodGrace(pod, o);
    m["deletionTimestamp"] = SecondsText(now + grace);
    BumpGeneration(&m);
  }
  plan.marks = had > 0 || deleted.empty();
  m["deletionGracePeriodSeconds"] = grace;
  SetFinalizers(&plan.next, PolicyFinalizers(r, pod, o));
  plan.vanish = grace == 0 && FinalizersOf(plan.next).empty();
  return plan;
}

Plan PlanNamespace(const Resource& r, const Json& ns, const DeleteOptions& o, int64_t now) {
  Plan plan{ns, false};
  const Json* held = Find(ns, {"spec", "finalizers"});
  const bool spec_empty = held == nullptr || !held->is_array() || held->empty();
  Json& m = plan.next["metadata"];
  // The first DELETE only marks, even when nothing holds the namespace (golden g-04).
  if (TextAt(ns, {"metadata", "deletionTimestamp"}).empty()) {
    SetFinalizers(&plan.next, PolicyFinalizers(r, ns, o));
    m["deletionTimestamp"] = SecondsText(now);
    plan.next["status"]["phase"] = "Terminating";
    return plan;
  }
  plan.vanish = spec_empty && FinalizersOf(plan.next).empty();
  return plan;
}

Plan PlanOther(const Resource& r, const Json& object, const DeleteOptions& o, int64_t now) {
  Plan plan{object, false};
  SetFinalizers(&plan.next, PolicyFinalizers(r, object, o));
  Json& m = plan.next["metadata"];
  if (FinalizersOf(plan.next).empty()) {
    plan.vanish = true;
    return plan;
  }
  if (TextAt(object, {"metadata", "deletionTimestamp"}).empty()) {
    m["deletionTimestamp"] = SecondsText(now);
    m["deletionGracePeriodSeconds"] = 0;
    BumpGeneration(&m);
  }
  return plan;
}

bool IsDefinition(const Resource& r) { return r.gvr().resource == "customresourcedefinitions"; }

// A CRD with objects stays until they are gone.
Plan PlanDefinition(const State& state, const Resource& r, const Json& crd, const DeleteOptions& o,
                    int64_t now) {
  Json held = crd;
  if (TextAt(crd, {"metadata", "deletionTimestamp"}).empty() && state.custom != nullptr &&
      state.custom->HasObjects(TextAt(crd, {"metadata", "name"}))) {
    Json& finalizers = held["metadata"]["finalizers"];
    if (!finalizers.is_array()) finalizers = Json::array();
    if (std::find(finalizers.begin(), finalizers.end(), Json(CustomKinds::kCleanup)) ==
        finalizers.end())
      finalizers.push_back(CustomKinds::kCleanup);
    Json& conditions = held["status"]["conditions"];
    if (!conditions.is_array()) conditions = Json::array();
    conditions.push_back({{"type", "Terminating"},
                          {"status", "True"},
                          {"reason", "InstanceDeletionInProgress"},
                          {"message", "CustomResource deletion is in progress"},
                          {"lastTransitionTime", SecondsText(now)}});
  }
  return PlanOther(r, held, o, now);
}

Plan MakePlan(const Resource& r, const Json& object, const DeleteOptions& o, int64_t now) {
  if (r.gvr().group.empty() && r.gvr().resource == "pods") return PlanPod(r, object, o, now);
  if (r.gvr().group.empty() && r.gvr().resource == "namespaces")
    return PlanNamespace(r, object, o, now);
  return PlanOther(r, object, o, now);
}

}  // namespace

Deleted DeleteObject(const State& state, Request& request, const Resource& r, const std::string& ns,
                     const std::string& name, const DeleteOptions& o) {
  const std::string key = Store::Key(ns, name);
  request.info.operation = Operation::kDelete;
  request.info.dry_run = o.dry_run;
  ObjectPtr marked;  // what this call wrote of an object that only its removal is left for
  for (int attempt = 0; attempt < kRaceTries; ++attempt) {
    const ObjectPtr stored = state.store->Get(*r.table, key);
    // A kubelet that saw the mark may have removed the object before us: gone is what was asked.
    if (marked && (!stored || stored->Uid() != marked->Uid())) return {marked, true};
    if (!stored) Fail(NotFound(r.gvr(), name));
    const Json object = Editable(*stored, r.stored_type);
    CheckPreconditions(r, object, o);
    if (attempt == 0) {
      Json seen = object;
      FailIf(state.kinds->Admit(*r.kind, seen, &object, request.info));
    }
    const int64_t now =
        std::chrono::floor<std::chrono::seconds>(state.clock->Now()).time_since_epoch().count();
    Plan plan =
        IsDefinition(r) ? PlanDefinition(state, r, object, o, now) : MakePlan(r, object, o, now);
    const bool changed = plan.next != object && (plan.marks || !plan.vanish);
    if (o.dry_run) return {changed ? ToFlat(plan.next) : stored, plan.vanish};
    ObjectPtr last = stored;
    if (changed) {
      last = state.store->Put(*r.table, key, stored,
                              [&](uint64_t rv) { return ToFlat(plan.next, rv); });
      if (!last) continue;
    }
    if (!plan.vanish) {
      if (IsDefinition(r)) {
        AfterWrite(state, r, name, false);
        if (state.custom != nullptr) state.custom->CleanUp(name);
      }
      return {last, false};
    }
    if (changed) marked = last;
    if (state.store->Remove(*r.table, key, last, [&](uint64_t rv) {
          return ToFlat(changed ? plan.next : object, rv);
        })) {
      AfterWrite(state, r, name, true);
      return {last, true};
    }
  }
  Fail(StaleVersion(r.gvr(), name));
}

Answer HandleDelete(const State& state, Request& request) {
  const Resource& r = *request.resource;
  const DeleteOptions options = ReadDeleteOptions(state, request);
  if (r.gvr().resource == "jobs" && r.kind->default_orphan && options.policy.empty() &&
      !options.orphan_dependents) {
    request.warnings.push_back(
        "child pods are preserved by default when jobs are deleted; set "
        "propagationPolicy=Background to remove them or set "
        "propagationPolicy=Orphan to suppress this warning");
  }
  const Deleted d = DeleteObject(state, request, r, request.info.ns, request.info.name, options);
  if (!d.gone || r.kind->delete_returns_object)
    return ObjectAnswer(state, request, 200, r, d.object);
  Json details = {{"name", request.info.name},
                  {"kind", r.gvr().resource},
                  {"uid", std::string(d.object->Uid())}};
  if (!r.gvr().group.empty()) details["group"] = r.gvr().group;
  return SuccessAnswer(200, details, 0);
}

Answer HandleDeleteCollection(const State& state, Request& request) {
  const Resource& r = *request.resource;
  const DeleteOptions options = ReadDeleteOptions(state, request);
  const ListOptions list = ReadListOptions(state, request, false);
  Store::Listed listed = state.store->List(*r.table, request.info.ns, "", 0);
  std::string body = "{\"kind\":\"" + r.list_type.kind + "\",\"apiVersion\":\"" +
                     r.list_type.api_version + "\",\"metadata\":{\"resourceVersion\":\"" +
                     std::to_string(listed.revision) + "\"},\"items\":[";
  bool first = true;
  for (const ObjectPtr& item : listed.items) {
    const ObjectPtr shown = InVersion(r, item);
    if (!list.Matches(*shown, *r.kind)) continue;
    try {
      request.info.name = std::string(item->Name());
      DeleteObject(state, request, r, std::string(item->Namespace()), request.info.name, options);
    } catch (const Failure& f) {
      if (f.error.code != 404) throw;  // someone else was faster
    }
    if (!first) body += ",";
    first = false;
    host::wire::EncodeJson(shown->Root(), r.kind->custom ? &r.type : nullptr, &body);
  }
  return Answer::Of(200, body + "]}\n");
}

}  // namespace kcm::devcluster
