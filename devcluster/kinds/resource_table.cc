// SPDX-License-Identifier: Apache-2.0
// The table of resources.
#include "devcluster/kinds/resource_table.h"

#include <array>

namespace kcm::devcluster::kinds {

namespace {

// Subresources by name; kind "" is the resource's own kind.
struct SubresourceRow {
  std::string_view name, verbs, group, version, kind;
};

constexpr auto kSubresources = std::to_array<SubresourceRow>({
    {"approval", "get patch update", "", "", ""},
    {"attach", "create get", "", "", "PodAttachOptions"},
    {"binding", "create", "", "", "Binding"},
    {"ephemeralcontainers", "get patch update", "", "", ""},
    {"eviction", "create", "policy", "v1", "Eviction"},
    {"exec", "create get", "", "", "PodExecOptions"},
    {"finalize", "update", "", "", ""},
    {"log", "get", "", "", ""},
    {"portforward", "create get", "", "", "PodPortForwardOptions"},
    {"proxy", "create delete get patch update", "", "", "*ProxyOptions"},
    {"resize", "get patch update", "", "", ""},
    {"scale", "get patch update", "autoscaling", "v1", "Scale"},
    {"status", "get patch update", "", "", ""},
    {"token", "create", "authentication.k8s.io", "v1", "TokenRequest"},
});

constexpr auto kKindRows = std::to_array<KindRow>({
#include "devcluster/kinds/resource_rows.inc"
});

constexpr std::string_view kGroups[] = {"apiregistration.k8s.io",
                                        "apps",
                                        "events.k8s.io",
                                        "authentication.k8s.io",
                                        "authorization.k8s.io",
                                        "autoscaling",
                                        "batch",
                                        "certificates.k8s.io",
                                        "networking.k8s.io",
                                        "policy",
                                        "rbac.authorization.k8s.io",
                                        "storage.k8s.io",
                                        "admissionregistration.k8s.io",
                                        "apiextensions.k8s.io",
                                        "scheduling.k8s.io",
                                        "coordination.k8s.io",
                                        "node.k8s.io",
                                        "discovery.k8s.io",
                                        "resource.k8s.io",
                                        "flowcontrol.apiserver.k8s.io"};

Subresource Describe(const SubresourceRow& row, std::string_view owner) {
  Subresource s;
  s.name = row.name;
  s.verbs = Words(row.verbs);
  s.group = row.group;
  s.version = row.version;
  s.kind = row.kind;
  if (!s.kind.empty() && s.kind[0] == '*') s.kind = std::string(owner) + s.kind.substr(1);
  return s;
}

}  // namespace

std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t blank = text.find(' ');
    out.emplace_back(text.substr(0, blank));
    text.remove_prefix(blank == std::string_view::npos ? text.size() : blank + 1);
  }
  return out;
}

std::span<const KindRow> KindRows() { return kKindRows; }

std::vector<std::string> GroupsInOrder() { return {std::begin(kGroups), std::end(kGroups)}; }

ResourceKind DescribeKind(const KindRow& row) {
  ResourceKind k;
  k.gvr = {std::string(row.group), std::string(row.version), std::string(row.resource)};
  k.kind = row.kind;
  k.list_kind = k.kind + "List";
  k.singular = k.kind;
  for (char& c : k.singular) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  k.namespaced = !row.cluster;
  k.short_names = Words(row.shorts);
  k.categories = Words(row.categories);
  if (row.create_only) {
    k.verbs = {"create"};
  } else if (row.read_only) {
    k.verbs = {"get", "list"};
  } else {
    k.verbs = {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"};
    if (row.no_collection_delete) k.verbs.erase(k.verbs.begin() + 2);
  }
  for (const std::string& name : Words(row.subresources)) {
    for (const SubresourceRow& sub : kSubresources) {
      if (sub.name == name) k.subresources.push_back(Describe(sub, row.kind));
    }
    k.has_status = k.has_status || name == "status";
  }
  // Versions of one store keep the form of the newest: autoscaling/v2 and core events.
  k.storage_group = row.resource == "events" ? "" : k.gvr.group;
  k.storage_version = row.group == "autoscaling" ? "v2" : k.gvr.version;
  k.create_on_update = row.create_on_update;
  k.requires_resource_version = row.requires_version;
  k.delete_returns_object = row.returns_object;
  k.default_orphan = row.orphan;
  k.has_dependents = !row.no_dependents;
  return k;
}

}  // namespace kcm::devcluster::kinds
