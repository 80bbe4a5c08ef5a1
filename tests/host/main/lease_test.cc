// SPDX-License-Identifier: Apache-2.0
// Leader election of whole hosts (spec/host.md 4 and 16).
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <regex>
#include <thread>

#include "harness/cluster.h"
#include "harness/temporary_dir.h"
#include "host/http/tls_client.h"
#include "kcm/rules/time.h"

namespace kcm::harness {
namespace {

const char kLeases[] = "/leases/kube-controller-manager";

Options WithLease() {
  return {.plugins = {"pod"},
          .flags = {"--leader-elect=true"},
          .nodes = 0,
          .scheduler = false,
          .service_account_credentials = false};
}

// A host beside the cluster's own, under another name in the audit.
class Second {
 public:
  explicit Second(Cluster& cluster) : Second(cluster, cluster.plugin_dir(), false) {}
  Second(Cluster& cluster, const std::string& plugin_dir, bool warm) : clock_(cluster.clock()) {
    host::main::RunOptions run;
    run.clock = &clock_;
    run.program = "second";
    run.any_secure_port = true;
    run.args = {"--kubeconfig=" + cluster.dir() + "/kubeconfig",
                "--plugin-dir=" + plugin_dir,
                "--plugin-watch=false",
                "--bind-address=127.0.0.1",
                "--leader-elect=true",
                std::string("--warm-standby=") + (warm ? "true" : "false")};
    run.out = run.err = [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      log_ += line;
    };
    host_ = std::make_unique<host::main::Host>(std::move(run));
    thread_ = host::clock::StartBusyThread(clock_, [this] { code_ = host_->Run(); });
  }
  ~Second() { Stop(); }
  void Stop() {
    if (!thread_.joinable()) return;
    host_->Signal();
    thread_.join();
  }
  host::main::Host& host() { return *host_; }
  std::string log() {
    const std::lock_guard lock(mutex_);
    return log_;
  }

 private:
  host::clock::Clock& clock_;
  std::mutex mutex_;
  std::string log_;  // guarded by mutex_
  std::unique_ptr<host::main::Host> host_;
  std::atomic<int> code_{-1};
  std::thread thread_;
};

rules::WallTime TimeOf(const Json& lease, const char* field) {
  const auto t = rules::ParseTime(lease["spec"][field].get<std::string>());
  EXPECT_TRUE(t.has_value()) << lease.dump();
  return t.value_or(rules::WallTime());
}

TEST(Lease, HOST_18_ContentAndRenewals) {
  Cluster cluster(WithLease());
  const Json first = cluster.Get("leases", "kube-controller-manager", "kube-system");
  EXPECT_TRUE(std::regex_match(
      first["spec"]["holderIdentity"].get<std::string>(),
      std::regex("[^_]+_[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")))
      << first.dump();
  EXPECT_EQ(first["spec"]["leaseDurationSeconds"], 15);
  EXPECT_EQ(first["spec"]["leaseTransitions"], 0);
  rules::WallTime last = TimeOf(first, "renewTime");
  int renewals = 0;
  for (int i = 0; i < 100; ++i) {
    cluster.Advance(200ms);
    const Json now = cluster.Get("leases", "kube-controller-manager", "kube-system");
    EXPECT_EQ(now["spec"]["acquireTime"], first["spec"]["acquireTime"]);
    EXPECT_EQ(now["spec"]["leaseTransitions"], 0);
    const rules::WallTime renewed = TimeOf(now, "renewTime");
    if (renewed == last) continue;
    EXPECT_GE(renewed - last, 2s);
    EXPECT_LE(renewed - last, 3s);
    last = renewed;
    ++renewals;
  }
  EXPECT_GE(renewals, 6);  // 20 s
}

// As the reference: with --warm-standby (the default) the caches fill as well.
TEST(Lease, HOST_19_StandbyOnlyLooksAtTheLease) {
  Cluster cluster(WithLease());
  Second standby(cluster);
  cluster.Settle();
  (void)cluster.Audit();
  std::chrono::nanoseconds since{0};
  bool seen = false;
  int looks = 0;
  for (int i = 0; i < 600; ++i, since += 100ms) {
    cluster.Advance(100ms);
    for (const auto& e : cluster.Audit()) {
      if (e.user_agent.find("second/") != 0) continue;
      EXPECT_EQ(e.method, "GET") << e.uri;
      EXPECT_NE(e.uri.find(kLeases), std::string::npos) << e.uri;
      if (seen) {
        EXPECT_GE(since, 1900ms);
        EXPECT_LE(since, 4500ms);
      }
      seen = true;
      since = 0ns;
      ++looks;
    }
  }
  EXPECT_GE(looks, 13);
  EXPECT_FALSE(standby.host().ControllersStarted());
  EXPECT_NE(standby.host().MetricsText().find(
                "leader_election_master_status{name=\"kube-controller-manager\"} 0"),
            std::string::npos);
  EXPECT_EQ(test::Send(standby.host().secure_port(), {.target = "/healthz"}).status, 200)
      << standby.log();
}

TEST(Lease, HOST_24_LossEndsTheHostAndAllItsWrites) {
  Cluster cluster(WithLease());
  cluster.Create({{"apiVersion", "v1"},
                  {"kind", "ServiceAccount"},
                  {"metadata", {{"name", "default"}}}});  // admission wants it for pods
  cluster.Until("a renewal", [&] {
    for (const auto& e : cluster.Audit())
      if (e.method == "PUT" && e.uri.find(kLeases) != std::string::npos) return true;
    return false;
  });
  devcluster::Server::Fault refuse;
  refuse.method = "PUT";
  refuse.path_regex = kLeases;
  refuse.times = -1;
  cluster.server().AddFault(refuse);
  const auto lost = [&] {
    for (const std::string& line : cluster.log())
      if (line.find("leaderelection lost") != std::string::npos) return true;
    return false;
  };
  std::chrono::nanoseconds now{0}, refused{-1};
  std::vector<std::string> rounds;  // of 100 ms with requests, by method
  for (; !lost() && now < 20s; now += 100ms) {
    std::string round;
    for (const auto& e : cluster.Audit())
      if (e.uri.find(kLeases) != std::string::npos) round += e.method + " ";
    if (!round.empty()) {
      if (refused < 0ns) refused = now;
      rounds.push_back(round);
    }
    cluster.Advance(100ms);
  }
  ASSERT_TRUE(lost());
  // The fault began at 0; the first renewal it met came up to 2 s later.
  EXPECT_GE(now, 9s);
  EXPECT_LE(now, 13s);
  EXPECT_GE(now - refused, 9s);
  EXPECT_LE(now - refused, 11s);
  ASSERT_GE(rounds.size(), 5u);
  for (const std::string& round : rounds) EXPECT_EQ(round, "PUT GET PUT ");
  (void)cluster.Audit();
  // Work that would have been done: nobody does it, and nobody releases the lease.
  cluster.server().ClearFaults();
  cluster.Create({{"apiVersion", "apps/v1"},
                  {"kind", "ReplicaSet"},
                  {"metadata", {{"name", "late"}}},
                  {"spec",
                   {{"replicas", 2},
                    {"selector", {{"matchLabels", {{"a", "b"}}}}},
                    {"template", PodTemplate({{"a", "b"}})}}}});
  EXPECT_EQ(cluster.StopHost(), 1);
  for (const auto& e : cluster.Audit())
    EXPECT_TRUE(e.method == "GET" || e.user_agent.find("kube-controller-manager/") != 0)
        << e.method << " " << e.uri;
  EXPECT_TRUE(cluster.List("pods").empty());
}

// It would hold the lease and do nothing, while others could work.
TEST(Lease, AHostWithoutPluginsLeavesTheElectionToOthers) {
  for (const bool warm : {false, true}) {
    SCOPED_TRACE(warm);
    Options options = WithLease();
    options.start_host = false;
    Cluster cluster(options);
    const TemporaryDir empty;
    Second second(cluster, empty.path(), warm);
    const auto held = [&] {
      return cluster.Find("leases", "kube-controller-manager", "kube-system").has_value();
    };
    cluster.Advance(60s);
    EXPECT_FALSE(held());
    EXPECT_NE(second.log().find("The election is left to others"), std::string::npos);
    for (const auto& file : std::filesystem::directory_iterator(cluster.plugin_dir()))
      std::filesystem::copy(file.path(), empty / file.path().filename().string());
    std::atomic<bool> looked{false};
    std::thread look = host::clock::StartBusyThread(cluster.clock(), [&] {
      (void)second.host().manager()->Rescan();
      looked = true;
    });
    cluster.Until(
        "the plugin is loaded", [&] { return looked.load(); }, 60s, 10ms);
    look.join();
    cluster.Until(
        "it leads", [&] { return held(); }, 30s, 100ms);
    cluster.Until(
        "its controllers work", [&] { return second.host().manager()->AllActive(); }, 60s, 100ms);
  }
}

}  // namespace
}  // namespace kcm::harness
