// SPDX-License-Identifier: Apache-2.0
// Elector against devcluster with virtual time (spec/host.md 4).
#include "host/leader/elector.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "host/client/cluster.h"
#include "kcm/rules/time.h"

namespace kcm::host::leader {
namespace {

using namespace std::chrono_literals;
using client::Gvr;

const char kLease[] = "kube-controller-manager";
Gvr Leases() { return {"coordination.k8s.io", "v1", "leases"}; }

TEST(ElectorTimings, ErrorsNameTheRule) {
  const struct {
    const char* name;
    clock::Duration lease, renew, retry;
    const char* want;
  } rows[] = {
      {"defaults", 15s, 10s, 2s, ""},
      {"lease too short", 10s, 10s, 2s, "leaseDuration must be greater than renewDeadline"},
      {"retry too long", 15s, 10s, 9s,
       "renewDeadline must be greater than retryPeriod*JitterFactor"},
      {"just above the factor", 15s, 10s, 8333333333ns, ""},
      {"exactly the factor", 15s, 12s, 10s,
       "renewDeadline must be greater than retryPeriod*JitterFactor"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Options o;
    o.lease_duration = row.lease;
    o.renew_deadline = row.renew;
    o.retry_period = row.retry;
    EXPECT_EQ(ValidateTimings(o), row.want);
  }
}

struct ElectorTest : ::testing::Test {
  ElectorTest() { cluster.server->EnableAudit(true); }
  ~ElectorTest() override { End(); }

  void Make(const std::function<void(Options*)>& change = nullptr) {
    Options o;
    o.identity = "me";
    o.client = cluster.MakeClient("leader");
    o.clock = &cluster.clock;
    o.metrics = &cluster.registry;
    o.random = [] { return 0.5; };
    o.event = [this](const std::string& m) {
      std::lock_guard<std::mutex> lock(mutex);
      events.push_back(m);
    };
    if (change) change(&o);
    elector = std::make_unique<Elector>(o);
    runner = clock::StartBusyThread(cluster.clock, [this] {
      end = elector->Run([this] { ++starts; });
      ended = true;
    });
    Settle();
  }
  void End() {
    if (elector) elector->Stop();
    if (runner.joinable()) runner.join();
    elector.reset();
  }
  void Settle() { ASSERT_TRUE(cluster.clock.Settle()); }
  void Advance(clock::Duration d) { ASSERT_TRUE(cluster.clock.Advance(d)); }

  // A Lease of somebody else (or nobody).
  void Foreign(const std::string& holder, int seconds, clock::Duration renewed) {
    const std::string time = rules::FormatMicroTime(cluster.clock.Now() + renewed);
    const auto made = cluster.Create(
        Leases(), "kube-system",
        R"({"metadata":{"name":"kube-controller-manager","labels":{"keep":"me"}},"spec":{"holderIdentity":")" +
            holder + R"(","leaseDurationSeconds":)" + std::to_string(seconds) +
            R"(,"renewTime":")" + time + R"(","acquireTime":")" + time +
            R"(","leaseTransitions":4}})");
    ASSERT_TRUE(made.ok()) << made.error().message;
  }
  void Touch(clock::Duration renewed) {
    const auto patched =
        cluster.Patch(Leases(), "kube-system", kLease,
                      R"({"spec":{"renewTime":")" +
                          rules::FormatMicroTime(cluster.clock.Now() + renewed) + "\"}}");
    ASSERT_TRUE(patched.ok()) << patched.error().message;
  }
  wire::ObjectPtr Lease() {
    client::Call call{
        .verb = client::Verb::kGet, .resource = Leases(), .ns = "kube-system", .name = kLease};
    return cluster.admin->Do(call)->object;
  }
  rules::Node Spec(const wire::ObjectPtr& lease) { return lease->Node().Get("spec"); }
  bool Fenced() {
    clock::MonoTime until;
    return !elector->Check(&until).ok();
  }
  double Master() {
    return cluster.registry
        .Gauge({.name = "leader_election_master_status",
                .help =
                    "Gauge of if the reporting system is master of the relevant lease, 0 indicates "
                    "backup, 1 indicates master. 'name' is the string used to identify the lease. "
                    "Please make sure to group by name.",
                .labels = {"name"},
                .buckets = {}})
        .With({kLease})
        .Value();
  }

  test::Cluster cluster;
  std::mutex mutex;
  std::vector<std::string> events;
  std::unique_ptr<Elector> elector;
  std::atomic<int> starts{0};
  std::atomic<bool> ended{false};
  Elector::End end = Elector::End::kStopped;
  std::thread runner;
};

TEST_F(ElectorTest, CreatesTheLeaseAndRenewsItEveryRetryPeriodWithoutGet) {
  Make();
  EXPECT_TRUE(elector->IsLeader());
  EXPECT_EQ(starts, 1);
  EXPECT_EQ(Master(), 1);
  EXPECT_EQ(events, (std::vector<std::string>{"me became leader"}));
  const std::string acquired(Spec(Lease()).Get("acquireTime").String());
  cluster.Audit("leader");
  Advance(20s);
  const wire::ObjectPtr lease = Lease();
  EXPECT_EQ(Spec(lease).Get("holderIdentity").String(), "me");
  EXPECT_EQ(Spec(lease).Get("leaseDurationSeconds").Int(), 15);
  EXPECT_EQ(Spec(lease).Get("leaseTransitions").Int(), 0);
  EXPECT_EQ(Spec(lease).Get("acquireTime").String(), acquired);
  EXPECT_EQ(Spec(lease).Get("renewTime").String(), rules::FormatMicroTime(cluster.clock.Now()));
  EXPECT_EQ(cluster.Audit("leader", "^PUT ").size(), 10u);
  EXPECT_EQ(cluster.Audit("leader", "^GET ").size(), 0u);
}

TEST_F(ElectorTest, HOST_21_ClockSkewOfTheHolderIsIgnored) {
  Foreign("other", 15, -3h);
  Make();
  for (int i = 0; i < 30; ++i) {
    Advance(5s);
    Touch(-3h);
  }
  EXPECT_FALSE(elector->IsLeader());
  EXPECT_EQ(Spec(Lease()).Get("holderIdentity").String(), "other");
  End();

  ASSERT_TRUE(cluster.Delete(Leases(), "kube-system", kLease).ok());
  Foreign("other", 15, 3h);
  Make();
  Advance(15s);
  EXPECT_FALSE(elector->IsLeader()) << "a full lease duration of its own must pass";
  Advance(4400ms);
  EXPECT_TRUE(elector->IsLeader());
}

TEST_F(ElectorTest, HOST_22_TheHoldersOwnDurationCounts) {
  Foreign("other", 60, 0s);
  Make();
  Advance(59900ms);
  EXPECT_FALSE(elector->IsLeader());
  Advance(5100ms);
  EXPECT_TRUE(elector->IsLeader());
  EXPECT_EQ(Spec(Lease()).Get("leaseDurationSeconds").Int(), 15);
}

TEST_F(ElectorTest, ALeaseOfFewSecondsIsNotTakenEarlier) {
  Foreign("other", 3, 0s);
  Make([](Options* o) {
    o->lease_duration = 3s;
    o->renew_deadline = 2s;
    o->retry_period = 100ms;
  });
  Advance(2900ms);
  EXPECT_FALSE(elector->IsLeader());
  Advance(400ms);
  EXPECT_TRUE(elector->IsLeader());
}

TEST_F(ElectorTest, HOST_23_AReleasedLeaseIsTakenAtOnce) {
  Foreign("other", 15, 0s);
  Make();
  ASSERT_FALSE(elector->IsLeader());
  ASSERT_TRUE(cluster
                  .Patch(Leases(), "kube-system", kLease,
                         R"({"spec":{"holderIdentity":"","leaseDurationSeconds":1}})")
                  .ok());
  Advance(4400ms);
  EXPECT_TRUE(elector->IsLeader());
  const wire::ObjectPtr lease = Lease();
  EXPECT_EQ(Spec(lease).Get("leaseTransitions").Int(), 5);
  EXPECT_EQ(lease->Node().Path("metadata.labels.keep").String(), "me")
      << "the rest of the object is kept";
}

TEST_F(ElectorTest, RefusedRenewalsEndLeadershipAfterTheDeadlineAndTheFenceBefore) {
  Make();
  Advance(1s);
  cluster.Audit("leader");
  devcluster::Server::Fault fault;
  fault.path_regex = "leases/kube-controller-manager";
  fault.times = -1;
  cluster.server->AddFault(fault);
  Advance(8900ms);  // last good renewal at 0 s
  EXPECT_TRUE(elector->IsLeader());
  EXPECT_FALSE(Fenced());
  Advance(200ms);
  EXPECT_TRUE(Fenced()) << "send time + renewDeadline";
  EXPECT_FALSE(ended);
  Advance(2s);
  runner.join();
  EXPECT_EQ(end, Elector::End::kLost);
  EXPECT_EQ(Master(), 0);
  EXPECT_EQ(events.back(), "me stopped leading");
  // The fast path and its fall-back, every 2 s.
  const std::vector<std::string> requests = cluster.Audit("leader");
  EXPECT_GE(requests.size(), 8u);
  EXPECT_EQ(requests[0].substr(0, 3), "PUT");
  EXPECT_EQ(requests[1].substr(0, 3), "GET");
  Advance(30s);
  EXPECT_TRUE(cluster.Audit("leader").empty()) << "no release, no further attempt";
}

// Short timings: a request hangs in real time, whatever the clock says.
TEST_F(ElectorTest, HOST_25_AHangingRenewalIsRetriedInTime) {
  Make([](Options* o) {
    o->lease_duration = 3s;
    o->renew_deadline = 2s;  // requests end after 1 s
    o->retry_period = 1s;
  });
  devcluster::Server::Fault fault;
  fault.path_regex = "leases/kube-controller-manager";
  fault.kind = devcluster::Server::Fault::Kind::kHang;
  fault.delay_ms = 1400;
  cluster.server->AddFault(fault);
  Advance(1s);
  Advance(1s);
  EXPECT_TRUE(elector->IsLeader());
  EXPECT_FALSE(ended);
  EXPECT_FALSE(Fenced());
}

TEST_F(ElectorTest, AForeignWriteIsSeenOnTheSlowPath) {
  Make();
  Advance(1s);
  ASSERT_TRUE(
      cluster.Patch(Leases(), "kube-system", kLease, R"({"metadata":{"labels":{"a":"b"}}})").ok());
  cluster.Audit("leader");
  Advance(2s);
  EXPECT_TRUE(elector->IsLeader());
  EXPECT_EQ(cluster.Audit("leader").size(), 3u) << "PUT refused, GET, PUT";
  EXPECT_EQ(Lease()->Node().Path("metadata.labels.a").String(), "b");
}

TEST_F(ElectorTest, ADeletedLeaseIsMadeAgainWithItsTimes) {
  Make();
  const std::string acquired(Spec(Lease()).Get("acquireTime").String());
  Advance(1s);
  ASSERT_TRUE(cluster.Delete(Leases(), "kube-system", kLease).ok());
  Advance(2s);
  EXPECT_TRUE(elector->IsLeader());
  EXPECT_EQ(Spec(Lease()).Get("acquireTime").String(), acquired);
  EXPECT_EQ(Spec(Lease()).Get("leaseTransitions").Int(), 0);
}

TEST_F(ElectorTest, StopKeepsTheLeaseAndReleaseGivesItBack) {
  Make();
  Advance(3s);
  elector->Stop();
  runner.join();
  EXPECT_EQ(end, Elector::End::kStopped);
  EXPECT_EQ(Spec(Lease()).Get("holderIdentity").String(), "me");
  EXPECT_FALSE(Fenced()) << "controllers that stop may finish their writes";
  ASSERT_TRUE(elector->Release().ok());
  EXPECT_TRUE(Fenced());
  EXPECT_EQ(Spec(Lease()).Get("holderIdentity").String(), "");
  EXPECT_EQ(Spec(Lease()).Get("leaseDurationSeconds").Int(), 1);
}

TEST_F(ElectorTest, TellsOnceThatTheHolderIsSilentForHalfItsDuration) {
  int told = 0;
  Foreign("other", 60, 0s);
  Make([&](Options* o) { o->on_holder_silent = [&] { ++told; }; });
  Advance(29s);
  EXPECT_EQ(told, 0);
  Advance(5s);  // r = 0.5: the next look is 3.2 s later at most
  EXPECT_EQ(told, 1);
  Advance(10s);
  EXPECT_EQ(told, 1) << "the same silence";
  Touch(0s);
  Advance(29s);
  EXPECT_EQ(told, 1) << "it was renewed";
  Advance(10s);
  EXPECT_EQ(told, 2);
  EXPECT_FALSE(elector->IsLeader());
}

TEST_F(ElectorTest, StandbyReadsOnlyAndWithJitter) {
  Foreign("other", 3600, 0s);
  cluster.Audit("leader");
  Make();
  Advance(32s);  // r = 0.5: every 3.2 s
  EXPECT_EQ(Master(), 0);
  EXPECT_EQ(elector->holder(), "other");
  EXPECT_EQ(elector->HealthError(), "");
  const std::vector<std::string> requests = cluster.Audit("leader");
  EXPECT_EQ(requests.size(), 11u);
  for (const std::string& r : requests) EXPECT_EQ(r.substr(0, 4), "GET ");
}

}  // namespace
}  // namespace kcm::host::leader
