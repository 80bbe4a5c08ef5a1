// SPDX-License-Identifier: Apache-2.0
// What serviceaccount-controller declares: constant data, read by the host without running code of
// this plugin.
#pragma once
#include <string_view>

#include "kcm/sdk/context.h"
#include "kcm/sdk/declaration.h"
#include "kcm/sdk/permissions.h"

namespace kcm::ns::serviceaccount {

// Watches, numbered by their place in kWatches.
inline constexpr sdk::MaskedWatch kNamespaces{0};
inline constexpr sdk::MaskedWatch kServiceAccounts{1};

inline constexpr std::string_view kAliases[] = {"serviceaccount"};

inline constexpr std::string_view kNamespaceFields[] = {"status.phase"};
inline constexpr std::string_view kServiceAccountFields[] = {"metadata.name"};  // existence only
inline constexpr sdk::Watch kWatches[] = {
    {.resource = "v1/namespaces", .fields = kNamespaceFields},
    {.resource = "v1/serviceaccounts", .fields = kServiceAccountFields}};

inline constexpr sdk::Queue kQueues[] = {{.name = "serviceaccount", .workers = 1}};

inline constexpr std::string_view kServiceAccountResources[] = {"serviceaccounts"};
inline constexpr std::string_view kServiceAccountVerbs[] = {"create"};
inline constexpr sdk::Rule kRules[] = {{.api_groups = sdk::permissions::kCoreGroup,
                                        .resources = kServiceAccountResources,
                                        .verbs = kServiceAccountVerbs},
                                       sdk::permissions::kRecordEvents};

inline constexpr sdk::Declaration kDeclaration{
    .name = "serviceaccount-controller",
    .aliases = kAliases,
    .client_name = "service-account-controller",  // with a hyphen that the controller's name lacks
    .rules = kRules,
    .watches = kWatches,
    .queues = kQueues};

}  // namespace kcm::ns::serviceaccount
