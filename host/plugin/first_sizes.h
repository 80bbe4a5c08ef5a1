// SPDX-License-Identifier: Apache-2.0
// Lengths that structs had in ABI 1.0. What a plugin passes must be at least that long: a plugin
// built against an older minor passes shorter structs than this host's headers have, for ever.
// Members younger than 1.0 are read only when KCM_HAS() says so.
//
// When a struct grows, nothing changes here.
#pragma once
#include <kcm/kcm.h>

#include <cstddef>
#include <cstdint>

namespace kcm::host::plugin {

// The last member that `type` had in 1.0.
#define KCM_FIRST_SIZE(type, last) static_cast<uint32_t>(offsetof(type, last) + sizeof(type::last))

constexpr uint32_t kFirstPlugin = KCM_FIRST_SIZE(kcm_plugin, controller_count);
constexpr uint32_t kFirstControllerDeclaration =
    KCM_FIRST_SIZE(kcm_controller_declaration, burst_factor);
constexpr uint32_t kFirstControllerApi = KCM_FIRST_SIZE(kcm_controller_api, health);
constexpr uint32_t kFirstFlag = KCM_FIRST_SIZE(kcm_flag, deprecated);
constexpr uint32_t kFirstRule = KCM_FIRST_SIZE(kcm_rbac_rule, non_resource_url_count);
constexpr uint32_t kFirstIndex = KCM_FIRST_SIZE(kcm_index, path);
constexpr uint32_t kFirstWatch = KCM_FIRST_SIZE(kcm_watch, resync_ns);
constexpr uint32_t kFirstQueue = KCM_FIRST_SIZE(kcm_queue_declaration, reserved);
constexpr uint32_t kFirstTask = KCM_FIRST_SIZE(kcm_task, first_after_ns);
constexpr uint32_t kFirstRequest = KCM_FIRST_SIZE(kcm_request, timeout_ns);
constexpr uint32_t kFirstQuery = KCM_FIRST_SIZE(kcm_query, label_selector);
constexpr uint32_t kFirstReference = KCM_FIRST_SIZE(kcm_reference, field_path);
constexpr uint32_t kFirstMetric = KCM_FIRST_SIZE(kcm_metric_description, bucket_count);

#undef KCM_FIRST_SIZE

}  // namespace kcm::host::plugin
