// SPDX-License-Identifier: Apache-2.0
// LimitRanger (spec I): defaults, then minimum, maximum and ratio, for pods and claims.
#include <functional>

#include "devcluster/kinds/admission.h"
#include "devcluster/kinds/fields.h"
#include "kcm/rules/json_node.h"
#include "kcm/rules/quantity.h"

namespace kcm::devcluster::kinds {

namespace {

using rules::Quantity;

const Json* Entry(const Json& holder, std::string_view map, std::string_view name) {
  const Json* member = Find(holder, map);
  return member == nullptr ? nullptr : Key(*member, name);
}

Quantity Of(const Json* value) {
  return value == nullptr ? Quantity() : Quantity::Of(rules::JsonNode(*value));
}

// `cpu request for container c` of every default that was filled in.
void ApplyDefaults(Json& container, const char* role, const Json& limit,
                   std::vector<std::string>* set) {
  const auto fill = [&](const char* from, const char* to, const char* word) {
    const Json* defaults = Find(limit, from);
    if (IsEmpty(defaults)) return;
    for (const auto& [name, amount] : defaults->items()) {
      if (Entry(container, std::string("resources.") + to, name) != nullptr) continue;
      Child(container, std::string("resources.") + to)[name] = amount;
      set->push_back(name + " " + word + " for " + role + " " +
                     std::string(Text(container, "name")));
    }
  };
  fill("defaultRequest", "requests", "request");
  fill("default", "limits", "limit");
}

struct Usage {
  const Json* request;
  const Json* limit;
};

// The texts of the API server for one kind of limit; empty when all is within.
std::string Violation(const Json& limit, const std::string& type,
                      const std::function<Usage(const std::string&)>& usage) {
  std::string out;
  const auto add = [&out](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  const auto each = [&limit](const char* member, const auto& check) {
    const Json* map = Find(limit, member);
    if (IsEmpty(map)) return;
    for (const auto& [name, amount] : map->items())
      check(name, Of(&amount), std::string(amount.template get_ref<const std::string&>()));
  };
  each("min", [&](const std::string& name, const Quantity& min, const std::string& shown) {
    const Usage u = usage(name);
    const std::string head = "minimum " + name + " usage per " + type + " is " + shown;
    if (u.request == nullptr)
      add(head + ".  No request is specified");
    else if (Of(u.request) < min)
      add(head + ", but request is " + Of(u.request).Canonical());
    else if (u.limit != nullptr && Of(u.limit) < min)
      add(head + ", but limit is " + Of(u.limit).Canonical());
  });
  each("max", [&](const std::string& name, const Quantity& max, const std::string& shown) {
    const Usage u = usage(name);
    const std::string head = "maximum " + name + " usage per " + type + " is " + shown;
    const bool claim = type == "PersistentVolumeClaim";
    if (claim) {
      if (u.request != nullptr && Of(u.request) > max)
        add(head + ", but request is " + Of(u.request).Canonical());
    } else if (u.limit == nullptr) {
      add(head + ".  No limit is specified");
    } else if (Of(u.limit) > max) {
      add(head + ", but limit is " + Of(u.limit).Canonical());
    } else if (u.request != nullptr && Of(u.request) > max) {
      add(head + ", but request is " + Of(u.request).Canonical());
    }
  });
  each("maxLimitRequestRatio",
       [&](const std::string& name, const Quantity& ratio, const std::string& shown) {
         const Usage u = usage(name);
         const std::string head = name + " max limit to request ratio per " + type + " is " + shown;
         if (u.request == nullptr || Of(u.request).IsZero()) {
           add(head + ", but no request is specified or request is 0");
         } else if (u.limit == nullptr || Of(u.limit).IsZero()) {
           add(head + ", but no limit is specified or limit is 0");
         } else {
           const double actual = Of(u.limit).ToDouble() / Of(u.request).ToDouble();
           if (actual > ratio.ToDouble())
             add(head + ", but provided ratio is " + std::to_string(actual));
         }
       });
  return out;
}

// The sum over containers of one resource; nullptr when no container names it.
const Json* Sum(const Json& pod, const char* kind, const std::string& name, Json* storage) {
  Quantity total;
  bool any = false;
  for (const Json& container : Items(pod, "spec.containers")) {
    const Json* value = Entry(container, std::string("resources.") + kind, name);
    if (value == nullptr) continue;
    any = true;
    total += Of(value);
  }
  if (!any) return nullptr;
  *storage = total.Canonical();
  return storage;
}

std::string CheckPod(const Json& pod, const Json& limit) {
  const std::string type(Text(limit, "type"));
  if (type == "Container") {
    std::string out;
    for (const char* list : {"spec.containers", "spec.initContainers"}) {
      for (const Json& container : Items(pod, list)) {
        const std::string fault = Violation(limit, type, [&](const std::string& name) {
          return Usage{Entry(container, "resources.requests", name),
                       Entry(container, "resources.limits", name)};
        });
        if (!fault.empty()) out += (out.empty() ? "" : ", ") + fault;
      }
    }
    return out;
  }
  if (type != "Pod") return "";
  Json requests, limits;
  return Violation(limit, type, [&](const std::string& name) {
    return Usage{Sum(pod, "requests", name, &requests), Sum(pod, "limits", name, &limits)};
  });
}

void DefaultPodLimits(Json& pod, const std::vector<Json>& ranges) {
  std::vector<std::string> set;
  for (const Json& range : ranges) {
    for (const Json& limit : Items(range, "spec.limits")) {
      if (Text(limit, "type") != "Container") continue;
      for (const auto& [list, role] :
           {std::pair{"containers", "container"}, std::pair{"initContainers", "init container"}}) {
        Json* containers = Find(pod, std::string("spec.") + list);
        if (containers == nullptr || !containers->is_array()) continue;
        for (Json& container : *containers) ApplyDefaults(container, role, limit, &set);
      }
    }
  }
  if (set.empty()) return;
  std::string text;
  for (const std::string& one : set) text += (text.empty() ? "" : "; ") + one;
  Child(pod, "metadata.annotations")["kubernetes.io/limit-ranger"] =
      "LimitRanger plugin set: " + text;
}

}  // namespace

Refusal LimitRanger(const Admission& a) {
  const bool pod = a.Of("pods"), claim = a.Of("persistentvolumeclaims");
  if (!a.Main() || !(pod || claim) || !(a.IsCreate() || (claim && a.IsUpdate())))
    return std::nullopt;
  static const Gvr* const kLimits = new Gvr{"", "v1", "limitranges"};
  const std::vector<Json> ranges = a.info.reader->List(*kLimits, a.info.ns);
  if (ranges.empty()) return std::nullopt;
  if (pod) DefaultPodLimits(a.object, ranges);
  std::string faults;
  for (const Json& range : ranges) {
    for (const Json& limit : Items(range, "spec.limits")) {
      std::string fault;
      if (pod) {
        fault = CheckPod(a.object, limit);
      } else if (Text(limit, "type") == "PersistentVolumeClaim") {
        fault = Violation(limit, "PersistentVolumeClaim", [&](const std::string& name) {
          return Usage{Entry(a.object, "spec.resources.requests", name), nullptr};
        });
      }
      if (!fault.empty()) faults += (faults.empty() ? "" : ", ") + fault;
    }
  }
  if (faults.empty()) return std::nullopt;
  return a.Forbid(faults.find(", m") == std::string::npos ? faults : "[" + faults + "]");
}

}  // namespace kcm::devcluster::kinds
