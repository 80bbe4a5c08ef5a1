// SPDX-License-Identifier: Apache-2.0
// Admission of pods: accounts, tolerations, priority, runtime classes.
#include <algorithm>

#include "devcluster/api/api_error.h"
#include "devcluster/kinds/admission.h"
#include "devcluster/kinds/fields.h"
#include "kcm/rules/json_node.h"
#include "kcm/rules/quantity.h"

namespace kcm::devcluster::kinds {

namespace {

constexpr const char* kTokenPath = "/var/run/secrets/kubernetes.io/serviceaccount";

bool IsMirror(const Json& pod) {
  const Json* annotations = Find(pod, "metadata.annotations");
  return annotations != nullptr && Key(*annotations, "kubernetes.io/config.mirror") != nullptr;
}

bool NewPod(const Admission& a) { return a.Of("pods") && a.IsCreate() && a.Main(); }

Json TokenVolume(const std::string& name) {
  Json volume = Json::parse(R"({"projected": {"defaultMode": 420, "sources": [
    {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
    {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
    {"downwardAPI": {"items": [{"path": "namespace",
                                "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}}]}})");
  volume["name"] = name;
  return volume;
}

void MountToken(Json& spec) {
  std::string name;
  for (const Json& volume : Items(spec, "volumes")) {
    if (Text(volume, "name").starts_with("kube-api-access-")) name = Text(volume, "name");
  }
  const bool present = !name.empty();
  if (!present) name = "kube-api-access-" + RandomSuffix();
  bool mounted = false;
  for (const char* list : {"initContainers", "containers"}) {
    Json* containers = Find(spec, list);
    if (containers == nullptr || !containers->is_array()) continue;
    for (Json& container : *containers) {
      const Json& mounts = Items(container, "volumeMounts");
      const bool taken = std::any_of(mounts.begin(), mounts.end(), [](const Json& mount) {
        return Text(mount, "mountPath") == kTokenPath;
      });
      if (taken) continue;
      Json& own = container["volumeMounts"];
      if (!own.is_array()) own = Json::array();
      own.push_back({{"name", name}, {"readOnly", true}, {"mountPath", kTokenPath}});
      mounted = true;
    }
  }
  if (!mounted || present) return;
  Json& volumes = spec["volumes"];
  if (!volumes.is_array()) volumes = Json::array();
  volumes.push_back(TokenVolume(name));
}

void Tolerate(Json& tolerations, const char* key) {
  for (const Json& t : tolerations) {
    const std::string_view given = Text(t, "key"), effect = Text(t, "effect");
    if ((given == key || given.empty()) && (effect == "NoExecute" || effect.empty())) return;
  }
  tolerations.push_back(
      {{"key", key}, {"operator", "Exists"}, {"effect", "NoExecute"}, {"tolerationSeconds", 300}});
}

const Gvr& PriorityClasses() {
  static const Gvr* const kGvr = new Gvr{"scheduling.k8s.io", "v1", "priorityclasses"};
  return *kGvr;
}

// The class of highest precedence among global defaults: there should be one; of several the lowest
// value counts.
std::optional<Json> GlobalDefault(const Reader& reader) {
  std::optional<Json> found;
  for (Json& c : reader.List(PriorityClasses(), "")) {
    if (Flag(c, "globalDefault") && (!found || Integer(c, "value") < Integer(*found, "value")))
      found = std::move(c);
  }
  return found;
}

Refusal CheckPriorityClass(const Admission& a) {
  const std::string name(Text(a.object, "metadata.name"));
  if (a.info.operation == Operation::kDelete) {
    const std::string& target = a.info.name;
    if (target == "system-cluster-critical" || target == "system-node-critical") {
      return a.Forbid("this is a system priority class and cannot be deleted");
    }
    return std::nullopt;
  }
  if (!Flag(a.object, "globalDefault")) return std::nullopt;
  const std::optional<Json> other = GlobalDefault(*a.info.reader);
  if (!other || Text(*other, "metadata.name") == name) return std::nullopt;
  return a.Forbid("PriorityClass " + std::string(Text(*other, "metadata.name")) +
                  " is already marked as default. Only one default can exist");
}

}  // namespace

Refusal AssignAccount(const Admission& a) {
  if (!NewPod(a)) return std::nullopt;
  Json& spec = Child(a.object, "spec");
  if (IsMirror(a.object)) {
    if (!Text(spec, "serviceAccountName").empty())
      return a.Forbid("a mirror pod may not reference service accounts");
    return std::nullopt;
  }
  SetDefaultText(spec, "serviceAccountName", "default");
  spec["serviceAccount"] = spec["serviceAccountName"];
  const std::string name(Text(spec, "serviceAccountName"));
  static const Gvr* const kAccounts = new Gvr{"", "v1", "serviceaccounts"};
  const std::optional<Json> account = a.info.reader->Get(*kAccounts, a.info.ns, name);
  if (!account) {
    return a.Forbid("error looking up service account " + a.info.ns + "/" + name +
                    ": serviceaccount \"" + name + "\" not found");
  }
  const Json* own = Find(spec, "automountServiceAccountToken");
  const bool mount =
      own != nullptr ? *own == true : Flag(*account, "automountServiceAccountToken", true);
  if (mount) MountToken(spec);
  if (IsEmpty(Find(spec, "imagePullSecrets")) && !Items(*account, "imagePullSecrets").empty()) {
    spec["imagePullSecrets"] = Items(*account, "imagePullSecrets");
  }
  return std::nullopt;
}

Refusal DefaultTolerations(const Admission& a) {
  if (!a.Of("pods") || !a.Main() || !(a.IsCreate() || a.IsUpdate())) return std::nullopt;
  Json& tolerations = Child(a.object, "spec")["tolerations"];
  if (!tolerations.is_array()) tolerations = Json::array();
  Tolerate(tolerations, "node.kubernetes.io/not-ready");
  Tolerate(tolerations, "node.kubernetes.io/unreachable");
  return std::nullopt;
}

Refusal ResolvePriority(const Admission& a) {
  if (a.Of("priorityclasses", "scheduling.k8s.io") && a.Main()) return CheckPriorityClass(a);
  if (!a.Of("pods") || !a.Main()) return std::nullopt;
  Json& spec = Child(a.object, "spec");
  if (a.IsUpdate()) {
    // An update that leaves them out keeps what admission once computed.
    for (const char* member : {"priority", "preemptionPolicy"}) {
      const Json* before = Find(*a.old, std::string("spec.") + member);
      if (Find(spec, member) == nullptr && before != nullptr) spec[member] = *before;
    }
    return std::nullopt;
  }
  if (!a.IsCreate()) return std::nullopt;
  std::string name(Text(spec, "priorityClassName"));
  std::optional<Json> chosen;
  if (name.empty()) {
    chosen = GlobalDefault(*a.info.reader);
    if (chosen) spec["priorityClassName"] = Text(*chosen, "metadata.name");
  } else {
    chosen = a.info.reader->Get(PriorityClasses(), "", name);
    if (!chosen) return a.Forbid("no PriorityClass with name " + name + " was found");
  }
  const int64_t priority = chosen ? Integer(*chosen, "value") : 0;
  if (const Json* given = Find(spec, "priority"); given != nullptr && *given != priority) {
    return a.Forbid("the integer value of priority (" + given->dump() +
                    ") must not be provided in pod spec; priority admission "
                    "controller computed " +
                    std::to_string(priority) + " from the given PriorityClass name");
  }
  spec["priority"] = priority;
  const std::string policy(chosen ? Text(*chosen, "preemptionPolicy") : "PreemptLowerPriority");
  if (const std::string given(Text(spec, "preemptionPolicy")); !given.empty() && given != policy) {
    return a.Forbid("the string value of PreemptionPolicy (" + given +
                    ") must not be provided in pod spec; priority admission "
                    "controller computed " +
                    policy + " from the given PriorityClass name");
  }
  if (!policy.empty()) spec["preemptionPolicy"] = policy;
  return std::nullopt;
}

Refusal ApplyRuntimeClass(const Admission& a) {
  if (!NewPod(a)) return std::nullopt;
  Json& spec = Child(a.object, "spec");
  const std::string name(Text(spec, "runtimeClassName"));
  std::optional<Json> runtime;
  if (!name.empty()) {
    static const Gvr* const kRuntimes = new Gvr{"node.k8s.io", "v1", "runtimeclasses"};
    runtime = a.info.reader->Get(*kRuntimes, "", name);
    if (!runtime) return a.Forbid("pod rejected: RuntimeClass \"" + name + "\" not found");
  }
  const Json* fixed = runtime ? Find(*runtime, "overhead.podFixed") : nullptr;
  const Json* given = Find(spec, "overhead");
  if (fixed == nullptr) {
    if (!IsEmpty(given))
      return a.Forbid(
          "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead");
  } else if (!IsEmpty(given) && *given != *fixed) {
    return a.Forbid("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
  } else {
    spec["overhead"] = *fixed;
  }
  if (!runtime) return std::nullopt;
  if (const Json* labels = Find(*runtime, "scheduling.nodeSelector");
      labels != nullptr && labels->is_object()) {
    Json& selector = Child(spec, "nodeSelector");
    for (const auto& [key, value] : labels->items()) {
      if (const Json* own = Key(selector, key); own != nullptr && *own != value) {
        return a.Forbid("pod rejected: conflict: runtimeClass.scheduling.nodeSelector[" + key +
                        "] = " + value.dump() + "; pod.spec.nodeSelector[" + key +
                        "] = " + own->dump());
      }
      selector[key] = value;
    }
  }
  for (const Json& toleration : Items(*runtime, "scheduling.tolerations")) {
    Json& own = spec["tolerations"];
    if (!own.is_array()) own = Json::array();
    if (std::find(own.begin(), own.end(), toleration) == own.end()) own.push_back(toleration);
  }
  return std::nullopt;
}

Refusal CheckResize(const Admission& a) {
  if (!a.Of("pods") || !a.IsUpdate() || a.info.subresource != "resize") return std::nullopt;
  const std::string node_name(Text(*a.old, "spec.nodeName"));
  static const Gvr* const kNodes = new Gvr{"", "v1", "nodes"};
  const auto requests = [](const Json& pod, const char* resource) {
    rules::Quantity sum;
    for (const Json& container : Items(pod, "spec.containers")) {
      sum += rules::Quantity::Of(
          rules::JsonNode(container).Get("resources").Get("requests").Get(resource));
    }
    return sum;
  };
  bool changed = false;
  for (const char* resource : {"cpu", "memory"})
    changed = changed || requests(a.object, resource) != requests(*a.old, resource);
  if (!changed) return std::nullopt;
  const std::optional<Json> node = a.info.reader->Get(*kNodes, "", node_name);
  if (!node) return a.Forbid("node \"" + node_name + "\" not found");
  for (const char* resource : {"cpu", "memory"}) {
    const bool cpu = std::string_view(resource) == "cpu";
    const rules::Quantity wanted = requests(a.object, resource);
    const rules::Quantity has =
        rules::Quantity::Of(rules::JsonNode(*node).Path("status.allocatable").Get(resource));
    if (wanted <= has) continue;
    const auto shown = [cpu](const rules::Quantity& q) {
      return std::to_string(cpu ? q.MilliValue() : q.Value());
    };
    ApiError error =
        a.Forbid(std::string("node didn't have enough allocatable resources: ") + resource +
                 ", requested: " + shown(wanted) + ", allocatable: " + shown(has));
    error.details["causes"] = Json::array({Json{{"reason", "NodeCapacity"}}});
    return error;
  }
  return std::nullopt;
}

}  // namespace kcm::devcluster::kinds
