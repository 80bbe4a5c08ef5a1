// SPDX-License-Identifier: Apache-2.0
// Reports as people read them.
#include "host/ctl/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kcm::host::ctl {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kReport[] = R"({
  "plugins": [{"name": "pod", "file": "/p/kcm-pod.so", "version": "0.1.0", "vendor": "kcm-host", "buildId": "a1", "digest": "00",
    "swaps": 1, "state": "probation", "lastPauseMs": 3.26,
    "controllers": [{"name": "replicaset-controller", "active": true, "generation": 2, "runs": 40, "retries": 1, "errors": 0,
      "queues": [{"name": "replicaset", "ready": 1, "waiting": 1, "processing": 0, "keys": [
        {"key": "default/web", "state": "waiting", "failures": 3, "dueInSeconds": 0.25},
        {"key": "default/api", "state": "ready", "failures": 0, "dueInSeconds": 0.0}]}]}]},
   {"name": "node", "file": "/p/kcm-node.so", "version": "0.1.0", "vendor": "", "buildId": "b", "digest": "01",
    "swaps": 0, "state": "running", "lastPauseMs": 0.0, "lastError": "start:\nno", "controllers": null,
    "underWay": "a swap of plugin node is under way",
    "waiting": [{"controller": "ttl-controller", "error": "not served", "tries": 3, "retryInSeconds": 4.0},
      {"controller": "taint-controller", "error": "--x: wrong", "tries": 1}]}],
  "hung": [{"plugin": "node", "controller": "ttl-controller", "build": "c", "call": "on_event of v1/nodes", "seconds": 12.04}],
  "refused": [{"file": "/p/x.so", "reason": "/p/x.so: built for ABI 2.1"}]})";

TEST(CtlReport, ColumnsAlign) {
  EXPECT_EQ(Table({{"A", "LONG", "C"}, {"xxx", "y", ""}}), "A    LONG  C\nxxx  y\n");
}

TEST(CtlReport, PluginsControllersAndRefusals) {
  const Result<std::string> text = PluginTables(kReport);
  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_EQ(
      *text,
      "PLUGIN  VERSION  BUILD  STATE      SWAPS  LAST PAUSE  FILE\n"
      "pod     0.1.0    a1     probation  1      3.3 ms      /p/kcm-pod.so\n"
      "node    0.1.0    b      running    0      -           /p/kcm-node.so\n"
      "\n"
      "CONTROLLER             PLUGIN  ACTIVE  GENERATION  RUNS  RETRIES  ERRORS\n"
      "replicaset-controller  pod     yes     2           40    1        0\n"
      "\n"
      "node: last error: start:?no\n"
      "\n"
      "a swap of plugin node is under way\n"
      "\n"
      "ttl-controller of node does not start (tries: 3, the next in 4.0 s): not served\n"
      "\n"
      "taint-controller of node does not start (tries: 1, waits for another build): "
      "--x: wrong\n"
      "\n"
      "ttl-controller of node (build c) is over and does not return from on_event of v1/nodes: "
      "12.0 s; its thread and its mapping are kept\n"
      "\n"
      "refused: /p/x.so: built for ABI 2.1\n");
}

TEST(CtlReport, QueuesAndTheirKeys) {
  const Result<std::string> text = QueueTables(kReport, "replicaset-controller");
  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_EQ(*text,
            "CONTROLLER             QUEUE       READY  WAITING  PROCESSING\n"
            "replicaset-controller  replicaset  1      1        0\n"
            "\n"
            "QUEUE       KEY          STATE    FAILURES  DUE\n"
            "replicaset  default/web  waiting  3         in 0.2 s\n"
            "replicaset  default/api  ready    0         now\n");
}

TEST(CtlReport, UnknownControllerIsAnErrorThatNamesTheKnown) {
  const Result<std::string> text = QueueTables(kReport, "deployment");
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.code(), Code::kNotFound);
  EXPECT_THAT(text.error().message, HasSubstr("there are: replicaset-controller"));
}

TEST(CtlReport, KnownControllersAreNamedOnceAndInOrder) {
  const Result<std::string> text = QueueTables(R"({"plugins": [{"name": "p", "controllers": [
      {"name": "job-controller", "queues": [
        {"name": "job", "ready": 0, "waiting": 0, "processing": 0},
        {"name": "job_orphan_pod", "ready": 0, "waiting": 0, "processing": 0}]},
      {"name": "cronjob-controller", "queues": [
        {"name": "cronjob", "ready": 0, "waiting": 0, "processing": 0}]}]}]})",
                                               "nosuch");
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().message,
            "no controller nosuch with queues; there are: cronjob-controller, job-controller");
}

TEST(CtlReport, ABuildGivenByHandIsShownWithWhatARestartLoads) {
  const Result<std::string> text = PluginTables(R"({"plugins": [{"name": "pod",
      "file": "/tmp/fix.so", "directoryFile": "/p/kcm-pod.so", "version": "1", "vendor": "v",
      "buildId": "b", "swaps": 1, "state": "running", "lastPauseMs": 1.0}]})");
  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_THAT(*text, HasSubstr("/tmp/fix.so\n"));
  EXPECT_THAT(*text, HasSubstr("\npod: /tmp/fix.so was given to kcmctl plugins swap: a restart of "
                               "the host loads /p/kcm-pod.so\n"));
}

TEST(CtlReport, QueuesWithoutWorkersAreNamedWithTheFlag) {
  const Result<std::string> text = PluginTables(R"({"plugins": [{"name": "pod", "file": "f",
      "version": "1", "vendor": "v", "buildId": "b", "swaps": 0, "state": "running",
      "lastPauseMs": 0.0, "controllers": [
        {"name": "x-controller", "active": true, "generation": 1, "runs": 0, "retries": 0,
         "errors": 0, "queues": [{"name": "x", "ready": 3, "waiting": 0, "processing": 0,
           "workers": 0, "workersFlag": "concurrent-x-syncs"}]},
        {"name": "y-controller", "active": true, "generation": 1, "runs": 0, "retries": 0,
         "errors": 0, "queues": [{"name": "y", "ready": 3, "waiting": 0, "processing": 0,
           "workers": 5, "workersFlag": "concurrent-y-syncs"}]}]}]})");
  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_THAT(*text, HasSubstr("x-controller  pod     idle    1"));
  EXPECT_THAT(*text, HasSubstr("y-controller  pod     yes     1"));
  EXPECT_THAT(*text, HasSubstr("\nx-controller: queue x has no workers: nothing of it is "
                               "reconciled; give --concurrent-x-syncs 1 or more\n"));
  EXPECT_THAT(*text, Not(HasSubstr("queue y has no workers")));
}

TEST(CtlReport, WhyFindsTheKeyOrSaysWhatItsAbsenceMeans) {
  EXPECT_THAT(*WhyText(kReport, "default/web"),
              HasSubstr("replicaset-controller  replicaset  waiting  3         in 0.2 s"));
  EXPECT_THAT(*WhyText(kReport, "default/web"), Not(HasSubstr("ready")));
  EXPECT_THAT(*WhyText(kReport, "default/gone"), HasSubstr("No queue holds default/gone"));
  EXPECT_THAT(*WhyText(kReport, "default/gone"), HasSubstr("If such an object exists"));
}

// Its empty queues say nothing about the object.
TEST(CtlReport, AStandbyGivesNoAllClear) {
  constexpr char kStandby[] = R"({"leading": false, "plugins": [{"name": "pod", "file": "f",
      "version": "1", "vendor": "v", "buildId": "a", "swaps": 0, "state": "running",
      "lastPauseMs": 0.0, "controllers": [{"name": "c", "active": false, "generation": 1, "runs": 0,
        "retries": 0, "errors": 0,
        "queues": [{"name": "q", "ready": 0, "waiting": 0, "processing": 0}]}]}]})";
  EXPECT_THAT(*WhyText(kStandby, "default/web"), HasSubstr("This host does not lead"));
  EXPECT_THAT(*WhyText(kStandby, "default/web"), Not(HasSubstr("nothing is to be done")));
  EXPECT_THAT(*QueueTables(kStandby, ""), HasSubstr("This host does not lead"));
  EXPECT_THAT(*PluginTables(kStandby), HasSubstr("This host does not lead"));
}

TEST(CtlReport, AControllerThatWaitsForItsCachesNamesThem) {
  EXPECT_THAT(*PluginTables(R"({"leading": true, "plugins": [{"name": "pod", "file": "f",
      "version": "1", "vendor": "v", "buildId": "a", "swaps": 0, "state": "running",
      "lastPauseMs": 0.0, "controllers": [{"name": "c", "active": false, "generation": 1,
        "runs": 0, "retries": 0, "errors": 0, "unsynced": "apps/v1/statefulsets"}]}]})"),
              HasSubstr("\nc is not active yet, its caches are not filled (apps/v1/statefulsets)"));
}

TEST(CtlReport, WhyRefusesWhatCanBeNoKey) {
  for (const char* key : {"", "a/b/c", "/web", "default/", "pod default/web", "default//web"}) {
    SCOPED_TRACE(key);
    const Result<std::string> text = WhyText(kReport, key);
    ASSERT_FALSE(text.ok());
    EXPECT_THAT(text.error().message, HasSubstr("give NAMESPACE/NAME"));
  }
  // A vendor's queue may hold keys of any form.
  EXPECT_TRUE(WhyText(R"({"plugins": [{"name": "p", "controllers": [{"name": "c", "queues": [
      {"name": "q", "ready": 1, "waiting": 0, "processing": 0, "keys": [
        {"key": "a/b/c", "state": "ready", "failures": 0, "dueInSeconds": 0.0}]}]}]}]})",
                      "a/b/c")
                  .ok());
}

TEST(CtlReport, WhySaysWhatTheLastFailedRunSaid) {
  const Result<std::string> text = WhyText(R"({"plugins": [{"name": "p", "controllers": [
      {"name": "c", "queues": [{"name": "q", "ready": 0, "waiting": 1, "processing": 0, "keys": [
        {"key": "ns/a", "state": "waiting", "failures": 2, "dueInSeconds": 1.0,
         "error": "configmaps is\nforbidden"}]}]}]}]})",
                                           "ns/a");
  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_THAT(*text, HasSubstr("\nc failed last with: configmaps is?forbidden\n"));
}

TEST(CtlReport, AFileThatHoldsAnotherBuildIsNamed) {
  const std::string report = R"({"plugins": [{"name": "pod", "file": "/p/kcm-pod.so",
      "version": "1", "vendor": "v", "buildId": "a", "swaps": 2, "state": "running",
      "lastPauseMs": 1.0, "fileBuildId": "b")";
  EXPECT_THAT(*PluginTables(report + R"(, "fileTakenBack": "rolled back on request"}]})"),
              HasSubstr("\npod: /p/kcm-pod.so holds build b, which was taken back (rolled back on "
                        "request): the host leaves it alone until"));
  EXPECT_THAT(*PluginTables(report + "}]}"),
              HasSubstr("\npod: /p/kcm-pod.so holds build b, not the one that runs: a restart of "
                        "the host loads it"));
}

TEST(CtlReport, ARefusedFileIsNotNamedTwice) {
  const Result<std::string> text = PluginTables(R"({"plugins": [{"name": "pod",
      "file": "/p/kcm-pod.so", "version": "1", "vendor": "v", "buildId": "a", "swaps": 0,
      "state": "running", "lastPauseMs": 0.0, "lastError": "create: no"}],
      "refused": [{"file": "/p/kcm-pod.so", "reason": "/p/kcm-pod.so: create: no"}]})");
  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_THAT(*text, HasSubstr("\nrefused: /p/kcm-pod.so: create: no\n"));
  EXPECT_THAT(*text, Not(HasSubstr("last error")));
}

TEST(CtlReport, SwapShowsOnlyWhatChanged) {
  std::string before = kReport;
  const size_t at = before.find("\"swaps\": 1");
  before.replace(at, 10, "\"swaps\": 0");
  before.replace(before.find("\"a1\""), 4, "\"a0\"");
  EXPECT_EQ(*SwapText(before, kReport), "pod: build a0 -> a1, paused for 3.3 ms, probation\n");
  EXPECT_EQ(*SwapText(kReport, kReport), "nothing changed\n");
}

TEST(CtlReport, ForeignTextIsAnErrorNotHalfATable) {
  for (const char* report : {"", "no json", "[]", "{}", R"({"plugins":[{"name":"pod"}]})",
                             R"({"plugins":[{"name":7}]})"}) {
    SCOPED_TRACE(report);
    const Result<std::string> text = PluginTables(report);
    ASSERT_FALSE(text.ok());
    EXPECT_THAT(text.error().message, HasSubstr("use the kcmctl of the host's version"));
  }
}

}  // namespace
}  // namespace kcm::host::ctl
