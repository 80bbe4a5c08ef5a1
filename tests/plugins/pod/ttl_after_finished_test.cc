// SPDX-License-Identifier: Apache-2.0
// ttl-after-finished-controller in a real host: the scenarios of spec/pod-batch.md section 3. No
// garbage collector runs: a Job deleted in the foreground stays.
#include "plugins/pod/jobs.h"

namespace kcm::harness {
namespace {

class TtlAfterFinished : public Jobs {
 protected:
  TtlAfterFinished() : Jobs("ttl-after-finished-controller") { AlignToSecond(); }

  void Create(const std::string& name, const Json& ttl) {
    cluster.Create(Job(name, {{"ttlSecondsAfterFinished", ttl}}));
  }
  void SetTtl(const Json& ttl) {
    cluster.MergePatch("jobs", "j", {{"spec", {{"ttlSecondsAfterFinished", ttl}}}});
  }
  int Deletes() { return CountWrites(cluster.HostWrites(), "DELETE"); }
};

TEST_F(TtlAfterFinished, TAF_01_ATtlOfZeroDeletesAtOnce) {
  Create("j", 0);
  Finish("j", "Complete");
  cluster.Advance(2s);
  const Json job = cluster.Get("jobs", "j");
  EXPECT_TRUE(IsDeleting(job));
  EXPECT_EQ(job["metadata"]["finalizers"], (Json{"foregroundDeletion"}));
  for (const auto& e : cluster.Audit()) {
    if (e.method != "DELETE") continue;
    EXPECT_EQ(Json::parse(e.body)["preconditions"]["uid"], job["metadata"]["uid"]);
    EXPECT_EQ(Json::parse(e.body)["propagationPolicy"], "Foreground");
  }
  EXPECT_EQ(cluster.Metric("ttl_after_finished_controller_job_deletion_duration_seconds_count"), 1);
}

TEST_F(TtlAfterFinished, TAF_02_AFailedJobIsDeletedAfterItsTtl) {
  Create("j", 30);
  Finish("j", "Failed");
  cluster.Advance(28s);
  EXPECT_FALSE(JobIsGoing("j"));
  cluster.Advance(1900ms);
  EXPECT_FALSE(JobIsGoing("j"));
  cluster.Advance(3s);
  EXPECT_TRUE(JobIsGoing("j"));
}

TEST_F(TtlAfterFinished, TAF_03_AnUnfinishedJobIsNeverDeleted) {
  Create("j", 0);
  (void)cluster.HostWrites();  // its own account
  cluster.Advance(3600s);
  EXPECT_FALSE(JobIsGoing("j"));
  EXPECT_EQ(cluster.HostWrites(), std::vector<std::string>());
}

TEST_F(TtlAfterFinished, TAF_04_ATtlSetLaterCountsFromTheFinish) {
  Create("j", nullptr);
  Finish("j", "Complete", 3600s);
  cluster.Advance(60s);
  EXPECT_FALSE(JobIsGoing("j"));
  SetTtl(60);
  cluster.Settle();
  EXPECT_TRUE(JobIsGoing("j"));
}

TEST_F(TtlAfterFinished, TAF_05_ARaisedTtlMovesTheDeletion) {
  Create("j", 20);
  Finish("j", "Complete");
  cluster.Advance(10s);
  SetTtl(60);
  cluster.Advance(49s);
  EXPECT_FALSE(JobIsGoing("j")) << "the old TTL was used";
  cluster.Advance(2s);
  EXPECT_TRUE(JobIsGoing("j"));
}

TEST_F(TtlAfterFinished, TAF_06_ARemovedTtlKeepsTheJob) {
  Create("j", 20);
  Finish("j", "Complete");
  cluster.Advance(10s);
  SetTtl(nullptr);
  cluster.Advance(3600s);
  EXPECT_FALSE(JobIsGoing("j"));
}

TEST_F(TtlAfterFinished, TAF_07_AJobMadeAnewSurvivesTheOldOnesExpiry) {
  Create("j", 15);
  Finish("j", "Complete");
  cluster.Advance(10s);
  cluster.Delete("jobs", "j", {{"propagationPolicy", "Background"}});
  Create("j", 15);
  cluster.Advance(60s);
  EXPECT_FALSE(JobIsGoing("j"));
}

TEST_F(TtlAfterFinished, TAF_08_AnExpiryThatPassedWhileStoppedCounts) {
  Create("j", 5);
  Settle();
  ASSERT_EQ(cluster.StopHost(), 0);
  Finish("j", "Complete");
  cluster.Advance(60s);
  EXPECT_FALSE(JobIsGoing("j"));
  cluster.StartHost();
  cluster.Advance(3s);
  EXPECT_TRUE(JobIsGoing("j"));
}

TEST_F(TtlAfterFinished, TAF_09_AFalseConditionIsNoFinish) {
  Create("j", 0);
  cluster.PatchStatus(
      "jobs", "j",
      {{"conditions",
        {{{"type", "Failed"}, {"status", "False"}, {"lastTransitionTime", cluster.Now(-3600s)}}}}});
  cluster.Advance(60s);
  EXPECT_FALSE(JobIsGoing("j"));
}

TEST_F(TtlAfterFinished, TAF_10_AJobBeingDeletedIsNotDeletedAgain) {
  Create("j", 0);
  const Json job = cluster.Get("jobs", "j");
  Json pod = Orphan("p", Json::object());
  pod["metadata"]["finalizers"] = {"example.com/hold"};
  pod["metadata"]["ownerReferences"] = {{{"apiVersion", "batch/v1"},
                                         {"kind", "Job"},
                                         {"name", "j"},
                                         {"uid", job["metadata"]["uid"]},
                                         {"controller", true},
                                         {"blockOwnerDeletion", true}}};
  cluster.Create(pod);
  Settle();
  (void)cluster.HostWrites();
  Finish("j", "Complete");
  cluster.Advance(5s);
  // Changes of the Job, each of which is an event.
  for (int i = 0; i < 3; ++i) {
    cluster.MergePatch("jobs", "j",
                       {{"metadata", {{"annotations", {{"round", std::to_string(i)}}}}}});
    cluster.Advance(20s);
  }
  const Json left = cluster.Get("jobs", "j");
  EXPECT_EQ(left["metadata"]["finalizers"], (Json{"foregroundDeletion"}));
  EXPECT_EQ(Deletes(), 1);
}

// ---- beyond the scenarios ----

TEST_F(TtlAfterFinished, TheLiveJobDecides) {
  Create("j", 20);
  Finish("j", "Complete");
  cluster.Advance(10s);
  cluster.HoldCaches("jobs");  // it does not see the raised TTL
  SetTtl(3600);
  cluster.Advance(60s);
  EXPECT_FALSE(JobIsGoing("j"));
  cluster.ReleaseCaches();
  cluster.Advance(60s);
  EXPECT_FALSE(JobIsGoing("j"));
}

TEST_F(TtlAfterFinished, AFailedDeletionIsTriedAgain) {
  cluster.server().AddFault(Answered("DELETE", "/jobs/j", 2, 409));
  Create("j", 0);
  Finish("j", "Failed");
  cluster.Advance(2s);
  EXPECT_TRUE(JobIsGoing("j"));
  EXPECT_EQ(Deletes(), 3);
}

TEST_F(TtlAfterFinished, AFinishInTheFutureIsAwaited) {
  Create("j", 10);
  Finish("j", "Complete", -30s);
  cluster.Advance(39s);
  EXPECT_FALSE(JobIsGoing("j"));
  cluster.Advance(2s);
  EXPECT_TRUE(JobIsGoing("j"));
}

}  // namespace
}  // namespace kcm::harness
