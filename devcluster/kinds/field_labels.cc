// SPDX-License-Identifier: Apache-2.0
// Field selector keys by kind.
#include "devcluster/kinds/field_labels.h"

#include <array>

#include "devcluster/kinds/fields.h"
#include "devcluster/kinds/resource_table.h"

namespace kcm::devcluster::kinds {

namespace {

struct LabelRow {
  std::string_view group, resource, keys;  // blank separated; most are member paths
};

constexpr auto kLabelRows = std::to_array<LabelRow>({
    {"", "pods",
     "spec.nodeName spec.restartPolicy spec.schedulerName spec.serviceAccountName spec.hostNetwork "
     "status.phase status.podIP "
     "status.podIPs status.nominatedNodeName"},
    {"", "events",
     "involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid "
     "involvedObject.apiVersion "
     "involvedObject.resourceVersion involvedObject.fieldPath reason reportingComponent source "
     "type"},
    {"events.k8s.io", "events",
     "regarding.kind regarding.namespace regarding.name regarding.uid regarding.apiVersion "
     "regarding.resourceVersion "
     "regarding.fieldPath reason reportingController type"},
    {"", "secrets", "type"},
    {"", "namespaces", "status.phase"},
    {"", "nodes", "spec.unschedulable"},
    {"", "services", "spec.clusterIP spec.type"},
    {"", "replicationcontrollers", "status.replicas"},
    {"batch", "jobs", "status.successful"},
    {"certificates.k8s.io", "certificatesigningrequests", "spec.signerName"},
    {"resource.k8s.io", "resourceslices", "spec.nodeName spec.driver"},
});

const LabelRow* LabelRowOf(const Gvr& gvr) {
  for (const LabelRow& row : kLabelRows) {
    if (row.resource == gvr.resource && row.group == gvr.group) return &row;
  }
  return nullptr;
}

}  // namespace

std::vector<std::string> FieldLabelsOf(const Gvr& gvr) {
  const LabelRow* row = LabelRowOf(gvr);
  return row == nullptr ? std::vector<std::string>() : Words(row->keys);
}

std::optional<std::string> FieldLabel(const Gvr& gvr, std::string_view key, const Json& o) {
  const LabelRow* row = LabelRowOf(gvr);
  if (row == nullptr) return std::nullopt;
  const std::string padded = " " + std::string(row->keys) + " ";
  if (padded.find(" " + std::string(key) + " ") == std::string::npos) return std::nullopt;
  if (key == "status.successful") return std::to_string(Integer(o, "status.succeeded"));
  if (key == "status.replicas") return std::to_string(Integer(o, key));
  if (key == "spec.unschedulable" || key == "spec.hostNetwork")
    return Flag(o, key) ? "true" : "false";
  if (key == "source") {
    const std::string component(Text(o, "source.component"));
    return component.empty() ? std::string(Text(o, "reportingComponent")) : component;
  }
  if (key == "status.podIPs") return "";  // known, but it selects nothing (d-03)
  // Events of both groups are kept in the core form: both names of a member are tried.
  std::string path(key);
  if (row->group == "events.k8s.io" && Find(o, "involvedObject") != nullptr) {
    if (path.starts_with("regarding.")) path = "involvedObject." + path.substr(10);
    if (path == "reportingController") path = "reportingComponent";
  }
  return std::string(Text(o, path));
}

}  // namespace kcm::devcluster::kinds
