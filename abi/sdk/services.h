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

  // Timer callbacks by id, freed when fired, cancelled or with the instance.
  struct Timers {
    std::mutex mutex;
    uint64_t next = 1;
    struct Entry { kcm_timer host_timer = 0; std::function<void()> fire; };
    std::unordered_map<uint64_t, std::shared_ptr<Entry>> entries;  // guarded by mutex
  };
  std::shared_ptr<Timers> timers = std::make_shared<Timers>();
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
