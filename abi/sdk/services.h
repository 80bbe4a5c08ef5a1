// SPDX-License-Identifier: Apache-2.0
// Services: the C tables of one controller instance. Internal to the SDK.
#pragma once
#include <kcm/kcm.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "kcm/rules/result.h"

namespace kcm::sdk {

struct Services {
  const kcm_host_api* host = nullptr;
  kcm_context* context = nullptr;
  const kcm_log_api* log = nullptr;
  const kcm_clock_api* clock = nullptr;
  const kcm_cache_api* cache = nullptr;
  const kcm_client_api* client = nullptr;
  const kcm_queue_api* queue = nullptr;
  const kcm_event_api* event = nullptr;
  const kcm_metric_api* metric = nullptr;
  const kcm_discovery_api* discovery = nullptr;
  const kcm_config_api* config = nullptr;
  const kcm_cancel_api* cancel = nullptr;

  // Timer callbacks by id. An entry is what the host's timer points to: erased when it fires, when
  // the host has cancelled it, or with the instance (the host drops timers at stop).
  struct Timers {
    struct Entry {
      Timers* owner = nullptr;
      uint64_t id = 0;
      kcm_timer host_timer = 0;  // guarded by owner->mutex
      std::function<void()> fire;
    };
    std::mutex mutex;
    uint64_t next = 1;                                             // guarded by mutex
    std::unordered_map<uint64_t, std::shared_ptr<Entry>> entries;  // guarded by mutex
  };
  std::unique_ptr<Timers> timers = std::make_unique<Timers>();
};

// A buffer for the text of an error across the ABI.
class ErrorText {
 public:
  ErrorText() {
    c_.size = sizeof(c_);
    c_.capacity = sizeof(text_);
    c_.text = text_;
  }
  kcm_error* c() { return &c_; }
  Error As(int32_t code) const {
    return MakeError(static_cast<Code>(code), std::string(text_, c_.length));
  }

 private:
  kcm_error c_{};
  char text_[1024];
};

}  // namespace kcm::sdk
