// SPDX-License-Identifier: Apache-2.0
// What simulated nodes and the scheduler need to know of a pod, a node and a volume claim, read
// from watch events.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "kcm/rules/result.h"

namespace kcm::devcluster::nodes {

using Strings = std::map<std::string, std::string, std::less<>>;

struct Container {
  std::string name, image;
};

// Parts of a spec that only scheduling reads, as JSON. Shared: a pod waits in several places.
using Json = std::shared_ptr<const nlohmann::json>;

struct Pod {
  std::string uid, ns, name;
  uint64_t resource_version = 0;
  Strings annotations;           // those with the prefix "sim/"
  std::string completion_index;  // label batch.kubernetes.io/job-completion-index
  bool owned_by_job = false;
  bool deleting = false;
  std::string node;
  std::string scheduler;
  bool gated = false;  // has scheduling gates
  std::string phase, pod_ip, start_time;
  std::string scheduled_message;  // of the condition PodScheduled while it is False
  std::vector<Container> containers;
  std::vector<std::string> claims;    // names of the persistent volume claims it mounts
  int64_t milli_cpu = 0, memory = 0;  // requests, init containers counted as the scheduler does
  Json scheduling;  // the part {tolerations, nodeSelector, affinity.nodeAffinity} of spec; null
                    // once bound

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
  Json taints;  // of spec.taints those that count now, null when none does
};

struct Claim {
  std::string uid, ns, name;
  uint64_t resource_version = 0;
  bool bound = false;
  bool deleting = false;
};

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

// Parses watch lines and lists of Object (Pod, NodeObject or Claim). Used by one thread; keeps its
// buffers.
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

}  // namespace kcm::devcluster::nodes
