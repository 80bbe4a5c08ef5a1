// SPDX-License-Identifier: Apache-2.0
// posix_spawn with a pipe.
#include "host/client/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "host/client/socket_deadline.h"
#include "host/file/open_limit.h"

extern char** environ;

namespace kcm::host::client {
namespace {

constexpr size_t kMaxOutput = 8 << 20;

// Own environment with `env` laid over it.
std::vector<std::string> Environment(const std::vector<std::pair<std::string, std::string>>& env) {
  std::vector<std::string> out;
  for (char** e = environ; e != nullptr && *e != nullptr; ++e) {
    const std::string_view entry(*e);
    const std::string_view name = entry.substr(0, entry.find('='));
    bool replaced = false;
    for (const auto& [key, value] : env) replaced = replaced || name == key;
    if (!replaced) out.emplace_back(entry);
  }
  for (const auto& [key, value] : env) out.push_back(key + "=" + value);
  return out;
}

std::vector<char*> Pointers(std::vector<std::string>* strings) {
  std::vector<char*> out;
  for (std::string& s : *strings) out.push_back(s.data());
  out.push_back(nullptr);
  return out;
}

int Spawn(const std::string& command, std::vector<std::string> argv, std::vector<std::string> env,
          int out_fd, pid_t* pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out_fd, 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // The child must not inherit a blocked SIGPIPE (connection.cc).
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const int error = posix_spawnp(pid, command.c_str(), &actions, &attributes,
                                 Pointers(&argv).data(), Pointers(&env).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

constexpr char kTooLong[] = "did not end in time";

Status Collect(int fd, SocketDeadline deadline, std::string* out) {
  char buffer[4096];
  for (;;) {
    pollfd p{fd, POLLIN, 0};
    const int ready = ::poll(&p, 1, deadline.PollMillis());
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return MakeError(Code::kTimeout, kTooLong);
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Ok();
    out->append(buffer, static_cast<size_t>(n));
    if (out->size() > kMaxOutput) return MakeError(Code::kInvalid, "printed more than 8 MiB");
  }
}

// Its output may end long before it does.
Status AwaitEnd(pid_t pid, SocketDeadline deadline) {
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return MakeError(Code::kInternal, "pidfd: " + file::ErrnoText(errno));
  pollfd p{fd, POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&p, 1, deadline.PollMillis());
  } while (ready < 0 && errno == EINTR);
  ::close(fd);
  return ready > 0 ? Ok() : MakeError(Code::kTimeout, kTooLong);
}

}  // namespace

Result<ProcessResult> RunProcess(const std::string& command, const std::vector<std::string>& args,
                                 const std::vector<std::pair<std::string, std::string>>& env,
                                 clock::Duration limit) {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0)
    return MakeError(Code::kInternal, "pipe: " + file::ErrnoText(errno));
  std::vector<std::string> argv = {command};
  argv.insert(argv.end(), args.begin(), args.end());
  pid_t pid = 0;
  const int error = Spawn(command, std::move(argv), Environment(env), fds[1], &pid);
  ::close(fds[1]);
  if (error != 0) {
    ::close(fds[0]);
    return MakeError(error == ENOENT ? Code::kNotFound : Code::kInternal, file::ErrnoText(error));
  }
  ProcessResult result;
  const SocketDeadline deadline = SocketDeadline::In(limit);
  Status collected = Collect(fds[0], deadline, &result.out);
  ::close(fds[0]);
  if (collected.ok()) collected = AwaitEnd(pid, deadline);
  if (!collected.ok()) ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!collected.ok()) return collected.error();
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace kcm::host::client
