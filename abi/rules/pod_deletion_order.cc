// SPDX-License-Identifier: Apache-2.0
// The comparison chain of 1.9 over keys that are read once per pod.
#include "kcm/rules/pod_deletion_order.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <string_view>

#include "kcm/rules/decimal_int64.h"
#include "kcm/rules/pod.h"

namespace kcm::rules {
namespace {

// A time and how long ago that is on the doubling scale of step 6.
struct Age {
  std::optional<WallTime> time;
  int bucket = -1;
};

struct PodKey {
  bool assigned = false;
  int phase = 0;
  bool ready = false;
  int32_t cost = 0;
  int64_t rank = 0;
  Age ready_age;
  int64_t restarts = 0;
  int64_t sidecar_restarts = 0;
  Age created;
  std::string_view uid;
};

Age AgeOf(std::optional<WallTime> time, WallTime now) {
  Age age{time, -1};
  if (time && *time < now) {
    const auto ns = static_cast<uint64_t>(Elapsed(*time, now).count());
    age.bucket = static_cast<int>(std::bit_width(ns)) - 1;
  }
  return age;
}

int PhaseOrder(std::string_view phase) {
  if (phase == "Unknown") return 1;
  return phase == "Running" ? 2 : 0;
}

PodKey KeyOf(Node pod, int64_t rank, WallTime now) {
  PodKey key;
  const Node metadata = pod.Get("metadata");
  key.assigned = !PodNodeName(pod).empty();
  key.phase = PhaseOrder(PodPhase(pod));
  key.ready = IsPodReady(pod);
  key.cost = PodDeletionCost(pod);
  key.rank = rank;
  key.ready_age = AgeOf(PodReadySince(pod), now);
  key.restarts = MaxContainerRestarts(pod);
  key.sidecar_restarts = MaxSidecarRestarts(pod);
  key.created = AgeOf(TimeOf(metadata.Get("creationTimestamp")), now);
  key.uid = metadata.Get("uid").String();
  return key;
}

// Steps 6 and 8: zero time first, else the younger bucket, else the smaller uid. REQUIRES: times
// differ.
bool YoungerFirst(const Age& x, const Age& y, std::string_view x_uid, std::string_view y_uid) {
  if (!x.time || !y.time) return !x.time;
  if (x.bucket != y.bucket) return x.bucket < y.bucket;
  return x_uid < y_uid;
}

bool DeletedBefore(const PodKey& x, const PodKey& y) {
  if (x.assigned != y.assigned) return !x.assigned;
  if (x.phase != y.phase) return x.phase < y.phase;
  if (x.ready != y.ready) return !x.ready;
  if (x.cost != y.cost) return x.cost < y.cost;
  if (x.rank != y.rank) return x.rank > y.rank;
  if (x.ready && y.ready && x.ready_age.time != y.ready_age.time) {
    return YoungerFirst(x.ready_age, y.ready_age, x.uid, y.uid);
  }
  if (x.restarts != y.restarts) return x.restarts > y.restarts;
  if (x.sidecar_restarts != y.sidecar_restarts) return x.sidecar_restarts > y.sidecar_restarts;
  if (x.created.time != y.created.time) return YoungerFirst(x.created, y.created, x.uid, y.uid);
  return false;
}

// Merges the sorted runs [begin, middle) and [middle, end) of `from` into `to`.
void Merge(const std::vector<PodKey>& keys, const std::vector<size_t>& from,
           std::vector<size_t>& to, size_t begin, size_t middle, size_t end) {
  size_t left = begin;
  size_t right = middle;
  for (size_t i = begin; i < end; ++i) {
    const bool take_right =
        right < end && (left == middle || DeletedBefore(keys[from[right]], keys[from[left]]));
    to[i] = take_right ? from[right++] : from[left++];
  }
}

}  // namespace

int32_t PodDeletionCost(Node pod) {
  const std::string_view text = pod.Get("metadata")
                                    .Get("annotations")
                                    .Get("controller.kubernetes.io/pod-deletion-cost")
                                    .String();
  if (text.empty()) return 0;
  const char first = text.front();
  const bool legal = first == '-' || (first >= '1' && first <= '9') || text == "0";
  if (!legal) return 0;
  const std::optional<int64_t> cost = ParseInt64(text);
  if (!cost || *cost < INT32_MIN || *cost > INT32_MAX) return 0;
  return static_cast<int32_t>(*cost);
}

std::vector<int64_t> DeletionRanks(std::span<const Node> pods, std::span<const Node> related) {
  std::map<std::string_view, int64_t> active_on_node;
  for (const Node pod : related) {
    if (IsPodActive(pod)) ++active_on_node[PodNodeName(pod)];
  }
  std::vector<int64_t> ranks;
  ranks.reserve(pods.size());
  for (const Node pod : pods) {
    const auto it = active_on_node.find(PodNodeName(pod));
    ranks.push_back(it == active_on_node.end() ? 0 : it->second);
  }
  return ranks;
}

std::vector<size_t> PodDeletionOrder(std::span<const Node> pods, std::span<const int64_t> ranks,
                                     WallTime now) {
  std::vector<PodKey> keys;
  keys.reserve(pods.size());
  for (size_t i = 0; i < pods.size(); ++i) {
    keys.push_back(KeyOf(pods[i], i < ranks.size() ? ranks[i] : 0, now));
  }
  std::vector<size_t> order(pods.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  // A merge sort of our own: the chain is not transitive (equal times fall through to restarts,
  // equal buckets to the uid), and std::sort and std::stable_sort have undefined behaviour for such
  // an order.
  std::vector<size_t> merged(order.size());
  for (size_t width = 1; width < order.size(); width *= 2) {
    for (size_t begin = 0; begin < order.size(); begin += 2 * width) {
      const size_t middle = std::min(begin + width, order.size());
      Merge(keys, order, merged, begin, middle, std::min(begin + 2 * width, order.size()));
    }
    order.swap(merged);
  }
  return order;
}

}  // namespace kcm::rules
