// SPDX-License-Identifier: Apache-2.0
// The table of defaults.
#include "kcm/rules/pod_template_defaults.h"

#include <cstdint>

namespace kcm::rules {
namespace {

constexpr int64_t kEmptyObject = -1;

struct Default {
  std::string_view parent, name;
  std::string_view text = {};  // used when not empty
  int64_t number = 0;          // else; kEmptyObject: {}
};

constexpr Default kDefaults[] = {
    {"spec", "restartPolicy", "Always"},
    {"spec", "dnsPolicy", "ClusterFirst"},
    {"spec", "schedulerName", "default-scheduler"},
    {"spec", "terminationGracePeriodSeconds", {}, 30},
    {"spec", "securityContext", {}, kEmptyObject},
    {"ports", "protocol", "TCP"},
    {"httpGet", "scheme", "HTTP"},
    {"httpGet", "path", "/"},
    {"fieldRef", "apiVersion", "v1"},
    {"secret", "defaultMode", {}, 420},
    {"configMap", "defaultMode", {}, 420},
    {"downwardAPI", "defaultMode", {}, 420},
    {"projected", "defaultMode", {}, 420},
    {"serviceAccountToken", "expirationSeconds", {}, 3600},
    {"iscsi", "iscsiInterface", "default"},
    {"rbd", "pool", "rbd"},
    {"rbd", "user", "admin"},
    {"rbd", "keyring", "/etc/ceph/keyring"},
    {"azureDisk", "cachingMode", "ReadWrite"},
    {"azureDisk", "fsType", "ext4"},
    {"azureDisk", "kind", "Shared"},
    {"scaleIO", "storageMode", "ThinProvisioned"},
    {"scaleIO", "fsType", "xfs"},
};

constexpr Default kContainerDefaults[] = {
    {{}, "terminationMessagePath", "/dev/termination-log"},
    {{}, "terminationMessagePolicy", "File"},
    {{}, "resources", {}, kEmptyObject},
};

constexpr Default kProbeDefaults[] = {
    {{}, "timeoutSeconds", {}, 1},
    {{}, "periodSeconds", {}, 10},
    {{}, "successThreshold", {}, 1},
    {{}, "failureThreshold", {}, 3},
};

bool IsContainerList(std::string_view name) {
  return name == "containers" || name == "initContainers" || name == "ephemeralContainers";
}

bool IsProbe(std::string_view name) {
  return name == "livenessProbe" || name == "readinessProbe" || name == "startupProbe";
}

bool Is(const Default& d, Node value) {
  if (!d.text.empty()) return value.String() == d.text;
  if (d.number == kEmptyObject) return value.kind() == Kind::kObject && value.empty();
  return value.kind() == Kind::kInt && value.Int() == d.number;
}

// The tag of the name's last part decides; neither tag nor digest is the latest one.
std::string_view PullPolicyOf(std::string_view image) {
  const size_t at = image.find('@');
  image = image.substr(0, at);
  const std::string_view name = image.substr(image.rfind('/') + 1);  // npos + 1: from the start
  const size_t colon = name.rfind(':');
  const bool latest = colon == std::string_view::npos ? at == std::string_view::npos
                                                      : name.substr(colon + 1) == "latest";
  return latest ? "Always" : "IfNotPresent";
}

}  // namespace

bool IsPodTemplateDefault(std::string_view parent, Node holder, std::string_view name, Node value) {
  if (IsContainerList(parent)) {
    if (name == "imagePullPolicy")
      return value.String() == PullPolicyOf(holder.Get("image").String());
    for (const Default& d : kContainerDefaults) {
      if (d.name == name) return Is(d, value);
    }
  }
  if (IsProbe(parent)) {
    for (const Default& d : kProbeDefaults) {
      if (d.name == name) return Is(d, value);
    }
  }
  if (parent == "image" && name == "pullPolicy")
    return value.String() == PullPolicyOf(holder.Get("reference").String());
  // The older name of the same field.
  if (parent == "spec" && name == "serviceAccount")
    return value.String() == holder.Get("serviceAccountName").String();
  for (const Default& d : kDefaults) {
    if (d.parent == parent && d.name == name) return Is(d, value);
  }
  return false;
}

}  // namespace kcm::rules
