// SPDX-License-Identifier: Apache-2.0
// The process as operators meet it: its port, its pages, its log, its end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <signal.h>

#include <sstream>

#include "process/world.h"

namespace kcm::process {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

const char kReplicaSets[] = "/apis/apps/v1/namespaces/default/replicasets";
Json ReplicaSet(const std::string& name, int replicas) {
  return {{"apiVersion", "apps/v1"},
          {"kind", "ReplicaSet"},
          {"metadata", {{"name", name}}},
          {"spec",
           {{"replicas", replicas},
            {"selector", {{"matchLabels", {{"app", name}}}}},
            {"template",
             {{"metadata", {{"labels", {{"app", name}}}}},
              {"spec", {{"containers", {{{"name", "c"}, {"image", "nginx:1"}}}}}}}}}}};
}

const char kRelease[] = "--feature-gates=ControllerManagerReleaseLeaderElectionLockOnExit=true";

TEST(Endpoint, HOST_07_UnderscoresInFlagNames) {
  World world({.plugins = {"pod"}});
  world.StartHost("a", {"--leader-elect=false", "--concurrent_rc_syncs=7"});
  ASSERT_TRUE(world.Serves("a")) << world.host("a").err();
  const Json configz = Json::parse(world.Ask("a", "/configz").body, nullptr, false);
  EXPECT_EQ(
      configz.value(
          "/kubecontrollermanager.config.k8s.io/ReplicationController/ConcurrentRCSyncs"_json_pointer,
          0),
      7);
}

TEST(Endpoint, AdminPathsRefuseWhatTheyCanNotRead) {
  World world({.plugins = {"pod"}});
  world.StartHost("a", {"--leader-elect=false"});
  ASSERT_TRUE(world.Serves("a")) << world.host("a").err();
  EXPECT_EQ(world.Ask("a", "/plugins").status, 200);
  EXPECT_EQ(world.Ask("a", "/plugins?keys=10000").status, 200);
  for (const std::string wrong : {"abc", "", "-1", "7x", "10001", "99999999999999999999"}) {
    SCOPED_TRACE(wrong);
    const test::Reply reply = world.Ask("a", "/plugins?keys=" + wrong);
    EXPECT_EQ(reply.status, 400);
    const Json status = Json::parse(reply.body, nullptr, false);
    EXPECT_EQ(status.value("reason", ""), "BadRequest");
    EXPECT_EQ(status.value("message", ""),
              "query parameter keys: must be a number from 0 to 10000, got \"" + wrong + "\"");
  }
}

// Discovery has a time limit of its own, 32 s: a host that is told to stop does not wait for it.
TEST(Endpoint, SigtermEndsADiscoveryThatIsNotAnswered) {
  World world({.plugins = {"pod"}});
  devcluster::Server::Fault fault;
  fault.path_regex = "^/apis?([?]|$)";
  fault.kind = devcluster::Server::Fault::Kind::kHang;
  fault.times = -1;
  world.server().AddFault(fault);
  Process& host = world.StartHost("a", {"--leader-elect=false"});
  // What the host asks before it discovers anything.
  ASSERT_TRUE(Until(30s, [&] {
    for (const auto& e : world.server().TakeAudit())
      if (e.uri.starts_with("/healthz") && e.user_agent.ends_with("/shared-informers")) return true;
    return false;
  })) << host.err();
  EXPECT_EQ(host.Wait(1s), std::nullopt) << "nothing is waited for";
  host.Signal(SIGTERM);
  EXPECT_EQ(host.Wait(5s), 0) << host.err();
}

TEST(Endpoint, HOST_41_VerboseHealthOfTheLeader) {
  World world({.plugins = {"pod"}});
  world.StartHost("a", {});
  ASSERT_TRUE(world.Serves("a")) << world.host("a").err();
  ASSERT_TRUE(world.Healthy("a", "deployment-controller")) << world.host("a").err();
  const test::Reply reply = world.Ask("a", "/healthz?verbose&exclude=leaderElection&exclude=nope");
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(
      reply.body,
      AllOf(HasSubstr("[+]leaderElection excluded: ok"), HasSubstr("[+]deployment-controller ok"),
            HasSubstr("no matches for \"nope\""), EndsWith("healthz check passed\n")));
}

// Any other signal does what it does to every process (spec/host.md 11.4): none is swallowed, and
// none takes SIGTERM's effect away.
TEST(Endpoint, OtherSignalsDoWhatTheyAlwaysDo) {
  World world({.plugins = {"pod"}});
  for (const int signal : {SIGUSR1, SIGUSR2, SIGHUP}) {
    SCOPED_TRACE(signal);
    const std::string name = "s" + std::to_string(signal);
    Process& host = world.StartHost(name, {});
    ASSERT_TRUE(Until(30s, [&] { return host.err().find("\"Starting\"") != std::string::npos; }));
    host.Signal(signal);
    EXPECT_EQ(host.Wait(10s), 128 + signal);
  }
}

TEST(Endpoint, HOST_26_SigtermEndsAtOnceAndLeavesTheLease) {
  World world({.plugins = {"pod"}});
  Process& host = world.StartHost("a", {});
  ASSERT_TRUE(world.Healthy("a", "deployment-controller")) << host.err();
  const std::string holder = world.Lease().value("holderIdentity", "");
  ASSERT_NE(holder, "");
  host.Signal(SIGTERM);
  EXPECT_EQ(host.Wait(2s), 0);
  EXPECT_THAT(host.err(), HasSubstr("Requested to terminate. Exiting."));
  EXPECT_EQ(world.Lease().value("holderIdentity", ""), holder);
  EXPECT_EQ(world.Lease().value("leaseDurationSeconds", 0), 15);

  // With the gate the lease is given back.
  World second({.plugins = {"pod"}});
  Process& releasing = second.StartHost("b", {kRelease});
  ASSERT_TRUE(second.Healthy("b", "deployment-controller")) << releasing.err();
  releasing.Signal(SIGTERM);
  EXPECT_EQ(releasing.Wait(11s), 0) << releasing.err();
  EXPECT_EQ(second.Lease().value("holderIdentity", "?"), "");
  EXPECT_EQ(second.Lease().value("leaseDurationSeconds", 0), 1);
}

TEST(Endpoint, HOST_45_CertificateAndVersionsOfTls) {
  World world({});
  world.StartHost("a", {"--leader-elect=false", "--bind-address=0.0.0.0"});
  ASSERT_TRUE(world.Serves("a")) << world.host("a").err();
  const test::Reply reply = world.Ask("a", "/healthz");
  EXPECT_EQ(reply.chain_names.size(), 2u);
  EXPECT_THAT(reply.alternative_names,
              AllOf(HasSubstr("DNS:localhost"), HasSubstr("IP Address:127.0.0.1")));
  EXPECT_FALSE(
      test::Send(world.port("a"), {.max_version = TLS1_1_VERSION, .security_level = 0}).connected);

  world.StartHost("b", {"--leader-elect=false", "--tls-min-version=VersionTLS13"});
  ASSERT_TRUE(world.Serves("b")) << world.host("b").err();
  EXPECT_FALSE(test::Send(world.port("b"), {.max_version = TLS1_2_VERSION}).connected);
  EXPECT_EQ(test::Send(world.port("b"), {}).protocol, "TLSv1.3");

  Process& wrong = world.StartHost("c", {"--leader-elect=false", "--tls-cipher-suites=FOO"});
  EXPECT_EQ(wrong.Wait(30s), 1);
  EXPECT_THAT(wrong.err(), HasSubstr("Cipher suite FOO not supported or doesn't exist"));
}

TEST(Endpoint, HOST_51_EveryLogLineIsJson) {
  World world({.plugins = {"pod"}});
  Process& host = world.StartHost("a", {"--logging-format=json", "-v=4"});
  ASSERT_TRUE(world.Healthy("a", "deployment-controller")) << host.err();
  host.Signal(SIGTERM);
  ASSERT_EQ(host.Wait(30s), 0);
  std::istringstream lines(host.err());
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const Json j = Json::parse(line, nullptr, false);
    ASSERT_TRUE(j.is_object()) << line;
    EXPECT_TRUE(j.contains("ts") && j["ts"].is_number()) << line;
    EXPECT_TRUE(j.contains("msg") && j["msg"].is_string()) << line;
    EXPECT_TRUE(j.contains("caller")) << line;
  }
  EXPECT_GT(count, 10);
}

TEST(Endpoint, HOST_53_TakenPortEndsTheStartBeforeTheLease) {
  const Listener taken;
  World world({.plugins = {"pod"}});
  Process& host = world.StartHost("a", {"--secure-port=" + std::to_string(taken.port())});
  EXPECT_EQ(host.Wait(30s), 1);
  EXPECT_THAT(host.err(), HasSubstr("failed to create listener"));
  for (const auto& request : world.server().TakeAudit()) {
    const bool lease_write =
        request.method != "GET" && request.uri.find("/leases") != std::string::npos;
    EXPECT_FALSE(lease_write) << request.method << " " << request.uri;
  }
  EXPECT_TRUE(world.Lease().is_null());
}

TEST(Endpoint, HOST_52_PortZeroListensNowhereAndControllersWork) {
  World world({.nodes = 1, .plugins = {"pod"}});
  Process& host = world.StartHost("a", {"--leader-elect=false", "--secure-port=0"});
  ASSERT_TRUE(world.Post(kReplicaSets, ReplicaSet("web", 2)));
  EXPECT_TRUE(Until(60s, [&] { return world.Pods("app=web") == 2; })) << host.err();
  EXPECT_TRUE(ListeningPorts(host.pid()).empty());
  // The same look finds the port of a host that has one.
  world.StartHost("b", {"--leader-elect=false"});
  ASSERT_TRUE(world.Serves("b")) << world.host("b").err();
  EXPECT_EQ(ListeningPorts(world.host("b").pid()), std::vector<int>{world.port("b")});
}

TEST(Endpoint, HOST_03_AliasesOfControllers) {
  World world({.nodes = 2, .plugins = {"pod"}});
  Process& host =
      world.StartHost("a", {"--leader-elect=false", "--controllers=deployment,replicaset,-ttl"});
  ASSERT_TRUE(world.Serves("a")) << host.err();
  Json deployment = ReplicaSet("web", 2);
  deployment["kind"] = "Deployment";
  ASSERT_TRUE(world.Post(
      "/apis/batch/v1/namespaces/default/jobs",
      {{"apiVersion", "batch/v1"},
       {"kind", "Job"},
       {"metadata", {{"name", "job"}}},
       {"spec",
        {{"template",
          {{"spec",
            {{"restartPolicy", "Never"}, {"containers", {{{"name", "c"}, {"image", "i"}}}}}}}}}}}));
  ASSERT_TRUE(world.Post("/apis/apps/v1/namespaces/default/deployments", deployment));
  EXPECT_TRUE(Until(60s, [&] { return world.Pods("app=web") == 2; })) << host.err();
  const std::optional<Json> sets = world.Get(kReplicaSets);
  ASSERT_TRUE(sets);
  EXPECT_EQ((*sets)["items"].size(), 1u);
  EXPECT_EQ(world.Pods(""), 2);  // none of the Job
  const Json configz = Json::parse(world.Ask("a", "/configz").body, nullptr, false);
  EXPECT_EQ(configz.value("/kubecontrollermanager.config.k8s.io/Generic/Controllers"_json_pointer,
                          Json()),
            Json({"deployment-controller", "replicaset-controller", "-ttl-controller"}));
}

TEST(Endpoint, HOST_40_MonitoringMayScrape) {
  World world({.plugins = {"pod"}});
  const std::string admin = world.dir().Write("admin.kubeconfig", world.server().Kubeconfig());
  Process& host = world.StartHost(
      "a", {"--authentication-kubeconfig=" + admin, "--authorization-kubeconfig=" + admin});
  ASSERT_TRUE(world.Healthy("a", "deployment-controller")) << host.err();
  ASSERT_TRUE(world.Post(
      "/api/v1/namespaces/default/serviceaccounts",
      {{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", {{"name", "scraper"}}}}));
  const std::optional<Json> token =
      world.Answer("/api/v1/namespaces/default/serviceaccounts/scraper/token",
                   {{"apiVersion", "authentication.k8s.io/v1"},
                    {"kind", "TokenRequest"},
                    {"spec", Json::object()}});
  ASSERT_TRUE(token);
  test::Call call;
  call.target = "/metrics";
  call.headers = {{"Authorization", "Bearer " + (*token)["status"]["token"].get<std::string>()}};
  EXPECT_EQ(test::Send(world.port("a"), call).status,
            403);  // not bound yet; the answer is cached for 10 s
  ASSERT_TRUE(world.Post(
      "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
      {{"apiVersion", "rbac.authorization.k8s.io/v1"},
       {"kind", "ClusterRoleBinding"},
       {"metadata", {{"name", "scraper"}}},
       {"roleRef",
        {{"apiGroup", "rbac.authorization.k8s.io"},
         {"kind", "ClusterRole"},
         {"name", "system:monitoring"}}},
       {"subjects",
        {{{"kind", "ServiceAccount"}, {"name", "scraper"}, {"namespace", "default"}}}}}));
  test::Reply reply;
  EXPECT_TRUE(Until(30s, [&] { return (reply = test::Send(world.port("a"), call)).status == 200; }))
      << reply.status << reply.body;
  EXPECT_THAT(reply.body, AllOf(HasSubstr("\nleader_election_master_status"),
                                HasSubstr("\nworkqueue_depth{name=\"deployment\"}"),
                                HasSubstr("\nrest_client_requests_total"),
                                HasSubstr("\nprocess_start_time_seconds")));
}

}  // namespace
}  // namespace kcm::process
