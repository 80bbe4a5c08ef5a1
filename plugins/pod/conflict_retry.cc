// SPDX-License-Identifier: Apache-2.0
// Waiting between conflicts.
#include "plugins/pod/conflict_retry.h"

#include "kcm/rules/back_off.h"
#include "kcm/rules/error_class.h"

namespace kcm::pod {
namespace {

constexpr double kJitter = 0.1;

// The clock's low digits: they only have to differ between replicas and keys.
double Fraction(const sdk::Clock& clock) {
  constexpr int64_t kParts = 1'000'003;
  return static_cast<double>(clock.Monotonic().count() % kParts) / static_cast<double>(kParts);
}

}  // namespace

Status RetryOnConflict(const sdk::Run& run, const sdk::Clock& clock, const ConflictRetry& retry,
                       const std::function<Status(int attempt)>& write) {
  sdk::Duration wait = kFirstConflictWait;
  for (int attempt = 0;; ++attempt) {
    Status answer = write(attempt);
    if (answer.ok() || !rules::IsConflict(answer.error()) || attempt + 1 >= retry.tries)
      return answer;
    (void)run.Wait(rules::Jittered(wait, kJitter, Fraction(clock)), [] { return false; });
    if (run.Cancelled()) return MakeError(Code::kCancelled, "cancelled while waiting to retry");
    wait *= retry.factor;
  }
}

}  // namespace kcm::pod
