// SPDX-License-Identifier: Apache-2.0
// KeyedWork: a step per key, as a controller has it: never two of one key at a time, again when it
// was woken meanwhile, with a growing pause after a failure.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "devcluster/nodes/work_pool.h"
#include "host/clock/clock.h"

namespace kcm::devcluster::nodes {

// Thread-safe. The pool must be stopped before this is destroyed.
class KeyedWork {
 public:
  struct Outcome {
    std::string error;               // not empty: tried again after a pause
    host::clock::Duration after{0};  // > 0: again then
  };
  using Step = std::function<Outcome(WorkPool::Worker&, const std::string& key)>;

  KeyedWork(WorkPool& pool, Step step, std::function<void(const std::string&)> log);
  ~KeyedWork();

  void Wake(const std::string& key);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kcm::devcluster::nodes
