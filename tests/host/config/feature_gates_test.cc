// SPDX-License-Identifier: Apache-2.0
// Feature gate rules (spec/host.md 1.8).
#include "host/config/feature_gates.h"

#include <gtest/gtest.h>

#include "host/config/flags.h"

namespace kcm::host::config {
namespace {

struct Evaluated {
  FeatureGates gates;
  std::vector<std::string> errors, warnings;
};

Evaluated Evaluate(const std::string& text, int minor = kMinor) {
  Evaluated e;
  const Result<FlagValue> value = ParseFlagValue(FlagType::kFeatureGates, text, nullptr);
  e.gates = FeatureGates::Evaluate(std::get<StringPairs>(*value), Minor{1, minor}, &e.errors,
                                   &e.warnings);
  return e;
}

TEST(FeatureGates, DefaultsFollowTheEmulatedRelease) {
  const struct {
    const char* name;
    int minor;
    bool want;
  } rows[] = {
      {"WatchListClient", 36, true},
      {"WatchListClient", 34, false},
      {"DRADeviceTaints", 36, true},
      {"DRADeviceTaints", 35, false},
      {"ComponentFlagz", 36, true},
      {"ComponentFlagz", 35, false},
      {"StorageVersionMigrator", 36, false},
      {"SELinuxChangePolicy", 36, true},
      {"NoSuchGate", 36, false},
      {"ControllerManagerReleaseLeaderElectionLockOnExit", 36, false},
      {"MaxUnavailableStatefulSet", 34, false},
      {"MaxUnavailableStatefulSet", 36, false},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(std::string(row.name) + " at 1." + std::to_string(row.minor));
    const Evaluated e = Evaluate("", row.minor);
    EXPECT_EQ(e.gates.Enabled(row.name), row.want);
    EXPECT_TRUE(e.errors.empty());
  }
}

TEST(FeatureGates, WhatIsWrongIsSaid) {
  const struct {
    const char* text;
    int minor;
    std::vector<std::string> want;
  } rows[] = {
      {"NoSuchGate=true", 36, {"unrecognized feature gate: NoSuchGate"}},
      {"JobSuccessPolicy=false",
       36,
       {"cannot set feature gate JobSuccessPolicy to false, feature is locked to true"}},
      {"JobSuccessPolicy=true", 36, {}},
      {"GenericWorkload=true",
       34,
       {"cannot set feature gate GenericWorkload to true, feature is PreAlpha at emulated version "
        "1.34"}},
      {"GangScheduling=true",
       36,
       {"GangScheduling is enabled, but depends on features that are disabled: [GenericWorkload]"}},
      {"GangScheduling=true,GenericWorkload=true", 36, {}},
      {"kube:WatchListClient=false,PodDeletionCost=false",
       36,
       {"--feature-gates mixes entries with and without the component prefix \"kube:\": use one "
        "form"}},
      {"acme:X=true", 36, {"component not registered: acme"}},
      {"WatchListClient=maybe",
       36,
       {"invalid value of WatchListClient=maybe, err: strconv.ParseBool: parsing \"maybe\": "
        "invalid syntax"}},
      {"WatchListClient", 36, {"missing bool value for WatchListClient"}},
      {"APIListChunking=true", 36, {}},
      {"AllAlpha=true", 36, {}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.text);
    EXPECT_EQ(Evaluate(row.text, row.minor).errors, row.want);
  }
}

TEST(FeatureGates, WholeStagesYieldToExplicitSettings) {
  const Evaluated e =
      Evaluate("WatchListClient=true,AllBeta=false,HPAScaleToZero=false,AllAlpha=true");
  EXPECT_TRUE(e.gates.Enabled("WatchListClient"));
  EXPECT_FALSE(e.gates.Enabled("PodDeletionCost"));
  EXPECT_FALSE(e.gates.Enabled("HPAScaleToZero"));
  EXPECT_TRUE(e.gates.Enabled("ControllerManagerReleaseLeaderElectionLockOnExit"));
  EXPECT_TRUE(e.gates.Enabled("JobSuccessPolicy")) << "GA gates are of no stage";
}

TEST(FeatureGates, UselessSettingsWarn) {
  EXPECT_EQ(Evaluate("JobSuccessPolicy=true").warnings.size(), 1u);
  EXPECT_EQ(Evaluate("APIListChunking=false").warnings.size(), 1u);
  EXPECT_TRUE(Evaluate("WatchListClient=false").warnings.empty());
}

TEST(FeatureGates, ListedWithStages) {
  const Evaluated e = Evaluate("HPAScaleToZero=true");
  EXPECT_EQ(e.gates.Changed(),
            (std::vector<std::pair<std::string, bool>>{{"HPAScaleToZero", true}}));
  int found = 0;
  for (const auto& [name, gate] : e.gates.All()) {
    if (name == "HPAScaleToZero") found += StageLabel(gate.stage) == "ALPHA" ? 1 : 0;
    if (name == "PodDeletionCost") found += StageLabel(gate.stage) == "BETA" ? 1 : 0;
    if (name == "JobSuccessPolicy") found += StageLabel(gate.stage).empty() ? 1 : 0;
    if (name == "KMSv1") found += StageLabel(gate.stage) == "DEPRECATED" ? 1 : 0;
  }
  EXPECT_EQ(found, 4);
  EXPECT_LT(Evaluate("", 33).gates.All().size(), e.gates.All().size());
}

}  // namespace
}  // namespace kcm::host::config
