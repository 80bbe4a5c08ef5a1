// SPDX-License-Identifier: Apache-2.0
// pthreads with a chosen stack size, which std::thread can not do.
#include "host/cache/small_thread.h"

#include <memory>
#include <utility>

#include "host/clock/thread.h"

namespace kcm::host::cache {

void* SmallThread::Main(void* self) {
  static_cast<SmallThread*>(self)->body_();
  return nullptr;
}

void SmallThread::Start(const std::string& name, size_t stack_bytes, std::function<void()> body) {
  body_ = std::move(body);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  const int error = pthread_create(&thread_, &attributes, Main, this);
  pthread_attr_destroy(&attributes);
  if (error != 0) {
    body_ = nullptr;
    throw clock::ThreadError(name, std::error_code(error, std::generic_category()));
  }
  started_ = true;
  pthread_setname_np(thread_, name.substr(0, 15).c_str());
}

void SmallThread::StartBusy(clock::Clock& clock, const std::string& name, size_t stack_bytes,
                            std::function<void()> body) {
  // std::function wants copies; there is one token, handed over to the thread's own scope.
  auto token = std::make_shared<clock::BusyToken>(clock);
  Start(name, stack_bytes, [&clock, token, run = std::move(body)] {
    const clock::BusyScope busy(clock);
    token->Reset();
    run();
    clock.ThreadEnds();
  });
}

void SmallThread::Join() {
  if (!started_) return;
  pthread_join(thread_, nullptr);
  started_ = false;
  body_ = nullptr;
}

}  // namespace kcm::host::cache
