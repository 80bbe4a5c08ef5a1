// SPDX-License-Identifier: Apache-2.0
// Lru: a map of bounded size that forgets what was not used for longest. Internal to host/event.
// Not thread-safe.
#pragma once
#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace kcm::host::event {

template <class Value>
class Lru {
 public:
  // REQUIRES: capacity > 0
  explicit Lru(size_t capacity) : capacity_(capacity) {}

  // The value of `key`, default-made when absent; makes it the most recent. Valid until the next
  // call.
  Value& Use(const std::string& key) {
    if (const auto it = index_.find(key); it != index_.end()) {
      order_.splice(order_.begin(), order_, it->second);
      return it->second->second;
    }
    if (order_.size() == capacity_) {
      index_.erase(order_.back().first);
      order_.pop_back();
    }
    order_.emplace_front(key, Value());
    index_.emplace(order_.front().first, order_.begin());
    return order_.front().second;
  }
  size_t size() const { return order_.size(); }

 private:
  using Order = std::list<std::pair<std::string, Value>>;
  const size_t capacity_;
  Order order_;                                                           // most recent first
  std::unordered_map<std::string_view, typename Order::iterator> index_;  // keys live in order_
};

}  // namespace kcm::host::event
