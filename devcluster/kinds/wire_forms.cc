// SPDX-License-Identifier: Apache-2.0
// Forms of objects (wire_forms.h).
#include "devcluster/kinds/wire_forms.h"

namespace kcm::devcluster::kinds {

Json EmptyMembers(const Gvr& gvr) {
  const std::string& r = gvr.resource;
  if (gvr.group == "apps" && (r == "deployments" || r == "replicasets" || r == "statefulsets"))
    return {{"spec", {{"replicas", 0}}}};
  return nullptr;
}

std::string_view HiddenInRows(const Gvr& gvr) {
  return gvr.group == "apps" && gvr.resource == "daemonsets"
             ? "deprecated.daemonset.template.generation"
             : "";
}

}  // namespace kcm::devcluster::kinds
