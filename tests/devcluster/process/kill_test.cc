// SPDX-License-Identifier: Apache-2.0
// kcm-devcluster with a data directory, killed (SIGKILL) while several clients write, and started
// again: no acknowledged write is lost, no resourceVersion is served twice, no object is torn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include "build_paths.h"
#include "devcluster/server/api_client.h"
#include "harness/temporary_dir.h"
#include "process/process.h"

namespace kcm::devcluster::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr int kRounds = 6;
constexpr int kWriters = 32;
constexpr int kKeysOfWriter = 3;
const std::string kMaps = "/api/v1/namespaces/default/configmaps";

uint64_t Rv(const Json& object) {
  return std::stoull(object["metadata"]["resourceVersion"].get<std::string>());
}

// An object says its step three times, so that parts of two versions are noticed.
Json MapOf(const std::string& name, int step) {
  const std::string text = std::to_string(step);
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata", {{"name", name}, {"annotations", {{"step", text}}}}},
          {"data",
           {{"first", text},
            {"filler", std::string(3000, static_cast<char>('a' + step % 26))},
            {"last", text}}}};
}

// What is known of one key: the step that was acknowledged last (0: absent), and the step that was
// asked for and never answered.
struct Known {
  int acknowledged = 0;
  uint64_t revision = 0;
  std::optional<int> open;
};

class Killed : public ::testing::Test {
 protected:
  void Start() {
    server_.reset();
    server_.emplace(std::vector<std::string>{KCM_BUILD_DIR "/bin/kcm-devcluster", "serve",
                                             "--no-tls", "--data-dir", dir_.path() + "/data"},
                    dir_.path(), "server" + std::to_string(++starts_));
    ASSERT_TRUE(process::Until(60s, [&] {
      return server_->out().find('\n') != std::string::npos || !server_->running();
    }));
    const std::string url = server_->out();
    ASSERT_THAT(url, HasSubstr("http://")) << server_->err();
    port_ = static_cast<uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
  }

  // One writer's life until the server is gone.
  void Write(int writer) {
    try {
      ApiClient api(port_);
      for (int i = 0;; ++i) {
        const std::string name =
            "w" + std::to_string(writer) + "-" + std::to_string(i % kKeysOfWriter);
        const int step = ++steps_[static_cast<size_t>(writer)];
        const bool remove = step % 7 == 0;
        Known before;
        {
          const std::lock_guard lock(mutex_);
          before = known_[name];
          known_[name].open = remove ? 0 : step;
        }
        const Reply r = remove                     ? api.Delete(kMaps + "/" + name)
                        : before.acknowledged == 0 ? api.Post(kMaps, MapOf(name, step))
                                                   : api.Put(kMaps + "/" + name, MapOf(name, step));
        const std::lock_guard lock(mutex_);
        Known& now = known_[name];
        now.open.reset();
        if (remove && (r.code == 200 || r.code == 404)) {
          now.acknowledged = 0;
        } else if (r.code == 200 || r.code == 201) {
          now.acknowledged = step;
          now.revision = Rv(r.json());
          Saw(now.revision, name, step);
        } else {
          ADD_FAILURE() << name << ": " << r.code << " " << r.body;
        }
        ++acknowledged_;
      }
    } catch (const std::exception&) {
      // The server is gone.
    }
  }

  void Watch(uint64_t from) {
    try {
      WatchStream watch(port_, kMaps + "?watch=1&resourceVersion=" + std::to_string(from));
      for (Json e = watch.Next(); !e.is_null(); e = watch.Next()) {
        const Json& object = e["object"];
        const std::lock_guard lock(mutex_);
        EXPECT_GT(Rv(object), from) << "out of order";
        from = Rv(object);
        const bool gone = e["type"] == "DELETED";
        watched_[object["metadata"]["name"]] = {from, gone};
        if (!gone) Saw(from, object["metadata"]["name"], StepOf(object));
        highest_ = std::max(highest_, from);
      }
    } catch (const std::exception&) {
      // The server is gone.
    }
  }

  // REQUIRES: mutex_ held. One revision is one write, for ever.
  void Saw(uint64_t revision, const std::string& name, int step) {
    const auto [it, fresh] = seen_.emplace(revision, std::pair(name, step));
    EXPECT_EQ(it->second, std::pair(name, step)) << "revision " << revision << " was served twice";
    highest_ = std::max(highest_, revision);
  }

  static int StepOf(const Json& object) {
    const std::string first = object["data"]["first"];
    EXPECT_EQ(object["data"]["last"], first);
    EXPECT_EQ(object["metadata"]["annotations"]["step"], first);
    const std::string filler = object["data"]["filler"];
    EXPECT_EQ(filler, std::string(3000, static_cast<char>('a' + std::stoi(first) % 26)));
    return std::stoi(first);
  }

  // After a start: compares what is there with what is known, and takes over what turned out of the
  // unanswered requests.
  uint64_t Check() {
    ApiClient api(port_);
    const Json list = api.Get(kMaps).json();
    EXPECT_GE(Rv(list), highest_) << "the counter went back";
    std::map<std::string, Json> there;
    for (const Json& item : list["items"]) there[item["metadata"]["name"]] = item;
    const std::lock_guard lock(mutex_);
    for (auto& [name, known] : known_) {
      const auto it = there.find(name);
      const int step = it == there.end() ? 0 : StepOf(it->second);
      if (step != known.acknowledged) {
        EXPECT_EQ(known.open, std::optional<int>(step))
            << name << ": " << known.acknowledged << " was acknowledged and is " << step;
      } else if (step != 0) {
        EXPECT_EQ(Rv(it->second), known.revision) << name;
      }
      if (it != there.end()) Saw(Rv(it->second), name, step);
      const auto event = watched_.find(name);
      if (event != watched_.end() && !event->second.second && it != there.end()) {
        EXPECT_GE(Rv(it->second), event->second.first) << name << ": a watched write is lost";
      }
      known = {step, it == there.end() ? 0 : Rv(it->second), std::nullopt};
    }
    return Rv(list);
  }

  harness::TemporaryDir dir_;
  std::optional<process::Process> server_;
  uint16_t port_ = 0;
  int starts_ = 0;
  std::mutex mutex_;  // guards the maps and highest_
  std::map<std::string, Known> known_;
  std::map<std::string, std::pair<uint64_t, bool>> watched_;
  std::map<uint64_t, std::pair<std::string, int>> seen_;
  uint64_t highest_ = 0;
  int steps_[kWriters] = {};
  std::atomic<int> acknowledged_{0};
};

TEST_F(Killed, LosesNoAcknowledgedWriteAndServesNoRevisionTwice) {
  std::mt19937 random(20260101);
  uint64_t first = 0;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    ASSERT_NO_FATAL_FAILURE(Start());
    const uint64_t start = Check();
    if (first == 0) first = start;
    if (start > first) {
      WatchStream old(port_, kMaps + "?watch=1&resourceVersion=" + std::to_string(first));
      EXPECT_EQ(old.Next()["object"]["code"], 410);
    }
    acknowledged_ = 0;
    const int enough = 10 + static_cast<int>(random() % 150);
    std::vector<std::thread> threads;
    threads.emplace_back([this, start] { Watch(start); });
    for (int w = 0; w < kWriters; ++w) threads.emplace_back([this, w] { Write(w); });
    EXPECT_TRUE(process::Until(60s, [&] { return acknowledged_ >= enough; }));
    server_->Signal(SIGKILL);
    EXPECT_EQ(server_->Wait(10s), 128 + SIGKILL);
    for (std::thread& t : threads) t.join();
    if (HasFailure()) return;
  }
  ASSERT_NO_FATAL_FAILURE(Start());
  Check();
  EXPECT_GT(seen_.size(), 100u);
}

TEST_F(Killed, AKillDuringTheFirstStartLeavesADirectoryThatStarts) {
  for (int round = 0; round < 4; ++round) {
    server_.emplace(std::vector<std::string>{KCM_BUILD_DIR "/bin/kcm-devcluster", "serve",
                                             "--no-tls", "--data-dir", dir_.path() + "/data"},
                    dir_.path(), "first" + std::to_string(round));
    const char* const signs[] = {"/data/lock", "/data/objects.sqlite", "/data/objects.sqlite-wal",
                                 "/data/service-account.pem"};
    struct stat about {};
    EXPECT_TRUE(process::Until(
        60s, [&] { return ::stat((dir_.path() + signs[round]).c_str(), &about) == 0; }));
    server_->Signal(SIGKILL);
    EXPECT_TRUE(server_->Wait(10s).has_value());
  }
  ASSERT_NO_FATAL_FAILURE(Start());
  ApiClient api(port_);
  EXPECT_EQ(api.Get("/api/v1/namespaces/kube-system").code, 200);
  EXPECT_EQ(api.Get("/apis/rbac.authorization.k8s.io/v1/clusterroles/cluster-admin").code, 200);
  EXPECT_EQ(api.Post(kMaps, MapOf("a", 1)).code, 201);
}

TEST_F(Killed, ASecondProcessOnTheDirectoryIsRefused) {
  ASSERT_NO_FATAL_FAILURE(Start());
  process::Process second({KCM_BUILD_DIR "/bin/kcm-devcluster", "serve", "--no-tls", "--data-dir",
                           dir_.path() + "/data"},
                          dir_.path(), "second");
  EXPECT_EQ(second.Wait(30s), 1);
  EXPECT_THAT(second.err(), HasSubstr("in use by another server (process " +
                                      std::to_string(server_->pid()) + ")"));
}

}  // namespace
}  // namespace kcm::devcluster::test
