// SPDX-License-Identifier: Apache-2.0
// Requests to metrics APIs.
#include "plugins/pod/hpa/metrics_client.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "kcm/rules/error_class.h"
#include "kcm/rules/json_node.h"
#include "kcm/rules/quantity.h"
#include "kcm/rules/url_query.h"

namespace kcm::pod::hpa {

using rules::Node;

namespace {

constexpr std::string_view kResourceGroup = "metrics.k8s.io";
constexpr std::string_view kExternalGroup = "external.metrics.k8s.io";
constexpr std::string_view kCustomGroup = "custom.metrics.k8s.io";
constexpr std::string_view kMetricsVersion = "v1beta1";  // of the first two
constexpr std::array<std::string_view, 2> kKnownVersions = {"v1beta1", "v1beta2"};

bool IsKnown(std::string_view version) {
  return std::find(kKnownVersions.begin(), kKnownVersions.end(), version) != kKnownVersions.end();
}

// `api`: resource, custom or external.
Error NotFetched(std::string_view api, const Error& error) {
  Error out = error;
  out.message =
      "unable to fetch metrics from " + std::string(api) + " metrics API: " + error.message;
  return out;
}

Error NoneReturned(std::string_view api) {
  return MakeError(Code::kNotFound,
                   "no metrics returned from " + std::string(api) + " metrics API");
}

std::string_view GroupOf(std::string_view api_version) {
  const size_t slash = api_version.find('/');
  return slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
}

std::string Qualified(std::string_view name, std::string_view group) {
  std::string out(name);
  if (!group.empty()) out.append(".").append(group);
  return out;
}

}  // namespace

Result<std::string> ChooseVersion(Node api_group) {
  const std::string_view preferred = api_group.Path("preferredVersion.version").String();
  if (IsKnown(preferred)) return std::string(preferred);
  for (const Node served : api_group.Get("versions").Items()) {
    const std::string_view version = served.Get("version").String();
    if (IsKnown(version)) return std::string(version);
  }
  return MakeError(Code::kNotFound, "no known available metric versions found");
}

Result<std::string> CustomApi::Version(const sdk::Run& run, const sdk::Clock& clock) {
  {
    const std::lock_guard lock(mutex_);
    if (seen_ && clock.Monotonic() - seen_->at < validity_) return seen_->version;
  }
  const Result<std::string> text = run.client().Raw("/apis/" + std::string(kCustomGroup));
  if (!text.ok()) {
    if (!rules::IsNotFound(text.error())) return text.error();
    return MakeError(Code::kNotFound,
                     "no custom metrics API (" + std::string(kCustomGroup) + ") registered");
  }
  const nlohmann::json group = nlohmann::json::parse(*text, nullptr, false);
  Result<std::string> version = ChooseVersion(rules::JsonNode(group));
  if (version.ok()) {
    const std::lock_guard lock(mutex_);
    seen_ = Seen{*version, clock.Monotonic()};
  }
  return version;
}

Result<Samples> MetricsClient::Resource(std::string_view ns, std::string_view selector,
                                        std::string_view resource,
                                        std::string_view container) const {
  std::string query;
  rules::AddParameter(&query, "labelSelector", selector);
  const Result<sdk::WholeRef> list =
      client_.List({.group = kResourceGroup, .version = kMetricsVersion, .resource = "pods"}, ns,
                   {.query = query});
  if (!list.ok()) return NotFetched("resource", list.error());
  const Node root = list->Root();
  if (root.Get("items").empty()) return NoneReturned("resource");
  return container.empty() ? Result<Samples>(PodSamples(root, resource))
                           : ContainerSamples(root, resource, container);
}

Result<Samples> MetricsClient::Pods(std::string_view ns, std::string_view selector,
                                    std::string_view metric,
                                    std::string_view metric_selector) const {
  std::string query;
  rules::AddParameter(&query, "labelSelector", selector);
  rules::AddParameter(&query, "metricLabelSelector", metric_selector);
  const Result<sdk::WholeRef> list = Custom(ns, "pods", "*", metric, query);
  if (!list.ok()) return NotFetched("custom", list.error());
  const Node root = list->Root();
  if (root.Get("items").empty()) return NoneReturned("custom");
  return CustomSamples(root);
}

Result<int64_t> MetricsClient::Object(std::string_view ns, Node described, std::string_view metric,
                                      std::string_view metric_selector) const {
  std::string query;
  rules::AddParameter(&query, "metricLabelSelector", metric_selector);
  const Result<sdk::WholeRef> list = [&]() -> Result<sdk::WholeRef> {
    // Whether there is such an API at all is told first.
    const Result<std::string> version = custom_api_.Version(run_, clock_);
    if (!version.ok()) return version.error();
    const bool of_namespace = described.Get("kind").String() == "Namespace" &&
                              GroupOf(described.Get("apiVersion").String()).empty();
    // The namespace is the autoscaler's own, whatever the name says.
    if (of_namespace) return Custom(ns, "metrics", metric, {}, query);
    const Result<std::string> resource = ResourceOf(described);
    if (!resource.ok()) return resource.error();
    return Custom(ns, *resource, described.Get("name").String(), metric, query);
  }();
  if (!list.ok()) return NotFetched("custom", list.error());
  const Node root = list->Root();
  const Node items = root.Get("items");
  if (items.size() != 1) {
    return NotFetched("custom",
                      MakeError(Code::kInvalid, "the custom metrics API server returned " +
                                                    std::to_string(items.size()) +
                                                    " results when we asked for exactly one"));
  }
  return rules::Quantity::Of(items.At(0).Get("value")).MilliValue();
}

Result<int64_t> MetricsClient::External(std::string_view ns, std::string_view metric,
                                        std::string_view selector) const {
  std::string query;
  rules::AddParameter(&query, "labelSelector", selector);
  const Result<sdk::WholeRef> list =
      client_.List({.group = kExternalGroup, .version = kMetricsVersion, .resource = metric}, ns,
                   {.query = query});
  if (!list.ok()) return NotFetched("external", list.error());
  const Node root = list->Root();
  if (root.Get("items").empty()) return NoneReturned("external");
  return ExternalTotal(root);
}

// An empty `metric`: `name` is the metric, of the namespace itself.
Result<sdk::WholeRef> MetricsClient::Custom(std::string_view ns, std::string_view resource,
                                            std::string_view name, std::string_view metric,
                                            const std::string& query) const {
  const Result<std::string> version = custom_api_.Version(run_, clock_);
  if (!version.ok()) return version.error();
  return client_.Get({.group = kCustomGroup, .version = *version, .resource = resource}, ns, name,
                     {.subresource = metric, .query = query});
}

Result<std::string> MetricsClient::ResourceOf(Node described) const {
  const std::string_view group = GroupOf(described.Get("apiVersion").String());
  const std::string_view kind = described.Get("kind").String();
  Result<sdk::ServedResource> mapped = run_.discovery().ForKind(group, {}, kind);
  if (mapped.ok()) return Qualified(mapped->resource, mapped->group);
  Error error = mapped.error();
  error.message = "unable to map kind " + Qualified(kind, group) + " to resource: " + error.message;
  return error;
}

}  // namespace kcm::pod::hpa
