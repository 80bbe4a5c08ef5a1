// SPDX-License-Identifier: Apache-2.0
// What a plugin declares, checked and copied out of its image: safe to keep after the image is
// gone.
#pragma once
#include <kcm/plugin.h>

#include <cstdint>
#include <string>
#include <vector>

#include "host/cache/informer.h"
#include "host/client/client.h"
#include "kcm/rules/result.h"

namespace kcm::host::plugin {

struct FlagDeclaration {
  uint32_t type = KCM_FLAG_STRING;
  std::string name, default_value, help, deprecated;
};

struct RuleDeclaration {
  std::vector<std::string> api_groups, resources, verbs, resource_names, non_resource_urls;
};

struct WatchDeclaration {
  client::Gvr gvr;
  std::string scope, field_selector;
  uint32_t flags = 0;               // KCM_WATCH_*
  std::vector<std::string> fields;  // empty: whole
  std::vector<cache::IndexSpec> indexes;
  clock::Duration resync{0};
  bool metadata_only() const { return (flags & KCM_WATCH_METADATA_ONLY) != 0; }
  bool optional() const { return (flags & KCM_WATCH_OPTIONAL) != 0; }
  bool no_events() const { return (flags & KCM_WATCH_NO_EVENTS) != 0; }
};

struct QueueDeclaration {
  std::string name, workers_flag;
  uint32_t key_version = 1;
  int workers = 1;
  int max_retries = -1;
  clock::Duration base_delay{0}, max_delay{0};
  double bucket_qps = 0;
  int bucket_burst = 0;
};

struct TaskDeclaration {
  std::string name, period_flag;
  clock::Duration period{0}, first_after{0};
};

struct ControllerDeclaration {
  std::string name, client_name, event_source;
  std::vector<std::string> aliases, feature_gates, required_resources;
  bool off_by_default = false;
  bool root_identity = false;
  std::vector<FlagDeclaration> flags;
  std::vector<RuleDeclaration> rules;
  std::vector<WatchDeclaration> watches;
  std::vector<QueueDeclaration> queues;
  std::vector<TaskDeclaration> tasks;
  double qps_factor = 1, burst_factor = 1;
  const kcm_controller_api* api = nullptr;  // into the image: valid while it is mapped
};

struct PluginDeclaration {
  std::string name, version, vendor, build_id;
  uint32_t abi_major = 0, abi_minor = 0;
  std::vector<ControllerDeclaration> controllers;
};

// Checks sizes, versions and pointers, then copies. `file` is for messages. Every refusal names
// what is wrong and the fix; an ABI mismatch names both versions. Runs no plugin code.
Result<PluginDeclaration> ReadDeclaration(const kcm_plugin* plugin, const std::string& file);

// The text of `plugins inspect`: JSON, indented.
std::string Describe(const PluginDeclaration& plugin);

}  // namespace kcm::host::plugin
