// SPDX-License-Identifier: Apache-2.0
// The linker sends every pthread_create of this program here.
#include "host/plugin/few_threads.h"

#include <pthread.h>

#include <cerrno>

namespace kcm::test {
namespace {

thread_local int threads_left = -1;  // less than 0: no limit

}  // namespace

FewThreads::FewThreads(int count) { threads_left = count; }
FewThreads::~FewThreads() { threads_left = -1; }

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names
int __real_pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
int __wrap_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                          void* data);
int __wrap_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                          void* data) {
  if (threads_left == 0) return EAGAIN;
  if (threads_left > 0) --threads_left;
  return __real_pthread_create(thread, attributes, run, data);
}
// NOLINTEND(bugprone-reserved-identifier)
}

}  // namespace kcm::test
