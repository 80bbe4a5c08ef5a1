// SPDX-License-Identifier: Apache-2.0
// One instance without a server: keys before its start, waits of a plugin.
#include "host/plugin/instance.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <future>

#include "harness/temporary_dir.h"
#include "host/client/transport.h"
#include "host/plugin/few_threads.h"
#include "host/plugin/plugin_error.h"
#include "host/plugin/probes.h"
#include "host/plugin/tables.h"

namespace kcm::host::plugin {
namespace {

using namespace std::chrono_literals;

class InstanceTest : public testing::Test {
 protected:
  InstanceTest() {
    std::filesystem::create_directory(dir_ / "private");
    environment_.clock = &clock_;
    const Result<std::shared_ptr<Image>> image =
        Image::Load(test::Probe("good"), {dir_ / "private", ""});
    EXPECT_TRUE(image.ok()) << image.error().message;
    declaration_ = (*image)->declaration().controllers[0];
    declaration_.watches.clear();  // no caches here
    shared_->environment = &environment_;
    shared_->plugin_name = "probe";
    shared_->controller_name = declaration_.name;
    queue::Options o;
    o.clock = &clock_;
    shared_->queues.push_back(std::make_unique<queue::WorkQueue>(o));
    instance_ = std::make_shared<Instance>(shared_, *image, &declaration_, 1);
    EXPECT_TRUE(instance_->Create(&cancel_).ok());
  }
  void Add(const char* key, clock::Duration delay = 0s, bool rate_limited = false) {
    EXPECT_TRUE(instance_->AddKey(0, key, delay, rate_limited).ok());
  }
  // What the waits of a task and of a reconcile that begin now come to; they have no time to wait.
  std::vector<int32_t> WaitsThatBeginNow() {
    static constexpr auto kWait = [](kcm_scope* scope) {
      return scope->instance->WaitReady(
          scope, 0, [](void*) -> uint32_t { return 0; }, nullptr);
    };
    api_ = *declaration_.api;
    api_.on_task = [](kcm_controller*, uint32_t, kcm_scope* scope, kcm_error*) -> int32_t {
      return kWait(scope);
    };
    api_.reconcile = [](kcm_controller*, const kcm_reconcile* run, kcm_outcome*,
                        kcm_error*) -> int32_t { return kWait(run->scope); };
    declaration_.api = &api_;
    Error error;
    const Status task = instance_->RunTask(0);
    (void)instance_->Reconcile(0, "web", 0, &error);
    return {static_cast<int32_t>(task.code()), static_cast<int32_t>(error.code)};
  }
  // "key state seconds" in the order of the queue.
  std::vector<std::string> Keys() {
    std::vector<std::string> out;
    for (const auto& k : shared_->queues[0]->Keys(1000))
      out.push_back(
          k.key + " " + k.state + " " +
          std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(k.due_in).count()));
    return out;
  }

  harness::TemporaryDir dir_;
  clock::VirtualClock clock_;
  Environment environment_;
  ControllerDeclaration declaration_;
  kcm_controller_api api_{};
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  client::Cancellation cancel_;
  std::shared_ptr<Instance> instance_;
};

TEST_F(InstanceTest, KeysBeforeTheStartWaitOnceInTheirOrderWithTheirDelays) {
  for (int i = 0; i < 1000; ++i) Add("web");
  Add("api");
  Add("later", 10s);
  Add("later", 30s);  // the earlier one counts
  Add("sooner", 30s);
  Add("sooner", 5s);
  Add("at-once", 20s);
  Add("at-once");
  Add("failed", 0s, true);
  Add("back-off-first", 0s, true);
  Add("back-off-first");
  clock_.Advance(2s);
  Add("last");
  Add("web");  // keeps its place
  EXPECT_EQ(shared_->queues[0]->Length() + shared_->queues[0]->Waiting(), 0u);
  ASSERT_TRUE(instance_->Start().ok());
  EXPECT_EQ(Keys(),
            (std::vector<std::string>{"web ready 0", "api ready 0", "at-once ready 0",
                                      "back-off-first ready 0", "last ready 0", "failed delayed 5",
                                      "sooner delayed 3000", "later delayed 8000"}));
  EXPECT_EQ(shared_->queues[0]->NumRequeues("failed"), 1);
}

// kcm/cancel.h: `ready` may take a lock that is held where wake() is called.
TEST_F(InstanceTest, ConditionOfAWaitRunsWithoutALockOfTheHost) {
  struct Asked {
    Instance* instance;
    bool free = false;
  } asked{instance_.get()};
  const auto ready = [](void* data) -> uint32_t {
    Asked& a = *static_cast<Asked*>(data);
    auto wake = std::async(std::launch::async, [&] { a.instance->Wake(); });
    a.free = wake.wait_for(20s) == std::future_status::ready;
    return 1;
  };
  EXPECT_EQ(instance_->WaitReady(nullptr, -1, ready, &asked), KCM_OK);
  EXPECT_TRUE(asked.free) << "wake() waits for the condition that waits for it";
}

TEST_F(InstanceTest, WakeBetweenLookAndWaitIsNotLost) {
  struct Asked {
    Instance* instance;
    int looks = 0;
  } asked{instance_.get()};
  // Woken from inside the look, before the wait begins: the second look must come without another.
  const auto ready = [](void* data) -> uint32_t {
    Asked& a = *static_cast<Asked*>(data);
    a.instance->Wake();
    return ++a.looks == 3 ? 1 : 0;
  };
  EXPECT_EQ(instance_->WaitReady(nullptr, -1, ready, &asked), KCM_OK);
  EXPECT_EQ(asked.looks, 3);
}

TEST_F(InstanceTest, WaitEndsWithTimeAndWithCancellation) {
  const auto never = [](void*) -> uint32_t { return 0; };
  std::atomic<int32_t> code{-1};
  std::thread waits = clock::StartBusyThread(
      clock_, [&] { code = instance_->WaitReady(nullptr, 1'000'000'000, never, nullptr); });
  clock_.Advance(999ms);
  EXPECT_EQ(code, -1);
  clock_.Advance(1ms);
  EXPECT_EQ(code, KCM_ERR_TIMEOUT);
  waits.join();
  waits = clock::StartBusyThread(clock_,
                                 [&] { code = instance_->WaitReady(nullptr, -1, never, nullptr); });
  clock_.Advance(1h);
  instance_->CancelAll();
  waits.join();
  EXPECT_EQ(code, KCM_ERR_CANCELLED);
}

// A task or reconcile that was let go just before a hand-over asked all to end begins after that
// (design 9); when the hand-over is given up, work goes on.
TEST_F(InstanceTest, WhatBeginsAfterTheHandOversCancelIsAskedToEnd) {
  const std::vector<int32_t> waited(2, KCM_ERR_TIMEOUT), ended(2, KCM_ERR_CANCELLED);
  EXPECT_EQ(WaitsThatBeginNow(), waited);
  instance_->CancelScopes();
  EXPECT_EQ(WaitsThatBeginNow(), ended);
  instance_->AllowScopes();
  EXPECT_EQ(WaitsThatBeginNow(), waited);
  instance_->CancelAll();
  EXPECT_EQ(WaitsThatBeginNow(), ended);
}

// A plugin in C can not catch: what the host has no thread for is an error of the call.
TEST_F(InstanceTest, WatchThatThereIsNoThreadForIsRefusedAndCanBeAskedForAgain) {
  client::Config config;
  config.server = "http://127.0.0.1:1";  // nobody answers
  cache::FactoryOptions o;
  o.client = std::make_shared<client::Client>(client::ClientOptions{
      .transport = *client::MakeTransport(config, {.clock = &clock_}), .clock = &clock_});
  o.clock = &clock_;
  o.random = [] { return 0.5; };
  cache::InformerFactory factory(o);
  environment_.informers = &factory;
  uint32_t watch = 0;
  const auto add = [&](int threads) {
    const test::FewThreads few(threads);
    PluginError error;
    const int32_t code =
        CacheTable().add_watch(reinterpret_cast<kcm_context*>(instance_.get()), TextOf(""),
                               TextOf("v1"), TextOf("secrets"), &watch, error.c());
    if (code != KCM_OK) {
      EXPECT_NE(error.Reason(code).find("cannot start a thread ("), std::string::npos)
          << error.Reason(code);
    }
    return code;
  };
  EXPECT_EQ(add(0), KCM_ERR_UNAVAILABLE) << "of the factory";
  EXPECT_EQ(add(1), KCM_ERR_UNAVAILABLE) << "of the reflector";
  EXPECT_EQ(add(1), KCM_ERR_UNAVAILABLE) << "of the delivery";
  EXPECT_EQ(watch, 0u);
  EXPECT_EQ(add(1), KCM_OK);
  EXPECT_NE(watch, 0u);
  EXPECT_EQ(instance_->RemoveRuntimeWatch(watch).code(), Code::kOk);
  instance_->Stop();
}

}  // namespace
}  // namespace kcm::host::plugin
