// SPDX-License-Identifier: Apache-2.0
// Command line syntax (spec/host.md 1.1) and the recorded list of flags.
#include "host/config/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "build_paths.h"

namespace kcm::host::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::vector<std::string>> RecordedFlags() {
  std::ifstream file(std::string(KCM_SOURCE_DIR) + "/tests/host/config/golden/flags.tsv");
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::vector<std::string> cells;
    std::istringstream cut(line);
    for (std::string cell; std::getline(cut, cell, '\t');) cells.push_back(cell);
    cells.resize(5);
    rows.push_back(cells);
  }
  return rows;
}

// The default as the recording prints it, brought to the form of Text().
std::string Unquoted(std::string text) {
  if (text.size() > 1 && text.front() == '"') text = text.substr(1, text.size() - 2);
  return text;
}

TEST(Flags, EveryRecordedFlagIsKnownWithItsSectionAndDefault) {
  const FlagSet flags = FlagSet::Builtin();
  const auto rows = RecordedFlags();
  ASSERT_GT(rows.size(), 140u);
  for (const auto& row : rows) {
    SCOPED_TRACE(row[1]);
    const Flag* flag = flags.Find(row[1]);
    ASSERT_NE(flag, nullptr);
    EXPECT_EQ(flag->declaration.section, row[0]);
    EXPECT_FALSE(flag->declaration.help.empty());
    if (!row[3].empty()) {
      EXPECT_EQ(flags.Text(row[1]), Unquoted(row[3]));
    }
  }
}

TEST(Flags, ValuesThatDoNotFitAreRefusedWithTheReferencesWords) {
  const struct {
    const char* name;
    std::vector<std::string> args;
    const char* want;  // "" = accepted
  } rows[] = {
      {"unknown", {"--foo"}, "unknown flag: --foo"},
      {"unknown with value", {"--no-such-flag=1"}, "unknown flag: --no-such-flag"},
      {"unknown short", {"-x"}, "unknown shorthand flag: 'x' in -x"},
      {"missing value", {"--kubeconfig"}, "flag needs an argument: --kubeconfig"},
      {"missing value of -v", {"-v"}, "flag needs an argument: 'v' in -v"},
      {"only dashes", {"---x"}, "bad flag syntax: ---x"},
      {"bad bool",
       {"--profiling=maybe"},
       "invalid argument \"maybe\" for \"--profiling\" flag: strconv.ParseBool: parsing \"maybe\": "
       "invalid syntax"},
      {"bad int",
       {"--secure-port=x"},
       "invalid argument \"x\" for \"--secure-port\" flag: strconv.ParseInt: parsing \"x\": "
       "invalid syntax"},
      {"int32 overflow",
       {"--kube-api-burst=2147483648"},
       "invalid argument \"2147483648\" for \"--kube-api-burst\" flag: strconv.ParseInt: parsing "
       "\"2147483648\": value out of range"},
      {"bare duration",
       {"--leader-elect-lease-duration=15"},
       "invalid argument \"15\" for \"--leader-elect-lease-duration\" flag: time: missing unit in "
       "duration \"15\""},
      {"bad verbosity names both forms",
       {"-v", "x"},
       "invalid argument \"x\" for \"-v, --v\" flag: strconv.ParseUint: parsing \"x\": invalid "
       "syntax"},
      {"verbosity too large",
       {"--v=2147483648"},
       "invalid argument \"2147483648\" for \"-v, --v\" flag: strconv.ParseUint: parsing "
       "\"2147483648\": value out of range"},
      {"bad ip",
       {"--bind-address=localhost"},
       "invalid argument \"localhost\" for \"--bind-address\" flag: failed to parse IP: "
       "\"localhost\""},
      {"bad list",
       {"--controllers=a\"b"},
       "invalid argument \"a\\\"b\" for \"--controllers\" flag: parse error on line 1, column 2: "
       "bare \" in non-quoted field"},
      {"other version",
       {"--version=v1.35.0"},
       "invalid argument \"v1.35.0\" for \"--version\" flag: version \"v1.35.0\" must match "
       "major/minor/patch of default version \"v1.36.2\""},
      {"key pair",
       {"--tls-sni-cert-key=only.crt"},
       "invalid argument \"only.crt\" for \"--tls-sni-cert-key\" flag: expected comma separated "
       "certificate and key file paths"},
      {"hex int", {"--secure-port=0x2711"}, ""},
      {"same version with suffix", {"--version=v1.36.2-acme.1"}, ""},
      {"duration zero", {"--min-resync-period=0"}, ""},
      {"fraction", {"--min-resync-period=1.5h"}, ""},
      {"all booleans", {"--profiling=T", "--leader-elect=False", "--contention-profiling=1"}, ""},
      {"removed long ago", {"--pod-eviction-timeout=5m"}, "unknown flag: --pod-eviction-timeout"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    FlagSet flags = FlagSet::Builtin();
    const auto parsed = flags.Parse(row.args);
    EXPECT_EQ(parsed.ok() ? "" : parsed.error().message, row.want);
  }
}

TEST(Flags, FormsOfOneFlag) {
  FlagSet flags = FlagSet::Builtin();
  ASSERT_TRUE(
      flags
          .Parse({"--concurrent_rc_syncs=7", "--secure-port", "10300", "--secure-port=10301",
                  "-v=3", "--leader-elect=false", "--kube-api-qps=300", "--bind_address", "::"})
          .ok());
  EXPECT_EQ(flags.Int("concurrent-rc-syncs"), 7);
  EXPECT_EQ(flags.Int("secure-port"), 10301) << "the last one wins";
  EXPECT_EQ(flags.Int("v"), 3);
  EXPECT_FALSE(flags.Bool("leader-elect"));
  EXPECT_EQ(flags.Float("kube-api-qps"), 300);
  EXPECT_EQ(flags.String("bind-address"), "::");
  EXPECT_TRUE(flags.Changed("v"));
  EXPECT_FALSE(flags.Changed("kubeconfig"));
}

TEST(Flags, BooleanDoesNotTakeTheNextArgument) {
  FlagSet flags = FlagSet::Builtin();
  const auto positional =
      flags.Parse({"--profiling", "false", "-v4", "--", "--leader-elect=false"});
  ASSERT_TRUE(positional.ok());
  EXPECT_THAT(*positional, ElementsAre("false", "--leader-elect=false"));
  EXPECT_TRUE(flags.Bool("profiling"));
  EXPECT_TRUE(flags.Bool("leader-elect"));
  EXPECT_EQ(flags.Int("v"), 4);
}

TEST(Flags, ListsReplaceTheDefaultThenAppend) {
  FlagSet flags = FlagSet::Builtin();
  ASSERT_TRUE(flags
                  .Parse({"--controllers=a,-b", "--controllers=\"c,d\",e",
                          "--authorization-always-allow-paths=", "--tls-curve-preferences=29,23",
                          "--tls-curve-preferences=24", "--plugin-dir=/a,b", "--plugin-dir=/c",
                          "--allow-metric-labels=m,l=v1", "--allow-metric-labels=n,l=v2"})
                  .ok());
  EXPECT_THAT(flags.Strings("controllers"), ElementsAre("a", "-b", "c,d", "e"));
  EXPECT_EQ(flags.Text("controllers"), "[a,-b,\"c,d\",e]");
  EXPECT_THAT(flags.Strings("authorization-always-allow-paths"), IsEmpty());
  EXPECT_THAT(flags.Ints("tls-curve-preferences"), ElementsAre(29, 23, 24));
  EXPECT_THAT(flags.Strings("plugin-dir"), ElementsAre("/a,b", "/c"));
  EXPECT_THAT(flags.Pairs("allow-metric-labels"),
              ElementsAre(testing::Pair("m,l", "v1"), testing::Pair("n,l", "v2")));
}

TEST(Flags, DeprecatedOnesWorkWithANotice) {
  FlagSet flags = FlagSet::Builtin();
  ASSERT_TRUE(flags
                  .Parse({"--node-sync-period=10s", "--allow-untagged-cloud",
                          "--volume-host-cidr-denylist=10.0.0.0/8",
                          "--volume-host-allow-local-loopback=false",
                          "--azure-container-registry-config=/x"})
                  .ok());
  EXPECT_THAT(flags.notices(),
              ElementsAre("Flag --node-sync-period has been deprecated, This flag is currently "
                          "no-op and will be deleted.",
                          "Flag --allow-untagged-cloud has been deprecated, This flag is "
                          "deprecated and will be removed in a "
                          "future release. A cluster-id will be required on cloud instances.",
                          HasSubstr("--volume-host-cidr-denylist has been deprecated, "),
                          HasSubstr("--volume-host-allow-local-loopback has been deprecated, "),
                          HasSubstr("--azure-container-registry-config has been deprecated, ")));
  EXPECT_THAT(flags.Usage("kube-controller-manager"), testing::Not(HasSubstr("node-sync-period")));
}

TEST(Flags, PluginsAddTheirOwn) {
  FlagSet flags = FlagSet::Builtin();
  EXPECT_TRUE(flags
                  .Declare({.section = "Acme-controller",
                            .name = "acme-syncs",
                            .type = FlagType::kInt32,
                            .default_text = "5",
                            .help = "Workers."})
                  .ok());
  EXPECT_TRUE(flags
                  .Declare({.section = "Job-controller",
                            .name = "concurrent-job-syncs",
                            .type = FlagType::kInt32,
                            .default_text = "5",
                            .help = "Another text."})
                  .ok())
      << "as it is built in";
  const Status other = flags.Declare({.section = "x",
                                      .name = "concurrent-job-syncs",
                                      .type = FlagType::kInt32,
                                      .default_text = "6"});
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.code(), Code::kAlreadyExists);
  EXPECT_THAT(other.error().message, HasSubstr("--concurrent-job-syncs is declared twice"));
  EXPECT_EQ(flags.Declare({.section = "x", .name = "-bad", .type = FlagType::kBool}).code(),
            Code::kInvalid);
  EXPECT_EQ(flags
                .Declare({.section = "x",
                          .name = "bad-default",
                          .type = FlagType::kDuration,
                          .default_text = "5"})
                .code(),
            Code::kInvalid);
  ASSERT_TRUE(flags.Parse({"--acme-syncs=9"}).ok());
  EXPECT_EQ(flags.Int("acme-syncs"), 9);
  EXPECT_THAT(
      flags.Usage("k"),
      HasSubstr("\nAcme-controller flags:\n\n      --acme-syncs int32   Workers. (default 5)\n"));
}

TEST(Flags, WidthOfANumberIsTheBuiltInsBusiness) {
  FlagSet flags = FlagSet::Builtin();
  EXPECT_TRUE(flags
                  .Declare({.section = "x",
                            .name = "node-eviction-rate",
                            .type = FlagType::kFloat64,
                            .default_text = "0.1"})
                  .ok());
  EXPECT_TRUE(flags
                  .Declare({.section = "x",
                            .name = "concurrent-gc-syncs",
                            .type = FlagType::kInt,
                            .default_text = "20"})
                  .ok());
  EXPECT_EQ(flags.Find("node-eviction-rate")->declaration.type, FlagType::kFloat32);
  EXPECT_FALSE(flags
                   .Declare({.section = "x",
                             .name = "node-eviction-rate",
                             .type = FlagType::kString,
                             .default_text = "0.1"})
                   .ok());
}

TEST(Flags, DumpShowsEveryFlagQuoted) {
  FlagSet flags = FlagSet::Builtin();
  ASSERT_TRUE(
      flags.Parse({"--feature-gates=kube:B=true,kube:A=false", "--leader-elect-lease-duration=90s"})
          .ok());
  const std::vector<std::string> lines = flags.DumpLines();
  for (const char* want :
       {"FLAG: --controllers=\"[*]\"", "FLAG: --leader-elect-lease-duration=\"1m30s\"",
        "FLAG: --feature-gates=\"kube:A=false,kube:B=true\"", "FLAG: --kube-api-qps=\"20\"",
        "FLAG: --node-eviction-rate=\"0.1\"", "FLAG: --allow-metric-labels=\"[]\"",
        "FLAG: --v=\"0\"", "FLAG: --tls-sni-cert-key=\"[]\""}) {
    EXPECT_THAT(lines, testing::Contains(want));
  }
  std::vector<std::string> names;
  for (const std::string& line : lines) names.push_back(line.substr(0, line.find('=')));
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
}

TEST(Flags, PluginFoldersAreFoundBeforeTheirFlagsAreKnown) {
  EXPECT_THAT(ScanFlag({"--acme-thing=1", "--plugin_dir", "/a", "-v", "2", "--plugin-dir=/b", "--",
                        "--plugin-dir=/c"},
                       "plugin-dir"),
              ElementsAre("/a", "/b"));
  EXPECT_THAT(ScanFlag({"--plugin-dir"}, "plugin-dir"), IsEmpty());
}

}  // namespace
}  // namespace kcm::host::config
