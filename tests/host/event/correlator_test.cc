// SPDX-License-Identifier: Apache-2.0
// Correlation of events (spec/host.md 8.3 to 8.5).
#include "host/event/correlator.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <vector>

namespace kcm::host::event {
namespace {

using namespace std::chrono_literals;
using clock::MonoTime;
using Write = Decision::Write;

Event Make(const std::string& message, const std::string& reason = "Reason",
           const std::string& type = "Normal") {
  static int64_t made = 0;
  Event e;
  e.name = "web." + std::to_string(++made);
  e.namespace_ = "shop";
  e.involved = {"Deployment", "apps/v1", "shop", "web", "uid-1", "7", ""};
  e.type = type;
  e.reason = reason;
  e.message = message;
  e.component = e.reporting_component = "deployment-controller";
  e.first = e.last = clock::WallTime(std::chrono::seconds(1000 + made));
  return e;
}

class CorrelatorTest : public ::testing::Test {
 protected:
  Decision Send(Event e, MonoTime at) {
    return correlator_.Correlate(std::move(e), at,
                                 [this] { return "combined." + std::to_string(++fresh_); });
  }

  const MonoTime start_ = MonoTime(1h);
  int fresh_ = 0;
  Correlator correlator_;
};

TEST_F(CorrelatorTest, RepeatIsCountedOnTheFirstEvent) {
  const Event first = Make("m");
  EXPECT_EQ(Send(first, start_).write, Write::kPost);
  for (int n = 2; n <= 5; ++n) {
    const Event repeat = Make("m");
    const Decision d = Send(repeat, start_ + 10s * n);
    EXPECT_EQ(d.write, Write::kPatch);
    EXPECT_EQ(d.event.name, first.name);
    EXPECT_EQ(d.event.count, n);
    EXPECT_EQ(d.event.first, first.first);
    EXPECT_EQ(d.event.last, repeat.last);
  }
}

// What makes two events different, or the same, for counting and for the spam filter's buckets.
TEST_F(CorrelatorTest, KeysOfTheCaches) {
  const struct {
    const char* field;
    std::function<void(Event&)> change;
    bool counts_apart;
    bool own_bucket;
  } rows[] = {
      {"name of the Event", [](Event& e) { e.name = "other"; }, false, false},
      {"resourceVersion", [](Event& e) { e.involved.resource_version = "8"; }, false, false},
      {"times", [](Event& e) { e.first = e.last = {}; }, false, false},
      {"annotations",
       [](Event& e) {
         e.annotations = {{"a", "b"}};
       },
       false, false},
      {"message", [](Event& e) { e.message = "other"; }, true, false},
      {"reason", [](Event& e) { e.reason = "Other"; }, true, false},
      {"fieldPath", [](Event& e) { e.involved.field_path = "spec"; }, true, false},
      {"type", [](Event& e) { e.type = "Warning"; }, true, true},
      {"component", [](Event& e) { e.component = "other"; }, true, true},
      {"kind", [](Event& e) { e.involved.kind = "Other"; }, true, true},
      {"apiVersion", [](Event& e) { e.involved.api_version = "v2"; }, true, true},
      {"namespace", [](Event& e) { e.involved.namespace_ = "other"; }, true, true},
      {"name", [](Event& e) { e.involved.name = "other"; }, true, true},
      {"uid", [](Event& e) { e.involved.uid = "other"; }, true, true},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.field);
    Correlator correlator;
    const auto send = [&](const Event& e) {
      return correlator.Correlate(e, start_, [] { return "combined"; });
    };
    Event base = Make("m");
    Event changed = base;
    row.change(changed);
    send(base);
    EXPECT_EQ(send(changed).event.count, row.counts_apart ? 1 : 2);
    for (int i = 0; i < 30; ++i) send(base);
    EXPECT_EQ(send(changed).write != Write::kSkip, row.own_bucket);
  }
}

// Trap T18: the tenth distinct message, not the eleventh.
TEST_F(CorrelatorTest, TenthDistinctMessageIsCombined) {
  for (int i = 1; i <= 9; ++i) {
    const Decision d = Send(Make("message " + std::to_string(i)), start_);
    EXPECT_EQ(d.write, Write::kPost);
    EXPECT_EQ(d.event.message, "message " + std::to_string(i));
    EXPECT_EQ(d.event.reporting_component, "deployment-controller");
  }
  for (int i = 10; i <= 15; ++i) {
    const Decision d = Send(Make("message " + std::to_string(i)), start_ + 1s);
    EXPECT_EQ(d.write, i == 10 ? Write::kPost : Write::kPatch);
    EXPECT_EQ(d.event.message, "(combined from similar events): message " + std::to_string(i));
    EXPECT_EQ(d.event.name, "combined.1");
    EXPECT_EQ(d.event.count, i - 9);
    EXPECT_EQ(d.event.reporting_component, "");
    EXPECT_EQ(d.event.component, "deployment-controller");
  }
  const Decision repeat = Send(Make("message 1"), start_ + 2s);
  EXPECT_EQ(repeat.event.message, "(combined from similar events): message 1");
  EXPECT_EQ(repeat.event.count, 7);
  EXPECT_EQ(Send(Make("message 1", "Other"), start_ + 2s).event.message, "message 1")
      << "another group";
}

TEST_F(CorrelatorTest, WindowSlidesWithEachEventOfTheGroup) {
  MonoTime now = start_;
  for (int i = 1; i <= 9; ++i) Send(Make("message " + std::to_string(i)), now = now + 600s);
  EXPECT_EQ(Send(Make("message 10"), now = now + 600s).event.message,
            "(combined from similar events): message 10");
  EXPECT_EQ(Send(Make("message 11"), now = now + 601s).event.message, "message 11")
      << "quiet for longer than the window";
  EXPECT_EQ(Send(Make("message 12"), now).event.message, "message 12");
}

TEST_F(CorrelatorTest, SpamFilterLetsABurstThroughAndThenOneEachFiveMinutes) {
  int written = 0;
  for (int i = 0; i < 100; ++i) {
    if (Send(Make("m", "Reason" + std::to_string(i)), start_ + 100ms * i).write != Write::kSkip)
      ++written;
  }
  EXPECT_EQ(written, 25);
  EXPECT_NE(Send(Make("m", "Reason", "Warning"), start_ + 10s).write, Write::kSkip)
      << "a bucket of its own";
  EXPECT_EQ(Send(Make("m", "Late"), start_ + 299s).write, Write::kSkip);
  EXPECT_EQ(Send(Make("m", "Later"), start_ + 310s).write, Write::kPost);
  EXPECT_EQ(Send(Make("m", "Latest"), start_ + 311s).write, Write::kSkip);
}

// Trap T18: the count grows while writes are held back; the next one carries it whole.
TEST_F(CorrelatorTest, CountGrowsWhileTheSpamFilterHoldsBack) {
  for (int i = 0; i < 25; ++i) Send(Make("m"), start_);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Send(Make("m"), start_ + 1s).write, Write::kSkip);
  const Decision d = Send(Make("m"), start_ + 301s);
  EXPECT_EQ(d.write, Write::kPatch);
  EXPECT_EQ(d.event.count, 36);
}

TEST_F(CorrelatorTest, ForgetsTheLeastRecentBeyondItsSize) {
  CorrelatorLimits limits;
  limits.keys = 2;
  Correlator small(limits);
  const auto count = [&](const std::string& object) {
    Event e = Make("m");
    e.involved.name = object;
    return small.Correlate(e, start_, [] { return "combined"; }).event.count;
  };
  EXPECT_EQ(count("a"), 1);
  EXPECT_EQ(count("b"), 1);
  EXPECT_EQ(count("a"), 2);
  EXPECT_EQ(count("c"), 1);
  EXPECT_EQ(count("a"), 3) << "used last but one";
  EXPECT_EQ(count("b"), 1) << "forgotten";
}

}  // namespace
}  // namespace kcm::host::event
