// SPDX-License-Identifier: Apache-2.0
// ServerProcess: the kcm-devcluster that is measured, and what /proc knows about it.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

namespace kcm::bench {

class ServerProcess {
 public:
  // Starts `command` on one core (`core` < 0: on all) and waits for its first line, the URL.
  ServerProcess(const std::vector<std::string>& command, int core);
  ~ServerProcess();  // SIGTERM, then waits
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  const std::string& url() const { return url_; }
  double start_seconds() const { return start_seconds_; }
  double CpuSeconds() const;
  double Megabytes(const char* name) const;  // VmRSS, VmHWM
  void ForgetPeak() const;                   // VmHWM starts again at VmRSS
  void Kill();                               // SIGKILL

 private:
  pid_t pid_ = -1;
  std::string url_;
  double start_seconds_ = 0;
};

double Now();  // seconds, monotonic

}  // namespace kcm::bench
