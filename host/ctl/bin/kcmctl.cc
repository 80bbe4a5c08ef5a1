// SPDX-License-Identifier: Apache-2.0
// kcmctl: the process around ctl::Run.
#include <signal.h>

#include <cstdio>
#include <string>
#include <vector>

#include "host/ctl/ctl.h"

int main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);  // a closed connection is an error code
  const auto to = [](FILE* stream) {
    return [stream](const std::string& text) { std::fwrite(text.data(), 1, text.size(), stream); };
  };
  return kcm::host::ctl::Run(std::vector<std::string>(argv + 1, argv + argc), to(stdout),
                             to(stderr));
}
