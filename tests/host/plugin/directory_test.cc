// SPDX-License-Identifier: Apache-2.0
// Plugin directories: rights, which files count, change notices.
#include "host/plugin/directory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <condition_variable>
#include <filesystem>
#include <mutex>

#include "harness/temporary_dir.h"
#include "host/plugin/probes.h"

namespace kcm::host::plugin {
namespace {

namespace fs = std::filesystem;
using harness::TemporaryDir;
using test::WriteAll;

TEST(PluginDirectory, RightsAreChecked) {
  TemporaryDir dir;
  EXPECT_TRUE(CheckDirectory(dir.path()).ok());
  const Status absent = CheckDirectory(dir / "absent");
  EXPECT_EQ(absent.error().message, "--plugin-dir " + (dir / "absent") +
                                        ": No such file or directory: create it or name another");
  WriteAll(dir / "file", "x");
  EXPECT_EQ(CheckDirectory(dir / "file").error().message,
            "--plugin-dir " + (dir / "file") + ": not a directory");
  for (const unsigned mode : {0775u, 0757u}) {
    ::chmod(dir.path().c_str(), mode);
    EXPECT_EQ(
        CheckDirectory(dir.path()).error().message,
        "--plugin-dir " + dir.path() + ": writable by group or others: chmod go-w " + dir.path());
  }
  ::chmod(dir.path().c_str(), 0700);
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(dir.path().c_str(), 12345, 12345), 0);
    EXPECT_EQ(
        CheckDirectory(dir.path()).error().message,
        "--plugin-dir " + dir.path() + ": must belong to root or the user that runs the host");
  }
}

TEST(PluginDirectory, ScanTakesSharedObjectsByName) {
  TemporaryDir dir;
  WriteAll(dir / "b.so", "b");
  WriteAll(dir / "a.so", "a");
  WriteAll(dir / "c.so.part", "half a copy");
  WriteAll(dir / ".hidden.so", "editor");
  WriteAll(dir / "readme.txt", "text");
  fs::create_symlink(dir / "nowhere", dir / "dangling.so");
  fs::create_symlink(dir / "a.so", dir / "link.so");  // as a ConfigMap mount does
  const Result<std::vector<PluginFile>> found = ScanDirectory(dir.path());
  ASSERT_TRUE(found.ok());
  std::vector<std::string> names;
  for (const PluginFile& f : *found) names.push_back(fs::path(f.path).filename().string());
  EXPECT_EQ(names, (std::vector<std::string>{"a.so", "b.so", "dangling.so", "link.so"}));
  EXPECT_TRUE((*found)[2].dangling);
  EXPECT_FALSE((*found)[3].dangling);
  EXPECT_EQ((*found)[0].stamp, (*found)[3].stamp) << "a link is what it leads to";
  EXPECT_NE((*found)[0].stamp, (*found)[1].stamp);
  EXPECT_FALSE(ScanDirectory(dir / "absent").ok());
}

TEST(PluginDirectory, StampChangesWithContent) {
  TemporaryDir dir;
  WriteAll(dir / "a.so", "one");
  const FileStamp before = ScanDirectory(dir.path())->front().stamp;
  EXPECT_EQ(ScanDirectory(dir.path())->front().stamp, before);
  test::Install(dir / "a.so", dir / "a.so");  // same bytes, another inode
  EXPECT_NE(ScanDirectory(dir.path())->front().stamp, before);
}

// Real time by design: it follows the file system. Waits on the notice, not on time.
TEST(PluginDirectory, WatchCallsOnceMoreWhileAsked) {
  TemporaryDir dir;
  std::mutex mutex;
  std::condition_variable cv;
  int calls = 0;
  const auto watch = DirectoryWatch::Make({dir.path()}, [&] {
    const std::lock_guard lock(mutex);
    ++calls;
    cv.notify_all();
    return calls < 3;  // "look again"
  });
  test::Install(test::Probe("good"), dir / "a.so");
  std::unique_lock lock(mutex);
  cv.wait(lock, [&] { return calls >= 3; });
  EXPECT_EQ(calls, 3);
}

// What changed between the last look and the first watch, nobody else tells.
TEST(PluginDirectory, WatchLooksOnceAtItsBegin) {
  TemporaryDir dir;
  std::mutex mutex;
  std::condition_variable cv;
  int calls = 0;
  const auto watch = DirectoryWatch::Make({dir.path()}, [&] {
    const std::lock_guard lock(mutex);
    ++calls;
    cv.notify_all();
    return false;
  });
  std::unique_lock lock(mutex);
  EXPECT_TRUE(cv.wait_for(lock, std::chrono::seconds(30), [&] { return calls > 0; }));
}

// Half a watch could never be ended.
TEST(PluginDirectory, WatchThatFindsNoFreeFileIsAnErrorAtOnce) {
  TemporaryDir dir;
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int lowest = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::close(lowest);
  for (const int more : {0, 1, 2}) {  // inotify needs one, its end two
    struct rlimit few = before;
    few.rlim_cur = static_cast<rlim_t>(lowest + more);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    const auto watch = DirectoryWatch::Make({dir.path()}, [] { return false; });
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    ASSERT_FALSE(watch.ok());
    EXPECT_NE(watch.error().message.find("raise the limit of open files (ulimit -n"),
              std::string::npos)
        << watch.error().message;
  }
}

TEST(PluginDirectory, WatchFollowsADirectoryThatIsReplaced) {
  TemporaryDir dir;
  const std::string name = dir / "plugins", next = dir / "next";
  std::filesystem::create_directory(name);
  std::filesystem::create_directory(next);
  std::mutex mutex;
  std::condition_variable cv;
  int calls = 0;
  const auto watch = DirectoryWatch::Make({name}, [&] {
    const std::lock_guard lock(mutex);
    ++calls;
    cv.notify_all();
    return false;
  });
  std::unique_lock lock(mutex);
  cv.wait(lock, [&] { return calls >= 1; });  // the look at the begin
  lock.unlock();
  std::filesystem::rename(name, dir / "old");
  std::filesystem::rename(next, name);
  lock.lock();
  cv.wait(lock, [&] { return calls >= 2; });
  // And what is put into the new one is seen.
  const int before = calls;
  lock.unlock();
  test::Install(test::Probe("good"), name + "/a.so");
  lock.lock();
  cv.wait(lock, [&] { return calls > before; });
}

}  // namespace
}  // namespace kcm::host::plugin
