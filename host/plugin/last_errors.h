// SPDX-License-Identifier: Apache-2.0
// LastErrors: what the last failed run of each failing key of a controller said, for reports.
#pragma once
#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace kcm::host::plugin {

// Thread-safe. Bounded: texts are cut, and of more than kKeys failing keys some have none.
class LastErrors {
 public:
  static constexpr size_t kKeys = 1000;
  static constexpr size_t kText = 512;  // bytes

  void Failed(std::string_view queue, std::string_view key, std::string_view text);
  // The key ran well, or is dropped.
  void Ended(std::string_view queue, std::string_view key);
  // "" when nothing is known.
  std::string Of(std::string_view queue, std::string_view key) const;

 private:
  static std::string NameOf(std::string_view queue, std::string_view key);

  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::string> texts_;  // guarded by mutex_
  std::atomic<size_t> size_{0};  // of texts_: most runs end well and need not lock
};

}  // namespace kcm::host::plugin
