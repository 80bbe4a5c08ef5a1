// SPDX-License-Identifier: Apache-2.0
// Private directories and their locks.
#include "host/plugin/private_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

namespace kcm::host::plugin {
namespace {

namespace stdfs = std::filesystem;
constexpr const char* kPrivatePrefix = "kcm-host-";
constexpr const char* kLock = "lock";
constexpr const char* kNewLock = "lock.new";  // not yet locked
constexpr time_t kBeingMadeSeconds = 60;

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

std::string ErrnoText() { return std::error_code(errno, std::generic_category()).message(); }

Descriptor OpenDir(const std::string& path) {
  return Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

bool Lock(int fd) { return ::flock(fd, LOCK_EX | LOCK_NB) == 0; }

bool SameFile(const struct stat& x, const struct stat& y) {
  return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

struct Owned {
  std::string path;
  Descriptor dir, lock;

  // Whether the path still leads to this directory.
  bool Here() const {
    struct stat held {
    }, found{};
    return ::fstat(dir.get(), &held) == 0 && ::lstat(path.c_str(), &found) == 0 &&
           SameFile(held, found);
  }
  bool Locked() const {
    struct stat held {
    }, found{};
    return ::fstat(lock.get(), &held) == 0 &&
           ::fstatat(dir.get(), kLock, &found, AT_SYMLINK_NOFOLLOW) == 0 && SameFile(held, found);
  }
  void Remove() const {
    std::error_code ignored;
    if (Here()) stdfs::remove_all(path, ignored);
  }
};

Error NotOwned(const std::string& path, const std::string& why) {
  return MakeError(Code::kInternal,
                   path + ": " + why + ": set TMPDIR to a writable directory that allows exec");
}

// Locks the directory at `path`. The lock file gets its name when it is locked already: whoever
// finds one that is not locked knows that its owner is gone.
Result<Owned> Claim(const std::string& path) {
  Owned owned{path, OpenDir(path), Descriptor()};
  struct stat st {};
  if (owned.dir.get() < 0 || ::fstat(owned.dir.get(), &st) != 0) return NotOwned(path, ErrnoText());
  if (st.st_uid != ::geteuid() || (st.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return NotOwned(path, "is not a directory of this user alone");
  // Not every file system locks directories; for the case that a cleaner removes the lock file.
  (void)Lock(owned.dir.get());
  (void)::unlinkat(owned.dir.get(), kNewLock, 0);
  owned.lock =
      Descriptor(::openat(owned.dir.get(), kNewLock, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (owned.lock.get() < 0 || !Lock(owned.lock.get()) ||
      ::renameat(owned.dir.get(), kNewLock, owned.dir.get(), kLock) != 0)
    return NotOwned(path, "can not lock a file in it: " + ErrnoText());
  return owned;
}

void RemoveIfAbandoned(const std::string& path) {
  const Descriptor dir = OpenDir(path);
  struct stat st {};
  if (dir.get() < 0 || ::fstat(dir.get(), &st) != 0 || st.st_uid != ::geteuid()) return;
  if (!Lock(dir.get()) && errno == EWOULDBLOCK) return;
  const Descriptor lock(
      ::openat(dir.get(), kLock, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (lock.get() >= 0) {
    if (!Lock(lock.get())) return;
  } else if (errno != ENOENT || ::time(nullptr) - st.st_mtime < kBeingMadeSeconds) {
    return;
  }
  std::error_code ignored;
  stdfs::remove_all(path, ignored);
}

// Of this process; never destroyed, as threads may outlive main.
struct Directories {
  std::mutex mutex;
  std::vector<Owned> owned;

  std::vector<Owned>::iterator Find(const std::string& path) {
    return std::find_if(owned.begin(), owned.end(), [&](const Owned& o) { return o.path == path; });
  }
};
Directories& OfThisProcess() {
  static auto* const all = new Directories();
  return *all;
}

}  // namespace

Result<std::string> MakePrivateDir() {
  std::error_code ec;
  const stdfs::path base = stdfs::temp_directory_path(ec);
  if (ec)
    return MakeError(Code::kInternal,
                     "no temporary directory for plugin copies: set TMPDIR to a writable one");
  for (stdfs::directory_iterator it(base, stdfs::directory_options::skip_permission_denied, ec),
       end;
       !ec && it != end; it.increment(ec))
    if (it->path().filename().string().starts_with(kPrivatePrefix))
      RemoveIfAbandoned(it->path().string());
  std::string path = (base / (kPrivatePrefix + std::to_string(::getpid()) + "-XXXXXX")).string();
  if (::mkdtemp(path.data()) == nullptr) return NotOwned(path, ErrnoText());
  Result<Owned> owned = Claim(path);
  if (!owned.ok()) {
    stdfs::remove_all(path, ec);
    return owned.error();
  }
  Directories& all = OfThisProcess();
  const std::lock_guard guard(all.mutex);
  all.owned.push_back(*std::move(owned));
  return path;
}

Status RestorePrivateDir(const std::string& dir) {
  Directories& all = OfThisProcess();
  const std::lock_guard guard(all.mutex);
  const auto at = all.Find(dir);
  if (at == all.owned.end() || (at->Here() && at->Locked())) return Ok();
  // Locks of our own would stand in the way.
  at->dir = Descriptor();
  at->lock = Descriptor();
  if (::mkdir(dir.c_str(), 0700) != 0 && errno != EEXIST) return NotOwned(dir, ErrnoText());
  Result<Owned> owned = Claim(dir);
  if (!owned.ok()) return owned.error();
  *at = *std::move(owned);
  return Ok();
}

void RemovePrivateDir(const std::string& dir) {
  Directories& all = OfThisProcess();
  const std::lock_guard guard(all.mutex);
  const auto at = all.Find(dir);
  if (at == all.owned.end()) return;
  at->Remove();
  all.owned.erase(at);
}

void RemovePrivateDirs() {
  Directories& all = OfThisProcess();
  // Until all are gone: a second thread that ends the process must not cut the first one short.
  const std::lock_guard guard(all.mutex);
  for (const Owned& o : all.owned) o.Remove();
  all.owned.clear();
}

}  // namespace kcm::host::plugin
