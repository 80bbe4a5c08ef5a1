// SPDX-License-Identifier: Apache-2.0
// Pieces of RBAC rules that the stock roles of many controllers share (the role "events" among
// them), for sdk::Declaration::rules. Constant data.
#pragma once
#include <string_view>

#include "kcm/sdk/declaration.h"

namespace kcm::sdk::permissions {

inline constexpr std::string_view kCoreGroup[] = {""};
inline constexpr std::string_view kAppsGroup[] = {"apps"};
// The stock roles still name the group that workloads had before apps.
inline constexpr std::string_view kAppsGroups[] = {"apps", "extensions"};
inline constexpr std::string_view kBatchGroup[] = {"batch"};
inline constexpr std::string_view kPodsResource[] = {"pods"};

inline constexpr std::string_view kRead[] = {"get", "list", "watch"};
inline constexpr std::string_view kReadUpdate[] = {"get", "list", "watch", "update"};
inline constexpr std::string_view kUpdate[] = {"update"};

inline constexpr std::string_view kEventGroups[] = {"", "events.k8s.io"};
inline constexpr std::string_view kEventsResource[] = {"events"};
inline constexpr std::string_view kEventVerbs[] = {"create", "patch", "update"};
// What every controller that records Events is granted.
inline constexpr Rule kRecordEvents{
    .api_groups = kEventGroups, .resources = kEventsResource, .verbs = kEventVerbs};

}  // namespace kcm::sdk::permissions
