// SPDX-License-Identifier: Apache-2.0
// Starting, watching and ending of programs under test.
#include "process/process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <stdexcept>

#include "build_paths.h"

namespace kcm::process {
namespace {

std::string Read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// Ours. A host that ends at once, as it shall, joins no thread: no finding of ThreadSanitizer's.
std::vector<std::string> Environment() {
  std::vector<std::string> out;
  for (char** e = environ; *e != nullptr; ++e) {
    out.emplace_back(*e);
    if (out.back().starts_with("TSAN_OPTIONS=")) out.back() += ":report_thread_leaks=0";
  }
  return out;
}

}  // namespace

Process::Process(std::vector<std::string> command, const std::string& dir, const std::string& name)
    : out_(dir + "/" + name + ".out"), err_(dir + "/" + name + ".err") {
  std::vector<char*> argv;
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  const int flags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, out_.c_str(), flags, 0600);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, err_.c_str(), flags, 0600);
  std::vector<std::string> environment = Environment();
  std::vector<char*> env;
  for (std::string& e : environment) env.push_back(e.data());
  env.push_back(nullptr);
  const int error = ::posix_spawn(&pid_, argv[0], &files, nullptr, argv.data(), env.data());
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) throw std::runtime_error("can not start " + command[0]);
  fd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  if (fd_ < 0) throw std::runtime_error("no pidfd of " + command[0]);
}

Process::~Process() {
  if (!code_) {
    ::kill(pid_, SIGKILL);
    (void)::waitpid(pid_, nullptr, 0);
  }
  ::close(fd_);
}

std::optional<int> Process::Wait(std::chrono::milliseconds limit) {
  if (code_) return code_;
  pollfd ended{fd_, POLLIN, 0};
  if (::poll(&ended, 1, static_cast<int>(limit.count())) != 1) return std::nullopt;
  int status = 0;
  if (::waitpid(pid_, &status, 0) != pid_) return std::nullopt;
  code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return code_;
}

void Process::Signal(int signal) {
  if (!code_) ::kill(pid_, signal);
}

std::string Process::out() const { return Read(out_); }
std::string Process::err() const { return Read(err_); }

std::string HostBinary() { return KCM_BUILD_DIR "/bin/kcm-host"; }
std::string PluginFile(const std::string& family) {
  return KCM_BUILD_DIR "/plugins/kcm-" + family + ".so";
}
std::string MakePluginDir(const std::string& dir) {
  std::filesystem::create_directory(dir);
  std::filesystem::copy_file(PluginFile("pod"), dir + "/kcm-pod.so");
  return dir;
}

bool Until(std::chrono::milliseconds limit, const std::function<bool()>& done) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (std::chrono::steady_clock::now() < end) {
    if (done()) return true;
    (void)::poll(nullptr, 0, 20);
  }
  return done();
}

Listener::Listener() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof(address);
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  if (fd_ < 0 || ::bind(fd_, plain, size) != 0 || ::listen(fd_, 8) != 0 ||
      ::getsockname(fd_, plain, &size) != 0)
    throw std::runtime_error("no loopback port");
  port_ = ntohs(address.sin_port);
}

Listener::~Listener() { ::close(fd_); }

bool Listener::Connected() const {
  pollfd waiting{fd_, POLLIN, 0};
  return ::poll(&waiting, 1, 0) == 1;
}

int FreePort() { return Listener().port(); }

std::vector<int> ListeningPorts(pid_t pid) {
  const std::string proc = "/proc/" + std::to_string(pid);
  std::set<std::string> sockets;  // "socket:[inode]" of the process
  for (const auto& entry : std::filesystem::directory_iterator(proc + "/fd")) {
    std::error_code gone;
    sockets.insert(std::filesystem::read_symlink(entry.path(), gone).string());
  }
  std::set<int> ports;
  for (const char* table : {"/net/tcp", "/net/tcp6"}) {
    std::ifstream in(proc + table);
    std::string line;
    std::getline(in, line);  // the titles
    while (std::getline(in, line)) {
      // sl local remote state queues timer retransmits uid timeout inode; 0A is LISTEN.
      std::istringstream words(line);
      std::string word[10];
      for (std::string& w : word) words >> w;
      if (word[3] == "0A" && sockets.count("socket:[" + word[9] + "]") != 0)
        ports.insert(std::stoi(word[1].substr(word[1].rfind(':') + 1), nullptr, 16));
    }
  }
  return {ports.begin(), ports.end()};
}

}  // namespace kcm::process
