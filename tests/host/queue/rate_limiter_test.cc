// SPDX-License-Identifier: Apache-2.0
// Delays of AddRateLimited (spec/host.md 6.4).
#include "host/queue/rate_limiter.h"

#include <gtest/gtest.h>

namespace kcm::host::queue {
namespace {

using namespace std::chrono_literals;
using clock::Duration;
using clock::MonoTime;

RateLimit Limits(Duration base, Duration cap, int fast_attempts = 0) {
  RateLimit limit;
  limit.base = base;
  limit.cap = cap;
  limit.fast_attempts = fast_attempts;
  return limit;
}

TEST(ItemDelay, DoublesUpToTheCap) {
  const struct {
    const char* name;
    RateLimit limit;
    int failures;
    Duration want;
  } rows[] = {
      {"first", RateLimit(), 0, 5ms},
      {"second", RateLimit(), 1, 10ms},
      {"third", RateLimit(), 2, 20ms},
      {"18th call", RateLimit(), 17, 655360ms},
      {"19th call is capped", RateLimit(), 18, 1000s},
      {"does not overflow", RateLimit(), 2000000000, 1000s},
      {"job", Limits(1s, 1min), 5, 32s},
      {"job capped", Limits(1s, 1min), 6, 1min},
      {"base above the cap", Limits(10s, 1s), 0, 1s},
      {"fast at first", Limits(1s, 30s, 3), 2, 1s},
      {"then slow", Limits(1s, 30s, 3), 3, 30s},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(ItemDelay(row.limit, row.failures), row.want);
  }
}

TEST(TokenBucketReserve, BurstThenOneEachTenthOfASecond) {
  TokenBucket bucket(10, 100);
  const MonoTime start(1h);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(bucket.Reserve(start), 0s) << i;
  EXPECT_EQ(bucket.Reserve(start), 100ms);
  EXPECT_EQ(bucket.Reserve(start), 200ms) << "reservations add up";
  EXPECT_EQ(bucket.Reserve(start + 1s), 0s) << "8 tokens came in since";
  EXPECT_EQ(bucket.Reserve(start + -10s), 0s) << "time that goes back gives and takes nothing";
  for (int i = 0; i < 100; ++i)
    ASSERT_EQ(bucket.Reserve(start + 1h), 0s) << "full again, not fuller";
  EXPECT_EQ(bucket.Reserve(start + 1h), 100ms);
}

TEST(TokenBucketReserve, OtherLimitsKeepWhatIsReserved) {
  TokenBucket bucket(10, 2);
  const MonoTime start(1h);
  for (int i = 0; i < 12; ++i) (void)bucket.Reserve(start);  // ten more than there were
  bucket.SetRate(1, 5, start);
  EXPECT_EQ(bucket.Reserve(start), 11s);
  EXPECT_EQ(bucket.Reserve(start + 11s), 1s);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(bucket.Reserve(start + 1h), 0s) << i;
  EXPECT_EQ(bucket.Reserve(start + 1h), 1s);
  bucket.SetRate(0, 0, start + 1h);
  EXPECT_EQ(bucket.Reserve(start + 1h), 0s);
  bucket.SetRate(1, 2, start + 1h);
  EXPECT_EQ(bucket.Reserve(start + 1h), 0s) << "it begins full";
  EXPECT_EQ(bucket.Reserve(start + 1h), 0s);
  EXPECT_EQ(bucket.Reserve(start + 1h), 1s);
}

TEST(TokenBucketReserve, WithoutRateNobodyWaits) {
  TokenBucket bucket(0, 0);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(bucket.Reserve(MonoTime(1h)), 0s);
}

}  // namespace
}  // namespace kcm::host::queue
