// SPDX-License-Identifier: Apache-2.0
// Process: a real program of this build under test, with its output in files of the test's own;
// never outlives the test.
//
//   Process host({HostBinary(), "--no-such-flag=1"}, dir, "host");
//   EXPECT_EQ(host.Wait(10s), 1);
//   EXPECT_THAT(host.err(), HasSubstr("unknown flag"));
#pragma once
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace kcm::process {

// Not thread-safe. The destructor kills (SIGKILL) and reaps.
class Process {
 public:
  // `command`[0] is the path of the program. Output goes to `dir`/`name`.out and .err. Throws
  // std::runtime_error when it can not start.
  Process(std::vector<std::string> command, const std::string& dir, const std::string& name);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Exit code, 128 + N after signal N, nullopt when it still runs after `limit` of real time.
  std::optional<int> Wait(std::chrono::milliseconds limit);
  void Signal(int signal);
  bool running() { return !Wait(std::chrono::milliseconds(0)); }
  std::string out() const;
  std::string err() const;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int fd_ = -1;  // pidfd: readable once the process has ended
  std::string out_, err_;
  std::optional<int> code_;
};

std::string HostBinary();
std::string PluginFile(const std::string& family);
// Makes `dir` with a copy of the pod plugin in it; returns `dir`.
std::string MakePluginDir(const std::string& dir);

// Looks at `done` every 20 ms of real time until it holds or `limit` has passed; returns done().
bool Until(std::chrono::milliseconds limit, const std::function<bool()>& done);

// A listener on 127.0.0.1 that counts who connects, or just holds the port.
class Listener {
 public:
  Listener();
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  int port() const { return port_; }
  // Whether anybody has connected so far.
  bool Connected() const;

 private:
  int fd_ = -1;
  int port_ = 0;
};
// A port that was free a moment ago.
int FreePort();
// TCP ports that a process of this machine listens on, in order.
std::vector<int> ListeningPorts(pid_t pid);

}  // namespace kcm::process
