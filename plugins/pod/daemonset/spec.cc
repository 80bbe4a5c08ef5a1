// SPDX-License-Identifier: Apache-2.0
// Reading a DaemonSet.
#include "plugins/pod/daemonset/spec.h"

#include <string>

#include "kcm/rules/controller_revision.h"
#include "kcm/rules/decimal_int64.h"

namespace kcm::pod::daemonset {

using rules::Node;

Spec SpecOf(Node set) {
  const Node metadata = set.Get("metadata"), spec = set.Get("spec");
  const Node strategy = spec.Get("updateStrategy"), rolling = strategy.Get("rollingUpdate");
  Spec out{.root = set,
           .name = metadata.Get("name").String(),
           .ns = metadata.Get("namespace").String(),
           .uid = metadata.Get("uid").String()};
  out.generation = metadata.Get("generation").Int();
  out.observed_generation = set.Path("status.observedGeneration").Int();
  out.min_ready_seconds = spec.Get("minReadySeconds").Int();
  out.history_limit = spec.Get("revisionHistoryLimit").Int(10);
  out.rolls = !strategy.Get("type").Has() || strategy.Get("type").String() == "RollingUpdate";
  out.template_generation =
      rules::ParseInt64(metadata.Get("annotations").Get(kGenerationAnnotation).String());
  if (out.rolls) {
    out.max_surge = rolling.Get("maxSurge");
    out.max_unavailable = rolling.Get("maxUnavailable");
  }
  return out;
}

bool AllowsSurge(const Spec& set) {
  const Result<int64_t> surge = rules::IntOrPercent(set.max_surge, 1, rules::Rounding::kUp);
  return surge.ok() && *surge > 0;
}

Result<rules::RollingLimits> LimitsOf(const Spec& set, int64_t desired) {
  Result<rules::RollingLimits> limits =
      rules::DaemonSetLimits(set.max_surge, set.max_unavailable, desired);
  if (limits.ok()) return limits;
  Error error = limits.error();
  error.message = "daemonset " + std::string(set.ns) + "/" + std::string(set.name) +
                  ": spec.updateStrategy.rollingUpdate: " + error.message;
  return error;
}

bool IsUpdated(const Spec& set, Node pod, std::string_view hash) {
  if (!hash.empty() && HashOf(pod) == hash) return true;
  return set.template_generation && pod.Path("metadata.labels").Get(kGenerationLabel).String() ==
                                        std::to_string(*set.template_generation);
}

std::string_view HashOf(Node object) {
  return object.Path("metadata.labels").Get(rules::kPodRevisionLabel).String();
}

}  // namespace kcm::pod::daemonset
