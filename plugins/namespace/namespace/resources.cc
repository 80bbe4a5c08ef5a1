// SPDX-License-Identifier: Apache-2.0
// Resources of a namespace's content.
#include "plugins/namespace/namespace/resources.h"

#include <algorithm>

namespace kcm::ns::namespaces {

bool IsPods(const sdk::ServedResource& r) {
  return r.group.empty() && r.version == "v1" && r.resource == "pods";
}

std::string ConditionName(const sdk::ServedResource& r) { return r.resource + "." + r.group; }

std::string ErrorName(const sdk::ServedResource& r) {
  return r.group + "/" + r.version + ", Resource=" + r.resource;
}

std::vector<sdk::ServedResource> DeletableResources(const sdk::ServedResources& served) {
  std::vector<sdk::ServedResource> out;
  for (const sdk::ServedResource& r : served.resources) {
    if (r.namespaced && r.Supports("delete")) out.push_back(r);
  }
  return out;
}

std::optional<std::string> ParsingFailure(const std::vector<sdk::ServedResource>& resources) {
  for (const sdk::ServedResource& r : resources) {
    if (r.group.find('/') != std::string::npos || r.version.find('/') != std::string::npos) {
      return "unexpected GroupVersion string: " + r.group + "/" + r.version;
    }
  }
  return std::nullopt;
}

std::optional<PartialDiscovery> PartialFailure(const sdk::ServedResources& served) {
  std::vector<std::string_view> lines;
  std::string_view rest = served.failed;
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    if (const std::string_view line = rest.substr(0, end); !line.empty()) lines.push_back(line);
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  if (lines.empty()) return std::nullopt;
  std::sort(lines.begin(), lines.end());
  PartialDiscovery out{lines.size(), "unable to retrieve the complete list of server APIs: "};
  for (size_t i = 0; i < lines.size(); ++i) out.text.append(i == 0 ? "" : ", ").append(lines[i]);
  return out;
}

std::string PartialDiscovery::ConditionMessage() const {
  return "Discovery failed for some groups, " + std::to_string(failing) + " failing: " + text;
}

MissingVerbs::MissingVerbs(const sdk::ServedResources& served) {
  for (const sdk::ServedResource& r : served.resources) {
    if (!r.Supports("list")) list_.insert(ErrorName(r));
    if (!r.Supports("deletecollection")) delete_collection_.insert(ErrorName(r));
  }
}

bool MissingVerbs::List(const sdk::ServedResource& r) const {
  return list_.count(ErrorName(r)) > 0;
}

bool MissingVerbs::DeleteCollection(const sdk::ServedResource& r) const {
  return delete_collection_.count(ErrorName(r)) > 0;
}

}  // namespace kcm::ns::namespaces
