// SPDX-License-Identifier: Apache-2.0
// The crash handler.
#include "host/plugin/crash.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "host/plugin/entry.h"
#include "host/plugin/private_dir.h"

namespace kcm::host::plugin {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
// The one piece of process-wide state of the host: a signal handler has no other way to its data.
// Written before threads start.
char g_crash_dir[512];

// Text of bounded length built without the heap.
class Line {
 public:
  Line& operator<<(const char* text) {
    while (*text != '\0' && length_ < sizeof(text_) - 1) text_[length_++] = *text++;
    return *this;
  }
  Line& operator<<(long number) {
    char digits[24];
    size_t n = sizeof(digits);
    digits[--n] = '\0';
    do {
      digits[--n] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number > 0 && n > 0);
    return *this << (digits + n);
  }
  void WriteTo(int fd) const {
    if (::write(fd, text_, length_) < 0) return;
  }
  const char* c_str() {
    text_[length_] = '\0';
    return text_;
  }

 private:
  char text_[1536];
  size_t length_ = 0;
};

// File names must not hold what a build id may hold.
void Sanitise(char (&to)[64], const char* from) {
  size_t n = 0;
  for (; from[n] != '\0' && n < sizeof(to) - 1; ++n) {
    const char c = from[n];
    const bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '.' || c == '-';
    to[n] = fine ? c : '_';
  }
  to[n] = '\0';
}

// Says `what` of the plugin that this thread is in, on stderr and in a record. False: in none.
bool Attribute(const char* what, long number) {
  const Frame* f = CurrentFrame();
  if (f == nullptr) return false;
  Line line;
  line << "F " << what << " " << number << " in plugin=\"" << f->plugin << "\" build=\"" << f->build
       << "\" controller=\"" << f->controller << "\" key=\"" << f->key << "\"\n";
  line.WriteTo(STDERR_FILENO);
  if (g_crash_dir[0] == '\0') return true;
  char build[64];
  Sanitise(build, f->build);
  struct timespec now {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  Line path;
  path << g_crash_dir << "/crash-" << build << "-" << static_cast<long>(now.tv_sec) << "-"
       << static_cast<long>(::getpid()) << ".txt";
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd >= 0) {
    line.WriteTo(fd);
    ::close(fd);
  }
  return true;
}

void OnSignal(int signal) {
  if (!Attribute("fatal signal", signal)) {
    Line line;
    line << "F fatal signal " << static_cast<long>(signal) << " in the host\n";
    line.WriteTo(STDERR_FILENO);
  }
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

void OnExit(int code, void*) {
  if (!Attribute("exit code", code)) {
    Line line;
    line << "F exit code " << static_cast<long>(code)
         << " asked for outside of any call of a plugin: by a thread that a plugin has made?\n";
    line.WriteTo(STDERR_FILENO);
  }
  ::_exit(code == 0 ? 1 : code);
}

void OnQuickExit() { OnExit(1, nullptr); }

}  // namespace

void InstallCrashHandler() {
  struct sigaction action {};
  action.sa_handler = OnSignal;
  // On the thread's alternate stack where it has one: its own may be used up.
  action.sa_flags = SA_NODEFER | SA_RESETHAND | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (int signal : kSignals) ::sigaction(signal, &action, nullptr);
  // An end that nobody can attribute is no reason not to start.
  (void)::on_exit(OnExit, nullptr);
  (void)std::at_quick_exit(OnQuickExit);
}

void EndProcess(int code) {
  RemovePrivateDirs();
  std::fflush(nullptr);
  ::_exit(code);
}

void SetCrashDir(const std::string& dir) {
  const size_t n = std::min(dir.size(), sizeof(g_crash_dir) - 1);
  std::memcpy(g_crash_dir, dir.data(), n);
  g_crash_dir[n] = '\0';
}

Status PrepareCrashDir(const std::string& dir) {
  const auto refuse = [&](const std::string& reason, const char* fix) {
    return MakeError(Code::kInvalid, "--plugin-state-dir " + dir + ": " + reason + ": " + fix);
  };
  const auto why = [] { return std::error_code(errno, std::generic_category()).message(); };
  if (dir.size() >= sizeof(g_crash_dir))
    return refuse("longer than " + std::to_string(sizeof(g_crash_dir) - 1) + " characters",
                  "name a shorter path");
  if (::mkdir(dir.c_str(), 0700) == 0) return Ok();
  const int not_made = errno;
  struct stat st {};
  if (::stat(dir.c_str(), &st) != 0) {
    if (not_made != EEXIST) errno = not_made;  // else a link to nothing
    return refuse(why(), "create it or name another directory");
  }
  if (!S_ISDIR(st.st_mode)) return refuse("not a directory", "name a directory");
  constexpr char kFix[] = "crash records need a directory that the host may read and write";
  if (::faccessat(AT_FDCWD, dir.c_str(), R_OK | X_OK, AT_EACCESS) != 0) return refuse(why(), kFix);
  // Rights alone do not tell: the file system has a word in it as well.
  std::string probe = dir + "/.kcm-host-XXXXXX";
  const int fd = ::mkostemp(probe.data(), O_CLOEXEC);
  if (fd < 0) return refuse(why(), kFix);
  ::close(fd);
  (void)::unlink(probe.c_str());
  return Ok();
}

Status Admit(const std::string& dir, int64_t threshold, const std::string& file,
             const std::string& digest) {
  if (dir.empty() || threshold <= 0) return Ok();
  const std::string build = digest.substr(0, kBuildLength);
  const int records = CrashCount(dir, build);
  if (records < threshold) return Ok();
  return MakeError(Code::kForbidden,
                   file + ": quarantined: this build has crashed the host " +
                       std::to_string(records) +
                       " times: install another build, or, to try it again, remove " + dir +
                       "/crash-" + build + "-*.txt");
}

int CrashCount(const std::string& dir, std::string_view build) {
  char name[64];
  Sanitise(name, std::string(build.substr(0, sizeof(name) - 1)).c_str());
  const std::string prefix = "crash-" + std::string(name) + "-";
  int n = 0;
  std::error_code ec;
  for (std::filesystem::directory_iterator it(dir, ec), end; !ec && it != end; it.increment(ec))
    if (it->path().filename().string().starts_with(prefix)) ++n;
  return n;
}

}  // namespace kcm::host::plugin
