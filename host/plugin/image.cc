// SPDX-License-Identifier: Apache-2.0
// Loading and unloading of plugin builds over Boost.DLL.
#include "host/plugin/image.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/dll/shared_library.hpp>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "host/file/open_limit.h"
#include "host/plugin/elf_file.h"
#include "host/plugin/entry.h"
#include "host/plugin/private_dir.h"
#include "host/plugin/signature.h"

namespace kcm::host::plugin {
namespace {

namespace fs = std::filesystem;
constexpr uint64_t kMaxBytes = 1u << 30;
constexpr time_t kCopyBegins = 5;  // seconds after which a copy has written its first bytes

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  Fd(const Fd&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

std::string Reason() { return file::ErrnoText(errno); }

Error CanNotOpen(const std::string& file) {
  const int why = errno;
  std::error_code ec;
  const std::string target = std::filesystem::read_symlink(file, ec).string();
  if (why == ENOENT && !ec)
    return MakeError(Code::kNotFound, file + ": a symbolic link to " + target +
                                          ", which is not there: correct it or remove it");
  // A socket can not be opened.
  if (why == ENXIO) return MakeError(Code::kInvalid, file + ": not a regular file: remove it");
  return MakeError(Code::kNotFound, file + ": " + file::ErrnoText(why));
}

// Rights: only the owner of this process or root may be able to change what will run in it.
Status CheckRights(const struct stat& st, const std::string& file) {
  if (!S_ISREG(st.st_mode))
    return MakeError(Code::kInvalid, file + ": not a regular file: remove it");
  if (st.st_uid != 0 && st.st_uid != ::geteuid())
    return MakeError(Code::kForbidden,
                     file + ": owned by user " + std::to_string(st.st_uid) +
                         ": plugins must belong to root or the user that runs the host (chown)");
  if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return MakeError(Code::kForbidden, file + ": writable by group or others: chmod go-w");
  if (static_cast<uint64_t>(st.st_size) > kMaxBytes)
    return MakeError(Code::kInvalid, file + ": larger than 1 GiB: not a plugin");
  return Ok();
}

Result<std::string> ReadFile(int fd, const std::string& file, uint64_t size) {
  std::string bytes(size, '\0');
  uint64_t done = 0;
  while (done < size) {
    const ssize_t n = ::read(fd, bytes.data() + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return MakeError(Code::kInvalid, file + ": " + Reason());
    if (n == 0) break;
    done += static_cast<uint64_t>(n);
  }
  bytes.resize(done);
  return bytes;
}

// The checked bytes, and nothing else, become the private copy: what is mapped is what was checked.
Status WriteCopy(const std::string& path, const std::string& bytes) {
  const Fd out(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0500));
  if (out.get() < 0) return MakeError(Code::kInternal, path + ": " + Reason());
  uint64_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::write(out.get(), bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      return MakeError(Code::kInternal,
                       path + ": " + Reason() + ": free space for plugin copies or set TMPDIR");
    done += static_cast<uint64_t>(n);
  }
  return Ok();
}

std::string UniquePath(const std::string& dir, const std::string& file) {
  static std::atomic<uint64_t> next{1};  // names only: never reused in this process
  return dir + "/" + std::to_string(next.fetch_add(1, std::memory_order_relaxed)) + "-" +
         fs::path(file).filename().string();
}

Status CheckSignature(const std::string& bytes, const std::string& file,
                      const std::string& trust_key) {
  if (trust_key.empty()) return Ok();
  std::ifstream in(file + ".sig", std::ios::binary);
  if (!in)
    return MakeError(Code::kForbidden,
                     file + ": no signature " + file + ".sig: --plugin-trust-key asks for one");
  std::string signature(4096, '\0');
  in.read(signature.data(), static_cast<std::streamsize>(signature.size()));
  signature.resize(static_cast<size_t>(in.gcount()));
  return VerifySignature(bytes, signature, trust_key, file);
}

}  // namespace

struct Image::Library {
  boost::dll::shared_library so;
};

Result<std::shared_ptr<Image>> Image::Load(const std::string& file, const LoadOptions& options) {
  const Fd in(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (in.get() < 0) return CanNotOpen(file);
  struct stat st {};
  if (::fstat(in.get(), &st) != 0) return MakeError(Code::kInvalid, file + ": " + Reason());
  if (Status s = CheckRights(st, file); !s.ok()) return s.error();
  Result<std::string> bytes = ReadFile(in.get(), file, static_cast<uint64_t>(st.st_size));
  if (!bytes.ok()) return bytes.error();
  if (bytes->empty() && ::time(nullptr) - st.st_mtim.tv_sec >= kCopyBegins)
    return MakeError(Code::kInvalid, file + ": empty file: copy the plugin again, or remove it");
  if (Status s = CheckElf(*bytes, file); !s.ok()) return s.error();
  if (Status s = CheckSignature(*bytes, file, options.trust_key); !s.ok()) return s.error();

  std::shared_ptr<Image> image(new Image());
  image->file_ = file;
  image->digest_ = Sha256Hex(*bytes);
  if (options.admit)
    if (Status s = options.admit(file, image->digest_); !s.ok()) return s.error();
  if (Status s = RestorePrivateDir(options.private_dir); !s.ok())
    return MakeError(s.code(), file + ": no place for its copy: " + s.error().message);
  image->private_path_ = UniquePath(options.private_dir, file);
  if (Status s = WriteCopy(image->private_path_, *bytes); !s.ok()) return s.error();
  image->library_ = std::make_unique<Library>();
  boost::system::error_code error;
  // rtld_now: a missing symbol shows here, not in the middle of a reconcile.
  {
    const Entry entry(file, image->build(), "", Role::kLoad, "load");
    image->library_->so.load(image->private_path_, error,
                             boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local);
  }
  if (error) {
    const char* why = ::dlerror();
    std::string text = why != nullptr ? why : error.message();
    // The loader names the private copy, which nobody but us knows.
    if (text.starts_with(image->private_path_ + ": "))
      text.erase(0, image->private_path_.size() + 2);
    return MakeError(Code::kInvalid,
                     file + ": can not be loaded: " + text +
                         ": link it against its libraries statically or install them");
  }
  if (!image->library_->so.has(KCM_PLUGIN_SYMBOL))
    return MakeError(Code::kInvalid, file + ": no symbol " KCM_PLUGIN_SYMBOL ": not a plugin");
  const kcm_plugin* entry = &image->library_->so.get<const kcm_plugin>(KCM_PLUGIN_SYMBOL);
  Result<PluginDeclaration> declaration = ReadDeclaration(entry, file);
  if (!declaration.ok()) return declaration.error();
  image->declaration_ = *std::move(declaration);
  return image;
}

bool Image::Unload() {
  if (library_) {
    const Entry entry(file_, build(), "", Role::kLoad, "unload");
    library_->so.unload();
    library_.reset();
  }
  return !Mapped();
}

bool Image::Mapped() const {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line))
    if (line.find(private_path_) != std::string::npos) return true;
  return false;
}

Image::~Image() {
  if (library_ && handles_->load() > 0) {
    // What its data refers to stays referred to: nothing of it runs any more, and nothing is lost.
    static std::mutex mutex;
    static auto* const left = new std::vector<std::unique_ptr<Library>>();
    const std::lock_guard lock(mutex);
    left->push_back(std::move(library_));
  }
  (void)Unload();
  std::error_code ignored;
  fs::remove(private_path_, ignored);
}

}  // namespace kcm::host::plugin
