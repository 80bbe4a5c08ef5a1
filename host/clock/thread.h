// SPDX-License-Identifier: Apache-2.0
// Threads that can not be had: the system only says "Resource temporarily unavailable". Here is the
// one text that names the thread and the limits.
#pragma once
#include <functional>
#include <string>
#include <system_error>
#include <thread>

#include "host/clock/clock.h"

namespace kcm::host::clock {

// "cannot start a thread (WHAT): REASON: FIX" of an errno.
std::string NoThreadText(const std::string& what, int error);

// what() is NoThreadText. Whoever can, makes an error of it and goes on as before; what nobody
// catches ends the process with this text (host/bin).
class ThreadError : public std::system_error {
 public:
  ThreadError(const std::string& what, std::error_code code)
      : std::system_error(code), text_(NoThreadText(what, code.value())) {}
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

// Throws ThreadError.
std::thread StartThread(const std::string& what, std::function<void()> run);
// StartBusyThread of clock.h for a thread with a name. Throws ThreadError.
std::thread StartBusyThread(Clock& clock, const std::string& what, std::function<void()> run);

}  // namespace kcm::host::clock
