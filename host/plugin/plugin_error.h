// SPDX-License-Identifier: Apache-2.0
// PluginError: a buffer for what a plugin says when it fails.
#pragma once
#include <kcm/abi.h>

#include <algorithm>
#include <string>

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

 private:
  kcm_error c_{};
  char text_[2048];
};

}  // namespace kcm::host::plugin
