// SPDX-License-Identifier: Apache-2.0
// Creating and deleting the pods of one workload, many at a time, with the events that tell of it
// (spec/pod-workloads.md 1.10, 1.11).
//
// Both functions return when every call has ended. Callbacks run on the host's threads, several at
// once. A controller that is being stopped or fenced writes no events.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kcm/rules/result.h"
#include "kcm/sdk/context.h"

namespace kcm::pod {

// Who the pods belong to; the object gets the events.
struct PodOwner {
  const sdk::WholeRef& object;
  const sdk::Resource& resource;
  sdk::Events events;
};

struct Created {
  int64_t succeeded = 0;       // with those refused because the namespace is being deleted
  int64_t terminating = 0;     // of them: those refused ones
  int64_t failed = 0;          // the others that were tried
  std::optional<Error> error;  // the first of the others
};

// Posts `body` `count` times in batches of 1, 2, 4, ...; a batch with a failure is the last one.
// `created` is given each pod's resourceVersion.
Created CreatePods(const sdk::Client& client, const PodOwner& owner, const std::string& body,
                   int64_t count, const std::function<void(std::string_view)>& created);
// The same with a body of its own for each of them, in the order 0, 1, 2, ...
using PodBody = std::function<std::string(int64_t number)>;
Created CreatePods(const sdk::Client& client, const PodOwner& owner, const PodBody& body,
                   int64_t count, const std::function<void(std::string_view)>& created);

// Deletes pods of the owner's namespace, all at once, without precondition. A pod that is gone
// already is no error. `failed` is given the name of each pod that was not deleted by us. The first
// error, if any.
std::optional<Error> DeletePods(const sdk::Client& client, const PodOwner& owner,
                                const std::vector<std::string>& names,
                                const std::function<void(std::string_view)>& failed);

}  // namespace kcm::pod
