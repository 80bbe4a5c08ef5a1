// SPDX-License-Identifier: Apache-2.0
// cronjob-controller in a real host: the scenarios of spec/pod-batch.md section 2. The test writes
// the statuses of the Jobs; CRON-19 is in cronjob_decisions_test.cc.
#include <fstream>
#include <iterator>

#include "kcm/rules/time.h"
#include "kcm/rules/time_zone.h"
#include "plugins/pod/jobs.h"

namespace kcm::harness {
namespace {

using rules::WallTime;

constexpr char kTimestamp[] = "batch.kubernetes.io/cronjob-scheduled-timestamp";

class CronJob : public Jobs {
 protected:
  CronJob() : Jobs("cronjob-controller") { AlignToMinute(); }

  WallTime Now() { return cluster.clock().Now(); }
  WallTime LastMinute() { return std::chrono::floor<std::chrono::minutes>(Now()); }
  void AlignToMinute() { cluster.Advance(60s - (Now() - LastMinute())); }
  // To `past` after the next full minute.
  void ToNextMinute(std::chrono::milliseconds past = 2000ms) {
    cluster.Advance(60s - (Now() - LastMinute()) + past);
  }
  static std::string NameAt(WallTime t) {
    return "cj-" +
           std::to_string(std::chrono::floor<std::chrono::minutes>(t).time_since_epoch().count());
  }
  static Json Manifest(const std::string& schedule, const Json& spec = Json::object()) {
    Json cron{
        {"apiVersion", "batch/v1"},
        {"kind", "CronJob"},
        {"metadata", {{"name", "cj"}}},
        {"spec",
         {{"schedule", schedule}, {"jobTemplate", {{"spec", {{"template", JobTemplate()}}}}}}}};
    cron["spec"].merge_patch(spec);
    return cron;
  }
  void Create(const std::string& schedule, const Json& spec = Json::object()) {
    CreateAndSettle(Manifest(schedule, spec));
  }
  // One whose last time was `last`, before the controller looks at its schedule.
  void CreateWithLast(const std::string& schedule, const std::string& last,
                      const Json& spec = Json::object()) {
    Json suspended = spec;
    suspended["suspend"] = true;
    Create(schedule, suspended);
    cluster.PatchStatus("cronjobs", "cj", {{"lastScheduleTime", last}});
    SetSpec({{"suspend", false}});
  }
  void SetSpec(const Json& spec) {
    cluster.MergePatch("cronjobs", "cj", {{"spec", spec}});
    Settle();
  }
  Json Cron() { return cluster.Get("cronjobs", "cj"); }
  Json Active() { return Cron().value("status", Json::object()).value("active", Json::array()); }
  bool HasCronEvent(const std::string& reason, const std::string& text = "") {
    return cluster.HasEvent("CronJob", "cj", reason, text);
  }
  int CountEvents(const std::string& reason) {
    int count = 0;
    for (const Json& e : cluster.List("events"))
      if (e.value("reason", "") == reason) count += e.value("count", 1);
    return count;
  }
  // A Job of the CronJob that the controller did not make.
  void CreateOwned(const std::string& name) {
    Json job = Job(name);
    job["metadata"]["ownerReferences"] = {{{"apiVersion", "batch/v1"},
                                           {"kind", "CronJob"},
                                           {"name", "cj"},
                                           {"uid", Cron()["metadata"]["uid"]},
                                           {"controller", true}}};
    CreateAndSettle(job);
  }
  void FinishOwned(const std::string& name, const std::string& type, std::chrono::seconds ago) {
    cluster.PatchStatus("jobs", name, Finished(type, cluster.Now(), cluster.Now(-ago)));
    Settle();
  }
};

TEST_F(CronJob, CRON_01_StartsAJobAtTheFullMinute) {
  cluster.Advance(10s);
  Create("* * * * *");
  const WallTime minute = LastMinute() + 60s;
  cluster.Advance(49800ms);
  EXPECT_TRUE(JobNames().empty());
  cluster.Advance(2s);
  ASSERT_EQ(JobNames(), (std::vector<std::string>{NameAt(minute)}));
  const Json job = cluster.Get("jobs", NameAt(minute)), cron = Cron();
  EXPECT_EQ(Annotation(job, kTimestamp), rules::FormatTime(minute));
  EXPECT_EQ(Controller(job), (Json{{"apiVersion", "batch/v1"},
                                   {"kind", "CronJob"},
                                   {"name", "cj"},
                                   {"uid", cron["metadata"]["uid"]},
                                   {"controller", true},
                                   {"blockOwnerDeletion", true}}));
  EXPECT_EQ(cron["status"]["lastScheduleTime"], rules::FormatTime(minute));
  ASSERT_EQ(Active().size(), 1u);
  EXPECT_EQ(Active()[0], (Json{{"apiVersion", "batch/v1"},
                               {"kind", "Job"},
                               {"name", NameAt(minute)},
                               {"namespace", "default"},
                               {"uid", job["metadata"]["uid"]},
                               {"resourceVersion", job["metadata"]["resourceVersion"]}}));
  EXPECT_TRUE(HasCronEvent("SuccessfulCreate", "Created job " + NameAt(minute)));
  EXPECT_EQ(cluster.Metric("cronjob_controller_job_creation_skew_duration_seconds_count"), 1);
}

TEST_F(CronJob, CRON_02_SeesAJobComplete) {
  Create("* * * * *");
  ToNextMinute();
  const std::string job = NameAt(LastMinute());
  ASSERT_TRUE(HasJob(job));
  cluster.Advance(10s);
  const std::string completed = cluster.Now();
  Finish(job, "Complete");
  Settle();
  EXPECT_TRUE(Active().empty());
  EXPECT_TRUE(
      HasCronEvent("SawCompletedJob", "Saw completed job: " + job + ", condition: Complete"));
  EXPECT_EQ(Cron()["status"]["lastSuccessfulTime"], completed);
}

TEST_F(CronJob, CRON_03_StartsOnlyTheLatestOfMissedYears) {
  CreateWithLast("0 0 1 1 *", rules::FormatTime(Now() - std::chrono::hours(24 * 365 * 3)));
  const std::chrono::year_month_day today(std::chrono::floor<std::chrono::days>(Now()));
  const WallTime new_year = std::chrono::sys_days(today.year() / std::chrono::January / 1);
  EXPECT_EQ(JobNames(), (std::vector<std::string>{NameAt(new_year)}));
  cluster.Advance(120s);
  EXPECT_EQ(JobNames().size(), 1u);
  EXPECT_FALSE(HasCronEvent("TooManyMissedTimes"));
}

TEST_F(CronJob, CRON_04_WarnsOfTooManyMissedTimes) {
  cluster.Advance(5s);
  CreateWithLast("* * * * *", cluster.Now(-5h));
  EXPECT_EQ(JobNames(), (std::vector<std::string>{NameAt(LastMinute())}));
  EXPECT_TRUE(HasCronEvent("TooManyMissedTimes",
                           "too many missed start times. Set or decrease "
                           ".spec.startingDeadlineSeconds or check clock skew"));
  EXPECT_EQ(CountEvents("TooManyMissedTimes"), 1);
}

TEST_F(CronJob, CRON_05_TheDeadlineLimitsWhatCountsAsMissed) {
  cluster.Advance(5s);
  CreateWithLast("* * * * *", cluster.Now(-5h), {{"startingDeadlineSeconds", 200}});
  EXPECT_EQ(JobNames(), (std::vector<std::string>{NameAt(LastMinute())}));
  EXPECT_FALSE(HasCronEvent("TooManyMissedTimes"));
}

TEST_F(CronJob, CRON_06_ADeadlineOfZeroNeverStartsAnything) {
  cluster.Advance(5s);
  Create("* * * * *", {{"startingDeadlineSeconds", 0}});
  cluster.Advance(180s);
  EXPECT_TRUE(JobNames().empty());
  EXPECT_EQ(cluster.Events("CronJob", "cj"), std::vector<std::string>());
}

TEST_F(CronJob, CRON_07_ForbidWaitsForTheRunningJob) {
  Create("* * * * *", {{"concurrencyPolicy", "Forbid"}});
  ToNextMinute();
  const std::string first = NameAt(LastMinute());
  ASSERT_EQ(JobNames(), (std::vector<std::string>{first}));
  ToNextMinute();
  EXPECT_EQ(JobNames(), (std::vector<std::string>{first}));
  EXPECT_TRUE(HasCronEvent(
      "JobAlreadyActive",
      "Not starting job because prior execution is running and concurrency policy is Forbid"));
  cluster.Advance(20s);
  Finish(first, "Complete");
  Settle();
  EXPECT_EQ(JobNames(), (std::vector<std::string>{first, NameAt(LastMinute())}));
  EXPECT_EQ(Cron()["status"]["lastScheduleTime"], rules::FormatTime(LastMinute()));
}

TEST_F(CronJob, CRON_08_ReplaceDeletesTheRunningJob) {
  Create("* * * * *", {{"concurrencyPolicy", "Replace"}});
  ToNextMinute();
  const std::string first = NameAt(LastMinute());
  ASSERT_EQ(JobNames(), (std::vector<std::string>{first}));
  (void)cluster.Audit();
  ToNextMinute();
  const std::string second = NameAt(LastMinute());
  EXPECT_EQ(JobNames(), (std::vector<std::string>{second}));
  EXPECT_TRUE(HasCronEvent("SuccessfulDelete", "Deleted job " + first));
  ASSERT_EQ(Active().size(), 1u);
  EXPECT_EQ(Active()[0]["name"], second);
  for (const auto& e : cluster.Audit())
    if (e.method == "DELETE") {
      EXPECT_EQ(Json::parse(e.body)["propagationPolicy"], "Background");
    }
}

TEST_F(CronJob, CRON_09_AllowRunsSideBySide) {
  Create("* * * * *");
  ToNextMinute();
  ToNextMinute();
  EXPECT_EQ(JobNames().size(), 2u);
  EXPECT_EQ(Active().size(), 2u);
}

TEST_F(CronJob, CRON_10_KeepsAsManyFinishedJobsAsItsLimits) {
  Create("0 0 1 1 *", {{"successfulJobsHistoryLimit", 1}, {"failedJobsHistoryLimit", 0}});
  for (const char* name : {"t3", "t1", "t2", "bad"}) CreateOwned(name);
  FinishOwned("t3", "Complete", 100s);
  FinishOwned("t1", "Complete", 300s);
  FinishOwned("t2", "Complete", 200s);
  FinishOwned("bad", "Failed", 50s);
  EXPECT_EQ(JobNames(), (std::vector<std::string>{"t3"}));
  for (const char* name : {"t1", "t2", "bad"})
    EXPECT_TRUE(HasCronEvent("SuccessfulDelete", "Deleted job " + std::string(name))) << name;
}

TEST_F(CronJob, CRON_11_CleansUpAlsoWhileSuspended) {
  Create("* * * * *", {{"suspend", true}, {"successfulJobsHistoryLimit", 2}});
  for (int i = 0; i < 5; ++i) {
    const std::string name = "j" + std::to_string(i);
    CreateOwned(name);
    FinishOwned(name, "Complete", std::chrono::seconds(500 - i));
  }
  ToNextMinute();
  ToNextMinute();
  EXPECT_EQ(JobNames(), (std::vector<std::string>{"j3", "j4"}));
}

TEST_F(CronJob, CRON_12_SchedulesInItsTimeZone) {
  std::ifstream file("/usr/share/zoneinfo/America/New_York", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const Result<rules::TimeZone> zone = rules::TimeZone::FromTzif(bytes);
  ASSERT_TRUE(zone.ok()) << "the zone database (tzdata) is needed";
  WallTime half = std::chrono::floor<std::chrono::hours>(Now()) + 30min;
  if (half <= Now()) half += 1h;
  const auto offset = zone->At(std::chrono::floor<std::chrono::seconds>(half)).offset;
  const auto local = half + offset;
  const auto hour =
      std::chrono::floor<std::chrono::hours>(local - std::chrono::floor<std::chrono::days>(local))
          .count();
  Create("30 " + std::to_string(hour) + " * * *", {{"timeZone", "America/New_York"}});
  cluster.Advance(half - Now() - 1s);
  EXPECT_TRUE(JobNames().empty());
  cluster.Advance(3s);
  ASSERT_EQ(JobNames(), (std::vector<std::string>{NameAt(half)}));
  const std::string timestamp = Annotation(cluster.Get("jobs", NameAt(half)), kTimestamp);
  EXPECT_EQ(timestamp, rules::FormatTimeInZone(half, offset));
  EXPECT_TRUE(timestamp.ends_with("-05:00") || timestamp.ends_with("-04:00")) << timestamp;
  EXPECT_EQ(rules::ParseTime(timestamp), half);
}

TEST_F(CronJob, CRON_13_WarnsOfAJobThatItDidNotStart) {
  Create("0 0 1 1 *");
  CreateOwned("stray");
  EXPECT_TRUE(HasCronEvent("UnexpectedJob",
                           "Saw a job that the controller did not create or forgot: stray"));
  EXPECT_TRUE(Active().empty());
  cluster.Advance(120s);
  EXPECT_TRUE(Active().empty());
  EXPECT_TRUE(HasJob("stray"));
}

TEST_F(CronJob, CRON_14_ForgetsAnActiveJobThatIsGone) {
  Create("0 0 1 1 *");
  cluster.PatchStatus("cronjobs", "cj",
                      {{"active",
                        {{{"apiVersion", "batch/v1"},
                          {"kind", "Job"},
                          {"name", "nowhere"},
                          {"namespace", "default"},
                          {"uid", "11111111-1111-4111-8111-111111111111"}}}}});
  Settle();
  EXPECT_TRUE(Active().empty());
  EXPECT_TRUE(HasCronEvent("MissingJob", "Active job went missing: nowhere"));
}

TEST_F(CronJob, CRON_15_AForeignJobOfTheNameSkipsTheMinute) {
  cluster.Advance(5s);
  const WallTime minute = LastMinute() + 60s;
  cluster.Create(Job(NameAt(minute)));
  Create("* * * * *");
  const Json before = Cron();
  ToNextMinute();
  cluster.Advance(50s);
  EXPECT_EQ(Cron(), before) << "no status change";
  EXPECT_FALSE(HasCronEvent("SuccessfulCreate"));
  ToNextMinute();
  EXPECT_TRUE(HasJob(NameAt(minute + 60s)));
  EXPECT_EQ(Cron()["status"]["lastScheduleTime"], rules::FormatTime(minute + 60s));
}

TEST_F(CronJob, CRON_16_AScheduleThatNeverComesIsInvalid) {
  Create("59 23 31 2 *");
  EXPECT_TRUE(HasCronEvent("InvalidSchedule",
                           "invalid schedule: 59 23 31 2 * : time difference between two "
                           "schedules is less than 1 second"));
  cluster.Advance(60s);
  EXPECT_EQ(CountEvents("InvalidSchedule"), 1);
  EXPECT_TRUE(JobNames().empty());
}

TEST_F(CronJob, CRON_17_EveryTwoMinutesKeepsItsSeconds) {
  cluster.Advance(17s);
  Create("@every 2m");
  const WallTime created =
      *rules::ParseTime(Cron()["metadata"]["creationTimestamp"].get<std::string>());
  cluster.Advance(119s);
  EXPECT_TRUE(JobNames().empty());
  cluster.Advance(3s);
  ASSERT_EQ(JobNames(), (std::vector<std::string>{NameAt(created + 120s)}));
  EXPECT_EQ(Annotation(cluster.Get("jobs", NameAt(created + 120s)), kTimestamp),
            rules::FormatTime(created + 120s));
  cluster.Advance(116s);
  EXPECT_EQ(JobNames().size(), 1u);
  cluster.Advance(4s);
  EXPECT_EQ(JobNames(), (std::vector<std::string>{NameAt(created + 120s), NameAt(created + 240s)}));
}

TEST_F(CronJob, CRON_18_AChangedScheduleCountsFromItsNextTime) {
  // Not within the last minute of an hour, when the old schedule would be due.
  if (std::chrono::floor<std::chrono::hours>(Now() + 130s) !=
      std::chrono::floor<std::chrono::hours>(Now())) {
    cluster.Advance(180s);
  }
  cluster.Advance(5s);
  Create("0 * * * *");
  cluster.Advance(10s);
  SetSpec({{"schedule", "* * * * *"}});
  cluster.Advance(40s);
  EXPECT_TRUE(JobNames().empty());
  ToNextMinute();
  EXPECT_EQ(JobNames(), (std::vector<std::string>{NameAt(LastMinute())}));
}

TEST_F(CronJob, CRON_20_ACronJobBeingDeletedStartsNothing) {
  Create("* * * * *");
  ToNextMinute();
  const std::string job = NameAt(LastMinute());
  ASSERT_EQ(Active().size(), 1u);
  ASSERT_EQ(cluster.StopHost(), 0);
  cluster.Delete("cronjobs", "cj", {{"propagationPolicy", "Foreground"}});
  Finish(job, "Complete");
  cluster.StartHost();
  Settle();
  EXPECT_TRUE(IsDeleting(Cron()));
  EXPECT_TRUE(Active().empty());
  ToNextMinute();
  EXPECT_EQ(JobNames(), (std::vector<std::string>{job}));
}

// ---- beyond the scenarios ----

TEST_F(CronJob, TheTemplateIsTakenWhole) {
  Create("* * * * *", {{"jobTemplate",
                        {{"metadata", {{"labels", {{"l", "1"}}}, {"annotations", {{"a", "b"}}}}},
                         {"spec", {{"backoffLimit", 2}}}}}});
  ToNextMinute();
  const Json job = cluster.Get("jobs", NameAt(LastMinute()));
  EXPECT_EQ(job["metadata"]["labels"]["l"], "1");
  EXPECT_EQ(Annotation(job, "a"), "b");
  EXPECT_EQ(job["spec"]["backoffLimit"], 2);
}

TEST_F(CronJob, ATimeWhoseDeadlineHasPassedIsNotServed) {
  cluster.Advance(30s);
  CreateWithLast("* * * * *", rules::FormatTime(LastMinute() - 60s),
                 {{"startingDeadlineSeconds", 20}});
  EXPECT_TRUE(JobNames().empty());
  ToNextMinute();
  EXPECT_EQ(JobNames(), (std::vector<std::string>{NameAt(LastMinute())}));
}

TEST_F(CronJob, ALostAnswerDoesNotStartAJobTwice) {
  Create("* * * * *");
  devcluster::Server::Fault fault = Answered("POST", "/namespaces/default/jobs", 1, 0);
  fault.kind = devcluster::Server::Fault::Kind::kDropAfter;
  cluster.server().AddFault(fault);
  ToNextMinute(20s);
  EXPECT_EQ(JobNames(), (std::vector<std::string>{NameAt(LastMinute())}));
  ASSERT_EQ(Active().size(), 1u);
  EXPECT_EQ(Active()[0]["name"], NameAt(LastMinute()));
  EXPECT_EQ(Cron()["status"]["lastScheduleTime"], rules::FormatTime(LastMinute()));
}

TEST_F(CronJob, ARefusedJobIsTold) {
  Create("* * * * *");
  cluster.server().AddFault(
      Answered("POST", "/namespaces/default/jobs", 1, 403, "Forbidden", "no jobs today"));
  ToNextMinute();
  EXPECT_TRUE(HasCronEvent("FailedCreate", "Error creating job: "));
  EXPECT_EQ(JobNames(), (std::vector<std::string>{NameAt(LastMinute())})) << "tried again";
}

TEST_F(CronJob, SettledCronJobsCauseNoWrite) {
  Create("0 0 1 1 *");
  CreateOwned("done");
  FinishOwned("done", "Complete", 60s);
  ASSERT_EQ(cluster.StopHost(), 0);
  (void)cluster.HostWrites();
  cluster.StartHost();
  cluster.Advance(600s);
  EXPECT_EQ(cluster.HostWrites(), std::vector<std::string>());
}

}  // namespace
}  // namespace kcm::harness
