// SPDX-License-Identifier: Apache-2.0
// Entry: marks that this thread is inside a plugin. A crash is attributed by it (plugin,
// controller, key), and the dev preset checks thread roles with it. The thread gets an alternate
// signal stack, so that running out of stack is attributed too.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace kcm::host::plugin {

enum class Role : uint8_t {
  kNone,
  kLoad,  // a library's constructors and destructors; the frame's plugin is the file
  kControl,
  kEvent,
  kWorker,
  kTimer,
  kTask,
  kCompletion
};

// What the crash handler prints. Plain text of fixed size: readable from a signal handler.
struct Frame {
  char plugin[64];
  char build[64];
  char controller[96];
  char key[256];
  Role role = Role::kNone;
  const Frame* outer = nullptr;
};

// The innermost frame of this thread, nullptr outside plugins. Async-signal-safe.
const Frame* CurrentFrame();

class Entry {
 public:
  Entry(std::string_view plugin, std::string_view build, std::string_view controller, Role role,
        std::string_view key = {});
  ~Entry();
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

 private:
  Frame frame_;
};

}  // namespace kcm::host::plugin
