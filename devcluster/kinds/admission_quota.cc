// SPDX-License-Identifier: Apache-2.0
// ResourceQuota (spec I): what a new object uses, checked against each quota of its namespace, and
// the writes that raise status.used. Only the controller lowers usage.
#include <map>
#include <set>

#include "devcluster/kinds/admission.h"
#include "devcluster/kinds/fields.h"
#include "devcluster/kinds/strategy.h"
#include "kcm/rules/json_node.h"
#include "kcm/rules/quantity.h"

namespace kcm::devcluster::kinds {

namespace {

using rules::Quantity;
using Amounts = std::map<std::string, Quantity>;

std::string AmountsText(const Amounts& amounts) {
  std::string out;
  for (const auto& [name, amount] : amounts)
    out += (out.empty() ? "" : ",") + name + "=" + amount.Canonical();
  return out;
}

void AddAll(Amounts& to, const Json* map, const std::string& prefix) {
  if (map == nullptr || !map->is_object()) return;
  for (const auto& [name, amount] : map->items())
    to[prefix + name] += Quantity::Of(rules::JsonNode(amount));
}

// The larger of the sum over containers and every init container (sidecars count as containers).
Amounts PodTotal(const Json& pod, const char* kind) {
  Amounts sum;
  const std::string path = std::string("resources.") + kind;
  for (const Json& container : Items(pod, "spec.containers"))
    AddAll(sum, Find(container, path), "");
  Amounts largest;
  for (const Json& container : Items(pod, "spec.initContainers")) {
    if (Text(container, "restartPolicy") == "Always") {
      AddAll(sum, Find(container, path), "");
      continue;
    }
    Amounts own;
    AddAll(own, Find(container, path), "");
    for (const auto& [name, amount] : own) {
      if (amount > largest[name]) largest[name] = amount;
    }
  }
  for (const auto& [name, amount] : largest) {
    if (amount > sum[name]) sum[name] = amount;
  }
  AddAll(sum, Find(pod, "spec.overhead"), "");
  return sum;
}

Amounts PodUsage(const Json& pod) {
  Amounts usage;
  usage["count/pods"] = Quantity(1);
  usage["pods"] = Quantity(1);
  for (const auto& [name, amount] : PodTotal(pod, "requests")) {
    usage["requests." + name] = amount;
    if (name == "cpu" || name == "memory" || name == "ephemeral-storage") usage[name] = amount;
  }
  for (const auto& [name, amount] : PodTotal(pod, "limits")) usage["limits." + name] = amount;
  return usage;
}

Amounts ServiceUsage(const Json& service) {
  const std::string_view type = Text(service, "spec.type");
  const auto ports = static_cast<int64_t>(Items(service, "spec.ports").size());
  Amounts usage{{"count/services", Quantity(1)},
                {"services", Quantity(1)},
                {"services.nodeports", Quantity(0)},
                {"services.loadbalancers", Quantity(0)}};
  if (type == "NodePort") usage["services.nodeports"] = Quantity(ports);
  if (type == "LoadBalancer") {
    usage["services.loadbalancers"] = Quantity(1);
    if (Flag(service, "spec.allocateLoadBalancerNodePorts", true))
      usage["services.nodeports"] = Quantity(ports);
  }
  return usage;
}

Amounts ClaimUsage(const Json& claim) {
  Amounts usage{{"count/persistentvolumeclaims", Quantity(1)},
                {"persistentvolumeclaims", Quantity(1)}};
  const std::string c(Text(claim, "spec.storageClassName"));
  const std::string prefix = c + ".storageclass.storage.k8s.io/";
  if (!c.empty()) usage[prefix + "persistentvolumeclaims"] = Quantity(1);
  if (const Json* storage = Find(claim, "spec.resources.requests.storage")) {
    usage["requests.storage"] = Quantity::Of(rules::JsonNode(*storage));
    if (!c.empty()) usage[prefix + "requests.storage"] = usage["requests.storage"];
  }
  return usage;
}

Amounts UsageOf(const Gvr& gvr, const Json& object) {
  if (gvr.group.empty()) {
    if (gvr.resource == "pods") return PodUsage(object);
    if (gvr.resource == "services") return ServiceUsage(object);
    if (gvr.resource == "persistentvolumeclaims") return ClaimUsage(object);
  }
  Amounts usage{
      {"count/" + gvr.resource + (gvr.group.empty() ? "" : "." + gvr.group), Quantity(1)}};
  static constexpr std::string_view kOld[] = {"configmaps", "secrets", "replicationcontrollers",
                                              "resourcequotas"};
  for (const std::string_view old : kOld) {
    if (gvr.group.empty() && gvr.resource == old) usage[gvr.resource] = Quantity(1);
  }
  return usage;
}

// ---- scopes ----

bool MatchesScope(const Json& pod, std::string_view scope, std::string_view op,
                  const Json& values) {
  const bool best_effort = QosClass(pod) == "BestEffort";
  const bool terminating = Find(pod, "spec.activeDeadlineSeconds") != nullptr;
  if (scope == "BestEffort") return best_effort;
  if (scope == "NotBestEffort") return !best_effort;
  if (scope == "Terminating") return terminating;
  if (scope == "NotTerminating") return !terminating;
  if (scope != "PriorityClass") return false;
  const std::string name(Text(pod, "spec.priorityClassName"));
  bool listed = false;
  for (const Json& v : values) listed = listed || v == name;
  if (op == "In") return listed;
  if (op == "NotIn") return !listed;
  if (op == "DoesNotExist") return name.empty();
  return !name.empty();
}

// Quotas with scopes look at pods alone.
bool Concerns(const Json& quota, const Gvr& gvr, const Json& object) {
  const Json& scopes = Items(quota, "spec.scopes");
  const Json& expressions = Items(quota, "spec.scopeSelector.matchExpressions");
  if (scopes.empty() && expressions.empty()) return true;
  if (gvr.resource != "pods" || !gvr.group.empty()) return false;
  for (const Json& scope : scopes) {
    if (!MatchesScope(object, scope.get<std::string>(), "Exists", Json::array())) return false;
  }
  for (const Json& e : expressions) {
    if (!MatchesScope(object, Text(e, "scopeName"), Text(e, "operator"), Items(e, "values")))
      return false;
  }
  return true;
}

// `limits.cpu for: c; requests.cpu for: c`: compute resources a quota limits must be given by every
// container.
std::string Unspecified(const Json& pod, const Json& hard) {
  std::string out;
  for (const auto& [name, unused] : hard.items()) {
    const bool limit = name.starts_with("limits.");
    std::string resource = name;
    if (limit || name.starts_with("requests.")) resource = name.substr(name.find('.') + 1);
    const bool compute = resource == "cpu" || resource == "memory";
    if (!compute) continue;
    std::set<std::string> lacking;
    for (const char* list : {"spec.containers", "spec.initContainers"}) {
      for (const Json& container : Items(pod, list)) {
        const Json* map = Find(container, limit ? "resources.limits" : "resources.requests");
        if (map == nullptr || Key(*map, resource) == nullptr)
          lacking.insert(std::string(Text(container, "name")));
      }
    }
    if (lacking.empty()) continue;
    std::string names;
    for (const std::string& c : lacking) names += (names.empty() ? "" : ",") + c;
    out += (out.empty() ? "" : "; ") + name + " for: " + names;
  }
  return out;
}

// The refusal of one quota, or the quota with raised usage in `raised` (null when it does not count
// the object).
std::string Check(const Json& quota, const Gvr& gvr, const Json& object, const Amounts& usage,
                  bool create, Json* raised) {
  const Json* hard = Find(quota, "status.hard");
  if (IsEmpty(hard) || !Concerns(quota, gvr, object)) return "";
  const std::string name(Text(quota, "metadata.name"));
  const bool pod = gvr.resource == "pods" && gvr.group.empty();
  if (create && pod) {
    if (const std::string missing = Unspecified(object, *hard); !missing.empty()) {
      return "failed quota: " + name + ": must specify " + missing;
    }
  }
  const Json none = Json::object();
  const Json* status_used = Find(quota, "status.used");
  const Json& used_map = status_used == nullptr ? none : *status_used;
  Amounts requested, used, limited;
  std::string unknown;
  Json result = quota;
  bool counts = false;
  for (const auto& [resource, amount] : usage) {
    const Json* limit = Key(*hard, resource);
    if (limit == nullptr || amount.IsZero()) continue;
    const Json* so_far = Key(used_map, resource);
    if (so_far == nullptr) {
      unknown += (unknown.empty() ? "" : ",") + resource;
      continue;
    }
    counts = true;
    const Quantity before = Quantity::Of(rules::JsonNode(*so_far)),
                   max = Quantity::Of(rules::JsonNode(*limit));
    if (amount.Sign() > 0 && before + amount > max) {
      requested[resource] = amount;
      used[resource] = before;
      limited[resource] = max;
    }
    result["status"]["used"][resource] = (before + amount).Canonical();
  }
  if (!unknown.empty()) return "status unknown for quota: " + name + ", resources: " + unknown;
  if (!requested.empty()) {
    return "exceeded quota: " + name + ", requested: " + AmountsText(requested) +
           ", used: " + AmountsText(used) + ", limited: " + AmountsText(limited);
  }
  if (counts) *raised = std::move(result);
  return "";
}

}  // namespace

Refusal AdmitQuota(const ResourceKind& kind, const Json& object, const Json* old,
                   const RequestInfo& info) {
  const bool create = info.operation == Operation::kCreate;
  if (!info.subresource.empty() || info.ns.empty() ||
      !(create || info.operation == Operation::kUpdate))
    return std::nullopt;
  const bool counts_updates =
      kind.gvr.group.empty() &&
      (kind.gvr.resource == "services" || kind.gvr.resource == "persistentvolumeclaims");
  if (!create && (!counts_updates || old == nullptr)) return std::nullopt;
  static const Gvr* const kQuotas = new Gvr{"", "v1", "resourcequotas"};
  const std::vector<Json> quotas = info.reader->List(*kQuotas, info.ns);
  if (quotas.empty()) return std::nullopt;
  Amounts usage = UsageOf(kind.gvr, object);
  if (!create) {
    for (const auto& [name, before] : UsageOf(kind.gvr, *old)) usage[name] -= before;
    for (auto& [name, delta] : usage) {
      if (delta.Sign() < 0) delta = Quantity();  // lowering is the controller's
    }
  }
  for (const Json& quota : quotas) {
    Json raised;
    const std::string refusal = Check(quota, kind.gvr, object, usage, create, &raised);
    if (!refusal.empty()) {
      Json copy = object;
      return Admission{kind, copy, old, info}.Forbid(refusal);
    }
    if (!raised.is_null() && info.side_writes != nullptr && !info.dry_run)
      info.side_writes->push_back({*kQuotas, std::move(raised)});
  }
  return std::nullopt;
}

}  // namespace kcm::devcluster::kinds
