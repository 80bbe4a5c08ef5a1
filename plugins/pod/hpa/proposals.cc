// SPDX-License-Identifier: Apache-2.0
// Fetches, counts and words each kind of metric.
#include "plugins/pod/hpa/proposals.h"

#include <utility>

#include "kcm/rules/go_quote.h"
#include "kcm/rules/label_selector.h"
#include "kcm/rules/label_selector_text.h"
#include "kcm/rules/quantity.h"
#include "plugins/pod/hpa/pod_groups.h"
#include "plugins/pod/hpa/status.h"

namespace kcm::pod::hpa {

using rules::Node;

namespace {

std::string Text(Node node) { return std::string(node.String()); }

int64_t MilliValue(Node quantity) { return rules::Quantity::Of(quantity).MilliValue(); }

std::string MetricName(Node source) { return Text(source.Path("metric.name")); }

// The error with something in front.
Error Prefixed(const std::string& prefix, const Error& error) {
  Error out = error;
  out.message = prefix + error.message;
  return out;
}

// A metric without a selector has none in its requests: nothing is left out by it.
Result<std::string> MetricSelector(Node source) {
  const Result<rules::LabelSelector> selector =
      rules::LabelSelector::FromObject(source.Path("metric.selector"));
  if (!selector.ok()) return selector.error();
  return selector->Text();
}

bool HasTarget(Node source, std::string_view type, std::string_view member) {
  return source.Path("target.type").String() == type && source.Get("target").Get(member).Has();
}

std::string_view ReasonOf(std::string_view type) {
  if (type == "Resource") return "FailedGetResourceMetric";
  if (type == "ContainerResource") return "FailedGetContainerResourceMetric";
  if (type == "Pods") return "FailedGetPodsMetric";
  if (type == "Object") return "FailedGetObjectMetric";
  if (type == "External") return "FailedGetExternalMetric";
  return "InvalidMetricSourceType";
}

// What the failure of the whole says before the text of the Event.
std::string ContextOf(std::string_view type, Node source) {
  if (type == "Resource")
    return "failed to get " + Text(source.Get("name")) + " resource metric value: ";
  if (type == "ContainerResource")
    return "failed to get " + Text(source.Get("container")) + " container metric value: ";
  if (type == "Pods") return "failed to get pods metric value: ";
  const std::string metric = MetricName(source);
  if (type == "Object") {
    std::string out = "failed to get object metric value: ";
    if (HasTarget(source, "AverageValue", "averageValue"))
      out += "failed to get " + metric + " object metric: ";
    return out;
  }
  if (type == "External") {
    std::string out = "failed to get " + metric + " external metric value: ";
    if (source.Path("target.averageValue").Has()) {
      out += "failed to get " + metric + " external metric: ";
    } else if (source.Path("target.value").Has()) {
      out += "failed to get external metric " + metric + ": ";
    }
    return out;
  }
  return {};
}

std::string ExternalName(Node source) {
  return "external metric " + MetricName(source) + "(" +
         rules::LabelSelectorText(source.Path("metric.selector")) + ")";
}

}  // namespace

Computed Proposals::Of(Node metric) const {
  const std::string_view type = metric.Get("type").String();
  const std::string_view member = MemberOfType(type);
  Computed out;
  if (member.empty()) {
    out.failure.reason = ReasonOf(type);
    out.failure.error =
        MakeError(Code::kInvalid, "unknown metric source type " + rules::GoQuote(type));
    out.failure.text = out.failure.error.message;
    out.failure.by_spec = true;
    return out;
  }
  const Node source = metric.Get(member);
  Answer answer = Compute(metric, source);
  if (answer.ok()) {
    out.proposal = std::move(*answer);
    return out;
  }
  out.failure.reason = ReasonOf(type);
  out.failure.error = answer.error();
  out.failure.text = ContextOf(type, source) + answer.error().message;
  return out;
}

Proposals::Answer Proposals::Compute(Node metric, Node source) const {
  const std::string_view type = metric.Get("type").String();
  if (type == "Pods") return OfPods(metric, source);
  if (type == "Object") return OfObject(metric, source);
  if (type == "External") return OfExternal(metric, source);
  return OfResource(metric, source);
}

// ---- samples of pods ----

Proposals::Answer Proposals::OfResource(Node metric, Node source) const {
  const std::string resource = Text(source.Get("name"));
  const Node target = source.Get("target");
  if (target.Get("averageValue").Has()) {
    Answer answer = OfAverage(metric, source);
    return answer.ok() ? std::move(answer)
                       : Answer(Prefixed("failed to get " + resource + " usage: ", answer.error()));
  }
  const Node utilization = target.Get("averageUtilization");
  if (!utilization.IsNumber()) {
    return MakeError(Code::kInvalid,
                     "invalid resource metric source: neither an average utilization target nor "
                     "an average value (usage) target was set");
  }
  Answer answer = OfUtilization(metric, source, utilization.Int());
  return answer.ok()
             ? std::move(answer)
             : Answer(Prefixed("failed to get " + resource + " utilization: ", answer.error()));
}

Proposals::Answer Proposals::OfAverage(Node metric, Node source) const {
  const std::string resource = Text(source.Get("name"));
  Result<Samples> samples =
      metrics_.Resource(target_.ns, target_.selector, resource, source.Get("container").String());
  if (!samples.ok())
    return Prefixed("unable to get metrics for resource " + resource + ": ", samples.error());
  const Result<ReplicaCount> count = CountAverage(*std::move(samples), resource, source);
  if (!count.ok()) return count.error();
  return Proposal{.replicas = count->replicas,
                  .metric = resource + " resource",
                  .status = ResourceMetricStatus(metric, count->usage, false)};
}

Proposals::Answer Proposals::OfUtilization(Node metric, Node source, int64_t percent) const {
  const std::string resource = Text(source.Get("name"));
  const std::string_view container = source.Get("container").String();
  Result<Samples> samples = metrics_.Resource(target_.ns, target_.selector, resource, container);
  if (!samples.ok())
    return Prefixed("unable to get metrics for resource " + resource + ": ", samples.error());
  const Result<PodGroups> groups = Group(*samples, resource);
  if (!groups.ok()) return groups.error();
  const Result<Requests> requests =
      RequestsOf(target_.pods, resource, container, settings_.pod_level_resources);
  if (!requests.ok()) return requests.error();
  const Result<ReplicaCount> count =
      CountReplicas(*std::move(samples), *groups, {.value = percent, .requests = &*requests},
                    target_.tolerances, target_.replicas);
  if (!count.ok()) return count.error();
  const bool of_container = metric.Get("type").String() == "ContainerResource";
  return Proposal{.replicas = count->replicas,
                  .metric = resource + (of_container ? " container" : "") +
                            " resource utilization (percentage of request)",
                  .status = ResourceMetricStatus(metric, count->usage, true)};
}

Proposals::Answer Proposals::OfPods(Node metric, Node source) const {
  const std::string name = MetricName(source);
  const Result<std::string> metric_selector = MetricSelector(source);
  if (!metric_selector.ok()) return metric_selector.error();
  Result<Samples> samples = metrics_.Pods(target_.ns, target_.selector, name, *metric_selector);
  if (!samples.ok()) return Prefixed("unable to get metric " + name + ": ", samples.error());
  const Result<ReplicaCount> count = CountAverage(*std::move(samples), {}, source);
  if (!count.ok()) return count.error();
  return Proposal{.replicas = count->replicas,
                  .metric = "pods metric " + name,
                  .status = ValueMetricStatus(metric, "averageValue", count->usage.average)};
}

Result<PodGroups> Proposals::Group(Samples& samples, std::string_view resource) const {
  if (target_.pods.empty()) return NoPods();
  PodGroups groups = GroupPods(target_.pods, samples, resource,
                               {.now = now_,
                                .cpu_initialization = settings_.cpu_initialization,
                                .initial_delay = settings_.initial_readiness_delay});
  const Status counted = DropUncounted(samples, groups);
  if (!counted.ok()) return counted.error();
  return groups;
}

Result<ReplicaCount> Proposals::CountAverage(Samples samples, std::string_view resource,
                                             Node source) const {
  const Result<PodGroups> groups = Group(samples, resource);
  if (!groups.ok()) return groups.error();
  return CountReplicas(std::move(samples), *groups,
                       {.value = MilliValue(source.Path("target.averageValue"))},
                       target_.tolerances, target_.replicas);
}

// ---- one value about everything ----

Proposals::Answer Proposals::OfObject(Node metric, Node source) const {
  const std::string name = MetricName(source);
  const Node described = source.Get("describedObject");
  const bool in_total = HasTarget(source, "Value", "value");
  if (!in_total && !HasTarget(source, "AverageValue", "averageValue")) {
    return MakeError(Code::kInvalid,
                     "invalid object metric source: neither a value target nor an average value "
                     "target was set");
  }
  const Result<std::string> metric_selector = MetricSelector(source);
  if (!metric_selector.ok()) return metric_selector.error();
  const Result<int64_t> usage = metrics_.Object(target_.ns, described, name, *metric_selector);
  if (!usage.ok()) {
    return Prefixed("unable to get metric " + name + ": " + Text(described.Get("kind")) + " on " +
                        std::string(target_.ns) + " " + Text(described.Get("name")) + "/",
                    usage.error());
  }
  const Node target = source.Get("target");
  if (in_total)
    return InTotal(metric, target, *usage, Text(described.Get("kind")) + " metric " + name);
  return APod(metric, target, *usage, ExternalName(source));
}

Proposals::Answer Proposals::OfExternal(Node metric, Node source) const {
  const std::string name = MetricName(source);
  const Node target = source.Get("target");
  const bool a_pod = target.Get("averageValue").Has();
  if (!a_pod && !target.Get("value").Has()) {
    return MakeError(Code::kInvalid,
                     "invalid external metric source: neither a value target nor an average value "
                     "target was set");
  }
  const Result<std::string> selector = MetricSelector(source);
  if (!selector.ok()) return selector.error();
  const Result<int64_t> usage = metrics_.External(target_.ns, name, *selector);
  if (!usage.ok()) {
    return Prefixed("unable to get external metric " + std::string(target_.ns) + "/" + name + "/" +
                        rules::LabelSelectorText(source.Path("metric.selector")) + ": ",
                    usage.error());
  }
  if (a_pod) return APod(metric, target, *usage, ExternalName(source));
  return InTotal(metric, target, *usage, ExternalName(source));
}

Proposals::Answer Proposals::InTotal(Node metric, Node target, int64_t usage,
                                     std::string name) const {
  const double ratio =
      static_cast<double>(usage) / static_cast<double>(MilliValue(target.Get("value")));
  const Result<int64_t> replicas =
      ReplicasForRatio(ratio, target_.replicas, target_.pods, target_.tolerances);
  if (!replicas.ok()) return replicas.error();
  return Proposal{.replicas = *replicas,
                  .metric = std::move(name),
                  .status = ValueMetricStatus(metric, "value", usage)};
}

Proposal Proposals::APod(Node metric, Node target, int64_t usage, std::string name) const {
  const PerPod pods = ReplicasPerPod(usage, MilliValue(target.Get("averageValue")),
                                     target_.observed, target_.tolerances);
  return {.replicas = pods.replicas,
          .metric = std::move(name),
          .status = ValueMetricStatus(metric, "averageValue", pods.average)};
}

}  // namespace kcm::pod::hpa
