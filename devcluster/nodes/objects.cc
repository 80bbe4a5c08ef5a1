// SPDX-License-Identifier: Apache-2.0
// Reads objects out of JSON: of pods, nodes and claims only the members that matter here.
#include "devcluster/nodes/objects.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "devcluster/nodes/resources.h"
#include "kcm/rules/label_selector.h"

namespace kcm::devcluster::nodes {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

// Absent, null and wrongly typed members all read as "not there": what a server sends is not ours
// to judge.
std::optional<element> Get(const element& from, std::string_view name) {
  element out;
  if (from[name].get(out) != simdjson::SUCCESS || out.is_null()) return std::nullopt;
  return out;
}
std::optional<element> Get(const std::optional<element>& from, std::string_view name) {
  return from ? Get(*from, name) : std::nullopt;
}
std::string_view View(const std::optional<element>& from) {
  std::string_view out;
  if (!from || from->get(out) != simdjson::SUCCESS) return {};
  return out;
}
std::string Text(const std::optional<element>& from) { return std::string(View(from)); }
bool IsTrue(const std::optional<element>& from) {
  bool out = false;
  return from && from->get(out) == simdjson::SUCCESS && out;
}
array Items(const std::optional<element>& from) {
  array out;
  if (!from || from->get(out) != simdjson::SUCCESS) return {};
  return out;
}
bool IsArray(const std::optional<element>& from) { return from && from->is_array(); }

template <class Visit>
void EachItem(const std::optional<element>& from, Visit visit) {
  if (!IsArray(from)) return;
  for (const element item : Items(from)) visit(item);
}
template <class Visit>
void EachMember(const std::optional<element>& from, Visit visit) {
  object map;
  if (!from || from->get(map) != simdjson::SUCCESS) return;
  for (const auto member : map) visit(member.key, member.value);
}

uint64_t Version(const std::optional<element>& metadata) {
  const std::string_view text = View(Get(metadata, "resourceVersion"));
  uint64_t v = 0;
  std::from_chars(text.data(), text.data() + text.size(), v);
  return v;
}

Strings Map(const std::optional<element>& from, std::string_view prefix = {}) {
  Strings out;
  EachMember(from, [&](std::string_view key, const element& value) {
    if (key.starts_with(prefix)) out.emplace(key, View(value));
  });
  return out;
}

nlohmann::json ToJson(const element& e) {
  return nlohmann::json::parse(simdjson::minify(e), nullptr, false);
}

struct Request {
  int64_t milli_cpu = 0, memory = 0;
  Amounts other = {};
  void Add(const Request& r) {
    milli_cpu += r.milli_cpu;
    memory += r.memory;
    for (const auto& [name, amount] : r.other) other[name] += amount;
  }
  void Max(const Request& r) {
    milli_cpu = std::max(milli_cpu, r.milli_cpu);
    memory = std::max(memory, r.memory);
    for (const auto& [name, amount] : r.other) other[name] = std::max(other[name], amount);
  }
};

// Everything in a resource list but what has a member of its own.
Amounts OtherAmounts(const std::optional<element>& resources) {
  Amounts out;
  EachMember(resources, [&](std::string_view name, const element& amount) {
    if (name != "cpu" && name != "memory" && name != "pods") {
      out[std::string(name)] = Bytes(View(amount));
    }
  });
  return out;
}

Request RequestOf(const std::optional<element>& resources) {
  return {MilliCpu(View(Get(resources, "cpu"))), Bytes(View(Get(resources, "memory"))),
          OtherAmounts(resources)};
}
Request RequestOfContainer(const element& container) {
  return RequestOf(Get(Get(container, "resources"), "requests"));
}

// What a pod needs at its worst moment: an init container runs beside the sidecars started before
// it.
Request RequestOfPod(const element& spec) {
  Request running, sidecars, init;
  EachItem(Get(spec, "containers"), [&](const element& c) { running.Add(RequestOfContainer(c)); });
  EachItem(Get(spec, "initContainers"), [&](const element& c) {
    const Request r = RequestOfContainer(c);
    if (View(Get(c, "restartPolicy")) == "Always") {
      sidecars.Add(r);
      init.Max(sidecars);
      return;
    }
    Request now = sidecars;
    now.Add(r);
    init.Max(now);
  });
  running.Add(sidecars);
  running.Max(init);
  running.Add(RequestOf(Get(spec, "overhead")));
  return running;
}

Json SchedulingOf(const element& spec) {
  nlohmann::json out = nlohmann::json::object();
  for (const char* name :
       {"tolerations", "nodeSelector", "affinity", "topologySpreadConstraints"}) {
    if (const auto part = Get(spec, name)) out[name] = ToJson(*part);
  }
  return std::make_shared<const nlohmann::json>(std::move(out));
}

int64_t Integer(const std::optional<element>& from) {
  int64_t out = 0;
  return from && from->get(out) == simdjson::SUCCESS ? out : 0;
}

std::vector<Container> ContainersOf(const std::optional<element>& list) {
  std::vector<Container> out;
  EachItem(list, [&](const element& c) {
    out.push_back(
        {Text(Get(c, "name")), Text(Get(c, "image")), View(Get(c, "restartPolicy")) == "Always"});
  });
  return out;
}

void ReadHostPorts(const element& container, Pod* pod) {
  EachItem(Get(container, "ports"), [&](const element& port) {
    const int64_t number = Integer(Get(port, "hostPort"));
    if (number == 0) return;
    const std::string protocol = Text(Get(port, "protocol")), ip = Text(Get(port, "hostIP"));
    pod->host_ports.push_back((protocol.empty() ? "TCP" : protocol) + "/" +
                              (ip.empty() ? "0.0.0.0" : ip) + "/" + std::to_string(number));
  });
}

// Names of claims made from templates are in the status.
void ReadDeviceClaims(const element& in, Pod* pod) {
  EachItem(Get(Get(in, "spec"), "resourceClaims"), [&](const element& c) {
    PodClaim claim{Text(Get(c, "name")), Text(Get(c, "resourceClaimName"))};
    EachItem(Get(Get(in, "status"), "resourceClaimStatuses"), [&](const element& status) {
      if (!claim.claim.empty() || View(Get(status, "name")) != claim.entry) return;
      claim.claim = Text(Get(status, "resourceClaimName"));
      claim.needless = claim.claim.empty();
    });
    pod->device_claims.push_back(std::move(claim));
  });
}

void ReadSpec(const element& spec, const std::string& pod_name, Pod* pod) {
  pod->node = Text(Get(spec, "nodeName"));
  pod->scheduler = Text(Get(spec, "schedulerName"));
  EachItem(Get(spec, "schedulingGates"), [&](const element&) { pod->gated = true; });
  pod->restart_policy = Text(Get(spec, "restartPolicy"));
  pod->priority = Integer(Get(spec, "priority"));
  pod->never_preempts = View(Get(spec, "preemptionPolicy")) == "Never";
  pod->containers = ContainersOf(Get(spec, "containers"));
  pod->init_containers = ContainersOf(Get(spec, "initContainers"));
  EachItem(Get(spec, "containers"), [&](const element& c) { ReadHostPorts(c, pod); });
  EachItem(Get(spec, "volumes"), [&](const element& v) {
    if (const auto claim = Get(v, "persistentVolumeClaim")) {
      pod->claims.push_back(Text(Get(claim, "claimName")));
    } else if (Get(v, "ephemeral")) {
      pod->claims.push_back(pod_name + "-" + Text(Get(v, "name")));
    }
  });
  const Request need = RequestOfPod(spec);
  pod->milli_cpu = need.milli_cpu;
  pod->memory = need.memory;
  pod->other_requests = need.other;
  if (pod->node.empty()) pod->scheduling = SchedulingOf(spec);
  if (const auto terms = Get(Get(Get(spec, "affinity"), "podAntiAffinity"),
                             "requiredDuringSchedulingIgnoredDuringExecution")) {
    pod->anti_affinity = std::make_shared<const nlohmann::json>(ToJson(*terms));
  }
}

void ReadStatus(const std::optional<element>& status, Pod* pod) {
  pod->phase = Text(Get(status, "phase"));
  pod->pod_ip = Text(Get(status, "podIP"));
  pod->start_time = Text(Get(status, "startTime"));
  EachItem(Get(status, "conditions"), [&](const element& c) {
    if (View(Get(c, "type")) == "PodScheduled" && View(Get(c, "status")) == "False") {
      pod->scheduled_message = Text(Get(c, "message"));
    }
  });
}

void Read(const element& in, Pod* pod) {
  const auto metadata = Get(in, "metadata");
  pod->uid = Text(Get(metadata, "uid"));
  pod->ns = Text(Get(metadata, "namespace"));
  pod->name = Text(Get(metadata, "name"));
  pod->resource_version = Version(metadata);
  pod->annotations = Map(Get(metadata, "annotations"), "sim/");
  pod->completion_index =
      Text(Get(Get(metadata, "labels"), "batch.kubernetes.io/job-completion-index"));
  pod->labels = Map(Get(metadata, "labels"));
  pod->deleting = Get(metadata, "deletionTimestamp").has_value();
  pod->grace_seconds = Integer(Get(metadata, "deletionGracePeriodSeconds"));
  EachItem(Get(metadata, "ownerReferences"), [&](const element& o) {
    if (View(Get(o, "kind")) == "Job") pod->owned_by_job = true;
    if (IsTrue(Get(o, "controller"))) pod->owner_uid = Text(Get(o, "uid"));
  });
  if (const auto spec = Get(in, "spec")) ReadSpec(*spec, pod->name, pod);
  ReadDeviceClaims(in, pod);
  ReadStatus(Get(in, "status"), pod);
}

bool IsReady(const std::optional<element>& node_status) {
  bool ready = false;
  EachItem(Get(node_status, "conditions"), [&](const element& c) {
    if (View(Get(c, "type")) == "Ready") ready = View(Get(c, "status")) == "True";
  });
  return ready;
}

// The server taints every new node not-ready and node-lifecycle-controller takes that away. On a
// node that is ready the taint is out of date, and without that controller it would stay for ever:
// scheduling does without it.
Json TaintsOf(const std::optional<element>& spec, bool ready) {
  nlohmann::json out = nlohmann::json::array();
  EachItem(Get(spec, "taints"), [&](const element& taint) {
    const bool stale = ready && View(Get(taint, "key")) == "node.kubernetes.io/not-ready" &&
                       View(Get(taint, "effect")) == "NoSchedule";
    if (!stale) out.push_back(ToJson(taint));
  });
  if (out.empty()) return nullptr;
  return std::make_shared<const nlohmann::json>(std::move(out));
}

void Read(const element& in, NodeObject* node) {
  const auto metadata = Get(in, "metadata");
  node->uid = Text(Get(metadata, "uid"));
  node->name = Text(Get(metadata, "name"));
  node->resource_version = Version(metadata);
  const auto labels = Get(metadata, "labels");
  node->guest = View(Get(labels, "sim/kubelet")) == "true";
  nlohmann::json identity = {{"metadata", {{"name", node->name}}}};
  if (labels) identity["metadata"]["labels"] = ToJson(*labels);
  node->identity = std::make_shared<const nlohmann::json>(std::move(identity));
  node->annotations = Map(Get(metadata, "annotations"), "sim/");
  const auto spec = Get(in, "spec");
  node->unschedulable = IsTrue(Get(spec, "unschedulable"));
  const auto status = Get(in, "status");
  node->taints = TaintsOf(spec, IsReady(status));
  auto room = Get(status, "allocatable");
  if (!room) room = Get(status, "capacity");
  node->milli_cpu = MilliCpu(View(Get(room, "cpu")));
  node->memory = Bytes(View(Get(room, "memory")));
  node->pods = Bytes(View(Get(room, "pods")));
  node->other = OtherAmounts(room);
}

void Read(const element& in, Claim* claim) {
  const auto metadata = Get(in, "metadata");
  claim->uid = Text(Get(metadata, "uid"));
  claim->ns = Text(Get(metadata, "namespace"));
  claim->name = Text(Get(metadata, "name"));
  claim->resource_version = Version(metadata);
  claim->deleting = Get(metadata, "deletionTimestamp").has_value();
  const auto annotations = Get(metadata, "annotations");
  claim->annotations = Map(annotations, "sim/");
  claim->selected_node = Text(Get(annotations, "volume.kubernetes.io/selected-node"));
  claim->provisioner = Text(Get(annotations, "volume.kubernetes.io/storage-provisioner"));
  if (claim->provisioner.empty()) {
    claim->provisioner = Text(Get(annotations, "volume.beta.kubernetes.io/storage-provisioner"));
  }
  const auto spec = Get(in, "spec");
  claim->volume = Text(Get(spec, "volumeName"));
  claim->storage_class = Text(Get(spec, "storageClassName"));
  EachItem(Get(spec, "accessModes"),
           [&](const element& mode) { claim->access_modes.push_back(Text(mode)); });
  claim->block = View(Get(spec, "volumeMode")) == "Block";
  claim->request_text = Text(Get(Get(Get(spec, "resources"), "requests"), "storage"));
  claim->request = Bytes(claim->request_text);
  const auto status = Get(in, "status");
  claim->bound = View(Get(status, "phase")) == "Bound";
  claim->capacity = Bytes(View(Get(Get(status, "capacity"), "storage")));
  claim->resizing = Get(status, "allocatedResourceStatuses").has_value();
  EachItem(Get(status, "conditions"), [&](const element& c) {
    const std::string_view type = View(Get(c, "type"));
    if (type == "Resizing" || type == "FileSystemResizePending") claim->resizing = true;
  });
}

void Read(const element& in, JsonObject* object) {
  const auto metadata = Get(in, "metadata");
  object->uid = Text(Get(metadata, "uid"));
  object->ns = Text(Get(metadata, "namespace"));
  object->name = Text(Get(metadata, "name"));
  object->resource_version = Version(metadata);
  object->deleting = Get(metadata, "deletionTimestamp").has_value();
  nlohmann::json body = ToJson(in);
  if (body.is_object() && body.contains("metadata")) body["metadata"].erase("managedFields");
  object->body = std::make_shared<const nlohmann::json>(std::move(body));
}

Error NotJson(const char* what, simdjson::error_code code) {
  return MakeError(Code::kInternal, std::string(what) + ": " + simdjson::error_message(code));
}

}  // namespace

bool Matches(const rules::LabelSelector& selector, const Strings& labels) {
  return selector.MatchesWith([&labels](std::string_view key) -> std::optional<std::string_view> {
    const auto it = labels.find(key);
    if (it == labels.end()) return std::nullopt;
    return std::string_view(it->second);
  });
}

std::string Key(std::string_view ns, std::string_view name) {
  return ns.empty() ? std::string(name) : std::string(ns) + "/" + std::string(name);
}

void PutAll(std::vector<JsonObject> all, JsonObjects* objects) {
  objects->clear();
  for (JsonObject& o : all) {
    std::string key = Key(o.ns, o.name);
    objects->insert_or_assign(std::move(key), std::move(o));
  }
}

void Put(Change change, JsonObject object, JsonObjects* objects) {
  std::string key = Key(object.ns, object.name);
  if (change == Change::kDeleted) {
    objects->erase(key);
  } else {
    objects->insert_or_assign(std::move(key), std::move(object));
  }
}

template <class Object>
struct Decoder<Object>::Parser {
  simdjson::dom::parser json;
};

template <class Object>
Decoder<Object>::Decoder() : parser_(std::make_unique<Parser>()) {}
template <class Object>
Decoder<Object>::~Decoder() = default;

template <class Object>
Result<WatchEvent<Object>> Decoder<Object>::Event(std::string* line) {
  line->reserve(line->size() + simdjson::SIMDJSON_PADDING);  // spares the parser a copy
  element root;
  const simdjson::error_code code = parser_->json.parse(*line).get(root);
  if (code != simdjson::SUCCESS) return NotJson("watch event", code);
  const std::string_view type = View(Get(root, "type"));
  const auto in = Get(root, "object");
  if (!in) return MakeError(Code::kInternal, "watch event without an object");
  WatchEvent<Object> event;
  if (type == "ERROR") {
    int64_t status = 0;
    const auto number = Get(in, "code");
    if (number && number->get(status) == simdjson::SUCCESS)
      event.error_code = static_cast<int>(status);
    return event;
  }
  if (type == "BOOKMARK") {
    event.change = Change::kBookmark;
    event.object.resource_version = Version(Get(in, "metadata"));
    return event;
  }
  event.change = type == "DELETED" ? Change::kDeleted
                 : type == "ADDED" ? Change::kAdded
                                   : Change::kModified;
  Read(*in, &event.object);
  return event;
}

template <class Object>
Result<Page<Object>> Decoder<Object>::List(std::string* body) {
  body->reserve(body->size() + simdjson::SIMDJSON_PADDING);
  element root;
  const simdjson::error_code code = parser_->json.parse(*body).get(root);
  if (code != simdjson::SUCCESS) return NotJson("list", code);
  Page<Object> page;
  const auto metadata = Get(root, "metadata");
  page.resource_version = Version(metadata);
  page.continue_token = Text(Get(metadata, "continue"));
  EachItem(Get(root, "items"),
           [&](const element& item) { Read(item, &page.objects.emplace_back()); });
  return page;
}

template class Decoder<Pod>;
template class Decoder<NodeObject>;
template class Decoder<Claim>;
template class Decoder<JsonObject>;

}  // namespace kcm::devcluster::nodes
