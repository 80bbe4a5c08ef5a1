// SPDX-License-Identifier: Apache-2.0
// Reads answers of metrics APIs.
#include "plugins/pod/hpa/samples.h"

#include <limits>
#include <optional>

#include "kcm/rules/go_duration.h"
#include "kcm/rules/quantity.h"
#include "plugins/pod/bounded_seconds.h"

namespace kcm::pod::hpa {

using rules::Node;

namespace {

constexpr std::chrono::seconds kDefaultWindow{60};  // of custom metrics that tell none

rules::WallTime TimestampOf(Node item) {
  return rules::TimeOf(item.Get("timestamp")).value_or(rules::WallTime::min());
}

std::chrono::nanoseconds WindowOf(Node pod_metrics) {
  const auto window = rules::ParseDuration(pod_metrics.Get("window").String());
  return window.ok() ? *window : std::chrono::nanoseconds(0);
}

int64_t MilliOf(Node quantity) { return rules::Quantity::Of(quantity).MilliValue(); }

// nullopt: not all of them have it, or there are none.
std::optional<int64_t> UsageOfContainers(Node containers, std::string_view resource) {
  if (containers.empty()) return std::nullopt;
  int64_t sum = 0;
  for (const Node container : containers.Items()) {
    const Node usage = container.Get("usage").Get(resource);
    if (!usage.Has()) return std::nullopt;
    sum = AddSaturated(sum, MilliOf(usage));
  }
  return sum;
}

Node ContainerNamed(Node containers, std::string_view name) {
  for (const Node container : containers.Items())
    if (container.Get("name").String() == name) return container;
  return Node();
}

}  // namespace

int64_t AddSaturated(int64_t x, int64_t y) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(x, y, &sum)) return sum;
  return x < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

Samples PodSamples(Node list, std::string_view resource) {
  Samples out;
  for (const Node item : list.Get("items").Items()) {
    const std::optional<int64_t> usage = UsageOfContainers(item.Get("containers"), resource);
    if (!usage) continue;
    out.insert_or_assign(std::string(item.Path("metadata.name").String()),
                         Sample{*usage, TimestampOf(item), WindowOf(item)});
  }
  return out;
}

Result<Samples> ContainerSamples(Node list, std::string_view resource, std::string_view container) {
  Samples out;
  for (const Node item : list.Get("items").Items()) {
    const Node found = ContainerNamed(item.Get("containers"), container);
    const std::string pod(item.Path("metadata.name").String());
    if (!found.Has()) {
      return MakeError(Code::kNotFound,
                       "failed to get container metrics: container " + std::string(container) +
                           " not present in metrics for pod " +
                           std::string(item.Path("metadata.namespace").String()) + "/" + pod);
    }
    const Node usage = found.Get("usage").Get(resource);
    if (!usage.Has()) continue;
    out.insert_or_assign(pod, Sample{MilliOf(usage), TimestampOf(item), WindowOf(item)});
  }
  return out;
}

Samples CustomSamples(Node list) {
  Samples out;
  for (const Node item : list.Get("items").Items()) {
    const Node v1beta2 = item.Get("windowSeconds");
    const Node window = v1beta2.Has() ? v1beta2 : item.Get("window");
    out.insert_or_assign(std::string(item.Path("describedObject.name").String()),
                         Sample{MilliOf(item.Get("value")), TimestampOf(item),
                                window.Has() ? BoundedSeconds(window.Int()) : kDefaultWindow});
  }
  return out;
}

int64_t ExternalTotal(Node list) {
  int64_t sum = 0;
  for (const Node item : list.Get("items").Items())
    sum = AddSaturated(sum, MilliOf(item.Get("value")));
  return sum;
}

}  // namespace kcm::pod::hpa
