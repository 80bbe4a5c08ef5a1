// SPDX-License-Identifier: Apache-2.0
// Informers against devcluster with virtual time (spec/host.md 5).
#include "host/cache/informer.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "host/client/cluster.h"

namespace kcm::host::cache {
namespace {

using namespace std::chrono_literals;
using client::Gvr;

Gvr ConfigMaps() { return {"", "v1", "configmaps"}; }
constexpr char kAgent[] = "shared-informers";

struct WordRecorder : Handler {
  void OnNotification(const Notification& n) override {
    static constexpr const char* kWords[] = {"add ", "update ", "delete "};
    std::lock_guard<std::mutex> lock(mutex);
    log.push_back(kWords[static_cast<size_t>(n.type)] + std::string(n.object->Name()) +
                  (n.initial ? " initial" : "") + (n.tombstone ? " tombstone" : "") +
                  (n.resync ? " resync" : ""));
    if (const Informer* i = informer)
      too_early += i->ResourceVersion() < n.object->ResourceVersion();
  }
  std::vector<std::string> Take() {
    std::lock_guard<std::mutex> lock(mutex);
    return std::exchange(log, {});
  }
  std::mutex mutex;
  std::vector<std::string> log;
  std::atomic<const Informer*> informer{nullptr};
  int too_early = 0;  // of notifications: those of what `informer` did not show yet
};

struct InformerTest : ::testing::Test {
  void Up(bool watch_list_server = true, bool watch_list_client = true) {
    cluster = std::make_unique<test::Cluster>(watch_list_server);
    cluster->server->EnableAudit(true);
    FactoryOptions& o = options;
    o.client = cluster->MakeClient(kAgent);
    o.clock = &cluster->clock;
    o.metrics = &cluster->registry;
    o.watch_list = watch_list_client;
    o.random = [] { return 0.5; };
    o.resync_period = resync;
    factory = std::make_unique<InformerFactory>(o);
    // Time stands still until every cache is where the server is.
    probe = cluster->clock.AddProbe([this] {
      for (const auto& i : factory->All()) {
        if (i->HasSynced() &&
            i->ResourceVersion() < cluster->server->ResourceVersion(Path(i->key().gvr)) &&
            !behind_is_fine)
          return false;
      }
      return true;
    });
  }
  ~InformerTest() override {
    subscription.reset();
    EXPECT_EQ(recorder.too_early, 0);
    cluster->clock.RemoveProbe(probe);
    factory.reset();
  }
  static std::string Path(const Gvr& g) {
    return (g.group.empty() ? "" : g.group + "/") + g.version + "/" + g.resource;
  }

  void Start(const wire::Mask& mask = {}) {
    informer = factory->For({ConfigMaps(), "default", "", "", false}, mask);
    recorder.informer = informer.get();
    subscription = informer->Subscribe(&recorder, "test");
    factory->Start();
    Settle();
  }
  void Settle() {
    ASSERT_TRUE(cluster->clock.Settle(10s))
        << "cache at " << (informer ? informer->ResourceVersion() : 0) << ", server at "
        << cluster->server->ResourceVersion("v1/configmaps");
  }
  void Advance(clock::Duration d) { ASSERT_TRUE(cluster->clock.Advance(d)); }
  using Lines = std::vector<std::string>;
  // Moves time on until that many matching requests have come, and 2 min more to see that it stays
  // so. Bytes on their way to a waiting reflector are nothing that the clock can see, hence small
  // steps.
  Lines AdvanceUntilRequests(const std::string& regex, size_t n) {
    Lines seen;
    int after = 0;
    for (int i = 0; i < 20000 && after < 120; ++i) {
      EXPECT_TRUE(cluster->clock.Advance(1s));
      for (std::string& r : cluster->Audit(kAgent, regex)) seen.push_back(std::move(r));
      if (seen.size() >= n) ++after;
    }
    return seen;
  }

  clock::Duration resync{0};
  std::atomic<bool> behind_is_fine{false};
  std::unique_ptr<test::Cluster> cluster;
  FactoryOptions options;  // its client ends before the cluster
  std::unique_ptr<InformerFactory> factory;
  std::shared_ptr<Informer> informer;
  WordRecorder recorder;
  std::shared_ptr<Subscription> subscription;
  int probe = 0;
};

TEST_F(InformerTest, HOST_27_FirstRequestAndOneStreamPerResource) {
  Up();
  ASSERT_TRUE(cluster->ConfigMap("a").ok());
  Start();
  // A second controller that wants the same resource.
  WordRecorder other;
  auto second = factory->For({ConfigMaps(), "default", "", "", false}, wire::Mask());
  auto subscribed = second->Subscribe(&other, "other");
  factory->Start();
  Settle();
  EXPECT_EQ(recorder.Take(), (Lines{"add a initial"}));
  EXPECT_EQ(other.Take(), (Lines{"add a initial"}));
  EXPECT_TRUE(subscription->HasSynced());
  EXPECT_TRUE(subscribed->HasSynced());
  const Lines requests = cluster->Audit(kAgent);
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_NE(requests[0].find("watch=true"), std::string::npos);
  EXPECT_NE(requests[0].find("sendInitialEvents=true&resourceVersionMatch=NotOlderThan"),
            std::string::npos);
  EXPECT_EQ(requests[0].find("resourceVersion="), std::string::npos);
}

TEST_F(InformerTest, ListFirstAsksAnyVersionInPages) {
  Up(true, false);
  ASSERT_TRUE(cluster->ConfigMap("a").ok());
  Start();
  const Lines requests = cluster->Audit(kAgent);
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_NE(requests[0].find("?limit=500&resourceVersion=0"), std::string::npos) << requests[0];
  EXPECT_NE(requests[1].find("watch=true&allowWatchBookmarks=true&resourceVersion="),
            std::string::npos)
      << requests[1];
  EXPECT_NE(requests[1].find("timeoutSeconds=450&timeout=7m30s"), std::string::npos) << requests[1];
}

// The rollout part of the scenario needs controllers; every informer's part is here.
TEST_F(InformerTest, OldServerWithoutWatchListFallsBackToList) {
  Up(false, true);
  ASSERT_TRUE(cluster->ConfigMap("a").ok());
  Start();
  EXPECT_TRUE(informer->HasSynced());
  EXPECT_EQ(recorder.Take(), (Lines{"add a initial"}));
  const Lines requests = cluster->Audit(kAgent);
  ASSERT_EQ(requests.size(), 3u) << "watch-list refused, list, watch";
}

TEST_F(InformerTest, ChangesArriveInOrder) {
  Up();
  Start();
  EXPECT_TRUE(subscription->HasSynced()) << "an empty list is a list";
  ASSERT_TRUE(cluster->ConfigMap("a").ok());
  ASSERT_TRUE(cluster->Patch(ConfigMaps(), "default", "a", R"({"data":{"k":"w"}})").ok());
  ASSERT_TRUE(cluster->ConfigMap("b").ok());
  ASSERT_TRUE(cluster->Delete(ConfigMaps(), "default", "a").ok());
  Settle();
  EXPECT_EQ(recorder.Take(), (Lines{"add a", "update a", "add b", "delete a"}));
  EXPECT_FALSE(informer->Get("default/a"));
  EXPECT_EQ(informer->Get("default/b")->Node().Path("data.k").String(), "v");
  EXPECT_EQ(informer->ResourceVersion(), cluster->server->ResourceVersion("v1/configmaps"));
}

TEST_F(InformerTest, HOST_31_QuietWatchesNeitherRelistNorNotify) {
  Up();
  ASSERT_TRUE(cluster->ConfigMap("a").ok());
  Start();
  recorder.Take();
  cluster->Audit(kAgent);
  // In small steps: the end of a stream on its way to the reflector is nothing that the clock can
  // see.
  for (int i = 0; i < 1200; ++i) Advance(1s);
  const Lines requests = cluster->Audit(kAgent);
  EXPECT_GE(requests.size(), 2u);
  EXPECT_LE(requests.size(), 4u);
  for (const std::string& r : requests) {
    EXPECT_NE(r.find("watch=true"), std::string::npos);
    EXPECT_EQ(r.find("sendInitialEvents"), std::string::npos);
  }
  EXPECT_EQ(recorder.Take(), (Lines{}));
}

TEST_F(InformerTest, HOST_29_GoneRelistsOnceAndNoticesDeletions) {
  Up(true, false);
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(cluster->ConfigMap(name).ok());
  Start();
  recorder.Take();
  Advance(2s);  // a watch shorter than 1 s would be an error of its own
  behind_is_fine = true;
  devcluster::Server::Fault fault;
  fault.path_regex = "watch=true.*configmaps|configmaps.*watch=true";
  fault.times = -1;
  fault.status = 429;
  cluster->server->AddFault(fault);
  cluster->server->CloseWatches();
  Advance(10s);
  ASSERT_TRUE(cluster->Delete(ConfigMaps(), "default", "a").ok());
  ASSERT_TRUE(cluster->Patch(ConfigMaps(), "default", "b", R"({"data":{"k":"w"}})").ok());
  const uint64_t last = informer->ResourceVersion();
  Advance(10min);
  cluster->server->Compact();
  cluster->server->ClearFaults();
  cluster->Audit(kAgent);
  const Lines lists = AdvanceUntilRequests("configmaps\\?(resourceVersion|limit)", 1);
  ASSERT_EQ(lists.size(), 1u);
  EXPECT_NE(lists[0].find("resourceVersion=" + std::to_string(last)), std::string::npos)
      << lists[0];
  EXPECT_EQ(recorder.Take(), (Lines{"delete a tombstone", "update b", "update c"}));
}

devcluster::Server::Fault CutOfWatches(int times) {
  devcluster::Server::Fault cut;
  cut.path_regex = "configmaps.*watch=true";
  cut.kind = devcluster::Server::Fault::Kind::kWatchCut;
  cut.times = times;
  return cut;
}

devcluster::Server::Fault AlwaysAnswered(int status, const std::string& message = "") {
  devcluster::Server::Fault fault;
  fault.path_regex = "configmaps";
  fault.times = -1;
  fault.status = status;
  fault.message = message;
  return fault;
}

TEST_F(InformerTest, AnEventCutInTheMiddleIsAskedForAgain) {
  Up();
  ASSERT_TRUE(cluster->ConfigMap("a").ok());
  Start();
  recorder.Take();
  Advance(2s);  // a watch shorter than 1 s would be an error of its own
  behind_is_fine = true;
  cluster->server->AddFault(CutOfWatches(1));
  cluster->Audit(kAgent);
  cluster->server->CloseWatches();
  ASSERT_EQ(AdvanceUntilRequests("configmaps", 1).size(), 1u) << "the one that will be cut";
  ASSERT_TRUE(cluster->Patch(ConfigMaps(), "default", "a", R"({"data":{"k":"w"}})").ok());
  ASSERT_TRUE(cluster->ConfigMap("b").ok());
  const Lines requests = AdvanceUntilRequests("configmaps", 1);
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_NE(requests[0].find("watch=true"), std::string::npos) << requests[0];
  EXPECT_EQ(requests[0].find("sendInitialEvents"), std::string::npos) << requests[0];
  EXPECT_EQ(recorder.Take(), (Lines{"update a", "add b"}));
}

// A watch of less than a second without an event is followed by a list.
TEST_F(InformerTest, WatchesThatAreCutAgainAndAgainLoseNothing) {
  Up();
  ASSERT_TRUE(cluster->ConfigMap("a").ok());
  Start();
  recorder.Take();
  behind_is_fine = true;
  cluster->server->AddFault(CutOfWatches(4));
  cluster->server->CloseWatches();
  ASSERT_TRUE(cluster->Patch(ConfigMaps(), "default", "a", R"({"data":{"k":"w"}})").ok());
  ASSERT_TRUE(cluster->ConfigMap("b").ok());
  ASSERT_TRUE(cluster->Delete(ConfigMaps(), "default", "a").ok());
  for (int i = 0; i < 240 && !informer->Get("default/b"); ++i) Advance(1s);
  EXPECT_TRUE(informer->Get("default/b"));
  EXPECT_FALSE(informer->Get("default/a"));
  EXPECT_EQ(informer->ResourceVersion(), cluster->server->ResourceVersion("v1/configmaps"));
}

TEST_F(InformerTest, AFirstListCutInTheMiddleOfAnObjectIsAskedForAgain) {
  Up();
  for (const char* name : {"a", "b"}) ASSERT_TRUE(cluster->ConfigMap(name).ok());
  cluster->server->AddFault(CutOfWatches(1));
  Start();
  AdvanceUntilRequests("configmaps", 2);
  EXPECT_TRUE(informer->HasSynced());
  EXPECT_EQ(recorder.Take(), (Lines{"add a initial", "add b initial"}));
}

TEST_F(InformerTest, SaysWhyTheFirstListHasNotCome) {
  Up();
  cluster->server->AddFault(AlwaysAnswered(403, "not for you"));
  behind_is_fine = true;
  Start();
  EXPECT_FALSE(informer->HasSynced());
  EXPECT_NE(informer->ListError().find("not for you"), std::string::npos) << informer->ListError();
  cluster->server->ClearFaults();
  AdvanceUntilRequests("configmaps", 1);
  EXPECT_TRUE(informer->HasSynced());
  EXPECT_EQ(informer->ListError(), "");
}

TEST_F(InformerTest, ARefusedVersionIsListedOnceMoreWithoutOne) {
  Up(true, false);
  ASSERT_TRUE(cluster->ConfigMap("a").ok());
  Start();
  Advance(2s);  // a watch shorter than 1 s would be an error of its own
  devcluster::Server::Fault gone;
  gone.path_regex = "configmaps\\?resourceVersion=[0-9]+";
  gone.status = 410;
  gone.reason = "Expired";
  gone.message = "too old resource version";
  cluster->server->AddFault(gone);
  devcluster::Server::Fault ended;
  ended.path_regex = "configmaps.*watch=true";
  ended.kind = devcluster::Server::Fault::Kind::kWatchGone;
  cluster->server->AddFault(ended);
  cluster->Audit(kAgent);
  cluster->server->CloseWatches();
  const Lines lists = AdvanceUntilRequests("configmaps\\?(resourceVersion|limit)", 2);
  ASSERT_EQ(lists.size(), 2u);
  EXPECT_NE(lists[0].find("?resourceVersion="), std::string::npos) << lists[0];
  EXPECT_EQ(lists[1].find("resourceVersion"), std::string::npos) << lists[1];
}

TEST_F(InformerTest, ResyncGoesToThoseWhoAsked) {
  resync = 10min;  // drawn: 15 min
  Up();
  ASSERT_TRUE(cluster->ConfigMap("a").ok());
  Start();
  WordRecorder never;
  auto quiet = informer->Subscribe(&never, "never", {.resync = 0s});
  Settle();
  recorder.Take();
  never.Take();
  Advance(15min);
  EXPECT_EQ(recorder.Take(), (Lines{"update a resync"}));
  EXPECT_EQ(never.Take(), (Lines{}));
}

TEST_F(InformerTest, WidenedMaskFillsFieldsWithoutNotifications) {
  Up();
  ASSERT_TRUE(cluster->ConfigMap("a").ok());
  Start(*wire::Mask::Compile({"metadata"}));
  ASSERT_TRUE(cluster->ConfigMap("b").ok());
  Settle();
  EXPECT_FALSE(informer->Get("default/a")->Node().Get("data").Has());
  recorder.Take();
  Status widened = MakeError(Code::kInternal, "");
  std::thread thread([&] { widened = informer->Widen(*wire::Mask::Compile({"data"}), nullptr); });
  thread.join();
  ASSERT_TRUE(widened.ok()) << widened.error().message;
  EXPECT_EQ(informer->Get("default/a")->Node().Path("data.k").String(), "v");
  EXPECT_EQ(informer->Get("default/b")->Node().Path("data.k").String(), "v");
  Settle();
  EXPECT_EQ(recorder.Take(), (Lines{}));
  ASSERT_TRUE(cluster->Patch(ConfigMaps(), "default", "a", R"({"data":{"k":"w"}})").ok());
  Settle();
  EXPECT_EQ(recorder.Take(), (Lines{"update a"}));
  EXPECT_EQ(informer->Get("default/a")->Node().Path("data.k").String(), "w");
}

// Success says that every object has the wider fields, also when the first list runs meanwhile.
void WidenDuringFirstLists(const FactoryOptions& options) {
  for (int i = 0; i < 25; ++i) {
    InformerFactory factory(options);
    const auto informer =
        factory.For({ConfigMaps(), "default", "", "", false}, *wire::Mask::Compile({"metadata"}));
    factory.Start();
    for (int n = 0; n < i * 80; ++n) std::this_thread::yield();  // another moment each time
    const Status widened = informer->Widen(*wire::Mask::Compile({"data"}), nullptr);
    ASSERT_TRUE(widened.ok()) << widened.error().message;
    ASSERT_TRUE(informer->HasSynced()) << i;
    ASSERT_EQ(informer->Get("default/a")->Node().Path("data.k").String(), "v") << i;
  }
}

TEST_F(InformerTest, WideningDuringAWatchListWaitsForTheWiderOne) {
  Up();
  ASSERT_TRUE(cluster->ConfigMap("a").ok());
  WidenDuringFirstLists(options);
}

TEST_F(InformerTest, WideningDuringAListWaitsForTheWiderOne) {
  Up(true, false);
  ASSERT_TRUE(cluster->ConfigMap("a").ok());
  WidenDuringFirstLists(options);
}

TEST_F(InformerTest, WideningThatWaitsForAListEndsWithItsCancellation) {
  Up();
  cluster->server->AddFault(AlwaysAnswered(403));
  const auto narrow =
      factory->For({ConfigMaps(), "default", "", "", false}, *wire::Mask::Compile({"metadata"}));
  factory->Start();
  client::Cancellation cancel;
  Status widened = Ok();
  std::thread thread([&] { widened = narrow->Widen(*wire::Mask::Compile({"data"}), &cancel); });
  cancel.Cancel();
  thread.join();
  EXPECT_EQ(widened.code(), Code::kCancelled);
}

TEST_F(InformerTest, OneThatNobodyUsesIsStoppedAfterAWhile) {
  Up();
  ASSERT_TRUE(cluster->ConfigMap("a").ok());
  Start();
  auto meta = factory->For({ConfigMaps(), "", "", "", true}, wire::Mask());
  factory->Start();
  Settle();
  ASSERT_TRUE(meta->HasSynced());
  const auto kept = meta;  // a copy is the same user
  meta.reset();
  Advance(10min);
  EXPECT_EQ(factory->All().size(), 2u);
  auto second = factory->For({ConfigMaps(), "", "", "", true}, wire::Mask());
  EXPECT_EQ(second.get(), kept.get());
  second.reset();
  Advance(10min);
  EXPECT_EQ(factory->All().size(), 2u) << "one user is left";
}

TEST_F(InformerTest, ComesBackWithinThePeriodOfGrace) {
  Up();
  ASSERT_TRUE(cluster->ConfigMap("a").ok());
  Start();
  const InformerKey key{ConfigMaps(), "", "", "", true};
  auto meta = factory->For(key, wire::Mask());
  factory->Start();
  Settle();
  const Informer* const first = meta.get();
  meta.reset();
  Advance(InformerFactory::kUnusedFor - 1s);
  meta = factory->For(key, wire::Mask());
  EXPECT_EQ(meta.get(), first);
  Advance(10min);
  EXPECT_EQ(factory->All().size(), 2u);
  meta.reset();
  Advance(InformerFactory::kUnusedFor + 1s);
  EXPECT_EQ(factory->All().size(), 1u);
  cluster->Audit(kAgent);  // its watch may have run out, and begun anew, until now
  // Nothing of it asks the server any more; the other one goes on.
  cluster->server->CloseWatches();
  behind_is_fine = true;
  Advance(2min);
  for (const std::string& request : cluster->Audit(kAgent))
    EXPECT_NE(request.find("/namespaces/default/"), std::string::npos) << request;
  behind_is_fine = false;
  meta = factory->For(key, wire::Mask());
  factory->Start();
  Settle();
  EXPECT_TRUE(meta->HasSynced());
}

// 5.6: an informer looks at the smallest period asked for; other periods are rounded up to it.
TEST_F(InformerTest, ResyncPeriodsAreThoseOfTheirOwnInformer) {
  Up();
  ASSERT_TRUE(cluster->ConfigMap("a").ok());
  Start();
  auto meta = factory->For({ConfigMaps(), "default", "", "", true}, wire::Mask());
  factory->Start();
  Settle();
  WordRecorder thirty, twenty, fifty;
  auto at_thirty = informer->Subscribe(&thirty, "30", {.resync = 30s});
  auto at_fifty = informer->Subscribe(&fifty, "50", {.resync = 50s});
  auto at_twenty = meta->Subscribe(&twenty, "20", {.resync = 20s});
  Settle();
  thirty.Take(), twenty.Take(), fifty.Take(), recorder.Take();
  Advance(29s);
  EXPECT_EQ(thirty.Take(), Lines{});
  EXPECT_EQ(twenty.Take(), Lines(1, "update a resync"));
  Advance(91s);  // 120 s
  EXPECT_EQ(thirty.Take(), Lines(4, "update a resync")) << "30, 60, 90, 120";
  EXPECT_EQ(fifty.Take(), Lines(2, "update a resync")) << "60 for 50, 120 for 110";
  EXPECT_EQ(twenty.Take(), Lines(5, "update a resync"));
  EXPECT_EQ(recorder.Take(), Lines{});
}

TEST_F(InformerTest, MetadataOnlyHoldsNoPayload) {
  Up();
  ASSERT_TRUE(cluster->ConfigMap("a").ok());
  auto meta = factory->For({ConfigMaps(), "", "", "", true}, wire::Mask());
  factory->Start();
  Settle();
  ASSERT_TRUE(meta->HasSynced());
  EXPECT_TRUE(meta->Get("default/a"));
  EXPECT_FALSE(meta->Get("default/a")->Node().Get("data").Has());
}

// The reflector's part of HOST-30: requests follow the back-off, and a returned server is followed
// again.
TEST_F(InformerTest, AServerThatIsDownIsAskedEverMoreSeldom) {
  Up(true, false);
  ASSERT_TRUE(cluster->ConfigMap("a").ok());
  Start();
  recorder.Take();
  cluster->server->AddFault(AlwaysAnswered(503));
  cluster->server->CloseWatches();
  EXPECT_GE(AdvanceUntilRequests("configmaps", 1).size(), 1u);
  for (int i = 0; i < 240; ++i) Advance(1s);
  EXPECT_LE(cluster->Audit(kAgent).size(), 9u);
  cluster->server->ClearFaults();
  ASSERT_TRUE(cluster->ConfigMap("b").ok());
  behind_is_fine = true;
  Advance(65s);
  EXPECT_TRUE(informer->Get("default/b"));
  EXPECT_EQ(recorder.Take().back(), "add b");
}

struct RestartTest : InformerTest, ::testing::WithParamInterface<bool> {};

// The watch that finds the server again is refused, and the list that has to follow waits for its
// own back-off, not for the one that has grown during the outage.
TEST_P(RestartTest, HOST_30_CompactedHistoryAfterAnOutageCostsNoSecondLongPause) {
  Up(true, GetParam());
  ASSERT_TRUE(cluster->ConfigMap("a").ok());
  Start();
  Advance(2s);  // a watch shorter than 1 s would be an error of its own
  behind_is_fine = true;
  cluster->server->SetReachable(false);
  for (int i = 0; i < 140; ++i) Advance(1s);
  cluster->server->SetReachable(true);
  ASSERT_TRUE(cluster->ConfigMap("b").ok());
  cluster->server->Compact();
  for (int i = 0; i < 65; ++i) Advance(1s);
  EXPECT_TRUE(informer->Get("default/b"));
}

INSTANTIATE_TEST_SUITE_P(Informer, RestartTest, ::testing::Bool(),
                         [](const auto& row) { return row.param ? "WithWatchList" : "Of128"; });

}  // namespace
}  // namespace kcm::host::cache
