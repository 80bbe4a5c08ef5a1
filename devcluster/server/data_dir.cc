// SPDX-License-Identifier: Apache-2.0
// The data directory (data_dir.h).
#include "devcluster/server/data_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace kcm::devcluster {
namespace {

constexpr size_t kMaxPrivateFile = 64 * 1024;

// Closes a descriptor at the end of a scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

Error CanNot(const std::string& what, const std::string& fix) {
  return MakeError(Code::kInvalid, what + ": " + std::strerror(errno) + ": " + fix);
}

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

bool ReadAll(int fd, std::string* out) {
  char part[4096];
  while (out->size() <= kMaxPrivateFile) {
    const ssize_t n = ::read(fd, part, sizeof part);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n == 0;
    out->append(part, static_cast<size_t>(n));
  }
  errno = EFBIG;
  return false;
}

bool SyncDirectory(const std::string& path) {
  const Descriptor dir(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return dir.get() >= 0 && ::fsync(dir.get()) == 0;
}

}  // namespace

Result<std::unique_ptr<DataDir>> DataDir::Open(const std::string& path) {
  const std::string named = "the data directory " + path;
  if (::mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST)
    return CanNot("cannot make " + named, "make its parent, or choose another directory");
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0)
    return CanNot("cannot use " + named, "choose another directory");
  if (!S_ISDIR(about.st_mode)) {
    return MakeError(Code::kInvalid, named + " is a file: choose a directory");
  }
  Descriptor lock(
      ::open((path + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (lock.get() < 0) {
    return CanNot("cannot write in " + named,
                  "make it writable for this user, or choose another directory");
  }
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    std::string owner;
    ReadAll(lock.get(), &owner);
    while (!owner.empty() && owner.back() == '\n') owner.pop_back();
    return MakeError(Code::kInvalid, named + " is in use by another server" +
                                         (owner.empty() ? "" : " (process " + owner + ")") +
                                         ": stop that one, or choose another directory");
  }
  if (::ftruncate(lock.get(), 0) != 0 || !WriteAll(lock.get(), std::to_string(::getpid()) + "\n")) {
    return CanNot("cannot write in " + named, "free space, or choose another directory");
  }
  return std::unique_ptr<DataDir>(new DataDir(path, lock.Release()));
}

DataDir::~DataDir() { ::close(lock_); }

Result<std::string> DataDir::ReadOrMake(const std::string& name,
                                        const std::function<std::string()>& make) const {
  const std::string file = File(name);
  {
    const Descriptor in(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    std::string text;
    if (in.get() >= 0) {
      if (!ReadAll(in.get(), &text)) return CanNot("cannot read " + file, "check the file");
      return text;
    }
    if (errno != ENOENT) return CanNot("cannot read " + file, "make it readable for this user");
  }
  const std::string text = make();
  if (text.empty()) return MakeError(Code::kInternal, "cannot make a key: OpenSSL failed");
  // Whole under its name or not there at all, whenever the process ends.
  const std::string fresh = file + ".new";
  const Descriptor out(
      ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (out.get() < 0 || !WriteAll(out.get(), text) || ::fsync(out.get()) != 0 ||
      ::rename(fresh.c_str(), file.c_str()) != 0 || !SyncDirectory(path_)) {
    Error e = CanNot("cannot write " + file, "free space, or choose another directory");
    ::unlink(fresh.c_str());
    return e;
  }
  return text;
}

}  // namespace kcm::devcluster
