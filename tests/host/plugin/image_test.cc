// SPDX-License-Identifier: Apache-2.0
// Loading of plugin files: what is refused, with which words, and that nothing of a refused or
// unloaded file stays mapped.
#include "host/plugin/image.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "harness/temporary_dir.h"
#include "host/plugin/probes.h"

namespace kcm::host::plugin {
namespace {

using harness::TemporaryDir;
using test::Install;
using test::MappingsOf;
using test::Probe;
using test::ReadAll;
using test::WriteAll;

class Loading : public testing::Test {
 protected:
  Loading() { std::filesystem::create_directory(dir_ / "private"); }
  Result<std::shared_ptr<Image>> Load(const std::string& file) {
    return Image::Load(file, {dir_ / "private", trust_key_});
  }
  // Loads `bytes` as p.so; "" when it loads.
  std::string Refusal(const std::string& bytes) {
    WriteAll(file_, bytes);
    return RefusalOf(file_);
  }
  std::string RefusalOf(const std::string& file) {
    const Result<std::shared_ptr<Image>> image = Load(file);
    return image.ok() ? "" : image.error().message;
  }
  void ExpectNothingLeft() {
    EXPECT_EQ(MappingsOf(dir_.path()), 0) << "a refused file is still mapped";
    EXPECT_TRUE(std::filesystem::is_empty(dir_ / "private")) << "a private copy was left behind";
  }
  TemporaryDir dir_;
  std::string file_ = dir_ / "p.so";
  std::string trust_key_;
};

TEST_F(Loading, GoodBuildIsMappedFromAPrivateCopyAndGoneAfterwards) {
  Install(Probe("good"), file_);
  {
    const Result<std::shared_ptr<Image>> image = Load(file_);
    ASSERT_TRUE(image.ok()) << image.error().message;
    EXPECT_EQ((*image)->declaration().name, "probe");
    EXPECT_EQ((*image)->declaration().build_id, "a");
    ASSERT_EQ((*image)->declaration().controllers.size(), 1u);
    EXPECT_TRUE((*image)->Mapped());
    EXPECT_GT(MappingsOf((*image)->private_path()), 0);
    EXPECT_EQ(MappingsOf(file_), 0)
        << "the operator's file itself must not be mapped: it may be overwritten";
  }
  ExpectNothingLeft();
}

TEST_F(Loading, FileThatIsNotAdmittedIsNeverMapped) {
  Install(Probe("constructor"), file_);  // would end this process
  std::string asked;
  const Result<std::shared_ptr<Image>> image = Image::Load(
      file_, {dir_ / "private", "", [&](const std::string& file, const std::string& digest) {
                asked = file + " " + std::to_string(digest.size());
                return Status(MakeError(Code::kForbidden, "no"));
              }});
  EXPECT_EQ(image.ok() ? "" : image.error().message, "no");
  EXPECT_EQ(asked, file_ + " 64");
  ExpectNothingLeft();
}

TEST_F(Loading, OverwrittenFileDoesNotChangeALoadedBuild) {
  Install(Probe("good"), file_);
  const Result<std::shared_ptr<Image>> first = Load(file_);
  ASSERT_TRUE(first.ok()) << first.error().message;
  WriteAll(file_, ReadAll(Probe("good_b")));  // the same inode, other bytes
  const Result<std::shared_ptr<Image>> second = Load(file_);
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ((*first)->declaration().build_id, "a");
  EXPECT_EQ((*second)->declaration().build_id, "b");
  EXPECT_NE((*first)->private_path(), (*second)->private_path());
  EXPECT_NE((*first)->declaration().controllers[0].api, (*second)->declaration().controllers[0].api)
      << "the loader took one for both";
}

TEST_F(Loading, ThousandLoadsLeaveNothing) {
  Install(Probe("good"), file_);
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(Load(file_).ok());
  ExpectNothingLeft();
}

TEST_F(Loading, NotElfIsRefused) {
  EXPECT_EQ(Refusal("#!/bin/sh\necho hello\n"),
            file_ + ": not an ELF file: a plugin is a shared object built for this machine");
  ExpectNothingLeft();
}

TEST_F(Loading, OtherMachineIsRefused) {
  std::string bytes = ReadAll(Probe("good"));
  const uint16_t machine = EM_S390;
  std::memcpy(bytes.data() + offsetof(Elf64_Ehdr, e_machine), &machine, sizeof(machine));
#if defined(__x86_64__)
  const std::string own = "x86-64";
#else
  const std::string own = "aarch64";
#endif
  EXPECT_EQ(Refusal(bytes), file_ + ": built for another machine (ELF machine 22), this host is " +
                                own + ": rebuild the plugin for it");
  ExpectNothingLeft();
}

TEST_F(Loading, HalfCopiedFileIsNotYetComplete) {
  const std::string bytes = ReadAll(Probe("good"));
  for (const size_t size :
       {size_t{0}, size_t{3}, size_t{40}, size_t{64}, bytes.size() / 2, bytes.size() - 1}) {
    SCOPED_TRACE(size);
    WriteAll(file_, bytes.substr(0, size));
    const Result<std::shared_ptr<Image>> image = Load(file_);
    ASSERT_FALSE(image.ok());
    EXPECT_EQ(image.code(), Code::kUnavailable);
    EXPECT_EQ(image.error().message, file_ +
                                         ": shorter than its ELF tables say: still being copied, "
                                         "or truncated; copy it again (write "
                                         "to a temporary name, then rename)");
  }
  ExpectNothingLeft();
}

TEST_F(Loading, RefusedBuildsSayWhatAndTheFix) {
  const std::string host = std::to_string(KCM_ABI_MAJOR) + "." + std::to_string(KCM_ABI_MINOR);
  const struct {
    const char* probe;
    std::string want;
  } rows[] = {
      {"no_entry",
       ": does not export kcm_plugin_entry: not a plugin (see docs/writing-a-plugin.md)"},
      {"newer_minor", ": built for ABI 1." + std::to_string(KCM_ABI_MINOR + 1) +
                          ", this host speaks " + host +
                          ": rebuild the plugin or use a newer host"},
      {"other_major", ": built for ABI 2." + std::to_string(KCM_ABI_MINOR) + ", this host speaks " +
                          host + ": rebuild the plugin or use a newer host"},
      {"short_entry",
       ": plugin entry is 80 bytes long, at least 96 are needed: rebuild the plugin with the kcm "
       "headers of this host"},
      {"short_table",
       ": controller probe-controller: function table is 80 bytes long, at least 88 are needed: "
       "rebuild the plugin with "
       "the kcm headers of this host"},
      {"no_reconcile",
       ": controller probe-controller: function table lacks one of create, start, on_event, "
       "reconcile, stop, destroy"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.probe);
    EXPECT_EQ(RefusalOf(Probe(row.probe)), Probe(row.probe) + row.want);
    EXPECT_EQ(MappingsOf(std::string("/") + "probes/" + row.probe), 0);
    ExpectNothingLeft();
  }
}

TEST_F(Loading, LoaderErrorsNameTheLibraryOrSymbol) {
  const struct {
    const char* probe;
    const char* want;
  } rows[] = {
      {"missing_library",
       "libkcm_absent.so: cannot open shared object file: No such file or directory"},
      {"undefined", "undefined symbol: kcm_function_that_nobody_has"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.probe);
    const std::string refusal = RefusalOf(Probe(row.probe));
    EXPECT_EQ(refusal.find(Probe(row.probe) + ": can not be loaded: "), 0u) << refusal;
    EXPECT_NE(refusal.find(row.want), std::string::npos) << refusal;
    EXPECT_NE(refusal.find(": link it against its libraries statically or install them"),
              std::string::npos)
        << refusal;
    EXPECT_EQ(refusal.find(dir_ / "private"), std::string::npos)
        << "names the private copy, which the operator does not know: " << refusal;
    ExpectNothingLeft();
  }
}

TEST_F(Loading, FilesThatOthersCanChangeAreRefused) {
  const std::string bytes = ReadAll(Probe("good"));
  for (const unsigned mode : {0664u, 0646u}) {
    WriteAll(file_, bytes, mode);
    EXPECT_EQ(RefusalOf(file_), file_ + ": writable by group or others: chmod go-w");
  }
  std::filesystem::create_directory(dir_ / "d.so");
  EXPECT_EQ(RefusalOf(dir_ / "d.so"), (dir_ / "d.so") + ": not a regular file: remove it");
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{AF_UNIX, {}};
  const std::string name = dir_ / "s.so";
  ASSERT_LT(name.size(), sizeof(address.sun_path));
  name.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ::close(socket);
  EXPECT_EQ(RefusalOf(dir_ / "s.so"), (dir_ / "s.so") + ": not a regular file: remove it");
  std::filesystem::create_symlink("../nowhere.so", dir_ / "l.so");
  EXPECT_EQ(RefusalOf(dir_ / "l.so"),
            (dir_ / "l.so") +
                ": a symbolic link to ../nowhere.so, which is not there: correct it or remove it");
  EXPECT_EQ(RefusalOf(dir_ / "absent.so"), (dir_ / "absent.so") + ": No such file or directory");
  if (::geteuid() == 0) {
    WriteAll(file_, bytes, 0644);
    ASSERT_EQ(::chown(file_.c_str(), 12345, 12345), 0);
    // Root trusts root and itself only.
    EXPECT_EQ(RefusalOf(file_), file_ +
                                    ": owned by user 12345: plugins must belong to root or the "
                                    "user that runs the host (chown)");
  }
  ExpectNothingLeft();
}

}  // namespace
}  // namespace kcm::host::plugin
