// SPDX-License-Identifier: Apache-2.0
// Making Jobs and edits of a CronJob's status.
#include "plugins/pod/cronjob/body.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "kcm/rules/condition.h"
#include "kcm/rules/json_node.h"
#include "kcm/sdk/object.h"
#include "plugins/pod/cronjob/schedule.h"

namespace kcm::pod::cronjob {

using nlohmann::json;
using rules::Node;
using rules::WallTime;

namespace {

constexpr const char* kScheduledTimestamp = "batch.kubernetes.io/cronjob-scheduled-timestamp";

json& Object(json& parent, const char* name) {
  json& member = parent[name];
  if (!member.is_object()) member = json::object();
  return member;
}
json ObjectOf(Node node) {
  json out = sdk::ToJson(node);
  return out.is_object() ? out : json::object();
}

}  // namespace

json JobBody(Node cron_job, WallTime time, const rules::TimeZone& zone) {
  const Node metadata = cron_job.Get("metadata"), job_template = cron_job.Path("spec.jobTemplate");
  const std::string_view name = metadata.Get("name").String();
  const auto offset = zone.At(std::chrono::floor<std::chrono::seconds>(time)).offset;
  json body{{"apiVersion", "batch/v1"}, {"kind", "Job"}};
  json& own = body["metadata"];
  own = {{"name", JobName(name, time)},
         {"namespace", metadata.Get("namespace").String()},
         {"labels", ObjectOf(job_template.Path("metadata.labels"))},
         {"annotations", ObjectOf(job_template.Path("metadata.annotations"))}};
  own["annotations"][kScheduledTimestamp] = rules::FormatTimeInZone(time, offset);
  own["ownerReferences"] = json::array({{{"apiVersion", "batch/v1"},
                                         {"kind", "CronJob"},
                                         {"name", name},
                                         {"uid", metadata.Get("uid").String()},
                                         {"controller", true},
                                         {"blockOwnerDeletion", true}}});
  body["spec"] = ObjectOf(job_template.Get("spec"));
  return body;
}

bool IsActive(Node cron_job, std::string_view uid) {
  for (const Node entry : cron_job.Path("status.active").Items())
    if (entry.Get("uid").String() == uid) return true;
  return false;
}

bool IsActiveByName(Node cron_job, std::string_view ns, std::string_view name) {
  for (const Node entry : cron_job.Path("status.active").Items())
    if (entry.Get("name").String() == name && entry.Get("namespace").String() == ns) return true;
  return false;
}

bool RemoveActive(json& cron_job, std::string_view uid) {
  json& status = Object(cron_job, "status");
  const auto active = status.find("active");
  if (active == status.end() || !active->is_array()) return false;
  json left = json::array();
  for (const json& entry : *active)
    if (rules::JsonNode(entry).Get("uid").String() != uid) left.push_back(entry);
  if (left.size() == active->size()) return false;
  if (left.empty()) {
    status.erase("active");
  } else {
    *active = std::move(left);
  }
  return true;
}

void AddActive(json& cron_job, Node job) {
  json& active = Object(cron_job, "status")["active"];
  if (!active.is_array()) active = json::array();
  const Node metadata = job.Get("metadata");
  active.push_back({{"apiVersion", "batch/v1"},
                    {"kind", "Job"},
                    {"name", metadata.Get("name").String()},
                    {"namespace", metadata.Get("namespace").String()},
                    {"uid", metadata.Get("uid").String()},
                    {"resourceVersion", metadata.Get("resourceVersion").String()}});
}

void SetLastSchedule(json& cron_job, WallTime time) {
  Object(cron_job, "status")["lastScheduleTime"] = rules::FormatTime(time);
}

bool TakeSuccess(json& cron_job, Node job) {
  const std::optional<WallTime> completed = rules::TimeOf(job.Path("status.completionTime"));
  if (!completed || !rules::IsConditionTrue(job, "Complete")) return false;
  json& status = Object(cron_job, "status");
  const std::optional<WallTime> last =
      rules::TimeOf(rules::JsonNode(status).Get("lastSuccessfulTime"));
  if (last && *last >= *completed) return false;
  status["lastSuccessfulTime"] = rules::FormatTime(*completed);
  return true;
}

}  // namespace kcm::pod::cronjob
