// SPDX-License-Identifier: Apache-2.0
// Validation of pods and pod specs.
#include <algorithm>
#include <set>

#include "devcluster/api/api_error.h"
#include "devcluster/kinds/fields.h"
#include "devcluster/kinds/go_diff.h"
#include "devcluster/kinds/strategy.h"
#include "devcluster/kinds/validate.h"
#include "kcm/rules/json_node.h"
#include "kcm/rules/name_validation.h"
#include "kcm/rules/quantity.h"

namespace kcm::devcluster::kinds {

namespace {

std::string At(const std::string& path, const char* member, size_t i) {
  return path + "." + member + "[" + std::to_string(i) + "]";
}

void LabelName(FieldErrors& out, std::string_view name, const std::string& path) {
  if (name.empty()) {
    out.push_back(Required(path, ""));
    return;
  }
  for (const std::string& fault : rules::ValidateDns1123Label(name))
    out.push_back(InvalidValue(path, GoQuote(name), fault));
}

void ValidatePorts(FieldErrors& out, const Json& container, const std::string& path) {
  const Json& ports = Items(container, "ports");
  std::set<std::string> names;
  for (size_t i = 0; i < ports.size(); ++i) {
    const std::string at = At(path, "ports", i);
    if (const std::string name(Text(ports[i], "name")); !name.empty()) {
      const Faults faults = CheckPortName(name);
      for (const std::string& fault : faults)
        out.push_back(InvalidValue(at + ".name", GoQuote(name), fault));
      if (faults.empty() && !names.insert(name).second)
        out.push_back(Duplicate(at + ".name", GoQuote(name)));
    }
    const int64_t port = Integer(ports[i], "containerPort");
    if (port == 0) {
      out.push_back(Required(at + ".containerPort", ""));
    } else if (port < 1 || port > 65535) {
      out.push_back(InvalidValue(at + ".containerPort", std::to_string(port),
                                 "must be between 1 and 65535, inclusive"));
    }
    OneOf(out, ports[i], "protocol", {"SCTP", "TCP", "UDP"}, at + ".");
  }
}

void ValidateResources(FieldErrors& out, const Json& container, const std::string& path) {
  const Json* requests = Find(container, "resources.requests");
  if (requests == nullptr || !requests->is_object()) return;
  for (const auto& [name, amount] : requests->items()) {
    const rules::Quantity request = rules::Quantity::Of(rules::JsonNode(amount));
    const Json* limits = Find(container, "resources.limits");
    const Json* limit = limits == nullptr ? nullptr : Key(*limits, name);
    if (request.Sign() < 0) {
      out.push_back(InvalidValue(path + ".resources.requests[" + name + "]", amount.dump(),
                                 "must be greater than or equal to 0"));
    }
    if (limit != nullptr && request > rules::Quantity::Of(rules::JsonNode(*limit))) {
      out.push_back(
          InvalidValue(path + ".resources.requests", amount.dump(),
                       "must be less than or equal to " + name + " limit of " +
                           (limit->is_string() ? limit->get<std::string>() : limit->dump())));
    }
  }
}

void ValidateMounts(FieldErrors& out, const Json& container, const std::string& path,
                    const std::set<std::string>& volumes) {
  const Json& mounts = Items(container, "volumeMounts");
  std::set<std::string> paths;
  for (size_t i = 0; i < mounts.size(); ++i) {
    const std::string at = At(path, "volumeMounts", i);
    const std::string name(Text(mounts[i], "name")), mount_path(Text(mounts[i], "mountPath"));
    if (name.empty()) {
      out.push_back(Required(at + ".name", ""));
    } else if (!volumes.contains(name)) {
      out.push_back(NotFoundField(at + ".name", GoQuote(name)));
    }
    if (mount_path.empty()) out.push_back(Required(at + ".mountPath", ""));
    if (!paths.insert(mount_path).second) {
      out.push_back(InvalidValue(at + ".mountPath", GoQuote(mount_path), "must be unique"));
    }
  }
}

void ValidateImage(FieldErrors& out, const std::string& image, const std::string& path) {
  if (image.empty()) {
    out.push_back(Required(path + ".image", ""));
  } else if (image.front() == ' ' || image.back() == ' ') {
    out.push_back(InvalidValue(path + ".image", GoQuote(image),
                               "must not have leading or trailing whitespace"));
  }
}

void ValidateContainer(FieldErrors& out, const Json& container, const std::string& path,
                       const std::set<std::string>& volumes, std::set<std::string>* names) {
  const std::string name(Text(container, "name")), image(Text(container, "image"));
  LabelName(out, name, path + ".name");
  if (!name.empty() && !names->insert(name).second)
    out.push_back(Duplicate(path + ".name", GoQuote(name)));
  ValidateImage(out, image, path);
  OneOf(out, container, "terminationMessagePolicy", {"FallbackToLogsOnError", "File"}, path + ".");
  ValidatePorts(out, container, path);
  const Json& env = Items(container, "env");
  for (size_t i = 0; i < env.size(); ++i) {
    if (Text(env[i], "name").empty()) out.push_back(Required(At(path, "env", i) + ".name", ""));
  }
  ValidateMounts(out, container, path, volumes);
  OneOf(out, container, "imagePullPolicy", {"Always", "IfNotPresent", "Never"}, path + ".");
  ValidateResources(out, container, path);
}

std::set<std::string> ValidateVolumes(FieldErrors& out, const Json& spec, const std::string& path) {
  std::set<std::string> names;
  const Json& volumes = Items(spec, "volumes");
  for (size_t i = 0; i < volumes.size(); ++i) {
    const std::string at = At(path, "volumes", i), name(Text(volumes[i], "name"));
    LabelName(out, name, at + ".name");
    if (!name.empty() && !names.insert(name).second)
      out.push_back(Duplicate(at + ".name", GoQuote(name)));
    int sources = 0;
    for (const auto& [member, value] : volumes[i].items()) {
      if (member == "name") continue;
      if (++sources == 2)
        out.push_back(ForbiddenField(at + "." + member, "may not specify more than 1 volume type"));
    }
  }
  return names;
}

void ValidateTolerations(FieldErrors& out, const Json& spec, const std::string& path) {
  const Json& list = Items(spec, "tolerations");
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string at = At(path, "tolerations", i);
    const std::string_view key = Text(list[i], "key"), op = Text(list[i], "operator"),
                           effect = Text(list[i], "effect");
    if (!key.empty()) {
      for (const std::string& fault : rules::ValidateQualifiedName(key)) {
        out.push_back(InvalidValue(at + ".key", GoQuote(key), fault));
      }
    } else if (op != "Exists") {
      out.push_back(InvalidValue(at + ".operator", GoQuote(op),
                                 "operator must be Exists when `key` is empty, which means "
                                 "\"match all values and all keys\""));
    }
    if (Find(list[i], "tolerationSeconds") != nullptr && effect != "NoExecute") {
      out.push_back(InvalidValue(at + ".effect", GoQuote(effect),
                                 "effect must be 'NoExecute' when `tolerationSeconds` is set"));
    }
    if (!op.empty() && op != "Exists" && op != "Equal" && op != "Lt" && op != "Gt") {
      out.push_back(NotSupported(at + ".operator", GoQuote(op), {"Equal", "Exists"}));
    }
    if (!effect.empty() && effect != "NoSchedule" && effect != "PreferNoSchedule" &&
        effect != "NoExecute") {
      out.push_back(NotSupported(at + ".effect", GoQuote(effect),
                                 {"NoExecute", "NoSchedule", "PreferNoSchedule"}));
    }
  }
}

void Subdomain(FieldErrors& out, const Json& spec, const char* member, const std::string& path) {
  const std::string_view name = Text(spec, member);
  if (name.empty()) return;
  for (const std::string& fault : rules::ValidateDns1123Subdomain(name)) {
    out.push_back(InvalidValue(path + "." + member, GoQuote(name), fault));
  }
}

// The spec without what an update of a running pod may change (spec C7).
Json Fixed(Json spec, const Json& from, bool gated) {
  const auto copy = [&](const char* list, const char* member) {
    Json* items = Find(spec, list);
    const Json& other = Items(from, list);
    if (items == nullptr || !items->is_array() || items->size() != other.size()) return;
    for (size_t i = 0; i < items->size(); ++i) {
      if (const Json* value = Find(other[i], member))
        (*items)[i][member] = *value;
      else
        (*items)[i].erase(member);
    }
  };
  const auto take = [&](const char* member) {
    if (const Json* value = Find(from, member))
      spec[member] = *value;
    else
      spec.erase(member);
  };
  copy("containers", "image");
  copy("initContainers", "image");
  for (const char* member : {"activeDeadlineSeconds", "tolerations", "schedulingGates"})
    take(member);
  if (Integer(spec, "terminationGracePeriodSeconds") == 1 &&
      Integer(from, "terminationGracePeriodSeconds") < 0) {
    take("terminationGracePeriodSeconds");
  }
  if (gated) {
    take("nodeSelector");
    take("affinity");
  }
  return spec;
}

constexpr const char* kPodUpdateText =
    "pod updates may not change fields other than "
    "`spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

void ValidateSpecUpdate(FieldErrors& out, const Json& pod, const Json& old, const Schema& schema) {
  for (const char* list : {"containers", "initContainers"}) {
    const std::string path = std::string("spec.") + list;
    if (Items(pod, path).size() == Items(old, path).size()) continue;
    out.push_back(ForbiddenField(path, std::string("pod updates may not add or remove ") +
                                           (list[0] == 'c' ? "containers" : "init containers")));
    return;
  }
  for (const char* list : {"containers", "initContainers"}) {
    const Json& containers = Items(pod, std::string("spec.") + list);
    for (size_t i = 0; i < containers.size(); ++i)
      ValidateImage(out, std::string(Text(containers[i], "image")), At("spec", list, i));
  }
  const Json* was = Find(old, "spec.activeDeadlineSeconds");
  const Json* now = Find(pod, "spec.activeDeadlineSeconds");
  if (was != nullptr && now == nullptr) {
    out.push_back(InvalidValue("spec.activeDeadlineSeconds", "null",
                               "must not update from a positive integer to nil value"));
  } else if (was != nullptr && Integer(pod, "spec.activeDeadlineSeconds") >
                                   Integer(old, "spec.activeDeadlineSeconds")) {
    out.push_back(InvalidValue("spec.activeDeadlineSeconds", now->dump(),
                               "must be less than or equal to previous value"));
  }
  const Json& before = Items(old, "spec.tolerations");
  const Json& after = Items(pod, "spec.tolerations");
  for (const Json& toleration : before) {
    Json seconds = toleration;
    seconds.erase("tolerationSeconds");
    const bool kept = std::any_of(after.begin(), after.end(), [&](Json t) {
      t.erase("tolerationSeconds");
      return t == seconds;
    });
    if (!kept) {
      out.push_back(
          ForbiddenField("spec.tolerations",
                         "existing toleration can not be modified except its tolerationSeconds"));
      break;
    }
  }
  const Json& gates = Items(old, "spec.schedulingGates");
  for (const Json& gate : Items(pod, "spec.schedulingGates")) {
    if (std::find(gates.begin(), gates.end(), gate) == gates.end()) {
      out.push_back(ForbiddenField("spec.schedulingGates",
                                   "only deletion is allowed, but found new scheduling gate '" +
                                       std::string(Text(gate, "name")) + "'"));
    }
  }
  const Json spec = pod.value("spec", Json::object()), previous = old.value("spec", Json::object());
  if (Fixed(spec, previous, !gates.empty()) != previous) {
    out.push_back(
        ForbiddenField("spec", std::string(kPodUpdateText) + "\n" +
                                   GoDiff(previous, spec, *schema.Find("core.v1.PodSpec"))));
  }
}

void ValidateResize(FieldErrors& out, const Json& pod, const Json& old) {
  if (const std::string before = QosClass(old); before != QosClass(pod)) {
    out.push_back(InvalidValue("spec", GoQuote(before),
                               "Pod QOS Class may not change as a result of resizing"));
  }
  const Json& now = Items(pod, "spec.containers");
  const Json& was = Items(old, "spec.containers");
  for (size_t i = 0; i < now.size() && i < was.size(); ++i) {
    for (const char* kind : {"requests", "limits"}) {
      const std::string path = std::string("resources.") + kind;
      if (!IsEmpty(Find(was[i], path)) && IsEmpty(Find(now[i], path))) {
        out.push_back(ForbiddenField(At("spec", "containers", i) + "." + path,
                                     std::string("resource ") + kind + " cannot be removed"));
      }
    }
  }
}

void ValidateEphemeralUpdate(FieldErrors& out, const Json& pod, const Json& old,
                             const Schema& schema) {
  const Json& now = Items(pod, "spec.ephemeralContainers");
  const Json& before = Items(old, "spec.ephemeralContainers");
  for (size_t i = 0; i < before.size(); ++i) {
    const auto it = std::find_if(now.begin(), now.end(), [&](const Json& c) {
      return Text(c, "name") == Text(before[i], "name");
    });
    const std::string name(Text(before[i], "name"));
    if (it == now.end()) {
      out.push_back(ForbiddenField(
          "spec.ephemeralContainers",
          "existing ephemeral containers " + GoQuote(name) + " may not be removed\n"));
    } else if (*it != before[i]) {
      out.push_back(ForbiddenField(
          "spec.ephemeralContainers",
          "existing ephemeral containers " + GoQuote(name) + " may not be changed\n" +
              GoDiff(before[i], *it, *schema.Find("core.v1.EphemeralContainer"))));
    }
  }
}

}  // namespace

void WarnOfPodSpec(const RequestInfo& info, const Json& spec, const std::string& path) {
  const Json& volumes = Items(spec, "volumes");
  for (size_t i = 0; i < volumes.size(); ++i) {
    const std::string at = At(path, "volumes", i);
    if (Find(volumes[i], "rbd") != nullptr) {
      Warn(info, at + ".rbd: deprecated in v1.28, non-functional in v1.31+");
    }
    if (Find(volumes[i], "cephfs") != nullptr) {
      Warn(info, at + ".cephfs: deprecated in v1.28, non-functional in v1.31+");
    }
    if (Find(volumes[i], "gitRepo") != nullptr) Warn(info, at + ".gitRepo: deprecated in v1.11");
  }
  const Json& spread = Items(spec, "topologySpreadConstraints");
  for (size_t i = 0; i < spread.size(); ++i) {
    if (Find(spread[i], "labelSelector") != nullptr) continue;
    Warn(info, At(path, "topologySpreadConstraints", i) +
                   ".labelSelector: a null labelSelector results in matching no pod");
  }
}

FieldErrors ValidatePodSpec(const Json& spec, const std::string& path) {
  FieldErrors out;
  const std::set<std::string> volumes = ValidateVolumes(out, spec, path);
  const Json& containers = Items(spec, "containers");
  std::set<std::string> names;
  if (containers.empty()) out.push_back(Required(path + ".containers", ""));
  for (const char* list : {"containers", "initContainers", "ephemeralContainers"}) {
    const Json& items = Items(spec, list);
    for (size_t i = 0; i < items.size(); ++i)
      ValidateContainer(out, items[i], At(path, list, i), volumes, &names);
  }
  OneOf(out, spec, "restartPolicy", {"Always", "OnFailure", "Never"}, path + ".");
  OneOf(out, spec, "dnsPolicy", {"ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"},
        path + ".");
  Append(out, ValidateLabels(Find(spec, "nodeSelector"), path + ".nodeSelector"));
  Subdomain(out, spec, "serviceAccountName", path);
  Subdomain(out, spec, "nodeName", path);
  if (const Json* seconds = Find(spec, "activeDeadlineSeconds")) {
    const int64_t value = Integer(spec, "activeDeadlineSeconds");
    if (value < 1 || value > 2147483647) {
      out.push_back(InvalidValue(path + ".activeDeadlineSeconds", seconds->dump(),
                                 "must be between 1 and 2147483647, inclusive"));
    }
  }
  Subdomain(out, spec, "schedulerName", path);
  ValidateTolerations(out, spec, path);
  Subdomain(out, spec, "priorityClassName", path);
  Subdomain(out, spec, "runtimeClassName", path);
  return out;
}

FieldErrors ValidatePod(const Validation& v, const Json& pod) {
  FieldErrors out;
  const Json* spec = Find(pod, "spec");
  Append(out, ValidatePodSpec(spec == nullptr ? Json::object() : *spec, "spec"));
  if (!IsEmpty(Find(pod, "spec.ephemeralContainers"))) {
    out.push_back(ForbiddenField("spec.ephemeralContainers", "cannot be set on create"));
  }
  if (!IsEmpty(Find(pod, "spec.schedulingGates")) && !Text(pod, "spec.nodeName").empty()) {
    out.push_back(ForbiddenField("spec.nodeName",
                                 "cannot be set until all schedulingGates have been cleared"));
  }
  const std::string_view name = Text(pod, "metadata.name");
  const Faults faults = rules::ValidateDns1123Label(name);
  if (!faults.empty() && rules::ValidateDns1123Subdomain(name).empty()) {
    Warn(v.info,
         "metadata.name: this is used in the Pod's hostname, which can result in surprising "
         "behavior; a DNS label is recommended: [" +
             rules::JoinProblems(faults) + "]");
  }
  if (spec != nullptr) WarnOfPodSpec(v.info, *spec, "spec");
  return out;
}

FieldErrors ValidatePodUpdate(const Validation& v, const Json& pod, const Json& old) {
  FieldErrors out;
  const std::string_view sub = v.info.subresource;
  if (sub == "status" || sub == "binding") return out;
  if (sub == "ephemeralcontainers") {
    Append(out, ValidatePodSpec(pod.value("spec", Json::object()), "spec"));
    ValidateEphemeralUpdate(out, pod, old, v.schema);
    return out;
  }
  if (sub == "resize") {
    ValidateResize(out, pod, old);
    return out;
  }
  ValidateSpecUpdate(out, pod, old, v.schema);
  return out;
}

}  // namespace kcm::devcluster::kinds
