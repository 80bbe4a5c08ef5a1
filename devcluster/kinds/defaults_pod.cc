// SPDX-License-Identifier: Apache-2.0
// Defaults of pods, pod templates and volumes.
#include "devcluster/kinds/defaults.h"
#include "devcluster/kinds/fields.h"

namespace kcm::devcluster::kinds {

namespace {

void DefaultHttpGet(Json& handler) {
  Json* get = Find(handler, "httpGet");
  if (get == nullptr) return;
  SetDefaultText(*get, "path", "/");
  SetDefaultText(*get, "scheme", "HTTP");
}

// Numbers of probes are plain: 0 means "not given".
void DefaultProbe(Json& probe) {
  DefaultHttpGet(probe);
  if (Json* grpc = Find(probe, "grpc")) SetDefault(*grpc, "service", "");
  const auto number = [&](const char* name, int value) {
    if (Integer(probe, name) == 0) probe[name] = value;
  };
  number("timeoutSeconds", 1);
  number("periodSeconds", 10);
  number("successThreshold", 1);
  number("failureThreshold", 3);
}

// Always for a missing tag and for "latest"; a digest pins the image (spec C6).
std::string_view PullPolicyOf(std::string_view image) {
  if (image.find('@') != std::string_view::npos) return "IfNotPresent";
  const size_t slash = image.rfind('/');
  const std::string_view last = slash == std::string_view::npos ? image : image.substr(slash + 1);
  const size_t colon = last.rfind(':');
  return colon == std::string_view::npos || last.substr(colon + 1) == "latest" ? "Always"
                                                                               : "IfNotPresent";
}

void DefaultContainer(Json& container) {
  if (!container.is_object()) return;
  SetDefaultText(container, "terminationMessagePath", "/dev/termination-log");
  SetDefaultText(container, "terminationMessagePolicy", "File");
  SetDefaultText(container, "imagePullPolicy", PullPolicyOf(Text(container, "image")));
  SetDefault(container, "resources", Json::object());
  for (const char* list : {"ports"}) {
    if (Json* ports = Find(container, list); ports != nullptr && ports->is_array()) {
      for (Json& port : *ports) SetDefaultText(port, "protocol", "TCP");
    }
  }
  if (Json* env = Find(container, "env"); env != nullptr && env->is_array()) {
    for (Json& variable : *env) {
      if (Json* ref = Find(variable, "valueFrom.fieldRef"))
        SetDefaultText(*ref, "apiVersion", "v1");
      if (Json* key = Find(variable, "valueFrom.fileKeyRef")) SetDefault(*key, "optional", false);
    }
  }
  for (const char* probe : {"livenessProbe", "readinessProbe", "startupProbe"}) {
    if (Json* p = Find(container, probe)) DefaultProbe(*p);
  }
  for (const char* hook : {"lifecycle.postStart", "lifecycle.preStop"}) {
    if (Json* h = Find(container, hook)) DefaultHttpGet(*h);
  }
}

void DefaultDownwardItems(Json& holder) {
  Json* items = Find(holder, "items");
  if (items == nullptr || !items->is_array()) return;
  for (Json& item : *items) {
    if (Json* ref = Find(item, "fieldRef")) SetDefaultText(*ref, "apiVersion", "v1");
  }
}

void DefaultVolume(Json& volume) {
  if (!volume.is_object()) return;
  bool has_source = false;
  for (const auto& [name, value] : volume.items())
    has_source = has_source || (name != "name" && !value.is_null());
  if (!has_source) volume["emptyDir"] = Json::object();
  DefaultVolumeSource(volume);
  for (const char* kind : {"secret", "configMap", "downwardAPI", "projected"}) {
    if (Json* source = Find(volume, kind)) SetDefault(*source, "defaultMode", 420);
  }
  if (Json* downward = Find(volume, "downwardAPI")) DefaultDownwardItems(*downward);
  if (Json* image = Find(volume, "image")) {
    SetDefaultText(*image, "pullPolicy", PullPolicyOf(Text(*image, "reference")));
  }
  if (Json* spec = Find(volume, "ephemeral.volumeClaimTemplate.spec")) DefaultClaimSpec(*spec);
  if (Json* sources = Find(volume, "projected.sources");
      sources != nullptr && sources->is_array()) {
    for (Json& source : *sources) {
      if (Json* token = Find(source, "serviceAccountToken"))
        SetDefault(*token, "expirationSeconds", 3600);
      if (Json* downward = Find(source, "downwardAPI")) DefaultDownwardItems(*downward);
    }
  }
}

template <class Change>
void ForEachContainer(Json& spec, Change change) {
  for (const char* list : {"initContainers", "containers", "ephemeralContainers"})
    ForEach(spec, list, change);
}

}  // namespace

void DefaultVolumeSource(Json& source) {
  if (Json* host_path = Find(source, "hostPath")) SetDefault(*host_path, "type", "");
  if (Json* iscsi = Find(source, "iscsi")) SetDefaultText(*iscsi, "iscsiInterface", "default");
  if (Json* rbd = Find(source, "rbd")) {
    SetDefaultText(*rbd, "pool", "rbd");
    SetDefaultText(*rbd, "user", "admin");
    SetDefaultText(*rbd, "keyring", "/etc/ceph/keyring");
  }
  if (Json* disk = Find(source, "azureDisk")) {
    SetDefault(*disk, "cachingMode", "ReadWrite");
    SetDefault(*disk, "kind", "Shared");
    SetDefault(*disk, "fsType", "ext4");
    SetDefault(*disk, "readOnly", false);
  }
  if (Json* io = Find(source, "scaleIO")) {
    SetDefaultText(*io, "storageMode", "ThinProvisioned");
    SetDefaultText(*io, "fsType", "xfs");
  }
}

void DefaultClaimSpec(Json& spec) { SetDefault(spec, "volumeMode", "Filesystem"); }

void DefaultPodSpec(Json& spec) {
  if (!spec.is_object()) return;
  SetDefaultText(spec, "restartPolicy", "Always");
  SetDefault(spec, "terminationGracePeriodSeconds", 30);
  SetDefaultText(spec, "dnsPolicy", "ClusterFirst");
  SetDefault(spec, "securityContext", Json::object());
  SetDefaultText(spec, "schedulerName", "default-scheduler");
  ForEach(spec, "volumes", DefaultVolume);
  ForEachContainer(spec, DefaultContainer);
  // The deprecated member mirrors the account's name in both directions.
  if (Text(spec, "serviceAccountName").empty() && !Text(spec, "serviceAccount").empty()) {
    spec["serviceAccountName"] = spec["serviceAccount"];
  }
  if (!Text(spec, "serviceAccountName").empty())
    spec["serviceAccount"] = spec["serviceAccountName"];
  if (Flag(spec, "hostNetwork")) {
    for (const char* list : {"initContainers", "containers"}) {
      ForEach(spec, list, [](Json& container) {
        ForEach(container, "ports", [](Json& port) {
          if (Integer(port, "hostPort") == 0) port["hostPort"] = Integer(port, "containerPort");
        });
      });
    }
  }
}

void DefaultPodTemplate(Json& pod_template) { DefaultPodSpec(Child(pod_template, "spec")); }

void DefaultPod(Json& pod) {
  Json& spec = Child(pod, "spec");
  SetDefault(spec, "enableServiceLinks", true);
  for (const char* list : {"initContainers", "containers"}) {
    ForEach(spec, list, [](Json& container) {
      const Json* limits = Find(container, "resources.limits");
      if (limits == nullptr || !limits->is_object() || limits->empty()) return;
      const Json copy = *limits;
      Json& requests = Child(container, "resources.requests");
      for (const auto& [name, amount] : copy.items()) SetDefault(requests, name, amount);
    });
  }
  DefaultPodSpec(spec);
}

}  // namespace kcm::devcluster::kinds
