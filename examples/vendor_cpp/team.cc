// SPDX-License-Identifier: Apache-2.0
// The rule for team labels.
#include "team.h"

namespace vendor {

std::optional<std::string> TeamFor(kcm::rules::Node ns, std::string_view otherwise) {
  const kcm::rules::Node metadata = ns.Get("metadata");
  const std::string_view name = metadata.Get("name").String();
  if (name.starts_with("kube-") || name == "default" || metadata.Get("deletionTimestamp").Has())
    return std::nullopt;
  if (metadata.Get("labels").Get(kLabel).Has()) return std::nullopt;
  const size_t dash = name.find('-');
  return std::string(dash == std::string_view::npos ? otherwise : name.substr(0, dash));
}

}  // namespace vendor
