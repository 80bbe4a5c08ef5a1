// SPDX-License-Identifier: Apache-2.0
// The Job that a CronJob starts, and the CronJob's status (spec/pod-batch.md 2.4, 2.5). Pure.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "kcm/rules/node.h"
#include "kcm/rules/time.h"
#include "kcm/rules/time_zone.h"

namespace kcm::pod::cronjob {

// The Job to POST for `time`; `zone`: of spec.timeZone, UTC without one.
nlohmann::json JobBody(rules::Node cron_job, rules::WallTime time, const rules::TimeZone& zone);

// status.active holds an entry with this uid, or for a Job of this name.
bool IsActive(rules::Node cron_job, std::string_view uid);
bool IsActiveByName(rules::Node cron_job, std::string_view ns, std::string_view name);

// Edits of a whole CronJob. True: it was changed.
bool RemoveActive(nlohmann::json& cron_job, std::string_view uid);
void AddActive(nlohmann::json& cron_job, rules::Node job);
void SetLastSchedule(nlohmann::json& cron_job, rules::WallTime time);
// Takes the completion time of a Job that succeeded, if it is the latest.
bool TakeSuccess(nlohmann::json& cron_job, rules::Node job);

}  // namespace kcm::pod::cronjob
