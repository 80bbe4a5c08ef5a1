// SPDX-License-Identifier: Apache-2.0
// kcm-host: the process around Host::Run: arguments, signals, `plugins inspect`.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "host/clock/thread.h"
#include "host/file/open_limit.h"
#include "host/main/run.h"
#include "host/plugin/crash.h"
#include "host/plugin/image.h"
#include "host/plugin/private_dir.h"

namespace {

std::terminate_handler unexpected_end = nullptr;  // set once, at the begin of main

// A thread that can not be had where nobody could answer with an error: no crash, but a limit.
[[noreturn]] void OnTerminate() {
  if (std::current_exception() != nullptr) {
    try {
      throw;
    } catch (const kcm::host::clock::ThreadError& e) {
      std::fprintf(stderr, "kcm-host: %s\n", e.what());
      kcm::host::plugin::RemovePrivateDirs();
      ::_exit(1);
    } catch (...) {
      // Anything else ends as ever.
    }
  }
  if (unexpected_end != nullptr) unexpected_end();
  std::abort();
}

// kcm-host plugins inspect FILE: what a plugin declares, as JSON. 0, or 1 with the reason.
int Inspect(const std::string& file) {
  using kcm::host::plugin::Image;
  const auto dir = kcm::host::plugin::MakePrivateDir();
  if (!dir.ok()) {
    std::fprintf(stderr, "Error: %s\n", dir.error().message.c_str());
    return 1;
  }
  int code = 0;
  {
    const auto image = Image::Load(file, {*dir, ""});
    if (image.ok()) {
      std::fputs(kcm::host::plugin::Describe((*image)->declaration()).c_str(), stdout);
    } else {
      std::fprintf(stderr, "Error: %s\n", image.error().message.c_str());
      code = 1;
    }
  }
  kcm::host::plugin::RemovePrivateDir(*dir);
  return code;
}

int Plugins(const std::vector<std::string>& args) {
  if (args.size() == 3 && args[1] == "inspect") return Inspect(args[2]);
  std::fprintf(stderr,
               "Usage: kcm-host plugins inspect FILE\n"
               "Maps FILE, also a quarantined one: its library constructors run.\n"
               "Running plugins are managed with kcmctl plugins.\n");
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> args(argv + 1, argv + argc);
  kcm::host::plugin::InstallCrashHandler();
  unexpected_end = std::set_terminate(OnTerminate);
  kcm::host::file::RaiseOpenLimit();
  if (!args.empty() && args[0] == "plugins") kcm::host::plugin::EndProcess(Plugins(args));

  // Signals are taken by one thread with sigwait: no handler runs code of ours. SIGPIPE: a closed
  // connection is an error code.
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGRTMIN);  // with `over`: ends the signal thread
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);

  kcm::host::main::RunOptions options;
  options.args = std::move(args);
  options.exit_now = [](int code) {
    kcm::host::plugin::RemovePrivateDirs();
    ::_exit(code);
  };
  kcm::host::main::Host host(std::move(options));
  std::atomic<bool> over{false};
  std::thread signals = kcm::host::clock::StartThread("signals", [&] {
    int signal = 0;
    while (::sigwait(&set, &signal) == 0 && !over)
      if (signal != SIGRTMIN) host.Signal();
  });
  const int code = host.Run();
  over = true;
  ::pthread_kill(signals.native_handle(), SIGRTMIN);
  signals.join();
  kcm::host::plugin::EndProcess(code);
}
