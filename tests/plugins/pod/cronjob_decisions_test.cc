// SPDX-License-Identifier: Apache-2.0
// Decisions of cronjob-controller. Times of schedules themselves: tests/rules/cron_test.cc.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kcm/rules/json_node.h"
#include "plugins/pod/cronjob/body.h"
#include "plugins/pod/cronjob/history.h"
#include "plugins/pod/cronjob/schedule.h"

namespace kcm::pod::cronjob {
namespace {

using nlohmann::json;
using rules::JsonNode;
using rules::ParseTime;
using rules::WallTime;
using namespace std::chrono_literals;  // NOLINT: test vocabulary

// Knows UTC, and a zone an hour east of it by any other name but "Nowhere".
Result<std::shared_ptr<const rules::TimeZone>> FindZone(std::string_view name) {
  if (name == "Nowhere") return MakeError(Code::kNotFound, "unknown time zone Nowhere");
  if (name == "UTC" || name == "Local" || name.empty())
    return std::make_shared<const rules::TimeZone>(rules::TimeZone::Utc());
  std::string file = "TZif2" + std::string(39, '\0') + "TZif2" + std::string(39, '\0') +
                     std::string(6, '\0') + "\nCET-1\n";
  file[44 + 39] = 1;  // one offset: UTC, before the rule
  auto zone = rules::TimeZone::FromTzif(file);
  if (!zone.ok()) return zone.error();
  return std::make_shared<const rules::TimeZone>(*std::move(zone));
}

std::string Parsed(const std::string& schedule) {
  const auto parsed = rules::CronSchedule::Parse(schedule, FindZone);
  return parsed.ok() ? "ok" : parsed.error().message;
}
// The next `count` times after `from`.
std::vector<std::string> Times(const std::string& schedule, const std::string& from, int count) {
  std::vector<std::string> out;
  const auto parsed = rules::CronSchedule::Parse(schedule, FindZone);
  if (!parsed.ok()) return {parsed.error().message};
  std::optional<WallTime> t = ParseTime(from);
  for (int i = 0; i < count; ++i) {
    t = parsed->Next(*t);
    if (!t) break;
    out.push_back(rules::FormatTime(*t));
  }
  return out;
}

TEST(CronDialect, CRON_19_IsTheReferences) {
  EXPECT_NE(Parsed("0 0 * * 7"), "ok");
  EXPECT_EQ(Parsed("0 0 * * sun-tue"), "ok");
  EXPECT_NE(Parsed("0 0 * * fri-mon"), "ok");
  EXPECT_NE(Parsed("*/0 * * * *"), "ok");
  EXPECT_EQ(Times("5/15 * * * *", "2024-05-01T12:00:00Z", 5),
            (std::vector<std::string>{"2024-05-01T12:05:00Z", "2024-05-01T12:20:00Z",
                                      "2024-05-01T12:35:00Z", "2024-05-01T12:50:00Z",
                                      "2024-05-01T13:05:00Z"}));
  EXPECT_NE(Parsed("@Hourly"), "ok");
  // Every 13th or Friday (3, 10 and 17 May 2024), and every 13th.
  EXPECT_EQ(Times("0 0 13 * 5", "2024-05-01T00:00:00Z", 4),
            (std::vector<std::string>{"2024-05-03T00:00:00Z", "2024-05-10T00:00:00Z",
                                      "2024-05-13T00:00:00Z", "2024-05-17T00:00:00Z"}));
  EXPECT_EQ(Times("0 0 13 * *", "2024-05-01T00:00:00Z", 2),
            (std::vector<std::string>{"2024-05-13T00:00:00Z", "2024-06-13T00:00:00Z"}));
}

json CronJob(const char* last, const json& spec = json::object()) {
  json out{{"metadata",
            {{"name", "cj"},
             {"namespace", "ns"},
             {"uid", "u"},
             {"creationTimestamp", "2024-05-01T10:00:00Z"}}},
           {"spec", spec}};
  if (*last != '\0') out["status"]["lastScheduleTime"] = last;
  return out;
}
rules::CronSchedule Schedule(const std::string& text) {
  return *rules::CronSchedule::Parse(text, FindZone);
}

TEST(MissedTimes, FindsTheLatestAndHowManyThereWere) {
  using Class = Missed::Class;
  const struct {
    const char* name;
    const char* schedule;
    const char* last;
    int64_t deadline;  // -1: none
    const char* now;
    const char* want;  // "": no time
    Class number;
  } rows[] = {
      {"not due", "0 * * * *", "2024-05-01T11:00:00Z", -1, "2024-05-01T11:59:59Z", "",
       Class::kNone},
      {"due now", "0 * * * *", "2024-05-01T11:00:00Z", -1, "2024-05-01T12:00:00Z",
       "2024-05-01T12:00:00Z", Class::kNone},
      {"from its creation", "0 * * * *", "", -1, "2024-05-01T11:30:00Z", "2024-05-01T11:00:00Z",
       Class::kNone},
      {"two", "0 * * * *", "2024-05-01T11:00:00Z", -1, "2024-05-01T13:30:00Z",
       "2024-05-01T13:00:00Z", Class::kFew},
      {"a hundred", "* * * * *", "2024-05-01T11:00:00Z", -1, "2024-05-01T12:40:00Z",
       "2024-05-01T12:40:00Z", Class::kFew},
      {"a hundred and one", "* * * * *", "2024-05-01T11:00:00Z", -1, "2024-05-01T12:41:30Z",
       "2024-05-01T12:41:00Z", Class::kMany},
      {"the deadline cuts", "* * * * *", "2024-05-01T01:00:00Z", 200, "2024-05-01T12:00:30Z",
       "2024-05-01T12:00:00Z", Class::kFew},
      {"a deadline of 0", "* * * * *", "2024-05-01T01:00:00Z", 0, "2024-05-01T12:00:30Z", "",
       Class::kNone},
      {"a deadline without end", "0 * * * *", "2024-05-01T11:00:00Z", INT64_MAX,
       "2024-05-01T12:30:00Z", "2024-05-01T12:00:00Z", Class::kNone},
      {"irregular", "30 6-16/4 * * 1-5", "2024-05-03T14:30:00Z", -1, "2024-05-06T11:00:00Z",
       "2024-05-06T10:30:00Z", Class::kFew},
      {"every keeps its phase", "@every 2m", "2024-05-01T11:00:17Z", -1, "2024-05-01T11:09:00Z",
       "2024-05-01T11:08:17Z", Class::kFew},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    json cron = CronJob(row.last);
    if (row.deadline >= 0) cron["spec"]["startingDeadlineSeconds"] = row.deadline;
    const auto missed =
        MissedTimes(JsonNode(cron), Schedule(row.schedule), *ParseTime(row.now), Deadline::kCounts);
    ASSERT_TRUE(missed.ok());
    EXPECT_EQ(missed->time ? rules::FormatTime(*missed->time) : "", row.want);
    EXPECT_EQ(missed->number, row.number);
  }
}

TEST(MissedTimes, AScheduleWithoutTwoTimesIsInvalid) {
  const json cron = CronJob("");
  const auto missed = MissedTimes(JsonNode(cron), Schedule("59 23 31 2 *"),
                                  *ParseTime("2024-05-01T12:00:00Z"), Deadline::kCounts);
  ASSERT_FALSE(missed.ok());
  EXPECT_EQ(missed.error().message, "time difference between two schedules is less than 1 second");
}

TEST(NextLook, IsATenthOfASecondAfterTheNextTime) {
  const struct {
    const char* name;
    const char* last;
    const char* now;
    std::chrono::nanoseconds want;
  } rows[] = {
      {"nothing missed", "2024-05-01T12:00:00Z", "2024-05-01T12:30:00Z", 30min + 100ms},
      {"one missed", "2024-05-01T11:00:00Z", "2024-05-01T12:30:00Z", 30min + 100ms},
      {"many missed", "2024-04-01T11:00:00Z", "2024-05-01T12:30:00Z", 30min + 100ms},
      {"right after the time", "2024-05-01T12:00:00Z", "2024-05-01T12:00:00Z", 60min + 100ms},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const json cron = CronJob(row.last);
    EXPECT_EQ(NextLook(JsonNode(cron), Schedule("0 * * * *"), *ParseTime(row.now)), row.want);
  }
  EXPECT_FALSE(
      NextLook(JsonNode(CronJob("")), Schedule("0 0 31 2 *"), *ParseTime("2024-05-01T12:00:00Z")));
}

TEST(ScheduleOf, UsesTheZoneUnlessTheScheduleNamesOne) {
  const struct {
    json spec;
    const char* want;  // after 12:00 UTC
  } rows[] = {
      {{{"schedule", "0 15 * * *"}}, "2024-05-01T15:00:00Z"},
      {{{"schedule", "0 15 * * *"}, {"timeZone", "East"}}, "2024-05-01T14:00:00Z"},
      {{{"schedule", "0 15 * * *"}, {"timeZone", "Nowhere"}}, "2024-05-01T15:00:00Z"},
      {{{"schedule", "TZ=UTC 0 15 * * *"}, {"timeZone", "East"}}, "2024-05-01T15:00:00Z"},
      {{{"schedule", "CRON_TZ=East 0 15 * * *"}}, "2024-05-01T14:00:00Z"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.spec.dump());
    const json cron = CronJob("", row.spec);
    const auto schedule = ScheduleOf(JsonNode(cron), FindZone);
    ASSERT_TRUE(schedule.ok()) << schedule.error().message;
    EXPECT_EQ(rules::FormatTime(*schedule->Next(*ParseTime("2024-05-01T12:00:00Z"))), row.want);
  }
}

TEST(IsTooLate, ComparesWithTheDeadline) {
  const WallTime time = *ParseTime("2024-05-01T12:00:00Z");
  const json none = CronJob(""), ten = CronJob("", {{"startingDeadlineSeconds", 10}});
  EXPECT_FALSE(IsTooLate(JsonNode(none), time, time + 9h));
  EXPECT_FALSE(IsTooLate(JsonNode(ten), time, time + 10s));
  EXPECT_TRUE(IsTooLate(JsonNode(ten), time, time + 10s + 1ns));
}

TEST(Texts, OfTimes) {
  EXPECT_EQ(MailTime(*ParseTime("2016-05-19T10:00:00Z")), "Thu, 19 May 2016 10:00:00 +0000");
  EXPECT_EQ(MailTime(*ParseTime("2024-01-07T01:02:03Z")), "Sun, 07 Jan 2024 01:02:03 +0000");
  EXPECT_EQ(JobName("cj", *ParseTime("1970-01-01T01:00:59Z")), "cj-60");
}

TEST(BeyondHistory, TakesTheFirstStarted) {
  const auto job = [](const char* name, const char* type, const char* started) {
    json out{{"metadata", {{"name", name}}}, {"status", json::object()}};
    if (*type != '\0') out["status"]["conditions"] = {{{"type", type}, {"status", "True"}}};
    if (*started != '\0') out["status"]["startTime"] = started;
    return out;
  };
  const std::vector<json> jobs = {
      job("never started", "Complete", ""),
      job("late", "Complete", "2024-05-01T12:00:00Z"),
      job("b", "Complete", "2024-05-01T10:00:00Z"),
      job("a", "Complete", "2024-05-01T10:00:00Z"),
      job("running", "", "2024-05-01T01:00:00Z"),
      job("suspended", "Suspended", "2024-05-01T01:00:00Z"),
      job("bad", "Failed", "2024-05-01T11:00:00Z"),
  };
  std::vector<rules::Node> nodes;
  for (const json& j : jobs) nodes.push_back(JsonNode(j));
  const struct {
    json spec;
    std::vector<size_t> want;
  } rows[] = {
      {json::object(), {}},
      {{{"successfulJobsHistoryLimit", 3}, {"failedJobsHistoryLimit", 1}}, {3}},
      {{{"successfulJobsHistoryLimit", 1}}, {3, 2, 1}},
      {{{"successfulJobsHistoryLimit", 0}, {"failedJobsHistoryLimit", 0}}, {3, 2, 1, 0, 6}},
      {{{"failedJobsHistoryLimit", 0}}, {6}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.spec.dump());
    const json cron = CronJob("", row.spec);
    EXPECT_EQ(BeyondHistory(JsonNode(cron), nodes), row.want);
  }
}

TEST(Status, KeepsActiveJobsAndTheLatestSuccess) {
  json cron = CronJob("");
  const json job = json::parse(
      R"({"metadata":{"name":"j","namespace":"ns","uid":"1","resourceVersion":"7"},
          "status":{"completionTime":"2024-05-01T12:00:00Z",
                    "conditions":[{"type":"Complete","status":"True"}]}})");
  AddActive(cron, JsonNode(job));
  EXPECT_TRUE(IsActive(JsonNode(cron), "1"));
  EXPECT_FALSE(IsActive(JsonNode(cron), "2"));
  EXPECT_TRUE(IsActiveByName(JsonNode(cron), "ns", "j"));
  EXPECT_FALSE(IsActiveByName(JsonNode(cron), "other", "j"));
  EXPECT_FALSE(RemoveActive(cron, "2"));
  EXPECT_TRUE(RemoveActive(cron, "1"));
  EXPECT_FALSE(cron["status"].contains("active"));
  EXPECT_TRUE(TakeSuccess(cron, JsonNode(job)));
  EXPECT_EQ(cron["status"]["lastSuccessfulTime"], "2024-05-01T12:00:00Z");
  EXPECT_FALSE(TakeSuccess(cron, JsonNode(job)));
  json later = job, failed = job;
  failed["status"]["completionTime"] = later["status"]["completionTime"] = "2024-05-01T13:00:00Z";
  failed["status"]["conditions"][0]["type"] = "Failed";
  EXPECT_FALSE(TakeSuccess(cron, JsonNode(failed)));
  EXPECT_TRUE(TakeSuccess(cron, JsonNode(later)));
}

TEST(JobBody, IsTheTemplateWithNameTimestampAndOwner) {
  const json cron = CronJob(
      "", json::parse(R"({"jobTemplate":{"metadata":{"labels":{"l":"1"},"annotations":{"a":"b"}},
                          "spec":{"backoffLimit":2}}})"));
  const WallTime time = *ParseTime("2016-05-19T10:00:00Z");
  const json want = json::parse(
      R"({"apiVersion":"batch/v1","kind":"Job",
          "metadata":{"name":"cj-24394200","namespace":"ns","labels":{"l":"1"},
            "annotations":{"a":"b",
              "batch.kubernetes.io/cronjob-scheduled-timestamp":"2016-05-19T11:00:00+01:00"},
            "ownerReferences":[{"apiVersion":"batch/v1","kind":"CronJob","name":"cj","uid":"u",
              "controller":true,"blockOwnerDeletion":true}]},
          "spec":{"backoffLimit":2}})");
  EXPECT_EQ(JobBody(JsonNode(cron), time, **FindZone("East")), want);
}

}  // namespace
}  // namespace kcm::pod::cronjob
