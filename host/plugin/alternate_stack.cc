// SPDX-License-Identifier: Apache-2.0
// sigaltstack for threads that enter plugins.
#include "host/plugin/alternate_stack.h"

#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

namespace kcm::host::plugin {
namespace {

// What the handler needs beside the frame that the kernel writes.
constexpr size_t kForHandler = 32 << 10;

size_t StackBytes() {
#ifdef AT_MINSIGSTKSZ
  const size_t frame = std::max<size_t>(::getauxval(AT_MINSIGSTKSZ), MINSIGSTKSZ);
#else
  const size_t frame = MINSIGSTKSZ;
#endif
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return (frame + kForHandler + page - 1) / page * page;
}

// Address space only until a handler runs on it. Below it lies a page that nobody may touch.
class AlternateStack {
 public:
  AlternateStack() {
    stack_t present{};
    if (::sigaltstack(nullptr, &present) != 0 || (present.ss_flags & SS_DISABLE) == 0) return;
    const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    size_ = StackBytes() + page;
    void* const memory = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return;  // a crash is then reported as far as the thread's stack goes
    ::mprotect(memory, page, PROT_NONE);
    stack_t own{};
    own.ss_sp = static_cast<char*>(memory) + page;
    own.ss_size = size_ - page;
    if (::sigaltstack(&own, nullptr) != 0) {
      ::munmap(memory, size_);
      return;
    }
    memory_ = memory;
  }
  ~AlternateStack() {
    if (memory_ == nullptr) return;
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    ::sigaltstack(&none, nullptr);
    ::munmap(memory_, size_);
  }
  AlternateStack(const AlternateStack&) = delete;
  AlternateStack& operator=(const AlternateStack&) = delete;

 private:
  void* memory_ = nullptr;  // null: not ours to free
  size_t size_ = 0;
};

}  // namespace

void EnsureAlternateStack() { thread_local const AlternateStack stack; }

}  // namespace kcm::host::plugin
