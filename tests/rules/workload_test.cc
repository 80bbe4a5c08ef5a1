// SPDX-License-Identifier: Apache-2.0
// The small decisions of workload controllers: batches, limits, pods from templates, back-off,
// error classes.
#include <gtest/gtest.h>

#include "kcm/rules/back_off.h"
#include "kcm/rules/error_class.h"
#include "kcm/rules/int_or_percent.h"
#include "kcm/rules/pod_template.h"
#include "kcm/rules/slow_start.h"
#include "rules/parsed.h"

namespace kcm::rules {
namespace {

using namespace std::chrono_literals;

std::vector<int64_t> Batches(SlowStart batches) {
  std::vector<int64_t> sizes;
  while (const int64_t n = batches.Next()) sizes.push_back(n);
  return sizes;
}

TEST(SlowStart, DoublesUntilAllAreHandedOut) {
  using V = std::vector<int64_t>;
  EXPECT_EQ(Batches(SlowStart(0)), V{});
  EXPECT_EQ(Batches(SlowStart(-3)), V{});
  EXPECT_EQ(Batches(SlowStart(1)), V{1});
  EXPECT_EQ(Batches(SlowStart(10)), (V{1, 2, 4, 3}));
  EXPECT_EQ(Batches(SlowStart(15)), (V{1, 2, 4, 8}));
  EXPECT_EQ(Batches(SlowStart(20, 4)), (V{1, 2, 4, 4, 4, 4, 1}));
  EXPECT_EQ(Batches(SlowStart(1600, 500)), (V{1, 2, 4, 8, 16, 32, 64, 128, 256, 500, 500, 89}));
}

TEST(SlowStart, KnowsWhatIsSkipped) {
  SlowStart batches(10);
  EXPECT_EQ(batches.Next() + batches.Next() + batches.Next(), 7);
  EXPECT_EQ(batches.Remaining(), 3);
}

TEST(IntOrPercent, Resolves) {
  const struct {
    const char* value;
    int64_t total;
    int64_t up;
    int64_t down;
  } rows[] = {
      {"3", 10, 3, 3},          {"\"25%\"", 10, 3, 2},
      {"\"25%\"", 4, 1, 1},     {"\"0%\"", 10, 0, 0},
      {"\"100%\"", 7, 7, 7},    {"\"150%\"", 2, 3, 3},
      {"\"1%\"", 1, 1, 0},      {"null", 10, 0, 0},
      {"\"33%\"", 3, 1, 0},     {"\"29%\"", 100, 29, 29},
      {"\"-10%\"", 15, -1, -2}, {"\"9223372036854775807%\"", 2000000000, 2147483647, 2147483647},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.value);
    const Parsed value(row.value);
    EXPECT_EQ(*IntOrPercent(value, row.total, Rounding::kUp), row.up);
    EXPECT_EQ(*IntOrPercent(value, row.total, Rounding::kDown), row.down);
  }
  for (const char* bad : {"\"5\"", "\"%\"", "\"x%\"", "\"1.5%\"", "\"\"", "true", "{}"}) {
    const Parsed value(bad);
    const Result<int64_t> r = IntOrPercent(value, 10, Rounding::kUp);
    ASSERT_FALSE(r.ok()) << bad;
    EXPECT_TRUE(r.error().message.starts_with("invalid value for IntOrString: "))
        << r.error().message;
  }
}

TEST(IntOrPercent, RollingLimits) {
  const Parsed quarter("\"25%\"");
  const Parsed zero("0");
  const Parsed one_percent("\"1%\"");
  const Parsed bad("\"x\"");
  const auto d = DeploymentLimits(quarter, quarter, 10);
  EXPECT_EQ(d->surge, 3);
  EXPECT_EQ(d->unavailable, 2);
  EXPECT_EQ(DeploymentLimits(zero, one_percent, 10)->unavailable, 1) << "both resolve to 0";
  EXPECT_EQ(DeploymentLimits(zero, zero, 0)->unavailable, 1);
  EXPECT_FALSE(DeploymentLimits(bad, quarter, 10).ok());
  EXPECT_FALSE(DeploymentLimits(quarter, bad, 10).ok());
  EXPECT_EQ(DaemonSetLimits(zero, one_percent, 10)->unavailable, 1) << "rounded up";
  EXPECT_EQ(DaemonSetLimits(zero, zero, 10)->unavailable, 1);
  EXPECT_EQ(DaemonSetLimits(zero, zero, 0)->unavailable, 0)
      << "nothing desired, nothing unavailable";
  EXPECT_EQ(*StatefulSetMaxUnavailable(Node(), 10), 1);
  EXPECT_EQ(*StatefulSetMaxUnavailable(quarter, 10), 2);
  EXPECT_EQ(*StatefulSetMaxUnavailable(quarter, 3), 1);
}

TEST(PodTemplate, PrefixKeepsTheDashWhileItFits) {
  EXPECT_EQ(PodNamePrefix("web"), "web-");
  EXPECT_EQ(PodNamePrefix(std::string(252, 'a')), std::string(252, 'a') + "-");
  EXPECT_EQ(PodNamePrefix(std::string(253, 'a')), std::string(253, 'a'));
}

TEST(PodTemplate, CopiesWhatThePodInherits) {
  const Parsed full(
      R"({"metadata":{"name":"no","namespace":"no","creationTimestamp":null,"labels":{"a":"1"},"annotations":{"b":"2"},"finalizers":["x/y"],"ownerReferences":[{"uid":"no"}]},"spec":{"containers":[{"name":"c"}]}})");
  const OwnerReference rs{"apps/v1", "ReplicaSet", "web", "u1"};
  EXPECT_EQ(
      PodFromTemplate(full, rs),
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"web-","labels":{"a":"1"},"annotations":{"b":"2"},)"
      R"("finalizers":["x/y"],"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"u1",)"
      R"("controller":true,"blockOwnerDeletion":true}]},"spec":{"containers":[{"name":"c"}]}})");
  EXPECT_TRUE(TemplateHasLabels(full));
  EXPECT_FALSE(TemplateHasLabels(Parsed(R"({"metadata":{"labels":{}}})")));
  EXPECT_FALSE(TemplateHasLabels(Parsed("{}")));
}

TEST(PodTemplate, HashHasTheVectorsOfTheSpecification) {
  const Parsed web(
      R"({"spec":{"containers":[{"name":"c","image":"nginx:1"}]},"metadata":{"creationTimestamp":null,"labels":{"app":"web"}}})");
  EXPECT_EQ(PodTemplateHash(web, std::nullopt), "79bfd649dc");
  EXPECT_EQ(PodTemplateHash(web, 0), "857df6fbc9");
  EXPECT_EQ(PodTemplateHash(web, 1), "69c66bc686");
}

TEST(BackOff, DoublesUpToTheCap) {
  const BackOff queue{5ms, 1000s};
  const struct {
    int64_t failures;
    std::chrono::nanoseconds want;
  } rows[] = {{0, 5ms},    {1, 10ms},   {2, 20ms},          {17, 655360ms}, {18, 1000s},
              {62, 1000s}, {63, 1000s}, {INT64_MAX, 1000s}, {-1, 5ms}};
  for (const auto& row : rows)
    EXPECT_EQ(ExponentialDelay(queue, row.failures), row.want) << row.failures;
  EXPECT_EQ(ExponentialDelay({800ms, 30s}, 5), 25600ms);
  EXPECT_EQ(ExponentialDelay({800ms, 30s}, 6), 30s);
  EXPECT_EQ(ExponentialDelay({2s, 1s}, 0), 1s) << "the cap holds from the start";
  EXPECT_EQ(ExponentialDelay({0s, 1s}, 9), 0s);
}

TEST(BackOff, JitterOnlyLengthens) {
  EXPECT_EQ(Jittered(10s, 1.0, 0.0), 10s);
  EXPECT_EQ(Jittered(10s, 1.0, 0.5), 15s);
  EXPECT_EQ(Jittered(2s, 1.2, 0.5), 3200ms);
  EXPECT_EQ(Jittered(10s, 0, 0.9), 10s);
  EXPECT_GT(Jittered(std::chrono::nanoseconds::max(), 1.0, 0.9), 10s);
}

TEST(ErrorClass, TellsWhatToDo) {
  Error terminating = MakeError(Code::kForbidden, "no");
  EXPECT_FALSE(IsNamespaceTerminating(terminating));
  terminating.cause = "NamespaceTerminating";
  EXPECT_TRUE(IsNamespaceTerminating(terminating));
  EXPECT_FALSE(IsTransient(terminating));
  Error conflict = MakeError(Code::kConflict, "no");
  conflict.cause = "NamespaceTerminating";
  EXPECT_FALSE(IsNamespaceTerminating(conflict));
  EXPECT_TRUE(IsConflict(conflict));
  EXPECT_TRUE(IsNotFound(MakeError(Code::kNotFound, "")));
  EXPECT_TRUE(IsAlreadyExists(MakeError(Code::kAlreadyExists, "")));
  EXPECT_TRUE(IsMethodNotSupported(MakeError(Code::kMethodNotAllowed, "")));
  for (const Code code : {Code::kTooManyRequests, Code::kTimeout, Code::kServerTimeout,
                          Code::kUnavailable, Code::kTransport}) {
    EXPECT_TRUE(IsTransient(MakeError(code, "")));
  }
  Error internal = MakeError(Code::kInternal, "");
  EXPECT_FALSE(IsTransient(internal));
  internal.http_status = 500;
  EXPECT_TRUE(IsTransient(internal));
  EXPECT_FALSE(IsTransient(MakeError(Code::kInvalid, "")));
  EXPECT_TRUE(IsShuttingDown(MakeError(Code::kFenced, "")));
  EXPECT_FALSE(IsShuttingDown(MakeError(Code::kTimeout, "")));
}

}  // namespace
}  // namespace kcm::rules
