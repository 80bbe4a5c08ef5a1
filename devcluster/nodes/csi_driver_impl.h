// SPDX-License-Identifier: Apache-2.0
// The inside of CsiDriver: what it knows of the cluster (csi_driver.cc), the provisioner with the
// resizer (csi_provisioner.cc) and the attacher (csi_attacher.cc).
#pragma once
#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "devcluster/nodes/csi_driver.h"
#include "devcluster/nodes/json_text.h"
#include "devcluster/nodes/keyed_work.h"
#include "kcm/rules/json_node.h"

namespace kcm::devcluster::nodes {

using host::clock::Duration;
using nlohmann::json;
using rules::JsonNode;
using rules::Node;
using Outcome = KeyedWork::Outcome;

inline constexpr char kZone[] = "topology.kubernetes.io/zone";
inline constexpr char kHostname[] = "kubernetes.io/hostname";

// Keys of the work: what kind of object, then its name.
enum class Kind : char {
  kNode = 'n',
  kClaim = 'c',
  kVolume = 'v',
  kAttachment = 'a',
  kSetup = 's'
};
inline std::string WorkKey(Kind kind, const std::string& name) {
  return std::string(1, static_cast<char>(kind)) + name;
}

inline json FinalizersOf(const JsonObject& o) {
  return o.body->at("metadata").value("finalizers", json::array());
}
inline bool Has(const json& list, const char* value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}
inline std::string FinalizersBody(const JsonObject& o, json finalizers) {
  return Dump({{"metadata",
                {{"resourceVersion", std::to_string(o.resource_version)},
                 {"finalizers", std::move(finalizers)}}}});
}
inline json Without(const json& list, const char* value) {
  json out = json::array();
  for (const json& item : list) {
    if (item != value) out.push_back(item);
  }
  return out;
}

inline Node AnnotationOf(const JsonObject& o, const char* name) {
  return JsonNode(*o.body).Get("metadata").Get("annotations").Get(name);
}

// A passing failure or a conflict with somebody else's write: look again later. Gone: done.
inline Outcome After(const std::string& what, const Answer& a) {
  if (a.ok() || a.status == 404) return {};
  return {what + ": " + a.Describe()};
}

inline bool OfOurDriver(const JsonObject& volume) {
  return JsonNode(*volume.body).Path("spec.csi.driver").String() == kCsiDriver;
}

struct CsiDriver::Impl {
  host::clock::Clock& clock;
  const std::function<bool(const std::string&)> simulates;
  KeyedWork work;
  std::atomic<uint64_t> events{0};  // a number for names

  std::mutex mu;  // guards all below; never held over a request
  enum class Input { kNodes, kClaims, kVolumes, kClasses, kAttachments };
  std::set<Input> unlisted = {Input::kNodes, Input::kClaims, Input::kVolumes, Input::kClasses,
                              Input::kAttachments};
  std::map<std::string, NodeObject, std::less<>> nodes;
  std::map<std::string, Claim, std::less<>> claims;
  JsonObjects volumes, classes, attachments;
  std::map<std::string, host::clock::MonoTime> due;  // when a delayed act is to happen

  Impl(host::clock::Clock& c, WorkPool& pool, std::function<bool(const std::string&)> ours,
       std::function<void(const std::string&)> log)
      : clock(c),
        simulates(std::move(ours)),
        work(
            pool, [this](WorkPool::Worker& w, const std::string& key) { return Do(w, key); },
            std::move(log)) {}

  void Listed(Input input);
  void WakeAll();
  void Wake(Kind kind, const std::string& name) { work.Wake(WorkKey(kind, name)); }
  template <class Object>
  std::optional<Object> Find(const std::map<std::string, Object, std::less<>>& in,
                             const std::string& key);
  std::optional<Duration> WaitFor(const std::string& act, const std::string& seconds);
  void Report(WorkPool::Worker& worker, const Claim& claim, const char* type, const char* reason,
              const std::string& message);

  Outcome Do(WorkPool::Worker& worker, const std::string& key);
  Outcome SetUp(WorkPool::Worker& worker);
  Outcome SetUpNode(WorkPool::Worker& worker, const std::string& name);
  Outcome DoClaim(WorkPool::Worker& worker, const std::string& key);
  Outcome Provision(WorkPool::Worker& worker, const Claim& claim, const JsonObject& storage_class);
  Outcome Refuse(WorkPool::Worker& worker, const Claim& claim, const std::string& why);
  json VolumeBody(const Claim& claim, const JsonObject& storage_class);
  Outcome Resize(WorkPool::Worker& worker, const Claim& claim, const JsonObject& volume);
  Outcome DoVolume(WorkPool::Worker& worker, const std::string& name);
  Outcome DoAttachment(WorkPool::Worker& worker, const std::string& name);
  Outcome Attach(WorkPool::Worker& worker, const JsonObject& attachment);
  Outcome Detach(WorkPool::Worker& worker, const JsonObject& attachment);
};

template <class Object>
std::optional<Object> CsiDriver::Impl::Find(const std::map<std::string, Object, std::less<>>& in,
                                            const std::string& key) {
  const std::lock_guard lock(mu);
  const auto it = in.find(key);
  if (it == in.end() || !unlisted.empty()) return std::nullopt;
  return it->second;
}

}  // namespace kcm::devcluster::nodes
