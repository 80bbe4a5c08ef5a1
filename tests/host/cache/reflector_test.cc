// SPDX-License-Identifier: Apache-2.0
// An informer against prepared answers: orders of events and versions that a quiet server does not
// give on demand (spec/host.md 5.2, 5.3, 7.4, design 5).
#include <gtest/gtest.h>

#include <condition_variable>
#include <ios>
#include <mutex>
#include <sstream>
#include <thread>

#include "host/cache/informer.h"
#include "host/client/kubeconfig.h"
#include "host/client/scripted_server.h"
#include "host/client/transport.h"

namespace kcm::host::cache {
namespace {

using namespace std::chrono_literals;
using test::Http;
using test::ScriptedServer;
using test::Step;

// A ConfigMap of uid u-NAME with data.k = v.
std::string MapJson(const std::string& name, int version) {
  return R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"namespace":"default","name":")" +
         name + R"(","uid":"u-)" + name + R"(","resourceVersion":")" + std::to_string(version) +
         R"("},"data":{"k":"v"}})";
}

std::string EventJson(const std::string& type, const std::string& object) {
  return R"({"type":")" + type + R"(","object":)" + object + "}\n";
}

std::string InitialEnd(int version) {
  return EventJson("BOOKMARK",
                   R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":")" +
                       std::to_string(version) +
                       R"(","annotations":{"k8s.io/initial-events-end":"true"}}})");
}

Step ListOf(int version, const std::vector<std::string>& items) {
  std::string body =
      R"({"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":")" +
      std::to_string(version) + R"("},"items":[)";
  for (size_t i = 0; i < items.size(); ++i) body += (i == 0 ? "" : ",") + items[i];
  return {Http(200, body + "]}")};
}

std::string GoneJson() {
  return R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"too old resource version","reason":"Expired","code":410})";
}

// A watch that tells `events` and stays open.
Step OpenWatch(const std::string& events) {
  std::ostringstream out;
  out << "HTTP/1.1 200 X\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
  if (!events.empty()) out << std::hex << events.size() << "\r\n" << events << "\r\n";
  return {out.str()};
}
Step EndedWatch(const std::string& events) { return {Http(200, events)}; }
Step NoAnswer() { return {"", false, true}; }

class VersionWaiter : public Handler {
 public:
  void OnNotification(const Notification& n) override {
    std::lock_guard<std::mutex> lock(mutex_);
    newest_ = std::max(newest_, n.object->ResourceVersion());
    changed_.notify_all();
  }
  void Await(uint64_t version) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return newest_ >= version; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t newest_ = 0;
};

struct ScriptedInformer {
  ScriptedInformer(std::vector<Step> steps, bool watch_list, const wire::Mask& mask,
                   bool metadata_only = false)
      : server(std::move(steps)) {
    client::Config config;
    config.server = server.url();
    client::ClientOptions client_options;
    client_options.transport = *client::MakeTransport(config, {.clock = &clock});
    client_options.user_agent = "kcm/test";
    client_options.qps = 0;
    client_options.clock = &clock;
    client_options.metrics = &registry;
    FactoryOptions o;
    o.client = std::make_shared<client::Client>(client_options);
    o.clock = &clock;
    o.metrics = &registry;
    o.watch_list = watch_list;
    o.random = [] { return 0.5; };
    factory = std::make_unique<InformerFactory>(o);
    informer = factory->For({{"", "v1", "configmaps"}, "default", "", "", metadata_only}, mask);
    subscription = informer->Subscribe(&waiter, "test");
    factory->Start();
  }
  ~ScriptedInformer() { subscription.reset(); }
  // In steps: bytes on their way to a reflector that watches are nothing that the clock can see.
  void AdvanceUntilRequests(size_t n) {
    while (server.requests().size() < n) ASSERT_TRUE(clock.Advance(1s));
  }
  std::string Target(size_t request) const {
    const std::string all = server.requests()[request];
    return all.substr(0, all.find('\r'));
  }
  std::string Data(const std::string& name) const {
    const wire::ObjectPtr object = informer->Get("default/" + name);
    return object ? std::string(object->Node().Path("data.k").String()) : "no object";
  }

  ScriptedServer server;
  clock::VirtualClock clock;
  metric::Registry registry;
  VersionWaiter waiter;
  std::unique_ptr<InformerFactory> factory;
  std::shared_ptr<Informer> informer;
  std::shared_ptr<Subscription> subscription;
};

TEST(Reflector, DeletedBeforeTheEndOfTheInitialEventsIsNoGhost) {
  ScriptedInformer rig(
      {EndedWatch(EventJson("ADDED", MapJson("a", 1)) + EventJson("ADDED", MapJson("b", 2)) +
                  EventJson("MODIFIED", MapJson("a", 3)) + EventJson("DELETED", MapJson("a", 4)) +
                  InitialEnd(4)),
       NoAnswer()},
      true, {});
  rig.server.AwaitRequests(2);
  EXPECT_TRUE(rig.informer->HasSynced());
  EXPECT_FALSE(rig.informer->Get("default/a"));
  EXPECT_TRUE(rig.informer->Get("default/b"));
  EXPECT_NE(rig.Target(1).find("resourceVersion=4"), std::string::npos) << rig.Target(1);
}

// The list that widens is older than the store: `a` at 20 waits for its event. `then` answers the
// watch from the list's version and what follows.
std::vector<Step> WideningBehindTheStore(std::vector<Step> then) {
  std::vector<Step> steps = {ListOf(10, {MapJson("a", 5)}),
                             OpenWatch(EventJson("MODIFIED", MapJson("a", 20))),
                             ListOf(10, {MapJson("a", 5)})};
  steps.insert(steps.end(), then.begin(), then.end());
  return steps;
}

// Up to the watch that replays; the caller has given up waiting for it.
void WidenUntilReplay(ScriptedInformer* rig, const wire::Mask& wide) {
  rig->waiter.Await(20);
  client::Cancellation gives_up;
  Status widened = Ok();
  std::thread thread([&] { widened = rig->informer->Widen(wide, &gives_up); });
  rig->server.AwaitRequests(4);
  gives_up.Cancel();
  thread.join();
  EXPECT_EQ(widened.code(), Code::kCancelled);
  EXPECT_NE(rig->Target(3).find("watch=true&allowWatchBookmarks=true&resourceVersion=10"),
            std::string::npos)
      << rig->Target(3);
}

TEST(Reflector, WideningThatIsNotFilledIsWaitedForAgain) {
  ScriptedInformer rig(WideningBehindTheStore({NoAnswer()}), false,
                       *wire::Mask::Compile({"metadata"}));
  const wire::Mask wide = *wire::Mask::Compile({"data"});
  WidenUntilReplay(&rig, wide);
  EXPECT_EQ(rig.Data("a"), "");
  EXPECT_FALSE(rig.informer->mask().Covers(wide)) << "what is stored is narrow still";
  client::Cancellation at_once;
  at_once.Cancel();
  EXPECT_EQ(rig.informer->Widen(wide, &at_once).code(), Code::kCancelled);
}

// One that no reflector has taken over leaves nothing to wait for.
TEST(Reflector, WideningThatWasGivenUpBeforeItBeganIsForgotten) {
  ScriptedInformer rig({ListOf(10, {MapJson("a", 5)}), {Http(429, "")}, ListOf(10, {})}, false,
                       *wire::Mask::Compile({"metadata"}));
  ASSERT_TRUE(rig.clock.Settle());  // the reflector pauses before it watches again
  client::Cancellation gives_up;
  Status widened = Ok();
  std::thread thread = clock::StartBusyThread(
      rig.clock, [&] { widened = rig.informer->Widen(*wire::Mask::Compile({"data"}), &gives_up); });
  ASSERT_TRUE(rig.clock.Settle());  // the list is there and waits for the reflector
  EXPECT_EQ(rig.server.requests().size(), 3u);
  gives_up.Cancel();
  thread.join();
  EXPECT_EQ(widened.code(), Code::kCancelled);
  EXPECT_TRUE(rig.informer->Widen(*wire::Mask::Compile({"metadata"}), nullptr).ok());
  EXPECT_EQ(rig.informer->Size(), 1u);
}

TEST(Reflector, RelistDuringAWideningTakesTheWideObjectAndIsAsNewAsTheStore) {
  ScriptedInformer rig(WideningBehindTheStore({EndedWatch(EventJson("ERROR", GoneJson())),
                                               ListOf(20, {MapJson("a", 20)}), OpenWatch("")}),
                       false, *wire::Mask::Compile({"metadata"}));
  const wire::Mask wide = *wire::Mask::Compile({"data"});
  WidenUntilReplay(&rig, wide);
  rig.AdvanceUntilRequests(6);  // over the back-off
  EXPECT_NE(rig.Target(4).find("configmaps?resourceVersion=20 "), std::string::npos)
      << rig.Target(4);
  EXPECT_NE(rig.Target(5).find("resourceVersion=20"), std::string::npos) << rig.Target(5);
  EXPECT_EQ(rig.Data("a"), "v");
  EXPECT_TRUE(rig.informer->mask().Covers(wide));
  EXPECT_TRUE(rig.informer->Widen(wide, nullptr).ok());
}

// What a restored server has written anew is no replay.
TEST(Reflector, ListOfAnOlderServerEndsTheReplay) {
  ScriptedInformer rig(WideningBehindTheStore({EndedWatch(EventJson("ERROR", GoneJson())),
                                               {Http(410, GoneJson())},
                                               ListOf(12, {MapJson("a", 12)}),
                                               OpenWatch(EventJson("MODIFIED", MapJson("a", 13)) +
                                                         EventJson("ADDED", MapJson("b", 14)) +
                                                         EventJson("ADDED", MapJson("c", 21)))}),
                       false, *wire::Mask::Compile({"metadata"}));
  WidenUntilReplay(&rig, *wire::Mask::Compile({"data"}));
  rig.AdvanceUntilRequests(7);  // over the back-off
  rig.waiter.Await(21);
  EXPECT_EQ(rig.Target(5).find("resourceVersion="), std::string::npos) << rig.Target(5);
  EXPECT_TRUE(rig.informer->Get("default/b"));
  EXPECT_EQ(rig.informer->Get("default/a")->ResourceVersion(), 13u);
}

std::string ProtoField(int number, const std::string& bytes) {
  std::string out;
  for (unsigned tag = static_cast<unsigned>(number) << 3 | 2;; tag >>= 7) {
    if (tag < 0x80) {
      out.push_back(static_cast<char>(tag));
      break;
    }
    out.push_back(static_cast<char>((tag & 0x7f) | 0x80));
  }
  EXPECT_LT(bytes.size(), 128u) << "one byte of length";
  out.push_back(static_cast<char>(bytes.size()));
  return out + bytes;
}

TEST(Reflector, MetadataOfANewerServerIsAskedForAsJson) {
  constexpr int kUnknown = 200;  // a field of ObjectMeta
  const std::string item =
      ProtoField(1, ProtoField(1, "a") + ProtoField(3, "default") + ProtoField(5, "u") +
                        ProtoField(6, "5") + ProtoField(kUnknown, "x"));
  const std::string list = ProtoField(1, ProtoField(2, "10")) + ProtoField(2, item);
  const std::string protobuf =
      std::string("k8s\0", 4) +
      ProtoField(1, ProtoField(1, "meta.k8s.io/v1") + ProtoField(2, "PartialObjectMetadataList")) +
      ProtoField(2, list);
  const std::string json =
      R"({"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"10"},"items":[{"metadata":{"name":"a","namespace":"default","uid":"u","resourceVersion":"5"}}]})";
  ScriptedInformer rig({{Http(200, protobuf, "", "application/vnd.kubernetes.protobuf")},
                        {Http(200, json)},
                        NoAnswer()},
                       false, {}, true);
  rig.server.AwaitRequests(3);
  const auto accept = [&](size_t request) {
    const std::string all = rig.server.requests()[request];
    const size_t at = all.find("Accept: ") + 8;
    return all.substr(at, all.find('\r', at) - at);
  };
  EXPECT_EQ(accept(1),
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json");
  EXPECT_EQ(accept(2),
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json");
  EXPECT_TRUE(rig.informer->Get("default/a"));
}

}  // namespace
}  // namespace kcm::host::cache
