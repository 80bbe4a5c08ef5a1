// SPDX-License-Identifier: Apache-2.0
// Reads and checks the leader migration file.
#include "host/config/leader_migration.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>

#include "host/config/version.h"
#include "host/file/regular_file.h"
#include "kcm/rules/go_quote.h"

namespace kcm::host::config {
namespace {

using rules::GoQuote;

Error ReadError(const std::string& path, const std::string& why) {
  return MakeError(Code::kInvalid, "unable to read leader migration configuration from " +
                                       GoQuote(path) + ": " + why);
}

Status CheckFields(const YAML::Node& map, const std::set<std::string>& allowed,
                   const std::string& prefix) {
  std::set<std::string> seen;
  for (const auto& entry : map) {
    const std::string key = entry.first.as<std::string>();
    if (!allowed.contains(key)) {
      return MakeError(Code::kInvalid,
                       "strict decoding error: unknown field " + GoQuote(prefix + key));
    }
    if (!seen.insert(key).second) {
      return MakeError(Code::kInvalid,
                       "strict decoding error: duplicate field " + GoQuote(prefix + key));
    }
  }
  return Ok();
}

std::string TextOf(const YAML::Node& map, const char* key) {
  const YAML::Node value = map[key];
  return value && value.IsScalar() ? value.as<std::string>() : "";
}

Result<LeaderMigration> Decode(const YAML::Node& root) {
  if (!root.IsMap()) return MakeError(Code::kInvalid, "want a LeaderMigrationConfiguration object");
  const std::string group = "controllermanager.config.k8s.io/";
  const std::string api = TextOf(root, "apiVersion");
  const bool old = api == group + "v1beta1" || api == group + "v1alpha1";
  if ((api != group + "v1" && !old) || TextOf(root, "kind") != "LeaderMigrationConfiguration") {
    return MakeError(Code::kInvalid, "no kind " + GoQuote(TextOf(root, "kind")) +
                                         " is registered for version " + GoQuote(api));
  }
  std::set<std::string> allowed = {"apiVersion", "kind", "leaderName", "controllerLeaders"};
  if (old) allowed.insert("resourceLock");
  if (Status fields = CheckFields(root, allowed, ""); !fields.ok()) return fields.error();

  LeaderMigration m;
  m.leader_name = TextOf(root, "leaderName");
  m.resource_lock = old ? TextOf(root, "resourceLock") : "leases";
  const YAML::Node leaders = root["controllerLeaders"];
  if (leaders && !leaders.IsSequence() && !leaders.IsNull()) {
    return MakeError(Code::kInvalid, "controllerLeaders: want a list");
  }
  for (size_t i = 0; leaders && i < leaders.size(); ++i) {
    const YAML::Node leader = leaders[i];
    if (!leader.IsMap())
      return MakeError(Code::kInvalid,
                       "controllerLeaders[" + std::to_string(i) + "]: want an object");
    const Status fields =
        CheckFields(leader, {"name", "component"}, "controllerLeaders[" + std::to_string(i) + "].");
    if (!fields.ok()) return fields.error();
    m.controllers.emplace_back(TextOf(leader, "name"), TextOf(leader, "component"));
  }
  return m;
}

Status Check(const LeaderMigration& m) {
  std::string errors;
  const auto add = [&](const std::string& error) { errors += (errors.empty() ? "" : " ") + error; };
  if (m.leader_name.empty()) {
    add("leaderName: Required value: leaderName must be set for LeaderMigrationConfiguration");
  }
  if (m.resource_lock != "leases")
    add("resourceLock: Invalid value: " + GoQuote(m.resource_lock) +
        ": resource Lock must be one of [leases]");
  for (size_t i = 0; i < m.controllers.size(); ++i) {
    const std::string where = "controllerLeaders[" + std::to_string(i) + "].";
    if (m.controllers[i].second.empty()) add(where + "component: Required value");
    if (m.controllers[i].first.empty()) add(where + "name: Required value");
  }
  if (errors.empty()) return Ok();
  return MakeError(Code::kInvalid,
                   "failed to parse leader migration configuration: [" + errors + "]");
}

}  // namespace

LeaderMigration DefaultLeaderMigration() {
  return {"cloud-provider-extraction-migration",
          "leases",
          {{"route-controller", "*"},
           {"service-controller", "*"},
           {"cloud-node-lifecycle-controller", "*"}}};
}

Result<LeaderMigration> ReadLeaderMigration(const std::string& path) {
  if (path.empty()) return DefaultLeaderMigration();
  const Result<std::string> text = file::ReadRegularFile(path);
  if (!text.ok()) return ReadError(path, text.error().message);
  try {
    Result<LeaderMigration> migration = Decode(YAML::Load(*text));
    if (!migration.ok()) return ReadError(path, migration.error().message);
    if (const Status checked = Check(*migration); !checked.ok()) return checked.error();
    return migration;
  } catch (const YAML::Exception& e) {
    return ReadError(path, e.what());
  }
}

MigratedTo WhereRuns(const LeaderMigration& migration, std::string_view controller) {
  for (const auto& [name, component] : migration.controllers) {
    if (name != controller) continue;
    return component == "*" || component == kComponent ? MigratedTo::kMigrationLock
                                                       : MigratedTo::kElsewhere;
  }
  return MigratedTo::kMainLock;
}

}  // namespace kcm::host::config
