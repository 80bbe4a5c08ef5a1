// SPDX-License-Identifier: Apache-2.0
// The per-thread stack of plugin frames.
#include "host/plugin/entry.h"

#include "host/plugin/alternate_stack.h"

namespace kcm::host::plugin {
namespace {

thread_local const Frame* t_frame = nullptr;

template <size_t N>
void Copy(char (&to)[N], std::string_view from) {
  to[from.copy(to, N - 1)] = '\0';
}

}  // namespace

const Frame* CurrentFrame() { return t_frame; }

Entry::Entry(std::string_view plugin, std::string_view build, std::string_view controller,
             Role role, std::string_view key) {
  EnsureAlternateStack();
  Copy(frame_.plugin, plugin);
  Copy(frame_.build, build);
  Copy(frame_.controller, controller);
  Copy(frame_.key, key);
  frame_.role = role;
  frame_.outer = t_frame;
  t_frame = &frame_;
}

Entry::~Entry() { t_frame = frame_.outer; }

}  // namespace kcm::host::plugin
