// SPDX-License-Identifier: Apache-2.0
// Which status fields the server keeps.
#include "plugins/pod/server_features.h"

#include <optional>
#include <string>

#include "kcm/rules/go_bool.h"

namespace kcm::pod {
namespace {

constexpr int kFirstMinorWithTerminatingReplicas = 35;

// Without the component: the host writes `:Name` or `kube:Name`.
std::string_view GateNameOf(std::string_view key) { return key.substr(key.rfind(':') + 1); }

}  // namespace

bool IsTurnedOn(std::string_view items, std::string_view name) {
  bool on = false;
  while (!items.empty()) {
    const size_t comma = items.find(',');
    const std::string_view item = items.substr(0, comma);
    const size_t equals = item.find('=');
    if (equals != std::string_view::npos && GateNameOf(item.substr(0, equals)) == name) {
      const std::optional<bool> value = rules::ParseGoBool(item.substr(equals + 1));
      on = value && *value;
    }
    if (comma == std::string_view::npos) break;
    items.remove_prefix(comma + 1);
  }
  return on;
}

bool TerminatingReplicasServed(bool gate, std::string_view feature_gates, int server_minor) {
  if (!gate) return false;
  return server_minor >= kFirstMinorWithTerminatingReplicas ||
         IsTurnedOn(feature_gates, kTerminatingReplicasGate);
}

Result<bool> TerminatingReplicasServed(const sdk::Context& context) {
  const Result<int> minor = context.discovery().ServerMinor();
  if (!minor.ok()) return minor.error();
  const std::string gates = context.config().Flag("feature-gates").value_or("");
  return TerminatingReplicasServed(context.config().Gate(kTerminatingReplicasGate), gates, *minor);
}

}  // namespace kcm::pod
