// SPDX-License-Identifier: Apache-2.0
// WriteCut: counts what controllers write, and takes the server away from them after so many
// writes.
//
//   WriteCut cut(cluster, "^/apis/apps/v1/namespaces/default/daemonsets/d/status$", NameOf);
//   cut.After(3, WriteCut::FaultKind::kDropAfter);
//   ...                                        // the controllers work
//   cut.Look();
//   if (cut.asked().size() > 3) ...            // it has happened
//   EXPECT_EQ(cut.Done("DELETE", "web-0"), 1);
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "harness/cluster.h"

namespace kcm::harness {

// The test's own way to the pods while those paths are cut: others, or with a query.
inline std::vector<Json> PodsSeen(Cluster& cluster) {
  const Reply reply = cluster.Request("GET", "/api/v1/pods");
  EXPECT_TRUE(reply.ok()) << reply.body;
  return reply.body.value("items", std::vector<Json>());
}
inline void EndPod(Cluster& cluster, const std::string& pod) {
  const Reply reply =
      cluster.Request("DELETE", Cluster::Path("pods", "default", pod) + "?gracePeriodSeconds=0");
  EXPECT_TRUE(reply.ok()) << reply.body;
}

class WriteCut {
 public:
  using FaultKind = devcluster::Server::Fault::Kind;
  // What a body that is posted creates: for Done().
  using NameOf = std::function<std::string(const Json& body)>;

  // `written`: paths with query of what is counted and cut. The test itself takes other paths, or a
  // query, for what it has to be able to do meanwhile.
  WriteCut(Cluster& cluster, const std::string& written, NameOf name_of)
      : cluster_(cluster), written_(written), path_(written), name_of_(std::move(name_of)) {}

  // Lets so many requests through. The connection of the next one breaks, before it was done
  // (kDropBefore) or after (kDropAfter: nobody learns of it); all others break before, until
  // Mend().
  void After(int writes, FaultKind next) {
    Fail(FaultKind::kSlow, writes);
    Fail(next, 1);
    Fail(FaultKind::kDropBefore, -1);
  }
  void Mend() { cluster_.server().ClearFaults(); }

  // One run that is cut after so many writes and then played to its end by a new host: false when
  // the work was done before. `act`: one step of what others do meanwhile, false when nothing is
  // left to do; `finish`: all of it.
  bool RunCutAfter(int writes, FaultKind next, const std::function<void()>& begin,
                   const std::function<void()>& settle, const std::function<bool()>& act,
                   const std::function<void()>& finish) {
    const size_t n = static_cast<size_t>(writes) + 1;
    Look();
    Forget();
    After(writes, next);
    begin();
    const auto is_cut = [&] {
      settle();
      Look();
      return asked_.size() >= n;
    };
    int steps = 0;
    while (!is_cut() && act() && ++steps <= kMostSteps) {
    }
    EXPECT_LE(steps, kMostSteps) << "the work does not come to rest";
    const bool cut = asked_.size() >= n;
    if (cut) {
      EXPECT_EQ(cluster_.StopHost(), 0);
      Look();
      Mend();
      asked_.resize(n);  // what was refused before it ended does not count
      cluster_.StartHost();
      finish();
      Look();
    }
    Mend();
    return cut;
  }

  // Runs that are cut after 0, 1, 2... writes until one gets through. That one has at least `least`
  // writes, and no other asks for much more. `run`: RunCutAfter with so many writes; `expect`: what
  // must be there in the end; `clean_up`: before the next run.
  void AfterEachWrite(size_t least, const std::function<bool(int)>& run,
                      const std::function<void()>& expect, const std::function<void()>& clean_up) {
    std::vector<std::vector<std::string>> asked;
    for (int writes = 0;; ++writes) {
      SCOPED_TRACE("cut after " + std::to_string(writes) + " writes");
      ASSERT_LT(writes, 60) << "it does not get through";
      const bool cut = run(writes);
      expect();
      asked.push_back(asked_);
      if (::testing::Test::HasFailure() || !cut) break;
      clean_up();
    }
    const size_t undisturbed = asked.back().size();
    EXPECT_GE(undisturbed, least) << "hardly anything was cut";
    for (size_t i = 0; i < asked.size(); ++i)
      EXPECT_LE(asked[i].size(), undisturbed + 10)
          << "cut after " << i << " writes: " << ::testing::PrintToString(asked[i]);
  }

  // Takes note of what has been asked for since the last call.
  void Look() {
    for (const auto& e : cluster_.Audit()) {
      if (!e.user_agent.starts_with("kube-controller-manager/")) continue;
      if (!std::regex_match(e.uri, written_)) continue;
      asked_.push_back(e.method + " " + e.uri);
      // One that was broken off before it was done has no user.
      if (e.user.empty() || e.code >= 300) continue;
      const std::string path = e.uri.substr(0, e.uri.find('?'));
      std::string name = path.substr(path.rfind('/') + 1);
      if (e.method == "POST") name = name_of_(Json::parse(e.body));
      ++done_[e.method + " " + name];
    }
  }
  void Forget() {
    asked_.clear();
    done_.clear();
  }

  // "METHOD path", what was broken included.
  const std::vector<std::string>& asked() const { return asked_; }
  // How often this was done: name is the last part of the path, of what was posted its own.
  int Done(const std::string& method, const std::string& name) const {
    const auto it = done_.find(method + " " + name);
    return it == done_.end() ? 0 : it->second;
  }
  // How often anything of this kind was done: "POST web-".
  int DoneAll(const std::string& start) const {
    int sum = 0;
    for (const auto& [what, times] : done_) sum += what.starts_with(start) ? times : 0;
    return sum;
  }
  // Of how many things: one that was done twice counts once.
  size_t Distinct(const std::string& start) const {
    size_t sum = 0;
    for (const auto& [what, times] : done_) sum += what.starts_with(start) ? 1 : 0;
    return sum;
  }

 private:
  static constexpr int kMostSteps = 40;

  void Fail(FaultKind kind, int times) {
    if (times == 0) return;
    devcluster::Server::Fault fault;
    fault.path_regex = path_;
    fault.kind = kind;
    fault.times = times;
    cluster_.server().AddFault(fault);
  }

  Cluster& cluster_;
  const std::regex written_;
  const std::string path_;
  const NameOf name_of_;
  std::vector<std::string> asked_;
  std::map<std::string, int> done_;  // "POST web-0"
};

}  // namespace kcm::harness
