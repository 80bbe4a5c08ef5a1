// SPDX-License-Identifier: Apache-2.0
// Reading declarations: what is copied, what is refused and with which words. Declarations are
// foreign data: nothing may crash.
#include "host/plugin/declaration.h"

#include <gtest/gtest.h>

#include <functional>

namespace kcm::host::plugin {
namespace {

// A whole declaration whose every part a row can break.
struct Parts {
  kcm_str names[2] = {KCM_STR("one"), KCM_STR("two")};
  kcm_str fields[1] = {KCM_STR("spec.nodeName")};
  kcm_index index{sizeof(kcm_index), KCM_INDEX_FIELD, KCM_STR("spec.nodeName")};
  const kcm_index* indexes[1] = {&index};
  kcm_watch watch{};
  const kcm_watch* watches[1] = {&watch};
  kcm_queue_declaration queue{};
  const kcm_queue_declaration* queues[1] = {&queue};
  kcm_task task{};
  const kcm_task* tasks[1] = {&task};
  kcm_flag flag{};
  const kcm_flag* flags[1] = {&flag};
  kcm_rbac_rule rule{};
  const kcm_rbac_rule* rules[1] = {&rule};
  kcm_controller_api api{};
  kcm_controller_declaration controller{};
  const kcm_controller_declaration* controllers[2] = {&controller, &controller};
  kcm_plugin plugin{};

  Parts() {
    watch.size = sizeof(watch);
    watch.flags = KCM_WATCH_OPTIONAL;
    watch.version = KCM_STR("v1");
    watch.resource = KCM_STR("pods");
    watch.fields = fields;
    watch.field_count = 1;
    watch.indexes = indexes;
    watch.index_count = 1;
    queue.size = sizeof(queue);
    queue.key_version = 3;
    queue.name = KCM_STR("q");
    queue.workers = 5;
    queue.max_retries = 15;
    task.size = sizeof(task);
    task.name = KCM_STR("sweep");
    task.period_ns = 1'000'000'000;
    flag.size = sizeof(flag);
    flag.type = KCM_FLAG_INT;
    flag.name = KCM_STR("vendor-level");
    flag.default_value = KCM_STR("3");
    rule.size = sizeof(rule);
    rule.verbs = names;
    rule.verb_count = 2;
    api.size = sizeof(api);
    api.create = [](const kcm_create*, kcm_controller**, kcm_error*) -> int32_t { return 0; };
    api.start = [](kcm_controller*, kcm_error*) -> int32_t { return 0; };
    api.on_event = [](kcm_controller*, const kcm_event*) {};
    api.reconcile = [](kcm_controller*, const kcm_reconcile*, kcm_outcome*, kcm_error*) -> int32_t {
      return 0;
    };
    api.on_task = [](kcm_controller*, uint32_t, kcm_scope*, kcm_error*) -> int32_t { return 0; };
    api.stop = api.destroy = [](kcm_controller*) {};
    controller.size = sizeof(controller);
    controller.flags = KCM_CONTROLLER_OFF_BY_DEFAULT;
    controller.name = KCM_STR("c1");
    controller.aliases = names;
    controller.alias_count = 2;
    controller.client_name = KCM_STR("c1-account");
    controller.controller_flags = flags;
    controller.controller_flag_count = 1;
    controller.rules = rules;
    controller.rule_count = 1;
    controller.watches = watches;
    controller.watch_count = 1;
    controller.queues = queues;
    controller.queue_count = 1;
    controller.tasks = tasks;
    controller.task_count = 1;
    controller.api = &api;
    plugin.size = sizeof(plugin);
    plugin.magic = KCM_PLUGIN_MAGIC;
    plugin.abi_major = KCM_ABI_MAJOR;
    plugin.abi_minor = KCM_ABI_MINOR;
    plugin.name = KCM_STR("p");
    plugin.controllers = controllers;
    plugin.controller_count = 1;
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
};

TEST(PluginDeclaration, WholeOneIsCopied) {
  const Parts parts;
  const Result<PluginDeclaration> read = ReadDeclaration(&parts.plugin, "p.so");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->name, "p");
  const ControllerDeclaration& c = read->controllers.at(0);
  EXPECT_EQ(c.name, "c1");
  EXPECT_EQ(c.aliases, (std::vector<std::string>{"one", "two"}));
  EXPECT_TRUE(c.off_by_default);
  EXPECT_EQ(c.flags.at(0).name, "vendor-level");
  EXPECT_EQ(c.rules.at(0).verbs.size(), 2u);
  EXPECT_EQ(c.watches.at(0).gvr, (client::Gvr{"", "v1", "pods"}));
  EXPECT_TRUE(c.watches.at(0).optional());
  EXPECT_EQ(c.watches.at(0).indexes.size(), 1u);
  EXPECT_EQ(c.queues.at(0).key_version, 3u);
  EXPECT_EQ(c.queues.at(0).max_retries, 15);
  EXPECT_EQ(c.tasks.at(0).period, std::chrono::seconds(1));
  EXPECT_EQ(c.qps_factor, 1.0) << "0 means the flag's own rate";
  EXPECT_EQ(c.api, &parts.api);
  const std::string text = Describe(*read);
  for (const char* want : {"\"name\": \"c1\"", "\"--vendor-level\"", "\"v1/pods\"",
                           "\"spec.nodeName\"", "\"abi\": \"1."})
    EXPECT_NE(text.find(want), std::string::npos) << want << " is missing in " << text;
}

// A plugin of a later minor has longer structs: what this host does not know is passed over.
TEST(PluginDeclaration, LongerStructsAreRead) {
  Parts parts;
  parts.plugin.size += 64;
  parts.controller.size += 64;
  parts.api.size += 64;
  parts.watch.size += 8;
  EXPECT_TRUE(ReadDeclaration(&parts.plugin, "p.so").ok());
}

TEST(PluginDeclaration, TableOfRefusals) {
  const struct {
    const char* name;
    std::function<void(Parts&)> damage;
    const char* want;
  } rows[] = {
      {"magic", [](Parts& p) { p.plugin.magic = 1; },
       "p.so: kcm_plugin_entry does not hold a plugin: export the constant of kcm/plugin.h"},
      {"major", [](Parts& p) { p.plugin.abi_major = 9; },
       "p.so: built for ABI 9.0, this host speaks 1.0: rebuild the plugin or use a newer host"},
      {"major decides before sizes",
       [](Parts& p) {
         p.plugin.abi_major = 9;
         p.plugin.size = 4;
       },
       "p.so: built for ABI 9.0, this host speaks 1.0: rebuild the plugin or use a newer host"},
      {"short plugin", [](Parts& p) { p.plugin.size = 16; },
       "p.so: plugin entry is 16 bytes long, at least 96 are needed: rebuild the plugin with the "
       "kcm headers of this host"},
      {"no name",
       [](Parts& p) {
         p.plugin.name = {nullptr, 0};
       },
       "p.so: plugin name is empty"},
      {"text without bytes",
       [](Parts& p) {
         p.plugin.name = {nullptr, 5};
       },
       "p.so: plugin name is no legal text"},
      {"endless text",
       [](Parts& p) {
         p.plugin.vendor = {"x", UINT64_MAX};
       },
       "p.so: plugin vendor is no legal text"},
      {"list without items", [](Parts& p) { p.plugin.controllers = nullptr; },
       "p.so: controllers: list of 1 items is not legal"},
      {"endless list", [](Parts& p) { p.plugin.controller_count = UINT64_MAX; },
       "p.so: controllers: list of 18446744073709551615 items is not legal"},
      {"controller NULL", [](Parts& p) { p.controllers[0] = nullptr; },
       "p.so: controller declaration is NULL"},
      {"controller twice", [](Parts& p) { p.plugin.controller_count = 2; },
       "p.so: declares controller c1 twice"},
      {"short controller", [](Parts& p) { p.controller.size = 8; },
       "p.so: controller declaration is 8 bytes long, at least 208 are needed: rebuild the plugin "
       "with the kcm headers of this host"},
      {"controller without name", [](Parts& p) { p.controller.name.length = 0; },
       "p.so: controller name is empty"},
      {"no identity", [](Parts& p) { p.controller.client_name.length = 0; },
       "p.so: controller c1: client name is empty"},
      {"no table", [](Parts& p) { p.controller.api = nullptr; },
       "p.so: controller c1: function table is NULL"},
      {"short table", [](Parts& p) { p.api.size = 80; },
       "p.so: controller c1: function table is 80 bytes long, at least 88 are needed: rebuild the "
       "plugin with the kcm headers of this host"},
      {"no destroy", [](Parts& p) { p.api.destroy = nullptr; },
       "p.so: controller c1: function table lacks one of create, start, on_event, reconcile, stop, "
       "destroy"},
      {"tasks without on_task", [](Parts& p) { p.api.on_task = nullptr; },
       "p.so: controller c1: tasks are declared but on_task is NULL"},
      {"watch without resource", [](Parts& p) { p.watch.resource.length = 0; },
       "p.so: controller c1: watch resource is empty"},
      {"watch without version", [](Parts& p) { p.watch.version.length = 0; },
       "p.so: controller c1: watch version is empty"},
      {"unknown index", [](Parts& p) { p.index.by = 77; },
       "p.so: controller c1: index of unknown kind 77"},
      {"index NULL", [](Parts& p) { p.indexes[0] = nullptr; },
       "p.so: controller c1: index is NULL"},
      {"short queue", [](Parts& p) { p.queue.size = 4; },
       "p.so: controller c1: queue is 4 bytes long, at least 80 are needed: rebuild the plugin "
       "with the kcm headers of this host"},
      {"task without period", [](Parts& p) { p.task.period_ns = 0; },
       "p.so: controller c1: task sweep has no period"},
      {"flag without type", [](Parts& p) { p.flag.type = 0; },
       "p.so: controller c1: flag vendor-level has an unknown type"},
      {"flag without name", [](Parts& p) { p.flag.name.length = 0; },
       "p.so: controller c1: flag name is empty"},
      {"rule NULL", [](Parts& p) { p.rules[0] = nullptr; },
       "p.so: controller c1: RBAC rule is NULL"},
      {"fields without items", [](Parts& p) { p.watch.fields = nullptr; },
       "p.so: controller c1: watch fields: list of 1 items is not legal"},
  };
  EXPECT_EQ(ReadDeclaration(nullptr, "p.so").error().message,
            "p.so: no symbol kcm_plugin_entry: not a plugin");
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Parts parts;
    row.damage(parts);
    const Result<PluginDeclaration> read = ReadDeclaration(&parts.plugin, "p.so");
    EXPECT_EQ(read.ok() ? "" : read.error().message, row.want);
  }
}

}  // namespace
}  // namespace kcm::host::plugin
