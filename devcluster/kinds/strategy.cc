// SPDX-License-Identifier: Apache-2.0
// Strategies of all kinds.
#include "devcluster/kinds/strategy.h"

#include <algorithm>
#include <set>

#include "devcluster/kinds/decode.h"
#include "devcluster/kinds/fields.h"
#include "devcluster/kinds/metadata.h"
#include "kcm/rules/json_node.h"
#include "kcm/rules/quantity.h"

namespace kcm::devcluster::kinds {

namespace {

constexpr const char* kTemplateGeneration = "deprecated.daemonset.template.generation";

void Put(Json& object, std::string_view member, const Json& from) {
  const auto it = from.find(member);
  if (it == from.end())
    object.erase(std::string(member));
  else
    object[std::string(member)] = *it;
}

// ---- create ----

void PrepareJob(Json& job) {
  if (Flag(job, "spec.manualSelector")) return;
  const std::string uid(Text(job, "metadata.uid")), name(Text(job, "metadata.name"));
  Json& labels = Child(job, "spec.template.metadata.labels");
  // A user's own label of that name means a manual selector was intended; validation refuses it.
  const Json* given = Key(labels, "batch.kubernetes.io/controller-uid");
  if (given != nullptr && *given != uid) return;
  labels["batch.kubernetes.io/controller-uid"] = uid;
  labels["batch.kubernetes.io/job-name"] = name;
  labels["controller-uid"] = uid;
  labels["job-name"] = name;
  const Json copy = labels;
  Child(job, "spec.selector.matchLabels")["batch.kubernetes.io/controller-uid"] = uid;
  Json& own = Child(job, "metadata.labels");
  if (own.empty()) own = copy;
}

void PrepareSigningRequest(Json& request, const RequestInfo& info) {
  Json& spec = Child(request, "spec");
  for (const char* member : {"username", "uid", "groups", "extra"}) spec.erase(member);
  spec["username"] = info.user.name;
  if (!info.user.uid.empty()) spec["uid"] = info.user.uid;
  if (!info.user.groups.empty()) spec["groups"] = info.user.groups;
  if (info.user.extra.is_object() && !info.user.extra.empty()) spec["extra"] = info.user.extra;
}

void PreparePod(Json& pod, const RequestInfo& info) {
  Json& status = pod["status"];
  status["qosClass"] = QosClass(pod);
  if (IsEmpty(Find(pod, "spec.schedulingGates"))) return;
  Json gated = {{"type", "PodScheduled"}, {"status", "False"}, {"reason", "SchedulingGated"}};
  gated["message"] = "Scheduling is blocked due to non-empty scheduling gates";
  gated["lastTransitionTime"] = info.now;
  status["conditions"] = Json::array({gated});
}

void PrepareNamespace(Json& ns) {
  Json& finalizers = Child(ns, "spec")["finalizers"];
  if (!finalizers.is_array()) finalizers = Json::array();
  for (const Json& f : finalizers) {
    if (f == "kubernetes") return;
  }
  finalizers.push_back("kubernetes");
}

// Versions that objects may be stored as: each that ever was the storage version.
void PrepareDefinition(Json& crd) {
  for (const Json& version : Items(crd, "spec.versions")) {
    if (!Flag(version, "storage")) continue;
    Json& stored = crd["status"]["storedVersions"];
    if (!stored.is_array()) stored = Json::array();
    const Json name = Text(version, "name");
    if (std::find(stored.begin(), stored.end(), name) == stored.end()) stored.push_back(name);
  }
}

// ---- update ----

bool SpecMoved(const KindRow& row, const Json& object, const Json& old) {
  switch (row.generation) {
    case Generation::kNone:
    case Generation::kOne:
      return false;
    case Generation::kSpec:
      return !SameMember(object, old, "spec");
    case Generation::kDeployment:
      return !SameMember(object, old, "spec") || !SameMember(object, old, "metadata.annotations");
    case Generation::kTemplate:
      return !SameMember(object, old, "template");
    case Generation::kContent: {
      Json x = object, y = old;
      for (Json* o : {&x, &y}) {
        for (const char* member : {"metadata", "kind", "apiVersion"}) o->erase(member);
      }
      return x != y;
    }
  }
  return false;
}

void MoveGeneration(const KindRow& row, Json& object, const Json& old) {
  Json& metadata = Child(object, "metadata");
  if (const Json* generation = Find(old, "metadata.generation"))
    metadata["generation"] = *generation;
  else
    metadata.erase("generation");
  if (SpecMoved(row, object, old)) metadata["generation"] = Integer(old, "metadata.generation") + 1;
}

// The server keeps this annotation; clients can not write it.
void MoveTemplateGeneration(Json& set, const Json& old) {
  int64_t number = 1;
  if (const Json* annotations = Find(old, "metadata.annotations")) {
    const std::string text(KeyText(*annotations, kTemplateGeneration));
    if (!text.empty() && text.size() < 18 &&
        text.find_first_not_of("0123456789") == std::string::npos) {
      number = std::stoll(text);
    }
  }
  if (!SameMember(set, old, "spec.template")) ++number;
  Child(set, "metadata.annotations")[kTemplateGeneration] = std::to_string(number);
}

// Everything of `old` but the members named; kind, apiVersion and bookkeeping metadata stay as
// given.
void TakeOnly(Json& object, const Json& old, std::initializer_list<std::string_view> members) {
  Json result = old;
  for (const std::string_view member : members) Put(result, member, object);
  for (const char* member : {"kind", "apiVersion"}) Put(result, member, object);
  object = std::move(result);
}

// Restores all metadata but what the server's bookkeeping needs.
void KeepMetadata(Json& object, const Json& old) {
  const auto it = object.find("metadata");
  const Json given = it == object.end() ? Json::object() : *it;
  Json metadata = old.value("metadata", Json::object());
  for (const char* member : {"resourceVersion", "managedFields", "uid", "name", "namespace"})
    Put(metadata, member, given);
  object["metadata"] = std::move(metadata);
}

void StatusWrite(const KindRow& row, Json& object, const Json& old, const RequestInfo& info) {
  TakeOnly(object, old, {"metadata", "status"});
  if (object.find("status") == object.end()) object["status"] = Json::object();
  Json& metadata = Child(object, "metadata");
  const auto keep = [&](const char* member) {
    if (const Json* before = Find(old, std::string("metadata.") + member))
      metadata[member] = *before;
    else
      metadata.erase(member);
  };
  keep("generation");
  if (row.resource == "deployments") keep("labels");
  if (row.resource == "pods") {
    keep("ownerReferences");
    if (Text(object, "status.qosClass").empty() && !Text(old, "status.qosClass").empty()) {
      object["status"]["qosClass"] = old["status"]["qosClass"];
    }
  }
  if (row.resource == "daemonsets") MoveTemplateGeneration(object, old);
  if (row.resource == "volumeattachments" || row.resource == "resourceclaims")
    KeepMetadata(object, old);
  if (row.resource == "persistentvolumes") {
    const bool moved = Text(object, "status.phase") != Text(old, "status.phase");
    const bool given = !SameMember(object, old, "status.lastPhaseTransitionTime") &&
                       Find(object, "status.lastPhaseTransitionTime") != nullptr;
    if (moved && !given) {
      object["status"]["lastPhaseTransitionTime"] = info.now;
    } else if (!moved && Find(object, "status.lastPhaseTransitionTime") == nullptr) {
      Put(object["status"], "lastPhaseTransitionTime", old.value("status", Json::object()));
    }
  }
}

// Each party writes its own conditions; the others stay (spec H6). Times that are missing are now.
void SigningWrite(Json& object, const Json& old, bool approval, const RequestInfo& info) {
  TakeOnly(object, old, {"metadata", "status"});
  Json conditions = Items(object, "status.conditions");
  if (approval) {
    Json status = old.value("status", Json::object());
    status["conditions"] = std::move(conditions);
    object["status"] = std::move(status);
  } else if (object.find("status") == object.end()) {
    object["status"] = Json::object();
  }
  Json* list = Find(object, "status.conditions");
  if (list == nullptr || !list->is_array()) return;
  for (Json& condition : *list) {
    if (!condition.is_object()) continue;
    SetDefaultText(condition, "status", "True");
    if (Find(condition, "lastUpdateTime") == nullptr) condition["lastUpdateTime"] = info.now;
    if (Find(condition, "lastTransitionTime") != nullptr) continue;
    condition["lastTransitionTime"] = info.now;
    for (const Json& before : Items(old, "status.conditions")) {
      const Json* time = Find(before, "lastTransitionTime");
      if (time != nullptr && Text(before, "type") == Text(condition, "type") &&
          Text(before, "status") == Text(condition, "status")) {
        condition["lastTransitionTime"] = *time;
      }
    }
  }
}

void FinalizeWrite(Json& object, const Json& old) {
  const Json finalizers = Items(object, "spec.finalizers");
  TakeOnly(object, old, {"metadata"});
  Child(object, "spec")["finalizers"] = finalizers;
}

void EphemeralWrite(const KindRow& row, Json& object, const Json& old) {
  const Json containers = Items(object, "spec.ephemeralContainers");
  TakeOnly(object, old, {"metadata"});
  KeepMetadata(object, old);
  Child(object, "spec")["ephemeralContainers"] = containers;
  if (containers.empty()) object["spec"].erase("ephemeralContainers");
  MoveGeneration(row, object, old);
}

void ResizeWrite(const KindRow& row, Json& object, const Json& old) {
  Json spec = old.value("spec", Json::object());
  for (const char* list : {"containers", "initContainers"}) {
    Json* kept = Find(spec, list);
    const Json& given = Items(object, std::string("spec.") + list);
    if (kept == nullptr || !kept->is_array() || kept->size() != given.size()) continue;
    for (size_t i = 0; i < given.size(); ++i) {
      if (Text(given[i], "name") != Text((*kept)[i], "name")) continue;
      Put((*kept)[i], "resources", given[i]);
      Put((*kept)[i], "resizePolicy", given[i]);
    }
  }
  TakeOnly(object, old, {"metadata"});
  KeepMetadata(object, old);
  object["spec"] = std::move(spec);
  MoveGeneration(row, object, old);
}

void MainWrite(const KindRow& row, Json& object, const Json& old) {
  if (!row.empty_status.empty() || row.resource == "nodes") Put(object, "status", old);
  if (row.resource == "namespaces") {
    Child(object, "spec")["finalizers"] = Items(old, "spec.finalizers");
  }
  if (row.resource == "certificatesigningrequests") Put(object, "spec", old);
  if (row.resource == "secrets" && Text(object, "type").empty()) Put(object, "type", old);
  if (row.resource == "daemonsets") MoveTemplateGeneration(object, old);
  MoveGeneration(row, object, old);
}

}  // namespace

std::string QosClass(const Json& pod) {
  bool any = false, guaranteed = true;
  for (const char* list : {"spec.containers", "spec.initContainers"}) {
    for (const Json& container : Items(pod, list)) {
      for (const char* resource : {"cpu", "memory"}) {
        const auto amount = [&](const char* kind) {
          return rules::Quantity::Of(
              rules::JsonNode(container).Get("resources").Get(kind).Get(resource));
        };
        const rules::Quantity request = amount("requests"), limit = amount("limits");
        any = any || !request.IsZero() || !limit.IsZero();
        guaranteed = guaranteed && !limit.IsZero() && (request.IsZero() || request == limit);
      }
    }
  }
  if (!any) return "BestEffort";
  return guaranteed ? "Guaranteed" : "Burstable";
}

void PrepareCreate(const KindRow& row, const Message& message, Json& object,
                   const RequestInfo& info) {
  DeduplicateOwners(object, info);
  if (!row.empty_status.empty()) object["status"] = Json::parse(row.empty_status);
  if (row.generation != Generation::kNone) Child(object, "metadata")["generation"] = 1;
  if (row.resource == "pods") PreparePod(object, info);
  if (row.resource == "jobs") PrepareJob(object);
  if (row.resource == "namespaces") PrepareNamespace(object);
  if (row.resource == "persistentvolumes") object["status"]["lastPhaseTransitionTime"] = info.now;
  if (row.resource == "certificatesigningrequests") PrepareSigningRequest(object, info);
  if (row.resource == "customresourcedefinitions") PrepareDefinition(object);
  if (row.resource == "daemonsets")
    Child(object, "metadata.annotations")[kTemplateGeneration] = "1";
  Canonicalise(object, message);
}

void PrepareUpdate(const KindRow& row, const Message& message, Json& object, const Json& old,
                   const RequestInfo& info) {
  DeduplicateOwners(object, info);
  Canonicalise(object, message);
  const std::string_view sub = info.subresource;
  const bool signing = row.resource == "certificatesigningrequests";
  if (sub.empty() || sub == "scale") {
    MainWrite(row, object, old);
    if (row.resource == "customresourcedefinitions") PrepareDefinition(object);
  } else if (signing && (sub == "status" || sub == "approval"))
    SigningWrite(object, old, sub == "approval", info);
  else if (sub == "status")
    StatusWrite(row, object, old, info);
  else if (sub == "finalize")
    FinalizeWrite(object, old);
  else if (sub == "ephemeralcontainers")
    EphemeralWrite(row, object, old);
  else if (sub == "resize")
    ResizeWrite(row, object, old);
  Canonicalise(object, message);
}

}  // namespace kcm::devcluster::kinds
