// SPDX-License-Identifier: Apache-2.0
// Private directories: whose they are is told by locks, and nothing of others is removed.
#include "host/plugin/private_dir.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "host/plugin/image.h"
#include "host/plugin/probes.h"

namespace kcm::host::plugin {
namespace {

namespace fs = std::filesystem;

// With a temporary directory of its own.
class PrivateDir : public testing::Test {
 protected:
  PrivateDir() {
    if (const char* before = std::getenv("TMPDIR")) before_ = before;
    ::setenv("TMPDIR", tmp_.path().c_str(), 1);
  }
  ~PrivateDir() override {
    RemovePrivateDirs();
    if (before_.empty())
      ::unsetenv("TMPDIR");
    else
      ::setenv("TMPDIR", before_.c_str(), 1);
  }
  static std::string Make() {
    const Result<std::string> dir = MakePrivateDir();
    EXPECT_TRUE(dir.ok()) << dir.error().message;
    return dir.ok() ? *dir : "";
  }
  // A directory with a copy, as another process leaves it.
  std::string Other(const std::string& name, bool lock) {
    const std::string dir = tmp_ / name;
    fs::create_directory(dir);
    test::WriteAll(dir + "/1-pod.so", "copy", 0500);
    if (lock) test::WriteAll(dir + "/lock", "", 0600);
    return dir;
  }
  static void MakeOld(const std::string& path) {
    const struct timespec times[2] = {{1000000000, 0}, {1000000000, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW), 0);
  }
  harness::TemporaryDir tmp_;
  std::string before_;
};

TEST_F(PrivateDir, IsOursAloneAndGoesWithAllThatIsInIt) {
  const std::string dir = Make();
  struct stat st {};
  ASSERT_EQ(::stat(dir.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777u, 0700u);
  test::WriteAll(dir + "/1-pod.so", "copy", 0500);
  const std::string second = Make();
  EXPECT_TRUE(fs::exists(dir)) << "that of a running process was removed";
  RemovePrivateDir(dir);
  EXPECT_FALSE(fs::exists(dir));
  EXPECT_TRUE(fs::exists(second));
  const std::string third = Make();
  RemovePrivateDirs();
  EXPECT_FALSE(fs::exists(second));
  EXPECT_FALSE(fs::exists(third));
}

TEST_F(PrivateDir, OneThatNobodyHoldsGoesWhateverItsPidSays) {
  const std::string self = Other("kcm-host-" + std::to_string(::getpid()) + "-stale1", true);
  const std::string dead = Other("kcm-host-2147483646-stale2", true);
  (void)Make();
  EXPECT_FALSE(fs::exists(self)) << "a host that is always process 1 sees itself";
  EXPECT_FALSE(fs::exists(dead));
}

TEST_F(PrivateDir, OneThatIsHeldStaysWhateverItsPidSays) {
  const std::string dir = Other("kcm-host-2147483646-elsewhere", true);
  MakeOld(dir);
  const int fd = ::open((dir + "/lock").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(fd, LOCK_EX | LOCK_NB), 0);
  (void)Make();
  EXPECT_TRUE(fs::exists(dir + "/1-pod.so")) << "its owner is in another PID namespace";
  ::close(fd);
  (void)Make();
  EXPECT_FALSE(fs::exists(dir));
}

TEST_F(PrivateDir, OfAProcessStaysUntilItIsKilled) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const Result<std::string> dir = MakePrivateDir();
    const std::string path = dir.ok() ? *dir : "";
    if (::write(ends[1], path.data(), path.size()) < 0) ::_exit(1);
    while (true) ::pause();
  }
  char buffer[512];
  const ssize_t n = ::read(ends[0], buffer, sizeof(buffer));
  const std::string dir(buffer, static_cast<size_t>(n > 0 ? n : 0));
  (void)Make();
  EXPECT_TRUE(!dir.empty() && fs::exists(dir));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  (void)Make();
  EXPECT_FALSE(fs::exists(dir));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(PrivateDir, OneWithoutALockFileIsBeingMadeForAMinute) {
  const std::string young = Other("kcm-host-2147483646-young", false);
  const std::string old = Other("kcm-host-2147483646-old", false);
  MakeOld(old);
  (void)Make();
  EXPECT_TRUE(fs::exists(young));
  EXPECT_FALSE(fs::exists(old));
}

TEST_F(PrivateDir, LinksAndWhatBelongsToOthersStay) {
  const std::string target = Other("elsewhere", true);
  MakeOld(target);
  fs::create_directory_symlink(target, tmp_ / "kcm-host-1-link");
  const std::string stale = Other("kcm-host-1-stale", true);
  fs::create_directory_symlink(target, stale + "/inside");
  test::WriteAll(tmp_ / "kcm-host-1-file", "");
  std::string foreign;
  if (::geteuid() == 0) {
    foreign = Other("kcm-host-1-foreign", true);
    ASSERT_EQ(::chown(foreign.c_str(), 12345, 12345), 0);
  }
  (void)Make();
  EXPECT_FALSE(fs::exists(stale));
  EXPECT_TRUE(fs::exists(target + "/1-pod.so"));
  EXPECT_TRUE(fs::is_symlink(tmp_ / "kcm-host-1-link"));
  EXPECT_TRUE(fs::exists(tmp_ / "kcm-host-1-file"));
  EXPECT_TRUE(foreign.empty() || fs::exists(foreign + "/1-pod.so"));
}

TEST_F(PrivateDir, OneThatACleanerHasRemovedIsMadeAgainForTheNextBuild) {
  const std::string dir = Make();
  fs::remove_all(dir);
  const std::string file = tmp_ / "p.so";
  test::Install(test::Probe("good"), file);
  const Result<std::shared_ptr<Image>> image = Image::Load(file, {dir, ""});
  ASSERT_TRUE(image.ok()) << image.error().message;
  (void)Make();
  EXPECT_TRUE(fs::exists((*image)->private_path())) << "it is not locked again";
}

TEST_F(PrivateDir, OneWhoseLockFileACleanerHasRemovedIsStillHeld) {
  const std::string dir = Make();
  fs::remove(dir + "/lock");
  MakeOld(dir);
  (void)Make();
  EXPECT_TRUE(fs::exists(dir));
  EXPECT_TRUE(RestorePrivateDir(dir).ok());
  EXPECT_TRUE(fs::exists(dir + "/lock"));
}

TEST_F(PrivateDir, ThatCanNotBeMadeAgainNamesTheFix) {
  const std::string dir = Make();
  fs::remove_all(dir);
  test::WriteAll(dir, "somebody else's");
  const Status s = RestorePrivateDir(dir);
  EXPECT_EQ(s.ok() ? "" : s.error().message,
            dir + ": Not a directory: set TMPDIR to a writable directory that allows exec");
  RemovePrivateDir(dir);
  EXPECT_TRUE(fs::exists(dir)) << "what is there now is not ours";
}

}  // namespace
}  // namespace kcm::host::plugin
