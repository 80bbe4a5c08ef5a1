// SPDX-License-Identifier: Apache-2.0
// The measured process (server_process.h).
#include "server_process.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "connection.h"

namespace kcm::bench {

double Now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

ServerProcess::ServerProcess(const std::vector<std::string>& command, int core) {
  int out[2];
  if (::pipe2(out, O_CLOEXEC) != 0) Die("no pipe");
  std::vector<char*> argv;
  std::vector<std::string> words = command;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  const double begin = Now();
  pid_ = ::fork();
  if (pid_ < 0) Die("cannot fork");
  if (pid_ == 0) {
    if (core >= 0) {
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(static_cast<size_t>(core), &set);
      ::sched_setaffinity(0, sizeof set, &set);
    }
    ::dup2(out[1], STDOUT_FILENO);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(out[1]);
  char c = 0;
  while (::read(out[0], &c, 1) == 1 && c != '\n') url_ += c;
  ::close(out[0]);
  start_seconds_ = Now() - begin;
  if (url_.empty()) Die("the server did not start: " + command[0]);
}

ServerProcess::~ServerProcess() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGTERM);
  ::waitpid(pid_, nullptr, 0);
}

void ServerProcess::Kill() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

double ServerProcess::CpuSeconds() const {
  std::ifstream in("/proc/" + std::to_string(pid_) + "/stat");
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  size_t at = text.rfind(')');
  for (int i = 0; i < 12 && at != std::string::npos; ++i) at = text.find(' ', at + 1);
  if (at == std::string::npos) Die("the server has ended");
  char* end = nullptr;
  const long user = std::strtol(text.c_str() + at, &end, 10);
  const long system = std::strtol(end, nullptr, 10);
  return static_cast<double>(user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double ServerProcess::Megabytes(const char* name) const {
  std::ifstream in("/proc/" + std::to_string(pid_) + "/status");
  for (std::string line; std::getline(in, line);) {
    if (line.compare(0, std::string(name).size(), name) == 0)
      return std::atof(line.c_str() + std::string(name).size() + 1) * 1024 / 1e6;
  }
  Die("the server has ended");
}

void ServerProcess::ForgetPeak() const {
  std::ofstream("/proc/" + std::to_string(pid_) + "/clear_refs") << "5";
}

}  // namespace kcm::bench
