// SPDX-License-Identifier: Apache-2.0
// Keeps and hands over histories.
#include "plugins/pod/hpa/histories.h"

#include <sstream>

namespace kcm::pod::hpa {
namespace {

// The kinds of entries in the saved text.
constexpr char kRecommendation = 'r';
constexpr char kUp = 'u';
constexpr char kDown = 'd';

int64_t Nanoseconds(rules::WallTime t) { return t.time_since_epoch().count(); }

}  // namespace

History& Histories::Of(std::string_view key) {
  const std::lock_guard lock(mutex_);
  const auto it = histories_.find(key);
  return it != histories_.end() ? it->second : histories_[std::string(key)];
}

void Histories::Drop(std::string_view key) {
  const std::lock_guard lock(mutex_);
  if (const auto it = histories_.find(key); it != histories_.end()) histories_.erase(it);
}

// One line an entry: key, kind, number, nanoseconds since 1970.
std::string Histories::Save() const {
  const std::lock_guard lock(mutex_);
  std::ostringstream out;
  const auto write = [&](const std::string& key, char kind, int64_t number, rules::WallTime at) {
    out << key << ' ' << kind << ' ' << number << ' ' << Nanoseconds(at) << '\n';
  };
  for (const auto& [key, history] : histories_) {
    for (const Recommendation& r : history.recommendations)
      write(key, kRecommendation, r.replicas, r.at);
    for (const ScaleEvent& e : history.ups) write(key, kUp, e.change, e.at);
    for (const ScaleEvent& e : history.downs) write(key, kDown, e.change, e.at);
  }
  return std::move(out).str();
}

void Histories::Load(std::string_view state) {
  std::istringstream in{std::string(state)};
  std::string key;
  char kind = 0;
  int64_t number = 0, time = 0;
  while (in >> key >> kind >> number >> time) {
    History& history = Of(key);
    const rules::WallTime at{std::chrono::nanoseconds(time)};
    if (kind == kRecommendation) history.recommendations.push_back({number, at});
    if (kind == kUp) history.ups.push_back({number, at});
    if (kind == kDown) history.downs.push_back({number, at});
  }
}

}  // namespace kcm::pod::hpa
