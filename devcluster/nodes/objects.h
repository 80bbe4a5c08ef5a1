// SPDX-License-Identifier: Apache-2.0
// What simulated nodes and the scheduler need to know of a pod, a node and a volume claim, read
// from watch events; other kinds, of which there are few, as whole JSON objects.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "kcm/rules/result.h"

namespace kcm::rules {
class LabelSelector;
}

namespace kcm::devcluster::nodes {

using Strings = std::map<std::string, std::string, std::less<>>;
// Whether the selector accepts an object with these labels.
bool Matches(const rules::LabelSelector& selector, const Strings& labels);

struct Container {
  std::string name, image;
  bool sidecar = false;  // an init container that keeps running
};

// Amounts of resources by name, as whole units.
using Amounts = std::map<std::string, int64_t, std::less<>>;

// An entry of spec.resourceClaims. `claim` is empty while the claim has not been made from its
// template, and when the controller that makes it found that none is needed (`needless`).
struct PodClaim {
  std::string entry, claim;
  bool needless = false;
};

// Parts of a spec that only scheduling reads, as JSON. Shared: a pod waits in several places.
using Json = std::shared_ptr<const nlohmann::json>;

struct Pod {
  std::string uid, ns, name;
  uint64_t resource_version = 0;
  Strings labels;
  Strings annotations;           // those with the prefix "sim/"
  std::string completion_index;  // label batch.kubernetes.io/job-completion-index
  bool owned_by_job = false;
  std::string owner_uid;  // of its controller
  bool deleting = false;
  int64_t grace_seconds = 0;  // of the deletion
  std::string node;
  std::string scheduler;
  bool gated = false;  // has scheduling gates
  std::string phase, pod_ip, start_time;
  std::string scheduled_message;  // of the condition PodScheduled while it is False
  std::string restart_policy;
  std::vector<Container> containers, init_containers;
  std::vector<std::string> claims;  // names of the persistent volume claims it mounts
  std::vector<PodClaim> device_claims;
  int64_t milli_cpu = 0, memory = 0;    // requests, init containers counted as the scheduler does
  Amounts other_requests;               // of all other resources
  std::vector<std::string> host_ports;  // "TCP/0.0.0.0/80"
  int64_t priority = 0;
  bool never_preempts = false;
  Json scheduling;  // the part {tolerations, nodeSelector, affinity, topologySpreadConstraints} of
                    // spec; null once bound
  Json anti_affinity;  // required anti-affinity terms; null without. Kept: it repels later pods

  bool Finished() const { return phase == "Succeeded" || phase == "Failed"; }
};

struct NodeObject {
  std::string uid, name;
  uint64_t resource_version = 0;
  Strings annotations;  // those with the prefix "sim/"
  bool guest = false;   // labelled sim/kubelet=true
  Json identity;        // {metadata: {name, labels}}: what node affinity reads
  bool unschedulable = false;
  int64_t milli_cpu = 0, memory = 0, pods = 0;  // allocatable; 0 while the kubelet has not reported
  Amounts other;                                // of all other resources
  Json taints;  // of spec.taints those that count now, null when none does
};

struct Claim {
  std::string uid, ns, name;
  uint64_t resource_version = 0;
  Strings annotations;  // those with the prefix "sim/"
  bool bound = false;
  bool deleting = false;
  std::string volume;         // spec.volumeName
  std::string storage_class;  // empty: none
  std::string selected_node;  // annotation of the scheduler
  std::string provisioner;    // annotation of the volume controller: who is to make the volume
  std::vector<std::string> access_modes;
  bool block = false;
  int64_t request = 0, capacity = 0;  // bytes: asked for, and what the status says
  std::string request_text;
  bool resizing = false;  // its status tells of a resize under way
};

// Any object, for kinds of which there are few: without managedFields.
struct JsonObject {
  std::string uid, ns, name;
  uint64_t resource_version = 0;
  bool deleting = false;
  Json body;
};
using JsonObjects = std::map<std::string, JsonObject, std::less<>>;  // by Key()
std::string Key(std::string_view ns, std::string_view name);         // "ns/name", "name" without ns

enum class Change { kAdded, kModified, kDeleted, kBookmark, kError };

template <class Object>
struct WatchEvent {
  Change change = Change::kError;
  Object object;       // of a bookmark only resource_version
  int error_code = 0;  // kError: the Status' code (410: list again)
};

template <class Object>
struct Page {
  uint64_t resource_version = 0;
  std::string continue_token;
  std::vector<Object> objects;
};

// Takes a list or an event over into `objects`.
void PutAll(std::vector<JsonObject> all, JsonObjects* objects);
void Put(Change change, JsonObject object, JsonObjects* objects);

// Parses watch lines and lists of Object (Pod, NodeObject, Claim or JsonObject). Used by one
// thread; keeps its buffers.
template <class Object>
class Decoder {
 public:
  Decoder();
  ~Decoder();
  // `line` may be given room at its end (padding for the parser), its text stays. Errors: not a
  // watch event.
  Result<WatchEvent<Object>> Event(std::string* line);
  Result<Page<Object>> List(std::string* body);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

extern template class Decoder<Pod>;
extern template class Decoder<NodeObject>;
extern template class Decoder<Claim>;
extern template class Decoder<JsonObject>;

}  // namespace kcm::devcluster::nodes
