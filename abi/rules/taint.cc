// SPDX-License-Identifier: Apache-2.0
// Matching tolerations with taints.
#include "kcm/rules/taint.h"

#include <algorithm>
#include <optional>
#include <string>

#include "kcm/rules/decimal_int64.h"

namespace kcm::rules {
namespace {

// Plain: as the integer itself would be printed, so no sign `+` and no leading zeros.
std::optional<int64_t> PlainInt64(std::string_view text) {
  const std::optional<int64_t> value = ParseInt64(text);
  return value && std::to_string(*value) == text ? value : std::nullopt;
}

bool Compares(std::string_view op, std::string_view toleration, std::string_view taint) {
  const std::optional<int64_t> wanted = PlainInt64(toleration);
  const std::optional<int64_t> actual = PlainInt64(taint);
  if (!wanted || !actual) return false;
  return op == "Lt" ? *actual < *wanted : *actual > *wanted;
}

}  // namespace

bool Tolerates(Node toleration, Node taint, ComparisonOperators comparison) {
  for (const std::string_view field : {"effect", "key"}) {
    const std::string_view wanted = toleration.Get(field).String();
    if (!wanted.empty() && wanted != taint.Get(field).String()) return false;
  }
  const std::string_view op = toleration.Get("operator").String();
  const std::string_view value = toleration.Get("value").String();
  if (op.empty() || op == "Equal") return value == taint.Get("value").String();
  if (op == "Exists") return true;
  if (comparison == ComparisonOperators::kOn && (op == "Lt" || op == "Gt")) {
    return Compares(op, value, taint.Get("value").String());
  }
  return false;
}

Node FindToleration(Node tolerations, Node taint, ComparisonOperators comparison) {
  for (const Node t : tolerations.Items()) {
    if (Tolerates(t, taint, comparison)) return t;
  }
  return Node();
}

Node FindUntoleratedTaint(Node taints, Node tolerations, std::span<const std::string_view> effects,
                          ComparisonOperators comparison) {
  for (const Node taint : taints.Items()) {
    const std::string_view effect = taint.Get("effect").String();
    const bool considered =
        effects.empty() || std::find(effects.begin(), effects.end(), effect) != effects.end();
    if (considered && !FindToleration(tolerations, taint, comparison).Has()) return taint;
  }
  return Node();
}

Node FindTaint(Node taints, std::string_view key, std::string_view effect) {
  for (const Node taint : taints.Items()) {
    if (taint.Get("key").String() == key && taint.Get("effect").String() == effect) return taint;
  }
  return Node();
}

}  // namespace kcm::rules
