// SPDX-License-Identifier: Apache-2.0
// Directory scanning and inotify.
#include "host/plugin/directory.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "host/clock/thread.h"
#include "host/file/open_limit.h"

namespace kcm::host::plugin {
namespace {

namespace fs = std::filesystem;
constexpr int kSettleMs = 100;   // a burst of changes counts as one
constexpr int kRearmMs = 5000;   // how often a directory may turn out to be another
constexpr int kRecheckMs = 500;  // while a file is incomplete or a removal is not confirmed

int64_t Ns(const struct timespec& t) { return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec; }

}  // namespace

Status CheckDirectory(const std::string& dir) {
  struct stat st {};
  if (::stat(dir.c_str(), &st) != 0)
    return MakeError(Code::kNotFound,
                     "--plugin-dir " + dir + ": " +
                         std::error_code(errno, std::generic_category()).message() +
                         ": create it or name another");
  if (!S_ISDIR(st.st_mode))
    return MakeError(Code::kInvalid, "--plugin-dir " + dir + ": not a directory");
  if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return MakeError(Code::kForbidden,
                     "--plugin-dir " + dir + ": writable by group or others: chmod go-w " + dir);
  if (st.st_uid != 0 && st.st_uid != ::geteuid())
    return MakeError(Code::kForbidden, "--plugin-dir " + dir +
                                           ": must belong to root or the user that runs the host");
  return Ok();
}

Result<std::vector<PluginFile>> ScanDirectory(const std::string& dir) {
  std::error_code ec;
  std::vector<PluginFile> out;
  for (fs::directory_iterator it(dir, ec), end; !ec && it != end; it.increment(ec)) {
    const fs::path path = it->path();
    if (path.extension() != ".so" || path.filename().string().starts_with(".")) continue;
    struct stat st {};
    const bool dangling = ::stat(path.c_str(), &st) != 0;
    if (dangling && ::lstat(path.c_str(), &st) != 0) continue;  // gone meanwhile
    out.push_back({path.string(),
                   {uint64_t{st.st_dev}, uint64_t{st.st_ino}, static_cast<uint64_t>(st.st_size),
                    Ns(st.st_mtim), Ns(st.st_ctim)},
                   dangling});
  }
  if (ec) return MakeError(Code::kUnavailable, dir + ": " + ec.message());
  std::sort(out.begin(), out.end(),
            [](const PluginFile& x, const PluginFile& y) { return x.path < y.path; });
  return out;
}

DirectoryWatch::DirectoryWatch(std::vector<std::string> dirs, std::function<bool()> changed)
    : dirs_(std::move(dirs)), changed_(std::move(changed)) {
  watched_.assign(dirs_.size(), -1);
}

Status DirectoryWatch::Start() {
  constexpr char kWhat[] = "plugin directories can not be watched: ";
  inotify_ = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (inotify_ < 0)
    return MakeError(Code::kUnavailable,
                     kWhat + file::ErrnoText(errno) +
                         (errno == EMFILE ? ", or of inotify instances of this user (sysctl "
                                            "fs.inotify.max_user_instances)"
                                          : ""));
  int pipe_ends[2] = {-1, -1};
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0)
    return MakeError(Code::kUnavailable, kWhat + file::ErrnoText(errno));
  stop_read_ = pipe_ends[0];
  stop_write_ = pipe_ends[1];
  Arm();
  try {
    thread_ = clock::StartThread("the watch of plugin directories", [this] { Run(); });
  } catch (const clock::ThreadError& e) {
    return MakeError(Code::kUnavailable, kWhat + std::string(e.what()));
  }
  return Ok();
}

Result<std::unique_ptr<DirectoryWatch>> DirectoryWatch::Make(std::vector<std::string> dirs,
                                                             std::function<bool()> changed) {
  std::unique_ptr<DirectoryWatch> watch(new DirectoryWatch(std::move(dirs), std::move(changed)));
  if (Status s = watch->Start(); !s.ok()) return s.error();
  return watch;
}

DirectoryWatch::~DirectoryWatch() {
  const char stop = 's';
  if (stop_write_ >= 0 && ::write(stop_write_, &stop, 1) != 1)
    ::close(std::exchange(stop_write_, -1));
  if (thread_.joinable()) thread_.join();
  for (int fd : {inotify_, stop_read_, stop_write_})
    if (fd >= 0) ::close(fd);
}

bool DirectoryWatch::Arm() {
  constexpr uint32_t kEvents = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |
                               IN_ATTRIB | IN_CREATE | IN_MOVE_SELF | IN_DELETE_SELF;
  bool changed = false;
  for (size_t i = 0; i < dirs_.size(); ++i) {
    // The same directory has the same number; one that went away has lost it already.
    const int now = ::inotify_add_watch(inotify_, dirs_[i].c_str(), kEvents);
    const int before = std::exchange(watched_[i], now);
    if (now == before) continue;
    changed = true;
    if (before >= 0 && std::find(watched_.begin(), watched_.end(), before) == watched_.end())
      (void)::inotify_rm_watch(inotify_, before);
  }
  return changed;
}

void DirectoryWatch::Run() {
  int timeout = kSettleMs;
  bool pending = true;  // what changed before the first watch was there
  while (true) {
    struct pollfd fds[2] = {{inotify_, POLLIN, 0}, {stop_read_, POLLIN, 0}};
    const int n = ::poll(fds, 2, timeout);
    if (n < 0 && errno != EINTR) return;
    if (fds[1].revents != 0) return;
    if (n > 0 && (fds[0].revents & POLLIN) != 0) {
      alignas(struct inotify_event) char buffer[16384];
      while (::read(inotify_, buffer, sizeof(buffer)) > 0) {
      }
      pending = true;
      timeout = kSettleMs;
      continue;
    }
    if (n != 0) continue;
    const bool elsewhere = Arm();
    if (pending || elsewhere || timeout == kRecheckMs) timeout = changed_() ? kRecheckMs : kRearmMs;
    pending = false;
  }
}

}  // namespace kcm::host::plugin
