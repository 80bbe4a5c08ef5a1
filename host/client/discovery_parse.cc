// SPDX-License-Identifier: Apache-2.0
// Discovery documents.
#include "host/client/discovery_parse.h"

#include <map>
#include <nlohmann/json.hpp>

#include "host/client/json_member.h"

namespace kcm::host::client {
namespace {

using nlohmann::json;

// The member, or an empty list.
const json& List(const json& object, const char* name) {
  static const json kEmpty = json::array();  // never changed
  if (!object.is_object()) return kEmpty;
  const auto it = object.find(name);
  return it != object.end() && it->is_array() ? *it : kEmpty;
}

std::vector<std::string> Strings(const json& object, const char* name) {
  std::vector<std::string> out;
  for (const json& item : List(object, name)) {
    if (item.is_string()) out.push_back(item.get<std::string>());
  }
  return out;
}

Gvr Split(const std::string& group_version, std::string resource) {
  const size_t slash = group_version.find('/');
  if (slash == std::string::npos) return {"", group_version, std::move(resource)};
  return {group_version.substr(0, slash), group_version.substr(slash + 1), std::move(resource)};
}

void AddVersion(const std::string& group, const json& version, DiscoveryDocument* out) {
  for (const json& r : List(version, "resources")) {
    const auto kind = r.is_object() ? r.find("responseKind") : r.end();
    ApiResource resource;
    resource.gvr = {group, TextOf(version, "version"), TextOf(r, "resource")};
    // Without a kind of its own a resource is skipped; its subresources are reachable through
    // others (13.1).
    if (!r.is_object() || kind == r.end() || !kind->is_object() || TextOf(*kind, "kind").empty())
      continue;
    resource.kind = TextOf(*kind, "kind");
    resource.namespaced = TextOf(r, "scope") == "Namespaced";
    resource.verbs = Strings(r, "verbs");
    for (const json& sub : List(r, "subresources"))
      resource.subresources.push_back(TextOf(sub, "subresource"));
    out->result.resources.push_back(std::move(resource));
  }
}

}  // namespace

std::string ParseAggregated(std::string_view text, DiscoveryDocument* out) {
  const json root = json::parse(text, nullptr, false);
  if (!root.is_object()) return "not an APIGroupDiscoveryList";
  for (const json& group : List(root, "items")) {
    const std::string name =
        group.is_object() && group.contains("metadata") ? TextOf(group["metadata"], "name") : "";
    bool preferred_seen = false;
    if (!name.empty()) out->result.group_order.push_back(name);
    for (const json& version : List(group, "versions")) {
      const std::string api_version = (name.empty() ? "" : name + "/") + TextOf(version, "version");
      if (TextOf(version, "freshness") == "Stale") {
        out->result.failed.emplace_back(api_version,
                                        "stale GroupVersion discovery: " + api_version);
        continue;
      }
      if (!preferred_seen) out->preferred.insert(api_version);
      preferred_seen = true;
      AddVersion(name, version, out);
    }
  }
  return "";
}

std::string ParseGroupList(std::string_view text, DiscoveryDocument* out,
                           std::vector<std::string>* versions) {
  const json root = json::parse(text, nullptr, false);
  if (!root.is_object()) return "not an APIGroupList";
  for (const std::string& version : Strings(root, "versions")) {  // APIVersions of /api
    versions->push_back(version);
    if (version == "v1") out->preferred.insert(version);
  }
  for (const json& group : List(root, "groups")) {
    out->result.group_order.push_back(TextOf(group, "name"));
    if (group.is_object() && group.contains("preferredVersion")) {
      out->preferred.insert(TextOf(group["preferredVersion"], "groupVersion"));
    }
    for (const json& version : List(group, "versions"))
      versions->push_back(TextOf(version, "groupVersion"));
  }
  return "";
}

std::string ParseResourceList(std::string_view text, const std::string& group_version,
                              DiscoveryDocument* out) {
  const json root = json::parse(text, nullptr, false);
  if (!root.is_object() || !root.contains("resources")) return "not an APIResourceList";
  std::map<std::string, size_t> place;  // resource -> index
  for (const json& r : List(root, "resources")) {
    const std::string name = TextOf(r, "name");
    if (name.empty() || name.find('/') != std::string::npos) continue;
    ApiResource resource;
    resource.gvr = Split(group_version, name);
    resource.kind = TextOf(r, "kind");
    resource.namespaced = r.value("namespaced", json(false)) == json(true);
    resource.verbs = Strings(r, "verbs");
    place[name] = out->result.resources.size();
    out->result.resources.push_back(std::move(resource));
  }
  for (const json& r : List(root, "resources")) {
    const std::string name = TextOf(r, "name");
    const size_t slash = name.find('/');
    const auto it = slash == std::string::npos ? place.end() : place.find(name.substr(0, slash));
    if (it != place.end())
      out->result.resources[it->second].subresources.push_back(name.substr(slash + 1));
  }
  return "";
}

}  // namespace kcm::host::client
