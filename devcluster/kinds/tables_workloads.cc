// SPDX-License-Identifier: Apache-2.0
// Rows of workloads, services, endpoints and autoscalers.
#include <array>

#include "devcluster/kinds/fields.h"
#include "devcluster/kinds/tables.h"
#include "devcluster/kinds/times.h"
#include "kcm/rules/time.h"

namespace kcm::devcluster::kinds {

namespace {

const Json& TemplateSpec(const Json& o, const char* path = "spec.template.spec") {
  static const Json* const kNone =
      new Json(Json::object());  // never freed: no destructor runs at exit
  const Json* spec = Find(o, path);
  return spec == nullptr ? *kNone : *spec;
}

std::string Ratio(int64_t a, int64_t b) { return std::to_string(a) + "/" + std::to_string(b); }

Json DeploymentCells(const Json& o, std::string_view now) {
  return Json::array({NameOf(o),
                      Ratio(Integer(o, "status.readyReplicas"), Integer(o, "spec.replicas")),
                      Integer(o, "status.updatedReplicas"), Integer(o, "status.availableReplicas"),
                      AgeOf(o, now), ContainerNames(TemplateSpec(o)),
                      ContainerImages(TemplateSpec(o)), SelectorText(Find(o, "spec.selector"))});
}

Json ReplicaSetCells(const Json& o, std::string_view now) {
  return Json::array({NameOf(o), Integer(o, "spec.replicas"), Integer(o, "status.replicas"),
                      Integer(o, "status.readyReplicas"), AgeOf(o, now),
                      ContainerNames(TemplateSpec(o)), ContainerImages(TemplateSpec(o)),
                      SelectorText(Find(o, "spec.selector"))});
}

Json ControllerCells(const Json& o, std::string_view now) {
  return Json::array({NameOf(o), Integer(o, "spec.replicas"), Integer(o, "status.replicas"),
                      Integer(o, "status.readyReplicas"), AgeOf(o, now),
                      ContainerNames(TemplateSpec(o)), ContainerImages(TemplateSpec(o)),
                      LabelsText(Find(o, "spec.selector"))});
}

Json DaemonSetCells(const Json& o, std::string_view now) {
  const auto count = [&](const char* member) {
    return Integer(o, std::string("status.") + member);
  };
  return Json::array({NameOf(o), count("desiredNumberScheduled"), count("currentNumberScheduled"),
                      count("numberReady"), count("updatedNumberScheduled"),
                      count("numberAvailable"), LabelsText(Find(TemplateSpec(o), "nodeSelector")),
                      AgeOf(o, now), ContainerNames(TemplateSpec(o)),
                      ContainerImages(TemplateSpec(o)), SelectorText(Find(o, "spec.selector"))});
}

Json StatefulSetCells(const Json& o, std::string_view now) {
  return Json::array(
      {NameOf(o), Ratio(Integer(o, "status.readyReplicas"), Integer(o, "spec.replicas")),
       AgeOf(o, now), ContainerNames(TemplateSpec(o)), ContainerImages(TemplateSpec(o))});
}

bool JobIs(const Json& job, std::string_view type) {
  for (const Json& c : Items(job, "status.conditions")) {
    if (Text(c, "type") == type && Text(c, "status") == "True") return true;
  }
  return false;
}

Json JobCells(const Json& o, std::string_view now) {
  const int64_t succeeded = Integer(o, "status.succeeded"),
                parallelism = Integer(o, "spec.parallelism");
  std::string completions;
  if (Find(o, "spec.completions") != nullptr)
    completions = Ratio(succeeded, Integer(o, "spec.completions"));
  else if (parallelism > 1)
    completions = Ratio(succeeded, 1) + " of " + std::to_string(parallelism);
  else
    completions = Ratio(succeeded, 1);
  std::string duration;
  if (const std::string start(Text(o, "status.startTime")); !start.empty()) {
    const std::string end(Text(o, "status.completionTime"));
    duration = Age(start, end.empty() ? now : std::string_view(end));
  }
  std::string status = "Running";
  if (JobIs(o, "Complete"))
    status = "Complete";
  else if (JobIs(o, "Failed"))
    status = "Failed";
  else if (Find(o, "metadata.deletionTimestamp") != nullptr)
    status = "Terminating";
  else if (JobIs(o, "Suspended"))
    status = "Suspended";
  else if (JobIs(o, "FailureTarget"))
    status = "FailureTarget";
  else if (JobIs(o, "SuccessCriteriaMet"))
    status = "SuccessCriteriaMet";
  return Json::array({NameOf(o), status, completions, duration, AgeOf(o, now),
                      ContainerNames(TemplateSpec(o)), ContainerImages(TemplateSpec(o)),
                      SelectorText(Find(o, "spec.selector"))});
}

Json CronJobCells(const Json& o, std::string_view now) {
  const std::string last(Text(o, "status.lastScheduleTime"));
  const Json& spec = TemplateSpec(o, "spec.jobTemplate.spec.template.spec");
  return Json::array(
      {NameOf(o), Text(o, "spec.schedule"), OrNone(std::string(Text(o, "spec.timeZone"))),
       Flag(o, "spec.suspend") ? "True" : "False", Items(o, "status.active").size(),
       last.empty() ? std::string("<none>") : Age(last, now), AgeOf(o, now), ContainerNames(spec),
       ContainerImages(spec), SelectorText(Find(o, "spec.jobTemplate.spec.selector"))});
}

std::string PortsText(const Json& service) {
  std::string out;
  for (const Json& port : Items(service, "spec.ports")) {
    out += (out.empty() ? "" : ",") + std::to_string(Integer(port, "port"));
    if (const int64_t node = Integer(port, "nodePort"); node != 0)
      out += ":" + std::to_string(node);
    out += "/" + std::string(Text(port, "protocol"));
  }
  return OrNone(out);
}

std::string ExternalText(const Json& o) {
  const std::string_view type = Text(o, "spec.type");
  std::string out;
  const auto add = [&out](std::string_view text) {
    if (!text.empty()) out += (out.empty() ? "" : ",") + std::string(text);
  };
  if (type == "ExternalName") return OrNone(std::string(Text(o, "spec.externalName")));
  if (type == "LoadBalancer") {
    for (const Json& ingress : Items(o, "status.loadBalancer.ingress")) {
      add(Text(ingress, "ip").empty() ? Text(ingress, "hostname") : Text(ingress, "ip"));
    }
  }
  for (const Json& ip : Items(o, "spec.externalIPs")) add(ip.get_ref<const std::string&>());
  if (out.empty() && type == "LoadBalancer") return "<pending>";
  return OrNone(out);
}

Json ServiceCells(const Json& o, std::string_view now) {
  return Json::array({NameOf(o), Text(o, "spec.type"),
                      OrNone(std::string(Text(o, "spec.clusterIP"))), ExternalText(o), PortsText(o),
                      AgeOf(o, now), LabelsText(Find(o, "spec.selector"))});
}

// The first three, and how many more there are.
std::string FirstThree(const std::vector<std::string>& all) {
  std::string out;
  for (size_t i = 0; i < all.size() && i < 3; ++i) out += (i == 0 ? "" : ",") + all[i];
  if (all.size() > 3) out += " + " + std::to_string(all.size() - 3) + " more...";
  return OrNone(out);
}

Json EndpointsCells(const Json& o, std::string_view now) {
  std::vector<std::string> all;
  for (const Json& subset : Items(o, "subsets")) {
    const Json& ports = Items(subset, "ports");
    if (ports.empty()) {
      for (const Json& address : Items(subset, "addresses")) all.emplace_back(Text(address, "ip"));
    }
    for (const Json& port : ports) {
      for (const Json& address : Items(subset, "addresses")) {
        all.push_back(std::string(Text(address, "ip")) + ":" +
                      std::to_string(Integer(port, "port")));
      }
    }
  }
  return Json::array({NameOf(o), FirstThree(all), AgeOf(o, now)});
}

Json SliceCells(const Json& o, std::string_view now) {
  std::vector<std::string> ports, addresses;
  for (const Json& port : Items(o, "ports")) {
    ports.push_back(Find(port, "port") == nullptr ? "*" : std::to_string(Integer(port, "port")));
  }
  for (const Json& endpoint : Items(o, "endpoints")) {
    for (const Json& address : Items(endpoint, "addresses"))
      addresses.push_back(address.get<std::string>());
  }
  const auto text = [](const std::vector<std::string>& list) {
    return list.empty() ? std::string("<unset>") : FirstThree(list);
  };
  return Json::array(
      {NameOf(o), Text(o, "addressType"), text(ports), text(addresses), AgeOf(o, now)});
}

std::string MetricText(const Json& metric, const Json* current) {
  const std::string type(Text(metric, "type"));
  const std::string member =
      type.empty() ? "" : std::string(1, static_cast<char>(type[0] - 'A' + 'a')) + type.substr(1);
  const Json* source = Find(metric, member);
  if (source == nullptr) return "<unknown type>";
  const Json* now = current == nullptr ? nullptr : Find(*current, member);
  const auto value = [&](const char* path) -> std::string {
    const Json* v = now == nullptr ? nullptr : Find(*now, std::string("current.") + path);
    return v == nullptr ? "<unknown>" : v->is_string() ? v->get<std::string>() : v->dump();
  };
  const std::string prefix = type == "Resource" || type == "ContainerResource"
                                 ? std::string(Text(*source, "name")) + ": "
                                 : "";
  if (const Json* percent = Find(*source, "target.averageUtilization")) {
    const std::string shown = value("averageUtilization");
    return prefix + shown + (shown[0] == '<' ? "" : "%") + "/" + percent->dump() + "%";
  }
  if (const Json* average = Find(*source, "target.averageValue")) {
    const bool marked = type == "Object" || type == "External";
    return prefix + value("averageValue") + "/" + average->get<std::string>() +
           (marked ? " (avg)" : "");
  }
  return prefix + value("value") + "/" + std::string(Text(*source, "target.value"));
}

Json AutoscalerCells(const Json& o, std::string_view now) {
  std::string targets;
  if (const Json* percent = Find(o, "spec.targetCPUUtilizationPercentage")) {  // version 1
    const Json* now_percent = Find(o, "status.currentCPUUtilizationPercentage");
    targets =
        "cpu: " + (now_percent == nullptr ? std::string("<unknown>") : now_percent->dump() + "%") +
        "/" + percent->dump() + "%";
  }
  const Json& metrics = Items(o, "spec.metrics");
  const Json& current = Items(o, "status.currentMetrics");
  for (size_t i = 0; i < metrics.size() && i < 2; ++i) {
    targets +=
        (i == 0 ? "" : ", ") + MetricText(metrics[i], i < current.size() ? &current[i] : nullptr);
  }
  if (metrics.size() > 2) targets += " + " + std::to_string(metrics.size() - 2) + " more...";
  const Json* min = Find(o, "spec.minReplicas");
  return Json::array({NameOf(o),
                      std::string(Text(o, "spec.scaleTargetRef.kind")) + "/" +
                          std::string(Text(o, "spec.scaleTargetRef.name")),
                      OrNone(targets), min == nullptr ? std::string("<unset>") : min->dump(),
                      Integer(o, "spec.maxReplicas"), Integer(o, "status.currentReplicas"),
                      AgeOf(o, now)});
}

Json TemplateCells(const Json& o, std::string_view) {
  const Json& spec = TemplateSpec(o, "template.spec");
  return Json::array({NameOf(o), ContainerNames(spec), ContainerImages(spec),
                      LabelsText(Find(o, "template.metadata.labels"))});
}

Json RevisionCells(const Json& o, std::string_view now) {
  std::string owner = "<none>";
  for (const Json& ref : Items(o, "metadata.ownerReferences")) {
    if (!Flag(ref, "controller")) continue;
    const std::string version(Text(ref, "apiVersion"));
    std::string kind(Text(ref, "kind"));
    for (char& c : kind) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const size_t slash = version.find('/');
    owner = kind + (slash == std::string::npos ? "" : "." + version.substr(0, slash)) + "/" +
            std::string(Text(ref, "name"));
  }
  return Json::array({NameOf(o), owner, Integer(o, "revision"), AgeOf(o, now)});
}

constexpr std::string_view kReplicaColumns =
    "Desired:i|Current:i|Ready:i|Age|Containers*|Images*|Selector*";
constexpr auto kWorkloadPrinters = std::to_array<Printer>({
    {"apps", "deployments", "Ready|Up-to-date|Available|Age|Containers*|Images*|Selector*",
     DeploymentCells},
    {"apps", "replicasets", kReplicaColumns, ReplicaSetCells},
    {"", "replicationcontrollers", kReplicaColumns, ControllerCells},
    {"apps", "daemonsets",
     "Desired:i|Current:i|Ready:i|Up-to-date:i|Available:i|Node "
     "Selector|Age|Containers*|Images*|Selector*",
     DaemonSetCells},
    {"apps", "statefulsets", "Ready|Age|Containers*|Images*", StatefulSetCells},
    {"apps", "controllerrevisions", "Controller|Revision|Age", RevisionCells},
    {"batch", "jobs", "Status|Completions|Duration|Age|Containers*|Images*|Selector*", JobCells},
    {"batch", "cronjobs",
     "Schedule|Timezone|Suspend:b|Active:i|Last Schedule|Age|Containers*|Images*|Selector*",
     CronJobCells},
    {"", "services", "Type|Cluster-IP|External-IP|Port(s)|Age|Selector*", ServiceCells},
    {"", "endpoints", "Endpoints|Age", EndpointsCells},
    {"discovery.k8s.io", "endpointslices", "AddressType|Ports|Endpoints|Age", SliceCells},
    {"autoscaling", "horizontalpodautoscalers", "Reference|Targets|MinPods|MaxPods|Replicas|Age",
     AutoscalerCells},
    {"", "podtemplates", "Containers|Images|Pod Labels", TemplateCells},
});

}  // namespace

const Printer* WorkloadPrinter(const Gvr& gvr) {
  for (const Printer& printer : kWorkloadPrinters) {
    if (printer.resource == gvr.resource && printer.group == gvr.group) return &printer;
  }
  return nullptr;
}

}  // namespace kcm::devcluster::kinds
