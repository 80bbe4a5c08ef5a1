// SPDX-License-Identifier: Apache-2.0
// Log lines in both forms, levels and vmodule (spec/host.md 12).
#include "host/log/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

namespace kcm::host::log {
namespace {

using ::testing::ElementsAre;
using ::testing::MatchesRegex;

class LogTest : public ::testing::Test {
 protected:
  Logger Make(Options options = {}) {
    options.clock = &clock_;
    options.sink = [this](const std::string& line) { lines_.push_back(line); };
    return Logger::Make(options);
  }
  Logger MakeJson(int verbosity = 0) {
    Options options;
    options.json = true;
    options.verbosity = verbosity;
    return Make(options);
  }
  // What follows the header of the last line.
  std::string Body() const { return lines_.back().substr(lines_.back().find("] ") + 2); }

  clock::VirtualClock clock_;
  std::vector<std::string> lines_;
};

TEST_F(LogTest, TextHeaderIsKlogs) {
  const Logger log = Make();
  log.Info(0, "Message");
  const auto now = static_cast<time_t>(1893456000);
  std::tm local{};
  localtime_r(&now, &local);
  char want[64];
  std::snprintf(want, sizeof want,
                "I%02d%02d %02d:%02d:%02d.000000 %7d log_test.cc:", local.tm_mon + 1, local.tm_mday,
                local.tm_hour, local.tm_min, local.tm_sec, static_cast<int>(getpid()));
  EXPECT_EQ(lines_.at(0).substr(0, std::string(want).size()), want);
  EXPECT_THAT(lines_.at(0), MatchesRegex(R"(I[0-9 :.]+ log_test\.cc:[0-9]+\] "Message")"));
  log.Warning("W");
  log.Error("", "E");
  log.Write(Severity::kFatal, 0, "F", "", nullptr, 0);
  EXPECT_EQ(std::string() + lines_[1][0] + lines_[2][0] + lines_[3][0], "WEF");
}

TEST_F(LogTest, TextPairs) {
  const Logger log = Make();
  const std::string text = "v";
  log.Info(0, "Say \"x\"",
           {{"string", text},
            {"view", std::string_view("w")},
            {"chars", "c"},
            {"int", -3},
            {"size", size_t{7}},
            {"yes", true},
            {"half", 0.5},
            {"lines", "a\nb"}});
  EXPECT_EQ(Body(),
            "\"Say \\\"x\\\"\" string=\"v\" view=\"w\" chars=\"c\" int=-3 size=7 yes=true half=0.5 "
            "lines=<\n\ta\n\tb\n >");
}

TEST_F(LogTest, PlainTextIsNotQuoted) {
  Make().Print(0, "FLAG: --a=\"b\"");
  EXPECT_EQ(Body(), "FLAG: --a=\"b\"");
  Make().Print(1, "hidden");
  EXPECT_EQ(lines_.size(), 1U);
  MakeJson().Print(0, "FLAG: --a=\"b\"");
  EXPECT_THAT(lines_.at(1), MatchesRegex(R"(.*"msg":"FLAG: --a=\\"b\\"","v":0\})"));
}

TEST_F(LogTest, TextNamesTheLoggerAfterTheError) {
  const Logger log =
      Make().Named("deployment-controller").With({{"plugin", "pod"}}).With({{"key", "shop/web"}});
  log.Error("boom", "Unable to sync", {{"n", 1}});
  EXPECT_EQ(Body(),
            "\"Unable to sync\" err=\"boom\" logger=\"deployment-controller\" plugin=\"pod\" "
            "key=\"shop/web\" n=1");
}

TEST_F(LogTest, JsonKeysAreInOrder) {
  const Logger log = MakeJson(4).Named("job-controller");
  log.Info(2, "Say \"x\"", {{"n", 3}, {"ok", false}, {"half", 0.5}, {"s", "a\nb"}});
  EXPECT_THAT(
      lines_.at(0),
      MatchesRegex(
          R"(\{"ts":1893456000000,"logger":"job-controller","caller":"log_test\.cc:[0-9]+",)"
          R"("msg":"Say \\"x\\"","v":2,"n":3,"ok":false,"half":0\.5,"s":"a\\nb"\})"));
  log.Error("boom", "Bad");
  EXPECT_THAT(lines_.at(1), MatchesRegex(R"(.*"msg":"Bad","err":"boom"\})")) << "no v";
  MakeJson().Error("", "Bad");
  EXPECT_THAT(lines_.at(2), MatchesRegex(R"(\{"ts":[0-9]+,"caller":[^,]*,"msg":"Bad"\})"));
  ASSERT_TRUE(clock_.Advance(std::chrono::microseconds(1500)));
  MakeJson().Info(0, "M");
  EXPECT_THAT(lines_.at(3), ::testing::StartsWith("{\"ts\":1893456000001.5,"));
}

TEST_F(LogTest, JsonIsValidWhateverIsLogged) {
  const std::string nasty = std::string("\xff\x00\x1f\"\\\n", 6) + "\xc3";
  MakeJson().Named(nasty).With({{nasty, nasty}}).Error(nasty, nasty, {{nasty, nasty}});
  EXPECT_FALSE(nlohmann::json::parse(lines_.at(0), nullptr, false).is_discarded()) << lines_[0];
}

TEST_F(LogTest, LevelsAndTheirChangeAtRunTime) {
  Options options;
  options.verbosity = 2;
  const Logger log = Make(options);
  const Logger named = log.Named("x");
  EXPECT_TRUE(log.Enabled(2));
  EXPECT_FALSE(log.Enabled(3));
  log.Info(3, "Hidden");
  named.SetVerbosity(4);
  EXPECT_EQ(log.verbosity(), 4) << "one level for all loggers of a host";
  log.Info(4, "Shown");
  log.Info(5, "Hidden");
  EXPECT_EQ(lines_.size(), 1U);
  EXPECT_EQ(Body(), "\"Shown\"");
}

TEST_F(LogTest, VmoduleRaisesAFileOrALogger) {
  const struct {
    const char* vmodule;
    const char* logger;
    int highest;
  } rows[] = {
      {"", "", 1},
      {"log_test=4", "", 4},
      {"log*=3", "", 3},
      {"log_tes?=3", "", 3},
      {"*=2", "", 2},
      {"other=9", "", 1},
      {"log=9", "", 1},
      {"log_test=3,log_test=5", "", 3},
      {"tests/host/log/log_test=5", "", 1},
      {"*/host/log/log_test=5", "", 5},
      {"job-controller=4", "job-controller", 4},
      {"job-*=4", "job-controller", 4},
      {"job-controller=4", "", 1},
      {"broken,=3,log_test=4", "", 4},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.vmodule);
    Options options;
    options.verbosity = 1;
    options.vmodule = row.vmodule;
    const Logger log = Make(options).Named(row.logger);
    EXPECT_TRUE(log.Enabled(row.highest));
    EXPECT_FALSE(log.Enabled(row.highest + 1));
    lines_.clear();
    log.Info(row.highest, "Shown");
    log.Info(row.highest + 1, "Hidden");
    EXPECT_EQ(lines_.size(), 1U);
  }
  Options json;
  json.json = true;
  json.vmodule = "*=9";
  EXPECT_FALSE(Make(json).Enabled(1)) << "text only";
}

TEST(Vmodule, SaysWhatIsWrong) {
  for (const char* good : {"", "a=1", "a=1,b*=2", "a=1,"})
    EXPECT_EQ(CheckVmodule(good), "") << good;
  for (const char* bad : {"a", "=1", "a=", "a=x", "a=1x", "a=-1", "a=99999999999", "a=1,b"}) {
    EXPECT_NE(CheckVmodule(bad), "") << bad;
  }
  EXPECT_EQ(CheckVmodule("a=1,b"), "\"b\" doesn't have the pattern=N format");
}

TEST(LoggerDefault, DiscardsEverything) {
  const Logger log;
  log.Info(0, "M");
  log.Named("x").Error("e", "M");
  log.SetVerbosity(9);
  log.Flush();
  EXPECT_FALSE(log.Enabled(0));
}

TEST_F(LogTest, LinesOfManyThreadsStayWhole) {
  Options options;
  std::vector<std::thread> threads;
  const Logger log = Make(options);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) log.Info(0, "Message", {{"i", i}});
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(lines_.size(), 800U);
}

TEST(LoggerStderr, IsTheDefaultSink) {
  ::testing::internal::CaptureStderr();
  const Logger log = Logger::Make({});
  log.Info(0, "To stderr");
  log.Flush();
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::EndsWith("] \"To stderr\"\n"));
}

}  // namespace
}  // namespace kcm::host::log
