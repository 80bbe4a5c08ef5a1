// SPDX-License-Identifier: Apache-2.0
// What namespace-controller declares: constant data, read by the host without running code of this
// plugin.
#pragma once
#include <cstdint>
#include <string_view>

#include "kcm/sdk/context.h"
#include "kcm/sdk/declaration.h"
#include "kcm/sdk/permissions.h"

namespace kcm::ns::namespaces {

// Watches and tasks, numbered by their place in kWatches and kTasks.
inline constexpr sdk::MaskedWatch kNamespaces{0};
inline constexpr uint32_t kResyncTask = 0;

inline constexpr std::string_view kName = "namespace-controller";
inline constexpr std::string_view kAliases[] = {"namespace"};

// Decides on existence and enqueueing only: whatever is written is read from the server first.
inline constexpr std::string_view kFields[] = {"metadata.deletionTimestamp"};
inline constexpr sdk::Watch kWatches[] = {{.resource = "v1/namespaces", .fields = kFields}};

inline constexpr std::string_view kWorkersFlag = "concurrent-namespace-syncs";
inline constexpr std::string_view kPeriodFlag = "namespace-sync-period";
inline constexpr sdk::Flag kFlags[] = {
    {.name = kWorkersFlag,
     .type = sdk::Flag::kInt,
     .default_value = "10",
     .help = "The number of namespaces that are emptied at the same time. More of them end sooner, "
             "at the price of more load on the API server"},
    {.name = kPeriodFlag,
     .type = sdk::Flag::kDuration,
     .default_value = "5m0s",
     .help = "How often every namespace that is being deleted is looked at again"}};

inline constexpr int64_t kSecond = 1'000'000'000;
// S1.3: the cap of the back-off is one minute here.
inline constexpr sdk::Queue kQueues[] = {{.name = "namespace",
                                          .workers_flag = kWorkersFlag,
                                          .workers = 10,
                                          .max_delay_ns = 60 * kSecond}};

// A task and not the watch's own resync, because the period is a flag's.
inline constexpr sdk::Task kTasks[] = {
    {.name = "resync", .period_flag = kPeriodFlag, .period_ns = 300 * kSecond}};

inline constexpr std::string_view kNamespaceResources[] = {"namespaces"};
inline constexpr std::string_view kNamespaceVerbs[] = {"delete", "get", "list", "watch"};
inline constexpr std::string_view kSubresources[] = {"namespaces/finalize", "namespaces/status"};
inline constexpr std::string_view kEverything[] = {"*"};
inline constexpr std::string_view kContentVerbs[] = {"delete", "deletecollection", "get", "list",
                                                     "watch"};
inline constexpr sdk::Rule kRules[] = {
    {.api_groups = sdk::permissions::kCoreGroup,
     .resources = kNamespaceResources,
     .verbs = kNamespaceVerbs},
    {.api_groups = sdk::permissions::kCoreGroup,
     .resources = kSubresources,
     .verbs = sdk::permissions::kUpdate},
    {.api_groups = kEverything, .resources = kEverything, .verbs = kContentVerbs}};

// One run asks for two or three answers per resource of the server, hence the wide client limits.
inline constexpr sdk::Declaration kDeclaration{.name = kName,
                                               .aliases = kAliases,
                                               .client_name = kName,
                                               .controller_flags = kFlags,
                                               .rules = kRules,
                                               .watches = kWatches,
                                               .queues = kQueues,
                                               .tasks = kTasks,
                                               .qps_factor = 20,
                                               .burst_factor = 100};

}  // namespace kcm::ns::namespaces
