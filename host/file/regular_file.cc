// SPDX-License-Identifier: Apache-2.0
// Looks at what a name stands for before and after opening it.
#include "host/file/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "host/file/open_limit.h"

namespace kcm::host::file {
namespace {

// Closed at the end.
class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&&) = delete;
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

// Go's texts of errno begin in lower case.
std::string Reason(int error) {
  std::string text = ErrnoText(error);
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z')
    text[0] = static_cast<char>(text[0] | 0x20);
  return text;
}

Error OpenError(const std::string& path, int error) {
  const Code code = error == ENOENT || error == ENOTDIR ? Code::kNotFound
                    : error == EACCES || error == EPERM ? Code::kForbidden
                                                        : Code::kInvalid;
  return MakeError(code, "open " + path + ": " + Reason(error));
}

const char* KindOf(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

Status CheckKind(const std::string& path, mode_t mode) {
  if (S_ISREG(mode)) return Ok();
  return MakeError(Code::kInvalid,
                   "open " + path + ": is " + KindOf(mode) + ": name a regular file");
}

Result<Fd> Open(const std::string& path) {
  struct stat st {};
  // Before opening: to open a device can do something already.
  if (::stat(path.c_str(), &st) != 0) return OpenError(path, errno);
  if (Status kind = CheckKind(path, st.st_mode); !kind.ok()) return kind.error();
  // And after: the name may stand for something else by now, hence O_NONBLOCK.
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (fd.get() < 0) return OpenError(path, errno);
  if (::fstat(fd.get(), &st) != 0) return OpenError(path, errno);
  if (Status kind = CheckKind(path, st.st_mode); !kind.ok()) return kind.error();
  return fd;
}

}  // namespace

Result<std::string> ReadRegularFile(const std::string& path, size_t max_bytes) {
  const Result<Fd> fd = Open(path);
  if (!fd.ok()) return fd.error();
  std::string text;
  std::string block(64 * 1024, '\0');
  while (true) {
    const ssize_t n = ::read(fd->get(), block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return MakeError(Code::kInvalid, "read " + path + ": " + Reason(errno));
    if (n == 0) return text;
    text.append(block.data(), static_cast<size_t>(n));
    if (text.size() > max_bytes)
      return MakeError(Code::kInvalid, path + ": larger than " + std::to_string(max_bytes) +
                                           " bytes: name another file");
  }
}

Status CheckRegularFile(const std::string& path) {
  const Result<Fd> fd = Open(path);
  return fd.ok() ? Ok() : Status(fd.error());
}

}  // namespace kcm::host::file
