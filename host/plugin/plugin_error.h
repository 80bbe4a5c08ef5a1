// SPDX-License-Identifier: Apache-2.0
// PluginError: a buffer for what a plugin says when it fails.
#pragma once
#include <kcm/abi.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace kcm::host::plugin {

// One call, one thread.
class PluginError {
 public:
  PluginError() {
    c_.size = sizeof(c_);
    c_.capacity = sizeof(text_);
    c_.text = text_;
  }
  kcm_error* c() { return &c_; }
  std::string text() const {
    return std::string(text_, std::min<uint64_t>(c_.length, sizeof(text_)));
  }
  // The text; of a plugin that gave none, what the host knows: the code (KCM_OK: only an outcome
  // says that the run failed) and what the run's last failed request was told ("" when none).
  std::string Reason(int32_t code, std::string_view failed_request = {}) const;

 private:
  kcm_error c_{};
  char text_[2048];
};

}  // namespace kcm::host::plugin
