// SPDX-License-Identifier: Apache-2.0
// Reflector: keeps a listener up to date with one resource: list, then watch, list again when the
// history is gone.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "devcluster/nodes/api_connection.h"
#include "devcluster/nodes/objects.h"
#include "host/clock/clock.h"

namespace kcm::devcluster::nodes {

// Thread-safe. One thread of its own, which calls the listener. Marked busy while an event is
// handled; Seen() moves after the listener has returned, so "Seen() is the server's version and
// nothing is busy" means that all effects have happened.
template <class Object>
class Reflector {
 public:
  struct Listener {
    // Calls come in the server's order. A list is OnListed(everything), a deletion that was missed
    // shows only there.
    std::function<void(std::vector<Object>)> listed;
    std::function<void(Change, Object)> changed;
    std::function<void(const std::string&)> log;
  };
  // `path`: "/api/v1/pods".
  Reflector(host::clock::Clock& clock, std::shared_ptr<ApiServer> server, std::string path,
            Listener listener);
  ~Reflector();
  void Start();
  void Stop();
  // Highest resourceVersion whose effects have been handed on.
  uint64_t Seen() const;
  // True once the first list has been handed on.
  bool Listed() const { return Seen() != 0; }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

extern template class Reflector<Pod>;
extern template class Reflector<NodeObject>;
extern template class Reflector<Claim>;
extern template class Reflector<JsonObject>;

}  // namespace kcm::devcluster::nodes
