// SPDX-License-Identifier: Apache-2.0
// Client against scripted answers: retries, faults on the wire, fencing, cancellation (spec/host.md
// 7).
#include "host/client/client.h"

#include <gtest/gtest.h>

#include <thread>

#include "host/client/discovery.h"
#include "host/client/scripted_server.h"
#include "host/client/transport.h"
#include "host/queue/workqueue.h"

namespace kcm::host::client {
namespace {

using test::Http;
using test::ScriptedServer;
using test::Step;
using namespace std::chrono_literals;

constexpr char kPod[] =
    R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"default","resourceVersion":"7"}})";

struct Rig {
  explicit Rig(std::vector<Step> steps, std::shared_ptr<const Fence> fence = nullptr,
               double qps = 0)
      : server(std::move(steps)), client(Options(std::move(fence), qps)) {}
  ClientOptions Options(std::shared_ptr<const Fence> fence, double qps) {
    Config config;
    config.server = server.url();
    transport = *MakeTransport(config, {.clock = &clock});
    ClientOptions o;
    o.transport = transport;
    o.user_agent = "kcm/test";
    o.qps = qps;
    o.clock = &clock;
    o.metrics = &registry;
    log::Options lines;
    lines.verbosity = 4;
    lines.sink = [this](const std::string& line) {
      std::lock_guard<std::mutex> lock(log_mutex);
      log += line;
    };
    lines.clock = &clock;
    o.log = log::Logger::Make(lines);
    o.fence = std::move(fence);
    return o;
  }
  double Count(const std::string& code, const std::string& method) {
    return registry
        .Counter({.name = "rest_client_requests_total",
                  .help = "Number of HTTP requests, partitioned by status code, method, and host.",
                  .labels = {"code", "method", "host"},
                  .buckets = {}})
        .With({code, method, HostLabel(*transport)})
        .Value();
  }
  std::mutex log_mutex;
  std::string log;
  clock::VirtualClock clock;
  metric::Registry registry;
  ScriptedServer server;
  std::shared_ptr<Transport> transport;
  Client client;
};

Call Get() {
  return {.verb = Verb::kGet, .resource = {"", "v1", "pods"}, .ns = "default", .name = "a"};
}
Call Post() {
  Call call{.verb = Verb::kCreate, .resource = {"", "v1", "pods"}, .ns = "default"};
  call.body = kPod;
  return call;
}

// Runs `work` on a thread while the test moves virtual time until it is done.
template <class F>
void WhileTimeMoves(clock::VirtualClock* clock, clock::Duration step, F work) {
  std::atomic<bool> done{false};
  std::thread thread([&] {
    work();
    done = true;
  });
  while (!done) clock->Advance(step);
  thread.join();
}

TEST(Client, GetDecodesByContentTypeAndKeepsTheConnection) {
  Rig rig({{Http(200, kPod)}, {Http(200, kPod)}});
  for (int i = 0; i < 2; ++i) {
    const Result<Answer> answer = rig.client.Do(Get());
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    EXPECT_EQ(answer->object->Name(), "a");
    EXPECT_EQ(answer->type.kind, "Pod");
  }
  EXPECT_EQ(rig.server.connections(), 1u);
  const std::string request = rig.server.requests()[0];
  EXPECT_EQ(request.substr(0, request.find('\r')),
            "GET /api/v1/namespaces/default/pods/a HTTP/1.1");
  EXPECT_NE(request.find("User-Agent: kcm/test\r\n"), std::string::npos);
  EXPECT_NE(request.find("Accept: application/vnd.kubernetes.protobuf,application/json\r\n"),
            std::string::npos);
  EXPECT_EQ(request.find("Accept-Encoding"), std::string::npos);
  EXPECT_EQ(rig.Count("200", "GET"), 2);
}

TEST(Client, StatusBecomesAnErrorWithReasonAndCause) {
  Rig rig(
      {{Http(
           403,
           R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"Forbidden","code":403,
    "details":{"causes":[{"reason":"NamespaceTerminating","message":"m"}]}})")},
       {Http(404, "<html>", "", "text/html")},
       {Http(404, "<html>", "", "text/html")}});
  const Result<Answer> refused = rig.client.Do(Post());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.code(), Code::kForbidden);
  EXPECT_EQ(refused.error().message, "no");
  EXPECT_EQ(refused.error().cause, "NamespaceTerminating");
  EXPECT_EQ(refused.error().http_status, 403);
  const Result<Answer> plain = rig.client.Do(Get());
  EXPECT_EQ(plain.code(), Code::kNotFound);
  EXPECT_EQ(plain.error().message, "the server could not find the requested resource (get pods a)");
  // The word is that of HTTP, as client-go has it, not that of the API.
  const Result<Answer> created = rig.client.Do(Post());
  EXPECT_EQ(created.error().message,
            "the server could not find the requested resource (post pods)");
}

// The server's part ("one pod exists") holds because the second request is the only one that is
// carried out.
TEST(Client, HOST_33_RetryAfterIsObeyedByWrites) {
  Rig rig({{Http(429, "", "Retry-After: 2\r\n")}, {Http(201, kPod)}});
  const clock::MonoTime start = rig.clock.Monotonic();
  Result<Answer> answer = MakeError(Code::kInternal, "");
  clock::MonoTime end;
  WhileTimeMoves(&rig.clock, 500ms, [&] {
    answer = rig.client.Do(Post());
    end = rig.clock.Monotonic();
  });
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_GE(end - start, 2s);
  EXPECT_EQ(rig.server.requests().size(), 2u);
  EXPECT_NE(rig.log.find("Got a Retry-After response"), std::string::npos) << rig.log;
  EXPECT_NE(rig.log.find("delay=\"2s\" attempt=1 url=\"http://"), std::string::npos) << rig.log;
}

// 7.2: the time-out spans all attempts. A lease that could not be renewed in 5 s has to hear of it.
TEST(Client, RetryAfterBeyondTheTimeoutIsLeftToTheCaller) {
  Rig rig({{Http(429, "", "Retry-After: 1\r\n")}, {Http(429, "", "Retry-After: 30\r\n")}});
  const clock::MonoTime start = rig.clock.Monotonic();
  Result<Answer> answer = MakeError(Code::kInternal, "");
  clock::MonoTime end;
  std::thread thread = clock::StartBusyThread(rig.clock, [&] {
    Call call = Post();
    call.timeout = 5s;
    answer = rig.client.Do(call);
    end = rig.clock.Monotonic();
  });
  EXPECT_TRUE(rig.clock.Advance(60s));
  thread.join();
  EXPECT_EQ(answer.code(), Code::kTooManyRequests);
  EXPECT_EQ(end - start, 1s);
  EXPECT_EQ(rig.server.requests().size(), 2u);
}

TEST(Client, HOST_34_NoSecondPostWithoutRetryAfterButTheQueueRetries) {
  Rig rig({{Http(500, "")}, {Http(201, kPod)}});
  queue::WorkQueue queue({.name = "", .limit = {}, .clock = &rig.clock, .metrics = nullptr});
  // A worker as a controller has it: what fails goes back to the queue.
  std::thread worker = clock::StartBusyThread(rig.clock, [&] {
    while (const std::optional<std::string> key = queue.Get()) {
      if (!rig.client.Do(Post()).ok()) queue.AddRateLimited(*key);
      queue.Done(*key);
    }
  });
  queue.Add("default/a");
  EXPECT_TRUE(rig.clock.Settle());
  EXPECT_EQ(rig.server.requests().size(), 1u);
  EXPECT_TRUE(rig.clock.Advance(4ms));
  EXPECT_EQ(rig.server.requests().size(), 1u);
  EXPECT_TRUE(rig.clock.Advance(1ms));
  EXPECT_EQ(rig.server.requests().size(), 2u);
  queue.ShutDown();
  worker.join();
}

TEST(Client, HttpDateInRetryAfterIsNoDelay) {
  Rig rig({{Http(503, "", "Retry-After: Wed, 21 Oct 2026 07:28:00 GMT\r\n")}});
  EXPECT_EQ(rig.client.Do(Post()).code(), Code::kUnavailable);
  EXPECT_EQ(rig.server.requests().size(), 1u);
}

TEST(Client, WritesAreNeverSentTwiceWhenTheConnectionBreaks) {
  Rig rig({{"", true}, {Http(201, kPod)}});
  const Result<Answer> answer = rig.client.Do(Post());
  EXPECT_EQ(answer.code(), Code::kTransport);
  EXPECT_EQ(answer.error().cause, "UnexpectedEOF");
  EXPECT_EQ(rig.server.requests().size(), 1u);
}

TEST(Client, ReadsAreRetriedAfterASecondWhenTheConnectionBreaks) {
  Rig rig({{"", true}, {Http(200, kPod)}});
  Result<Answer> answer = MakeError(Code::kInternal, "");
  WhileTimeMoves(&rig.clock, 500ms, [&] { answer = rig.client.Do(Get()); });
  EXPECT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(rig.server.requests().size(), 2u);
  EXPECT_EQ(rig.Count("<error>", "GET"), 1);
}

// The reflector's requests: its back-off is the only one (spec/host.md 5.3). A kept connection that
// breaks is no answer yet, a fresh one that breaks is.
TEST(Client, ACallerWithABackOffOfItsOwnLearnsOfALostConnectionAtOnce) {
  Rig rig({{Http(200, kPod)}, {"", true}, {"", true}, {"", true}});
  ASSERT_TRUE(rig.client.Do(Get()).ok());
  Call call = Get();
  call.retry_lost = false;
  const Result<Answer> answer = rig.client.Do(call);
  EXPECT_EQ(answer.code(), Code::kTransport);
  EXPECT_EQ(answer.error().cause, "UnexpectedEOF");
  EXPECT_EQ(rig.server.requests().size(), 3u);
  call = {.verb = Verb::kWatch, .resource = {"", "v1", "pods"}};
  call.rate_limited = call.retry_lost = false;
  bool opened = false;
  const Status watched = rig.client.Watch(
      call, [&] { opened = true; }, [](wire::WatchEvent&&) { return true; });
  EXPECT_EQ(watched.code(), Code::kTransport);
  EXPECT_FALSE(opened);
  EXPECT_EQ(rig.server.requests().size(), 4u);
}

TEST(Client, AWatchThatIsLostBeforeItIsOpenIsTriedTenTimesAndThenEmpty) {
  Rig rig(std::vector<Step>(20, Step{"", true}));
  Call call{.verb = Verb::kWatch, .resource = {"", "v1", "pods"}};
  call.rate_limited = false;
  Status watched = Ok();
  int opened = 0;
  WhileTimeMoves(&rig.clock, 500ms, [&] {
    watched = rig.client.Watch(
        call, [&] { ++opened; }, [](wire::WatchEvent&&) { return true; });
  });
  EXPECT_TRUE(watched.ok()) << watched.error().message;
  EXPECT_EQ(opened, 1);
  EXPECT_EQ(rig.server.requests().size(), 11u);
}

TEST(Client, AClosedIdleConnectionIsNoticedBeforeAWrite) {
  Rig rig({{Http(200, kPod), true}, {Http(201, kPod)}});
  ASSERT_TRUE(rig.client.Do(Get()).ok());
  rig.server.AwaitClosed(1);
  const Result<Answer> answer = rig.client.Do(Post());
  EXPECT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(rig.server.connections(), 2u);
}

TEST(Client, RefusedConnectionSaysSo) {
  std::string url;
  { url = ScriptedServer({}).url(); }
  clock::VirtualClock clock;
  Config config;
  config.server = url;
  ClientOptions o;
  o.transport = *MakeTransport(config, {.clock = &clock});
  o.clock = &clock;
  Client client(o);
  const Result<Answer> answer = client.Do(Get());
  EXPECT_EQ(answer.code(), Code::kTransport);
  EXPECT_EQ(answer.error().cause, "ConnectionRefused");
  EXPECT_NE(answer.error().message.find("connect: connection refused"), std::string::npos)
      << answer.error().message;
}

TEST(Client, ACutListIsAnErrorNotAShortList) {
  const std::string head =
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string part =
      R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[)" +
      std::string(kPod) + "]}";
  char size[16];
  snprintf(size, sizeof size, "%zx\r\n", part.size());
  Rig rig({{head + size + part + "\r\n", true}, {head + size + part + "\r\n0\r\n\r\n"}});
  Call call{.verb = Verb::kList, .resource = {"", "v1", "pods"}};
  int items = 0;
  const Result<ListResult> cut = rig.client.List(call, [&](wire::ObjectPtr) { ++items; });
  EXPECT_EQ(cut.code(), Code::kTransport);
  items = 0;
  const Result<ListResult> whole = rig.client.List(call, [&](wire::ObjectPtr) { ++items; });
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  EXPECT_EQ(items, 1);
  EXPECT_EQ(whole->resource_version, "9");
}

TEST(Client, CancelEndsAWaitingRequest) {
  Rig rig({{"", false, true}});
  Cancellation cancel;
  Call call = Post();
  call.cancel = &cancel;
  Result<Answer> answer = MakeError(Code::kInternal, "");
  std::thread thread([&] { answer = rig.client.Do(call); });
  rig.server.AwaitRequests(1);
  cancel.Cancel();
  thread.join();
  EXPECT_EQ(answer.code(), Code::kCancelled);
}

TEST(Client, CancelEndsADiscoveryBeforeItAsksOn) {
  Rig rig({{"", false, true}});
  Cancellation stopping;
  Discovery discovery(std::shared_ptr<Client>(std::shared_ptr<void>(), &rig.client), &rig.clock,
                      log::Logger(), &stopping);
  Result<std::shared_ptr<const DiscoveryResult>> found = MakeError(Code::kInternal, "");
  std::thread thread([&] { found = discovery.Get(); });
  rig.server.AwaitRequests(1);
  stopping.Cancel();
  thread.join();
  EXPECT_EQ(found.code(), Code::kCancelled);
  EXPECT_EQ(discovery.Get().code(), Code::kCancelled) << "nor is there another try";
  EXPECT_EQ(rig.server.requests().size(), 1u);
}

TEST(Client, TimeoutIsSentAndEndsTheCall) {
  Rig rig({{"", false, true}});
  Call call = Get();
  call.timeout = 50ms;
  EXPECT_EQ(rig.client.Do(call).code(), Code::kTimeout);
  EXPECT_NE(rig.server.requests()[0].find("/pods/a?timeout=50ms HTTP"), std::string::npos);
}

struct TestFence : Fence {
  Status Check(clock::MonoTime* deadline) const override {
    const int now = ++checks;
    if (now > allowed) return MakeError(Code::kFenced, "not the leader");
    *deadline = until;
    return Ok();
  }
  mutable std::atomic<int> checks{0};
  int allowed = 1000;
  clock::MonoTime until = clock::MonoTime::Max();
};

TEST(Client, FenceStopsWritesBeforeBytesGoOut) {
  const struct {
    const char* name;
    int allowed;
    size_t requests;
  } rows[] = {
      {"refused at the first check", 0, 0},
      {"lost between the checks", 1, 0},
      {"held", 2, 1},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    auto fence = std::make_shared<TestFence>();
    fence->allowed = row.allowed;
    Rig rig({{Http(201, kPod)}, {Http(200, kPod)}}, fence);
    EXPECT_EQ(rig.client.Do(Post()).code(), row.requests == 0 ? Code::kFenced : Code::kOk);
    EXPECT_EQ(rig.server.requests().size(), row.requests);
    EXPECT_TRUE(rig.client.Do(Get()).ok()) << "reads are never fenced";
  }
}

TEST(Client, RequestIsNotInFlightAfterTheFencesDeadline) {
  auto fence = std::make_shared<TestFence>();
  Rig rig({{"", false, true}}, fence);
  fence->until = rig.clock.Monotonic() + 80ms;
  EXPECT_EQ(rig.client.Do(Post()).code(), Code::kTimeout);
  EXPECT_EQ(OpenConnections(*rig.transport), 0u);
}

TEST(Client, LimiterLetsTheBurstThroughAndThenOneEveryPeriod) {
  std::vector<Step> steps(40, Step{Http(200, kPod)});
  Rig rig(steps, nullptr, 20);
  const clock::MonoTime start = rig.clock.Monotonic();
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(rig.client.Do(Get()).ok());
  EXPECT_EQ(rig.clock.Monotonic(), start);
  std::vector<clock::MonoTime> times;
  WhileTimeMoves(&rig.clock, 10ms, [&] {
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(rig.client.Do(Get()).ok());
      times.push_back(rig.clock.Monotonic());
    }
  });
  EXPECT_GE(times[0] - start, 50ms);
  EXPECT_GE(times[2] - start, 150ms);
}

TEST(Client, WatchDeliversEventsAndTellsACleanEndFromACutOne) {
  const std::string head =
      "HTTP/1.1 200 OK\r\nContent-Type: application/json;stream=watch\r\nTransfer-Encoding: "
      "chunked\r\n\r\n";
  const std::string event = R"({"type":"ADDED","object":)" + std::string(kPod) + "}\n";
  char size[16];
  snprintf(size, sizeof size, "%zx\r\n", event.size());
  const std::string frame = size + event + "\r\n";
  Rig rig({{head + frame + "0\r\n\r\n"}, {head + frame, true}, {Http(200, "x", "", "text/plain")}});
  Call call{.verb = Verb::kWatch, .resource = {"", "v1", "pods"}};
  call.rate_limited = false;
  int opened = 0, events = 0;
  auto watch = [&] {
    return rig.client.Watch(
        call, [&] { ++opened; },
        [&](wire::WatchEvent&& e) {
          EXPECT_EQ(e.type, wire::EventType::kAdded);
          EXPECT_EQ(e.object->Name(), "a");
          ++events;
          return true;
        });
  };
  EXPECT_TRUE(watch().ok());
  EXPECT_EQ(watch().code(), Code::kTransport);
  EXPECT_EQ(watch().code(), Code::kUnsupportedMediaType);
  EXPECT_EQ(opened, 2);
  EXPECT_EQ(events, 2);
}

TEST(Client, FallsBackToJsonAfter406) {
  Rig rig({{Http(406, "")}, {Http(200, kPod)}, {Http(200, kPod)}});
  ASSERT_TRUE(rig.client.Do(Get()).ok());
  ASSERT_TRUE(rig.client.Do(Get()).ok());
  const std::vector<std::string> requests = rig.server.requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_NE(requests[0].find("protobuf"), std::string::npos);
  EXPECT_EQ(requests[1].find("protobuf"), std::string::npos);
  EXPECT_EQ(requests[2].find("protobuf"), std::string::npos);
}

}  // namespace
}  // namespace kcm::host::client
