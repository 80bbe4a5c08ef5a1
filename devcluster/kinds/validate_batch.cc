// SPDX-License-Identifier: Apache-2.0
// Validation of jobs and cron jobs.
#include <filesystem>

#include "devcluster/api/api_error.h"
#include "devcluster/kinds/fields.h"
#include "devcluster/kinds/validate.h"
#include "kcm/rules/cron.h"
#include "kcm/rules/json_node.h"
#include "kcm/rules/label_selector.h"

namespace kcm::devcluster::kinds {

namespace {

bool SelectorMatches(const Json& job, const Json& labels) {
  const Json* selector = Find(job, "spec.selector");
  if (selector == nullptr) return false;
  const auto compiled = rules::LabelSelector::FromObject(rules::JsonNode(*selector));
  return !compiled.ok() || compiled->Matches(rules::JsonNode(labels));
}

// The counters and policies that jobs and job templates share; `prefix` ends with "spec.".
void ValidateJobSpec(FieldErrors& out, const Json& spec, const std::string& prefix) {
  for (const char* member :
       {"parallelism", "completions", "activeDeadlineSeconds", "backoffLimit",
        "ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes"}) {
    NonNegative(out, spec, member, prefix);
  }
  const std::string_view mode = Text(spec, "completionMode");
  if (!mode.empty()) OneOf(out, spec, "completionMode", {"Indexed", "NonIndexed"}, prefix);
  if (mode == "Indexed" && Find(spec, "completions") == nullptr) {
    out.push_back(Required(prefix + "completions", "when completion mode is Indexed"));
  }
}

void ValidateJobTemplate(FieldErrors& out, const Json& spec, const std::string& prefix) {
  const Json* pod = Find(spec, "template.spec");
  Append(out, ValidatePodSpec(pod == nullptr ? Json::object() : *pod, prefix + "template.spec"));
  const std::string_view policy = pod == nullptr ? "" : Text(*pod, "restartPolicy");
  if (policy.empty() || policy == "Always") {
    out.push_back(
        Required(prefix + "template.spec.restartPolicy", "valid values: \"OnFailure\", \"Never\""));
  } else if (policy != "OnFailure" && policy != "Never") {
    out.push_back(NotSupported(prefix + "template.spec.restartPolicy", GoQuote(policy),
                               {"OnFailure", "Never"}));
  }
}

void ValidateWholeSpec(FieldErrors& out, const Json& job) {
  const Json spec = job.value("spec", Json::object());
  ValidateJobSpec(out, spec, "spec.");
  const Json* selector = Find(spec, "selector");
  if (selector == nullptr)
    out.push_back(Required("spec.selector", ""));
  else
    Append(out, ValidateLabelSelector(selector, "spec.selector"));
  const Json* given = Find(spec, "template.metadata.labels");
  const Json labels = given == nullptr ? Json::object() : *given;
  if (!SelectorMatches(job, labels)) {
    out.push_back(InvalidValue("spec.template.metadata.labels",
                               given == nullptr ? "null" : labels.dump(), kSelectorMismatch));
  }
  ValidateJobTemplate(out, spec, "spec.");
}

void ValidateGeneratedSelector(FieldErrors& out, const Json& job, const Schema& schema) {
  if (Flag(job, "spec.manualSelector")) return;
  const std::string uid(Text(job, "metadata.uid")), name(Text(job, "metadata.name"));
  const Json expected = {{"batch.kubernetes.io/controller-uid", uid},
                         {"batch.kubernetes.io/job-name", name},
                         {"controller-uid", uid},
                         {"job-name", name}};
  const Json* selector = Find(job, "spec.selector");
  if (selector != nullptr && !SelectorMatches(job, expected)) {
    out.push_back(InvalidValue("spec.selector",
                               Dump(*selector, schema.Find("meta.v1.LabelSelector")),
                               "`selector` not auto-generated"));
  }
}

// ---- cron ----

// Without a zone database on the machine every well-formed name is accepted.
bool ZoneExists(const std::string& zone) {
  std::error_code ignored;
  const std::filesystem::path base = "/usr/share/zoneinfo";
  if (!std::filesystem::is_directory(base, ignored)) return true;
  return zone.find("..") == std::string::npos && zone[0] != '/' &&
         std::filesystem::is_regular_file(base / zone, ignored);
}

// The zone itself does not matter here, only that there is one.
Result<std::shared_ptr<const rules::TimeZone>> ZoneForReading(std::string_view name) {
  if (name == "Local" || name.empty() || ZoneExists(std::string(name)))
    return std::make_shared<const rules::TimeZone>(rules::TimeZone::Utc());
  return MakeError(Code::kInvalid, "unknown time zone " + std::string(name));
}

void ValidateSchedule(FieldErrors& out, const std::string& schedule) {
  if (schedule.empty()) {
    out.push_back(Required("spec.schedule", ""));
    return;
  }
  const auto refuse = [&](const std::string& why) {
    out.push_back(InvalidValue("spec.schedule", GoQuote(schedule), why));
  };
  const auto parsed = rules::CronSchedule::Parse(schedule, ZoneForReading);
  if (!parsed.ok()) refuse(parsed.error().message);
  if (schedule.find("TZ") != std::string::npos)
    refuse("cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
}

void ValidateCronJob(FieldErrors& out, const Json& o) {
  if (Text(o, "metadata.name").size() > 52) {
    out.push_back(InvalidValue("metadata.name", GoQuote(Text(o, "metadata.name")),
                               "must be no more than 52 characters"));
  }
  ValidateSchedule(out, std::string(Text(o, "spec.schedule")));
  const std::string zone(Text(o, "spec.timeZone"));
  if (Find(o, "spec.timeZone") != nullptr) {
    if (zone.empty()) {
      out.push_back(
          InvalidValue("spec.timeZone", "\"\"", "timeZone must be nil or non-empty string"));
    } else if (zone == "Local") {
      out.push_back(InvalidValue("spec.timeZone", GoQuote(zone),
                                 "timeZone must be an explicit time zone as defined in "
                                 "https://www.iana.org/time-zones"));
    } else if (!ZoneExists(zone)) {
      out.push_back(InvalidValue("spec.timeZone", GoQuote(zone), "unknown time zone " + zone));
    }
  }
  NonNegative(out, o, "spec.startingDeadlineSeconds");
  OneOf(out, o, "spec.concurrencyPolicy", {"Allow", "Forbid", "Replace"});
  const Json* job = Find(o, "spec.jobTemplate.spec");
  const Json spec = job == nullptr ? Json::object() : *job;
  ValidateJobSpec(out, spec, "spec.jobTemplate.spec.");
  ValidateJobTemplate(out, spec, "spec.jobTemplate.spec.");
  NonNegative(out, o, "spec.successfulJobsHistoryLimit");
  NonNegative(out, o, "spec.failedJobsHistoryLimit");
}

// ---- job updates ----

// What a suspended job may still change in its pods: where they run, and their resources (spec C7).
Json WithoutScheduling(Json pod_template) {
  if (Json* metadata = Find(pod_template, "metadata")) {
    metadata->erase("annotations");
    metadata->erase("labels");
  }
  if (Json* spec = Find(pod_template, "spec")) {
    for (const char* member :
         {"nodeSelector", "affinity", "tolerations", "schedulingGates", "resources"})
      spec->erase(member);
    for (const char* list : {"containers", "initContainers"}) {
      Json* items = Find(*spec, list);
      if (items == nullptr || !items->is_array()) continue;
      for (Json& container : *items) container.erase("resources");
    }
  }
  return pod_template;
}

void ValidateJobSpecUpdate(FieldErrors& out, const Validation& v, const Json& job,
                           const Json& old) {
  const Message* selector = v.schema.Find("meta.v1.LabelSelector");
  const bool indexed = Text(old, "spec.completionMode") == "Indexed";
  const bool follows =
      indexed && Integer(job, "spec.completions") == Integer(job, "spec.parallelism");
  if (!follows) Immutable(out, job, old, "spec.completions");
  Immutable(out, job, old, "spec.selector", selector);
  const bool free = Flag(old, "spec.suspend") && Find(old, "status.startTime") == nullptr;
  const Json now = job["spec"].value("template", Json::object()),
             before = old["spec"].value("template", Json::object());
  const bool same = free ? WithoutScheduling(now) == WithoutScheduling(before) : now == before;
  if (!same) {
    out.push_back(InvalidValue("spec.template", Dump(now, v.schema.Find("core.v1.PodTemplateSpec")),
                               "field is immutable"));
  }
  for (const char* member : {"completionMode", "podFailurePolicy", "backoffLimitPerIndex",
                             "managedBy", "successPolicy"}) {
    Immutable(out, job, old, std::string("spec.") + member);
  }
}

bool HasTrue(const Json& job, std::string_view type) {
  for (const Json& condition : Items(job, "status.conditions")) {
    if (Text(condition, "type") == type && Text(condition, "status") == "True") return true;
  }
  return false;
}

bool HasUncounted(const Json& job) {
  return !Items(job, "status.uncountedTerminatedPods.succeeded").empty() ||
         !Items(job, "status.uncountedTerminatedPods.failed").empty();
}

// What an Indexed job may lose: completions and parallelism go down together.
bool MayLoseSuccesses(const Json& job) {
  return Text(job, "spec.completionMode") == "Indexed" &&
         Integer(job, "spec.completions") == Integer(job, "spec.parallelism");
}

void ValidateFinishedJob(FieldErrors& out, const Json& job) {
  for (const char* counter : {"active", "terminating"}) {
    const std::string path = std::string("status.") + counter;
    if (Integer(job, path) > 0) {
      out.push_back(InvalidValue(path, std::to_string(Integer(job, path)),
                                 std::string(counter) + ">0 is invalid for finished job"));
    }
  }
  if (HasUncounted(job)) {
    out.push_back(InvalidValue("status.uncountedTerminatedPods",
                               Find(job, "status.uncountedTerminatedPods")->dump(),
                               "uncountedTerminatedPods needs to be empty for finished job"));
  }
  const bool had_nothing_to_do = Flag(job, "spec.suspend") &&
                                 Find(job, "spec.completions") != nullptr &&
                                 Integer(job, "spec.completions") == 0;
  if (Find(job, "status.startTime") == nullptr && !had_nothing_to_do)
    out.push_back(Required("status.startTime", "startTime is required for finished job"));
}

void ValidateStartTime(FieldErrors& out, const Json& job, const Json& old) {
  if (Flag(job, "spec.suspend") || Find(old, "status.startTime") == nullptr ||
      SameMember(job, old, "status.startTime"))
    return;
  const Json* now = Find(job, "status.startTime");
  if (now == nullptr) {
    out.push_back(Required("status.startTime", "startTime cannot be removed for unsuspended job"));
  } else if (!HasTrue(old, "Suspended") || HasTrue(job, "Suspended")) {  // not just resumed
    out.push_back(InvalidValue("status.startTime", now->dump(),
                               "startTime cannot be modified for unsuspended job"));
  }
}

void ValidateJobStatus(FieldErrors& out, const Json& job, const Json& old) {
  for (const char* counter : {"active", "succeeded", "failed", "ready", "terminating"}) {
    NonNegative(out, job, std::string("status.") + counter);
  }
  for (const char* counter : {"succeeded", "failed"}) {
    const std::string path = std::string("status.") + counter;
    const bool may_decrease = path == "status.succeeded" && MayLoseSuccesses(job);
    if (Integer(job, path) < Integer(old, path) && !may_decrease) {
      out.push_back(
          InvalidValue(path, std::to_string(Integer(job, path)),
                       std::string("cannot decrease the number of ") + counter + " pods"));
    }
  }
  if (Integer(job, "status.ready") > Integer(job, "status.active")) {
    out.push_back(InvalidValue("status.ready", std::to_string(Integer(job, "status.ready")),
                               "cannot set more ready pods than active"));
  }
  const bool complete = HasTrue(job, "Complete"), failed = HasTrue(job, "Failed");
  for (const char* type : {"Complete", "Failed"}) {
    if (HasTrue(old, type) && !HasTrue(job, type)) {
      out.push_back(InvalidValue("status.conditions", Items(job, "status.conditions").dump(),
                                 std::string(type) + " condition cannot be removed"));
    }
  }
  if (complete && failed) {
    out.push_back(InvalidValue("status.conditions", Items(job, "status.conditions").dump(),
                               "cannot set Complete=True and Failed=true conditions"));
  }
  if (complete || failed) ValidateFinishedJob(out, job);
  if (complete && Find(job, "status.completionTime") == nullptr) {
    out.push_back(
        Required("status.completionTime", "completionTime is required for Complete jobs"));
  }
  if (complete && !HasTrue(job, "SuccessCriteriaMet") && !HasTrue(old, "Complete")) {
    out.push_back(InvalidValue(
        "status.conditions", Items(job, "status.conditions").dump(),
        "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"));
  }
  ValidateStartTime(out, job, old);
}

}  // namespace

FieldErrors ValidateBatch(const Validation& v, const Json& o) {
  FieldErrors out;
  if (v.row.resource == "cronjobs") {
    ValidateCronJob(out, o);
    return out;
  }
  ValidateGeneratedSelector(out, o, v.schema);
  ValidateWholeSpec(out, o);
  return out;
}

FieldErrors ValidateBatchUpdate(const Validation& v, const Json& o, const Json& old) {
  FieldErrors out;
  if (v.row.resource == "cronjobs") {
    if (v.info.subresource.empty()) ValidateCronJob(out, o);
    return out;
  }
  if (v.info.subresource == "status") {
    ValidateJobStatus(out, o, old);
    return out;
  }
  // Checked as a whole and once more as an update: causes come twice, as they do from the API
  // server.
  ValidateWholeSpec(out, o);
  ValidateWholeSpec(out, o);
  ValidateJobSpecUpdate(out, v, o, old);
  return out;
}

}  // namespace kcm::devcluster::kinds
