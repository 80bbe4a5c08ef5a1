// SPDX-License-Identifier: Apache-2.0
// Rules of a pod failure policy.
#include "plugins/pod/job/failure_policy.h"

namespace kcm::pod::job {
namespace {

using rules::Node;

struct NamedAction {
  FailureAction action;
  std::string_view name;
};
constexpr NamedAction kActions[] = {{FailureAction::kIgnore, "Ignore"},
                                    {FailureAction::kCount, "Count"},
                                    {FailureAction::kFailIndex, "FailIndex"},
                                    {FailureAction::kFailJob, "FailJob"}};

FailureAction ActionOf(std::string_view name) {
  for (const NamedAction& a : kActions)
    if (a.name == name) return a.action;
  return FailureAction::kNone;
}

bool Contains(Node values, int64_t wanted) {
  for (const Node value : values.Items())
    if (value.Int() == wanted) return true;
  return false;
}

bool ExitCodeMatches(Node requirement, int64_t code) {
  const std::string_view op = requirement.Get("operator").String();
  const Node values = requirement.Get("values");
  if (op == "In") return Contains(values, code);
  return op == "NotIn" && !Contains(values, code);
}

// The first container of the list that ended as the requirement says; absent Node when none did.
Node MatchContainers(Node statuses, Node requirement) {
  const Node name = requirement.Get("containerName");
  for (const Node status : statuses.Items()) {
    const Node terminated = status.Path("state.terminated");
    if (!terminated.Has()) continue;
    if (name.Has() && name.String() != status.Get("name").String()) continue;
    const int64_t code = terminated.Get("exitCode").Int();
    if (code != 0 && ExitCodeMatches(requirement, code)) return status;
  }
  return Node();
}

Node MatchExitCodes(Node pod, Node requirement) {
  const Node status = pod.Get("status");
  const Node found = MatchContainers(status.Get("containerStatuses"), requirement);
  return found.Has() ? found : MatchContainers(status.Get("initContainerStatuses"), requirement);
}

Node MatchConditions(Node pod, Node patterns) {
  for (const Node condition : pod.Get("status").Get("conditions").Items()) {
    for (const Node pattern : patterns.Items()) {
      if (condition.Get("type").String() == pattern.Get("type").String() &&
          condition.Get("status").String() == pattern.Get("status").String())
        return condition;
    }
  }
  return Node();
}

std::string KeyOf(Node pod) {
  const Node metadata = pod.Get("metadata");
  return std::string(metadata.Get("namespace").String()) + "/" +
         std::string(metadata.Get("name").String());
}

std::string ExitCodeMessage(Node pod, Node container, size_t rule) {
  return "Container " + std::string(container.Get("name").String()) + " for pod " + KeyOf(pod) +
         " failed with exit code " +
         std::to_string(container.Path("state.terminated.exitCode").Int()) +
         " matching FailJob rule at index " + std::to_string(rule);
}

std::string ConditionMessage(Node pod, Node condition, size_t rule) {
  return "Pod " + KeyOf(pod) + " has condition " + std::string(condition.Get("type").String()) +
         " matching FailJob rule at index " + std::to_string(rule);
}

}  // namespace

FailureMatch MatchFailurePolicy(const JobSpec& spec, Node pod) {
  const Node rules = spec.failure_policy.Get("rules");
  size_t place = 0;
  for (const Node rule : rules.Items()) {
    const size_t number = place++;
    const FailureAction action = ActionOf(rule.Get("action").String());
    if (action == FailureAction::kNone) continue;  // of a later version: as if it did not match
    if (action == FailureAction::kFailIndex && !spec.fail_index_rules) continue;
    const bool by_exit_code = rule.Get("onExitCodes").Has();
    const Node matched = by_exit_code ? MatchExitCodes(pod, rule.Get("onExitCodes"))
                                      : MatchConditions(pod, rule.Get("onPodConditions"));
    if (!matched.Has()) continue;
    FailureMatch out{.action = action};
    if (action == FailureAction::kFailJob) {
      out.message = by_exit_code ? ExitCodeMessage(pod, matched, number)
                                 : ConditionMessage(pod, matched, number);
    }
    return out;
  }
  return {};
}

std::string_view ActionName(FailureAction action) {
  for (const NamedAction& a : kActions)
    if (a.action == action) return a.name;
  return {};
}

}  // namespace kcm::pod::job
