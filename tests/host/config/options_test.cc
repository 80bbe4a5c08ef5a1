// SPDX-License-Identifier: Apache-2.0
// What becomes of a whole command line: help, version, errors, effective values.
#include "host/config/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "build_paths.h"
#include "host/config/configz.h"

namespace kcm::host::config {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

ParseResult Parse(const std::vector<std::string>& args) { return ParseOptions(args, {}); }

TEST(Options, DefaultsRun) {
  const ParseResult r = Parse({});
  EXPECT_EQ(r.outcome, Outcome::kRun);
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_EQ(r.out + r.err + r.failure, "");
  EXPECT_TRUE(r.warnings.empty());
  EXPECT_EQ(r.options.serving.port, 10257);
  EXPECT_EQ(r.options.leader_election.lease_duration, std::chrono::seconds(15));
  EXPECT_THAT(r.options.authentication.username_headers, ElementsAre("x-remote-user"));
  EXPECT_TRUE(r.options.warm_standby);
  EXPECT_TRUE(r.options.ControllerEnabled("deployment-controller"));
  EXPECT_FALSE(r.options.ControllerEnabled("token-cleaner-controller"));
}

// The parts of HOST-01 and HOST-02 that need no process.
TEST(Options, UnknownFlagPrintsUsageThenTheError) {
  const ParseResult r = Parse({"--no-such-flag=1"});
  EXPECT_EQ(r.outcome, Outcome::kUsage);
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_EQ(r.out, "");
  EXPECT_THAT(r.err,
              StartsWith("Usage:\n  kube-controller-manager [flags]\n\nDebugging flags:\n\n"));
  EXPECT_THAT(r.err, EndsWith("\nError: unknown flag: --no-such-flag\n"));
}

TEST(Options, HelpListsFlagsAndControllers) {
  for (const char* flag : {"--help", "-h"}) {
    const ParseResult r = Parse({flag, "positional"});
    EXPECT_EQ(r.outcome, Outcome::kHelp);
    EXPECT_EQ(r.exit_code, 0);
    EXPECT_EQ(r.err, "");
    EXPECT_THAT(r.out, HasSubstr("      --concurrent-deployment-syncs int32"));
    EXPECT_THAT(r.out, HasSubstr("Disabled-by-default controllers: bootstrap-signer-controller, "
                                 "selinux-warning-controller, "
                                 "token-cleaner-controller"));
    EXPECT_THAT(r.out, HasSubstr("All controllers: bootstrap-signer-controller, "
                                 "certificatesigningrequest-approving-controller,"));
    EXPECT_THAT(r.out, HasSubstr("  -v, --v Level"));
    EXPECT_THAT(r.out, HasSubstr("  -h, --help "));
    EXPECT_THAT(r.out, HasSubstr("--leader-elect-resource-name string"));
    EXPECT_THAT(r.out, HasSubstr("(default \"kube-controller-manager\")"));
    EXPECT_THAT(r.out, HasSubstr("(default 12h0m0s)"));
  }
}

TEST(Options, SectionsComeInTheReferencesOrder) {
  const std::string help = Parse({"--help"}).out;
  size_t at = 0;
  for (const char* section : {"Debugging", "Leader-migration", "Generic", "Service-lb-controller",
                              "Secure serving", "Authentication", "Authorization",
                              "Deployment-controller", "Metrics", "Logs", "Misc", "Global"}) {
    const size_t found = help.find("\n" + std::string(section) + " flags:\n\n");
    ASSERT_NE(found, help.npos) << section;
    EXPECT_GT(found, at) << section;
    at = found;
  }
}

TEST(Options, VersionForms) {
  ParseResult r = Parse({"--version"});
  EXPECT_EQ(r.outcome, Outcome::kVersion);
  EXPECT_EQ(r.out, "Kubernetes v1.36.2+kcm-0.1.0\n");
  EXPECT_EQ(r.exit_code, 0);
  r = Parse({"--version=raw"});
  EXPECT_EQ(r.outcome, Outcome::kVersion);
  EXPECT_THAT(
      r.out,
      MatchesRegex(
          "version.Info\\{Major:\"1\", Minor:\"36\", GitVersion:\"v1.36.2.kcm-0.1.0\".*\\}\n"));
  r = Parse({"--version=v1.36.2-acme.7"});
  EXPECT_EQ(r.outcome, Outcome::kRun);
  EXPECT_EQ(r.options.build.git_version, "v1.36.2-acme.7");
  EXPECT_EQ(Parse({"--version=v1.36.3"}).outcome, Outcome::kUsage);
  EXPECT_EQ(Parse({"--version=false"}).outcome, Outcome::kRun);
}

TEST(Options, PositionalArgumentsAreRefusedWithoutUsage) {
  const ParseResult r = Parse({"", "x", "--profiling", "false"});
  EXPECT_EQ(r.outcome, Outcome::kArgument);
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_EQ(r.err,
            "Error: \"kube-controller-manager\" does not take any arguments, got [\"\" \"x\" "
            "\"false\"]\n");
  EXPECT_EQ(Parse({"", ""}).outcome, Outcome::kRun);
}

TEST(Options, DeprecationNoticesGoToStderrAndTheHostRuns) {
  const ParseResult r = Parse({"--node-sync-period=1s"});
  EXPECT_EQ(r.outcome, Outcome::kRun);
  EXPECT_EQ(r.err,
            "Flag --node-sync-period has been deprecated, This flag is currently no-op and will be "
            "deleted.\n");
}

TEST(Options, UnknownControllersAreNamed) {
  const ParseResult r = Parse({"--controllers=*,foo,-bar"});
  EXPECT_EQ(r.outcome, Outcome::kInvalid);
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_EQ(r.failure,
            "[\"foo\" is not in the list of known controllers, \"bar\" is not in the list of known "
            "controllers]");
  EXPECT_EQ(Parse({"--controllers=*,cloud-node-controller"}).failure,
            "\"cloud-node-controller\" is not in the list of known controllers");
}

TEST(Options, AllViolationsInOneMessage) {
  const ParseResult r =
      Parse({"--concurrent-job-syncs=0", "--max-endpoints-per-slice=1001", "--cloud-provider=gce"});
  EXPECT_EQ(r.outcome, Outcome::kInvalid);
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_THAT(r.failure, MatchesRegex("\\[.*, .*, .*\\]"));
  EXPECT_THAT(r.failure, HasSubstr("concurrent-job-syncs must be greater than 0, but got 0"));
  EXPECT_THAT(r.failure,
              HasSubstr("max-endpoints-per-slice must not be more than 1000, but got 1001"));
  EXPECT_THAT(r.failure,
              HasSubstr("cloud provider \"gce\" was specified, but built-in cloud providers are "
                        "disabled. Please set "
                        "--cloud-provider=external and migrate to an external cloud provider"));
}

TEST(Options, UnderscoreSpellingReachesConfigz) {
  const ParseResult r = Parse({"--concurrent_rc_syncs=7"});
  ASSERT_EQ(r.outcome, Outcome::kRun);
  const auto configz = nlohmann::json::parse(ConfigzJson(r.options, nullptr));
  EXPECT_EQ(
      configz["kubecontrollermanager.config.k8s.io"]["ReplicationController"]["ConcurrentRCSyncs"],
      7);
}

TEST(Options, PluginsBringFlagsAndControllers) {
  const ParseContext context{.declare = [](FlagSet& flags, ControllerNames& names) -> Status {
    const Status flag = flags.Declare(
        {.section = "Acme-controller", .name = "acme-syncs", .type = FlagType::kInt32});
    if (!flag.ok()) return flag;
    return names.Declare("acme-controller", {"acme"}, false);
  }};
  const ParseResult r = ParseOptions({"--acme-syncs=3", "--controllers=*,acme"}, context);
  ASSERT_EQ(r.outcome, Outcome::kRun) << r.failure << r.err;
  EXPECT_EQ(r.options.flags.Int("acme-syncs"), 3);
  EXPECT_TRUE(r.options.ControllerEnabled("acme-controller"));
  EXPECT_THAT(
      ParseOptions({"--help"}, context).out,
      HasSubstr("Disabled-by-default controllers: acme-controller, bootstrap-signer-controller,"));
  const ParseContext bad{
      .declare = [](FlagSet&, ControllerNames& names) { return names.Declare("ttl", {}, true); }};
  EXPECT_EQ(ParseOptions({}, bad).failure,
            "controller \"ttl\": the name is an alias of ttl-controller");
}

TEST(Options, ServingErrorsOnlyCountWithAPort) {
  EXPECT_EQ(Parse({"--tls-cipher-suites=FOO"}).failure,
            "Cipher suite FOO not supported or doesn't exist");
  EXPECT_EQ(Parse({"--tls-min-version=VersionTLS9"}).failure,
            "unknown tls version \"VersionTLS9\"");
  EXPECT_EQ(Parse({"--tls-curve-preferences=70000"}).failure,
            "curve preference 70000 is out of range (must be 1-65535)");
  EXPECT_EQ(Parse({"--authorization-always-allow-paths=/a*b"}).failure,
            "only trailing * allowed in \"/a*b\"");
  EXPECT_EQ(Parse({"--tls-cipher-suites=FOO", "--secure-port=0"}).outcome, Outcome::kRun);
  const ParseResult insecure = Parse({"--tls-cipher-suites=TLS_RSA_WITH_AES_128_CBC_SHA"});
  EXPECT_EQ(insecure.outcome, Outcome::kRun);
  EXPECT_THAT(insecure.warnings,
              ElementsAre("Use of insecure cipher 'TLS_RSA_WITH_AES_128_CBC_SHA' detected."));
}

TEST(Options, SniPairs) {
  const ParseResult r = Parse({"--tls-sni-cert-key=/c.crt,/c.key:*.a.example,b.example",
                               "--tls-sni-cert-key=/d.crt,/d.key"});
  ASSERT_EQ(r.options.serving.sni.size(), 2u);
  EXPECT_EQ(r.options.serving.sni[0].cert_file, "/c.crt");
  EXPECT_EQ(r.options.serving.sni[0].key_file, "/c.key");
  EXPECT_THAT(r.options.serving.sni[0].patterns, ElementsAre("*.a.example", "b.example"));
  EXPECT_EQ(r.options.serving.sni[1].key_file, "/d.key");
  EXPECT_TRUE(r.options.serving.sni[1].patterns.empty());
}

TEST(Options, MetricLabelLists) {
  const ParseResult r = Parse({"--allow-metric-labels=m1,code='200,404'"});
  ASSERT_EQ(r.outcome, Outcome::kRun) << r.failure;
  ASSERT_EQ(r.options.metrics.allowed_labels.size(), 1u);
  EXPECT_EQ(r.options.metrics.allowed_labels[0].metric, "m1");
  EXPECT_EQ(r.options.metrics.allowed_labels[0].label, "code");
  EXPECT_THAT(r.options.metrics.allowed_labels[0].values, ElementsAre("200", "404"));
  EXPECT_THAT(Parse({"--allow-metric-labels-manifest=/no/such/file"}).failure,
              HasSubstr("no such file or directory"));
}

TEST(Configz, EqualsTheRecordingForItsFlags) {
  std::ifstream file(std::string(KCM_SOURCE_DIR) + "/tests/host/config/golden/configz.json");
  std::stringstream text;
  text << file.rdbuf();
  const ParseResult r = Parse({"--kubeconfig=/etc/kubernetes/controller-manager.conf",
                               "--use-service-account-credentials=true",
                               "--cluster-signing-cert-file=/etc/kubernetes/pki/ca.crt",
                               "--cluster-signing-key-file=/etc/kubernetes/pki/ca.key",
                               "--root-ca-file=/etc/kubernetes/pki/ca.crt",
                               "--service-account-private-key-file=/etc/kubernetes/pki/sa.key"});
  ASSERT_EQ(r.outcome, Outcome::kRun) << r.failure;
  using Json = nlohmann::ordered_json;  // order too: tools compare texts
  EXPECT_EQ(Json::parse(ConfigzJson(r.options, nullptr)).dump(1), Json::parse(text.str()).dump(1));
}

TEST(Configz, ShowsCanonicalNamesAndBothServiceRanges) {
  const ParseResult r = Parse({"--controllers=deployment,replicaset,-ttl",
                               "--service-cluster-ip-range=10.0.0.0/16,fd00::/108"});
  const auto root =
      nlohmann::json::parse(ConfigzJson(r.options, nullptr))["kubecontrollermanager.config.k8s.io"];
  EXPECT_EQ(root["Generic"]["Controllers"],
            (nlohmann::json{"deployment-controller", "replicaset-controller", "-ttl-controller"}));
  EXPECT_EQ(root["NodeIPAMController"]["ServiceCIDR"], "10.0.0.0/16");
  EXPECT_EQ(root["NodeIPAMController"]["SecondaryServiceCIDR"], "fd00::/108");
}

}  // namespace
}  // namespace kcm::host::config
