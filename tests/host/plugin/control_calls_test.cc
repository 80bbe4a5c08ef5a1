// SPDX-License-Identifier: Apache-2.0
// Life cycle calls that return late.
#include "host/plugin/control_calls.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <fstream>
#include <future>

namespace kcm::host::plugin {
namespace {

using namespace std::chrono_literals;

size_t StackBytes() {
  pthread_attr_t attributes;
  size_t bytes = 0;
  EXPECT_EQ(pthread_getattr_default_np(&attributes), 0);
  EXPECT_EQ(pthread_attr_getstacksize(&attributes, &bytes), 0);
  (void)pthread_attr_destroy(&attributes);
  return bytes;
}

size_t AddressSpaceBytes() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

// As health() of a plugin that never is in time.
TEST(ControlCalls, StackOfALateCallGoesWithTheNextCall) {
  constexpr size_t kCalls = 64;
  clock::VirtualClock clock;
  ControlCalls calls(clock);
  const auto late_call = [&] {
    std::promise<void> go;
    const std::shared_future<void> gone = go.get_future().share();
    EXPECT_EQ(calls.Run("health()", 0s, [gone] { gone.wait(); }), ControlCalls::End::kLate);
    EXPECT_TRUE(calls.Late());
    go.set_value();
    while (calls.Open()) std::this_thread::yield();
  };
  late_call();
  const size_t before = AddressSpaceBytes();
  for (size_t i = 0; i < kCalls; ++i) late_call();
  const size_t after = AddressSpaceBytes();
  EXPECT_LT(after, before + kCalls / 2 * StackBytes()) << "threads that nobody joined";
  EXPECT_EQ(calls.Run("health()", 1h, [] {}), ControlCalls::End::kReturned);
  calls.Finish();
  calls.Join();
}

}  // namespace
}  // namespace kcm::host::plugin
