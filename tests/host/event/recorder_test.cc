// SPDX-License-Identifier: Apache-2.0
// The pipeline from Record to the sink (spec/host.md 8), on virtual time. The sink here stands for
// the API server's answers.
#include "host/event/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "host/event/event_body.h"

namespace kcm::host::event {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Written {
  std::string verb;
  std::string namespace_;
  std::string name;
  Json body;
  clock::Duration at;
};

// Keeps what was written; answers from a list, then always yes.
class ScriptedSink : public EventSink {
 public:
  explicit ScriptedSink(clock::Clock& clock) : clock_(clock), start_(clock.Monotonic()) {}

  Result<Unit> Post(const std::string& namespace_, const std::string& json) override {
    const Json body = Json::parse(json);
    return Answer({"POST", namespace_, body["metadata"]["name"], body, {}});
  }
  Result<Unit> Patch(const std::string& namespace_, const std::string& name,
                     const std::string& json) override {
    return Answer({"PATCH", namespace_, name, Json::parse(json), {}});
  }

  void Cancel() override { ++cancels_; }
  int cancels() const { return cancels_; }

  void Script(std::vector<Error> errors) {
    std::lock_guard lock(mutex_);
    errors_.assign(errors.begin(), errors.end());
  }
  std::vector<Written> writes() const {
    std::lock_guard lock(mutex_);
    return writes_;
  }

 private:
  Result<Unit> Answer(Written write) {
    std::lock_guard lock(mutex_);
    write.at = clock_.Monotonic() - start_;
    writes_.push_back(std::move(write));
    if (errors_.empty()) return Unit{};
    Error e = errors_.front();
    errors_.pop_front();
    if (e.Is(Code::kOk)) return Unit{};
    return e;
  }

  clock::Clock& clock_;
  const clock::MonoTime start_;
  mutable std::mutex mutex_;
  std::vector<Written> writes_;
  std::deque<Error> errors_;
  std::atomic<int> cancels_{0};
};

Error Refused() { return MakeError(Code::kTransport, "connection refused"); }
Error Yes() { return MakeError(Code::kOk, ""); }
Error FromServer(Code code, int http_status, const std::string& cause = "") {
  Error e = MakeError(code, "server says no");
  e.http_status = http_status;
  e.cause = cause;
  return e;
}

class EventRecorderTest : public ::testing::Test {
 protected:
  EventRecorderTest() {
    log::Options options;
    options.verbosity = 3;
    options.clock = &clock_;
    options.sink = [this](const std::string& line) {
      std::lock_guard lock(lines_mutex_);
      lines_.push_back(line);
    };
    log_ = log::Logger::Make(options);
    Restart();
  }

  void Restart(size_t queue_limit = 1000, std::shared_ptr<Correlator> correlator = nullptr) {
    RecorderOptions options;
    options.component = "deployment-controller";
    options.sink = sink_;
    options.clock = &clock_;
    options.log = log_;
    options.queue_limit = queue_limit;
    options.correlator = std::move(correlator);
    recorder_ = std::make_unique<EventRecorder>(std::move(options));
  }

  void Record(const std::string& message, const std::string& reason = "Scaled") {
    recorder_->Record(deployment_, EventType::kNormal, reason, message);
  }

  std::string Lines() const {
    std::lock_guard lock(lines_mutex_);
    std::string all;
    for (const std::string& line : lines_) all += line + "\n";
    return all;
  }

  clock::VirtualClock clock_;
  mutable std::mutex lines_mutex_;
  std::vector<std::string> lines_;
  log::Logger log_;
  std::shared_ptr<ScriptedSink> sink_ = std::make_shared<ScriptedSink>(clock_);
  const ObjectReference deployment_ = {"Deployment", "apps/v1", "shop", "web", "uid-1", "7", ""};
  std::unique_ptr<EventRecorder> recorder_;
};

TEST_F(EventRecorderTest, EventHasTheFieldsOfTheReference) {
  recorder_->Record(deployment_, EventType::kWarning, "Failed", "It failed", {{"key", "value"}});
  ASSERT_TRUE(clock_.Settle());
  ASSERT_EQ(sink_->writes().size(), 1U);
  const Written w = sink_->writes()[0];
  EXPECT_EQ(w.verb, "POST");
  EXPECT_EQ(w.namespace_, "shop");
  EXPECT_THAT(w.name, StartsWith("web."));
  const Json want = {
      {"apiVersion", "v1"},
      {"kind", "Event"},
      {"metadata", {{"name", w.name}, {"namespace", "shop"}, {"annotations", {{"key", "value"}}}}},
      {"involvedObject",
       {{"kind", "Deployment"},
        {"apiVersion", "apps/v1"},
        {"namespace", "shop"},
        {"name", "web"},
        {"uid", "uid-1"},
        {"resourceVersion", "7"}}},
      {"type", "Warning"},
      {"reason", "Failed"},
      {"message", "It failed"},
      {"source", {{"component", "deployment-controller"}}},
      {"reportingComponent", "deployment-controller"},
      {"reportingInstance", ""},
      {"firstTimestamp", "2030-01-01T00:00:00Z"},
      {"lastTimestamp", "2030-01-01T00:00:00Z"},
      {"count", 1}};
  EXPECT_EQ(w.body, want);
}

TEST_F(EventRecorderTest, ClusterScopedObjectsHaveTheirEventsInDefault) {
  recorder_->Record({"Node", "v1", "", "node-1", "uid-2", "", ""}, EventType::kNormal, "R", "m");
  ASSERT_TRUE(clock_.Settle());
  const Written w = sink_->writes().at(0);
  EXPECT_EQ(w.namespace_, "default");
  EXPECT_THAT(w.name, StartsWith("node-1."));
  EXPECT_FALSE(w.body["involvedObject"].contains("namespace"));
}

TEST_F(EventRecorderTest, RepeatIsAPatchOfCountTimeAndMessage) {
  Record("m");
  ASSERT_TRUE(clock_.Advance(30s));
  Record("m");
  ASSERT_TRUE(clock_.Settle());
  const auto writes = sink_->writes();
  ASSERT_EQ(writes.size(), 2U);
  EXPECT_EQ(writes[1].verb, "PATCH");
  EXPECT_EQ(writes[1].name, writes[0].name);
  EXPECT_EQ(writes[1].body,
            Json({{"count", 2}, {"lastTimestamp", "2030-01-01T00:00:30Z"}, {"message", "m"}}));
}

// Trap T19.
TEST_F(EventRecorderTest, ExpiredEventIsMadeAgainUnderItsNameWithItsCount) {
  Record("m");
  Record("m");
  ASSERT_TRUE(clock_.Settle());
  sink_->Script({FromServer(Code::kNotFound, 404)});
  Record("m");
  ASSERT_TRUE(clock_.Settle());
  const auto writes = sink_->writes();
  ASSERT_EQ(writes.size(), 4U);
  EXPECT_EQ(writes[2].verb, "PATCH");
  EXPECT_EQ(writes[3].verb, "POST");
  EXPECT_EQ(writes[3].name, writes[0].name);
  EXPECT_EQ(writes[3].body["count"], 3);
  EXPECT_FALSE(writes[3].body["metadata"].contains("resourceVersion"));
}

TEST_F(EventRecorderTest, TransportErrorIsTriedTwelveTimesThenGivenUp) {
  sink_->Script(std::vector<Error>(12, Refused()));
  Record("lost");
  Record("next");
  ASSERT_TRUE(clock_.Advance(10s));
  EXPECT_GE(sink_->writes().size(), 2U) << "the first pause is at most 10 s";
  ASSERT_TRUE(clock_.Advance(2min));
  const auto writes = sink_->writes();
  ASSERT_EQ(writes.size(), 13U);
  EXPECT_LE(writes[1].at, 10s);
  for (size_t i = 2; i < 12; ++i) EXPECT_EQ(writes[i].at - writes[i - 1].at, 10s) << i;
  EXPECT_EQ(writes[11].body["message"], "lost");
  EXPECT_EQ(writes[12].body["message"], "next") << "waited for the one before";
  EXPECT_EQ(writes[12].at, writes[11].at);
  EXPECT_THAT(
      Lines(),
      HasSubstr("\"Unable to write event (retry limit exceeded!)\" err=\"connection refused\""));
}

TEST_F(EventRecorderTest, TransportErrorThatPassesLosesNothing) {
  sink_->Script({Refused(), Refused(), Yes()});
  Record("m");
  ASSERT_TRUE(clock_.Advance(20s));
  EXPECT_EQ(sink_->writes().size(), 3U);
}

TEST_F(EventRecorderTest, AnswersOfTheServerAreFinal) {
  const struct {
    const char* name;
    Error error;
    bool logged_as_error;
  } rows[] = {
      {"forbidden", FromServer(Code::kForbidden, 403), true},
      {"server error", FromServer(Code::kInternal, 500), true},
      {"unavailable, but an answer", FromServer(Code::kUnavailable, 503), true},
      {"exists", FromServer(Code::kAlreadyExists, 409), false},
      {"namespace terminating", FromServer(Code::kForbidden, 403, "NamespaceTerminating"), false},
      {"fenced", MakeError(Code::kFenced, "lease lost"), false},
      {"stopped", MakeError(Code::kStopped, "stopping"), false},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const size_t before = sink_->writes().size();
    const size_t lines_before = lines_.size();
    sink_->Script({row.error});
    Record(row.name, row.name);
    ASSERT_TRUE(clock_.Advance(10min));
    EXPECT_EQ(sink_->writes().size(), before + 1);
    EXPECT_EQ(lines_.size(), lines_before + (row.logged_as_error ? 2 : 1))
        << "beside the event itself";
  }
  EXPECT_THAT(
      Lines(),
      HasSubstr(
          "\"Server rejected event (will not retry!)\" err=\"server says no\" event=\"shop/web."));
}

TEST_F(EventRecorderTest, FullQueueDropsAndSaysSo) {
  Restart(3);
  sink_->Script(std::vector<Error>(20, Refused()));
  Record("in flight");
  ASSERT_TRUE(clock_.Settle());  // the writer sleeps before its second try
  for (const char* message : {"1", "2", "3", "4", "5"}) Record(message);
  EXPECT_EQ(recorder_->Queued(), 3U);
  EXPECT_THAT(Lines(),
              HasSubstr("\"Unable to record event: too many queued events, dropped event\" "
                        "object=\"shop/web\" type=\"Normal\" reason=\"Scaled\" message=\"4\""));
}

TEST_F(EventRecorderTest, EventIsLogged) {
  recorder_->Record({"Pod", "v1", "shop", "p", "uid-3", "", "spec.containers{c}"}, "Warning", "R",
                    "say \"hi\"");
  EXPECT_THAT(
      Lines(),
      HasSubstr(
          "] \"Event occurred\" object=\"shop/p\" fieldPath=\"spec.containers{c}\" kind=\"Pod\" "
          "apiVersion=\"v1\" type=\"Warning\" reason=\"R\" message=\"say \\\"hi\\\"\"\n"));
  log_.SetVerbosity(2);
  Record("quiet");
  EXPECT_THAT(Lines(), ::testing::Not(HasSubstr("quiet")));
}

TEST_F(EventRecorderTest, UnknownTypeIsDroppedWithAnError) {
  recorder_->Record(deployment_, "Alarm", "R", "m");
  ASSERT_TRUE(clock_.Settle());
  EXPECT_TRUE(sink_->writes().empty());
  EXPECT_THAT(Lines(), HasSubstr("\"Unsupported event type\" eventType=\"Alarm\""));
}

TEST_F(EventRecorderTest, NamesDifferWhileTimeStandsStill) {
  std::set<std::string> names;
  for (int i = 0; i < 9; ++i) Record("message " + std::to_string(i));
  ASSERT_TRUE(clock_.Settle());
  for (const Written& w : sink_->writes()) names.insert(w.name);
  EXPECT_EQ(names.size(), 9U);
}

TEST_F(EventRecorderTest, StopAbandonsWhatWaitsAndJoins) {
  sink_->Script(std::vector<Error>(20, Refused()));
  Record("sleeping");
  Record("waiting");
  ASSERT_TRUE(clock_.Settle());
  recorder_->Stop();
  EXPECT_GE(sink_->cancels(), 1) << "a write that waits for its turn would hold up the stop";
  recorder_->Stop();
  Record("late");
  EXPECT_EQ(recorder_->Queued(), 0U);
  ASSERT_TRUE(clock_.Advance(1h));
  EXPECT_EQ(sink_->writes().size(), 1U);
}

TEST_F(EventRecorderTest, CountsGoOnOverASwapThatSharesTheCorrelator) {
  const auto correlator = std::make_shared<Correlator>();
  Restart(1000, correlator);
  Record("m");
  ASSERT_TRUE(clock_.Settle());
  Restart(1000, correlator);
  Record("m");
  ASSERT_TRUE(clock_.Settle());
  EXPECT_EQ(sink_->writes().at(1).body["count"], 2);
}

TEST_F(EventRecorderTest, BrokenTextIsWrittenAsJsonAllTheSame) {
  Record("bad \xff byte");
  ASSERT_TRUE(clock_.Settle());
  EXPECT_EQ(sink_->writes().at(0).body["message"], "bad \xEF\xBF\xBD byte");
}

TEST(EventName, IsHexOfNanosOrAUuid) {
  EXPECT_EQ(EventName("web", 1893456000000000000), "web.1a46e83335d50000");
  EXPECT_EQ(EventName("web", 10), "web.a");
  const std::vector<std::string> no_subdomains = {"system:controller:x", "UPPER", "",
                                                  std::string(250, 'a')};
  for (const std::string& involved : no_subdomains) {
    const std::string name = EventName(involved, 1893456000000000000);
    EXPECT_THAT(name,
                ::testing::MatchesRegex("[0-9a-f]+-[0-9a-f]+-4[0-9a-f]+-[89ab][0-9a-f]+-[0-9a-f]+"))
        << involved;
    EXPECT_EQ(name.size(), 36U);
  }
}

}  // namespace
}  // namespace kcm::host::event
