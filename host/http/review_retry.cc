// SPDX-License-Identifier: Apache-2.0
// Back-off of reviews.
#include "host/http/review_retry.h"

#include <random>

namespace kcm::host::http {
namespace {

bool Passing(const Error& e) {
  switch (e.code) {
    case Code::kTransport:
    case Code::kTimeout:
    case Code::kServerTimeout:
    case Code::kUnavailable:
    case Code::kTooManyRequests:
    case Code::kInternal:
      return true;
    default:
      return e.http_status >= 500;
  }
}

}  // namespace

Result<std::string> ReviewRetry::Call(const std::function<Result<std::string>()>& review) {
  constexpr int kTries = 5;
  std::minstd_rand random(std::random_device{}());
  std::uniform_real_distribution<double> jitter(1.0, 1.2);
  const clock::MonoTime end = clock_->Monotonic() + std::chrono::seconds(10);
  std::chrono::duration<double> pause(0.5);
  for (int attempt = 1;; ++attempt) {
    Result<std::string> answer = review();
    if (answer.ok() || !Passing(answer.error()) || attempt == kTries) return answer;
    const auto wait = std::chrono::duration_cast<clock::Duration>(pause * jitter(random));
    if (clock_->Monotonic() + wait >= end) return answer;
    std::unique_lock lock(mutex_);
    if (clock_->WaitFor(lock, changed_, wait, [&] { return stopped_; })) return answer;
    pause *= 1.5;
  }
}

void ReviewRetry::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
}

}  // namespace kcm::host::http
