// SPDX-License-Identifier: Apache-2.0
// Faults for tests: the next matching requests are answered by a fault instead.
//
// - kStatus: answers `status`, `reason`, `message`, Retry-After; nothing is done
// - kDropBefore: closes the connection without an answer; nothing is done
// - kDropAfter: does the request, then closes the connection without an answer (the client can not
//   know)
// - kHang: says nothing for `delay_ms` of real time (0: until the client leaves or the server
//   stops), then closes
// - kSlow: waits `delay_ms` of real time, then handles the request as usual
// - kWatchClose: a watch starts and ends cleanly at once
// - kWatchGone: a watch gets one ERROR event, code 410 reason Expired, then the end
// - kWatchCut: a watch starts as usual; of its first event (initial ones too, bookmarks not) the
//   client gets half, then the connection is closed
//
// Faults are tried in the order they were added; `times` counts down per match.
#pragma once
#include <mutex>
#include <optional>
#include <regex>
#include <string_view>
#include <vector>

#include "devcluster/server/server.h"

namespace kcm::devcluster {

// Thread-safe.
class Faults {
 public:
  void Add(const Server::Fault& fault);
  void Clear();
  // The fault for this request, counted; nullopt when none matches.
  std::optional<Server::Fault> Match(std::string_view method, const std::string& target,
                                     bool watch);

 private:
  struct Entry {
    Server::Fault fault;
    std::regex path;
    int left = 0;
  };
  std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace kcm::devcluster
