// SPDX-License-Identifier: Apache-2.0
// MetricsClient: reads the three metrics APIs (spec/pod-batch.md 4.1).
//
//   MetricsClient metrics(run, custom_api, clock);
//   Result<Samples> cpu = metrics.Resource("shop", "app=web", "cpu", {});
//
// Errors begin as the reference's do: `unable to fetch metrics from custom metrics API: ...`, `no
// metrics returned from ...`.
#pragma once
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "kcm/rules/node.h"
#include "kcm/rules/result.h"
#include "kcm/sdk/context.h"
#include "plugins/pod/hpa/samples.h"

namespace kcm::pod::hpa {

// The version of custom.metrics.k8s.io that is spoken: the server's preferred one when it is known
// here, else the first known of those it serves. Asked for anew after `validity`. Thread-safe.
class CustomApi {
 public:
  explicit CustomApi(sdk::Duration validity) : validity_(validity) {}
  Result<std::string> Version(const sdk::Run& run, const sdk::Clock& clock);

 private:
  struct Seen {
    std::string version;
    sdk::Duration at;
  };
  const sdk::Duration validity_;
  std::mutex mutex_;
  std::optional<Seen> seen_;  // guarded by mutex_
};

// Of the group's document (APIGroup).
Result<std::string> ChooseVersion(rules::Node api_group);

// One reconcile, one thread.
class MetricsClient {
 public:
  MetricsClient(const sdk::Run& run, CustomApi& custom_api, const sdk::Clock& clock)
      : run_(run), client_(run.client()), custom_api_(custom_api), clock_(clock) {}

  // Selectors are in their text form.
  // `container`: that one alone; empty for whole pods.
  Result<Samples> Resource(std::string_view ns, std::string_view selector,
                           std::string_view resource, std::string_view container) const;
  Result<Samples> Pods(std::string_view ns, std::string_view selector, std::string_view metric,
                       std::string_view metric_selector) const;
  // `described`: {kind, name, apiVersion}. Milli units, as External.
  Result<int64_t> Object(std::string_view ns, rules::Node described, std::string_view metric,
                         std::string_view metric_selector) const;
  Result<int64_t> External(std::string_view ns, std::string_view metric,
                           std::string_view selector) const;

 private:
  Result<sdk::WholeRef> Custom(std::string_view ns, std::string_view resource,
                               std::string_view name, std::string_view metric,
                               const std::string& query) const;
  Result<std::string> ResourceOf(rules::Node described) const;

  const sdk::Run& run_;
  sdk::Client client_;
  CustomApi& custom_api_;
  const sdk::Clock clock_;
};

}  // namespace kcm::pod::hpa
