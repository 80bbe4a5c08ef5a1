// SPDX-License-Identifier: Apache-2.0
// A system that has no more threads, for those that the host starts by pthread_create itself (those
// of caches). Needs -Wl,--wrap=pthread_create.
#pragma once

namespace kcm::test {

// While it is there, this thread can start `count` threads; then EAGAIN. One at a time per thread.
class FewThreads {
 public:
  explicit FewThreads(int count);
  ~FewThreads();
  FewThreads(const FewThreads&) = delete;
  FewThreads& operator=(const FewThreads&) = delete;
};

}  // namespace kcm::test
