// SPDX-License-Identifier: Apache-2.0
// Stock roles of a fresh server that are not a controller's: administrators, users, nodes, the
// scheduler, leader election.
#pragma once
#include <span>
#include <string_view>

namespace kcm::devcluster::kinds {

struct StockRole {
  std::string_view ns;  // "" of ClusterRoles
  std::string_view name;
  std::string_view rules;     // JSON list
  std::string_view labels;    // JSON object, besides the bootstrapping label; "" none
  std::string_view selector;  // value of aggregationRule's label; "" none
};
struct StockBinding {
  std::string_view ns, name, role_kind, role;
  std::string_view subjects;  // "User:x Group:y ServiceAccount:ns/name", blank separated
};

std::span<const StockRole> StockRoles();
std::span<const StockBinding> StockBindings();

}  // namespace kcm::devcluster::kinds
