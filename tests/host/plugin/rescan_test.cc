// SPDX-License-Identifier: Apache-2.0
// What changes of a plugin directory lead to.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "harness/temporary_dir.h"
#include "host/plugin/plugin_cluster.h"

namespace kcm::test {
namespace {

namespace fs = std::filesystem;

TEST(PluginRescan, NewFileIsLoadedAndARemovedOneUnloaded) {
  PluginCluster cluster({Probe("other")});
  EXPECT_FALSE(cluster.Rescan());
  Install(Probe("good"), cluster.InDir("probe.so"));
  EXPECT_FALSE(cluster.Rescan());
  cluster.Advance(1s);
  EXPECT_TRUE(cluster.Controller("probe", "probe-controller")["active"]);
  cluster.ExpectStampedBy("a");

  // A removal counts after a delay only: renames and ConfigMap mounts replace files that way.
  fs::rename(cluster.InDir("probe.so"), cluster.dir() + "/aside.so");
  EXPECT_TRUE(cluster.Rescan()) << "look again";
  EXPECT_FALSE(cluster.Plugin("probe").is_null());
  fs::rename(cluster.dir() + "/aside.so", cluster.InDir("probe.so"));
  EXPECT_FALSE(cluster.Rescan());
  EXPECT_EQ(cluster.Plugin("probe")["swaps"], 0);

  fs::remove(cluster.InDir("probe.so"));
  EXPECT_FALSE(cluster.Rescan(false));
  EXPECT_TRUE(cluster.Plugin("probe").is_null());
  EXPECT_FALSE(cluster.Plugin("other").is_null());
  EXPECT_EQ(cluster.Mapped("probe.so"), 0);
  cluster.ExpectStampedBy("a");  // "other" is the same code: build a
  EXPECT_EQ(cluster.StopHost(), 0);
}

TEST(PluginRescan, AHostWithoutPluginsSaysSo) {
  PluginCluster cluster({});
  EXPECT_TRUE(cluster.Logged("No plugin is loaded"));
  Install(Probe("good"), cluster.InDir("good.so"));
  EXPECT_FALSE(cluster.Rescan());
  cluster.Advance(1s);
  cluster.ExpectStampedBy("a");
}

TEST(PluginRescan, ALinkThatLeadsNowhereIsRefusedUntilItDoes) {
  PluginCluster cluster({Probe("other")});
  fs::create_symlink(cluster.dir() + "/later.so", cluster.InDir("probe.so"));
  EXPECT_FALSE(cluster.Rescan());
  EXPECT_TRUE(cluster.Logged("a symbolic link to " + cluster.dir() + "/later.so, which is not"));
  Install(Probe("good"), cluster.dir() + "/later.so");
  EXPECT_FALSE(cluster.Rescan());
  cluster.Advance(1s);
  cluster.ExpectStampedBy("a");
  fs::remove(cluster.dir() + "/later.so");
  EXPECT_FALSE(cluster.Rescan(false)) << "removed as if it were the file itself";
  EXPECT_TRUE(cluster.Plugin("probe").is_null());
}

TEST(PluginRescan, ADirectoryThatOthersMayWriteIsNotLookedAt) {
  PluginCluster cluster({Probe("good")});
  const std::string dir = fs::path(cluster.InDir("good.so")).parent_path();
  fs::permissions(dir, fs::perms::others_write, fs::perm_options::add);
  Install(Probe("good_b"), cluster.InDir("good.so"));
  EXPECT_FALSE(cluster.Rescan());
  EXPECT_EQ(cluster.Plugin("probe")["swaps"], 0);
  EXPECT_TRUE(cluster.Logged("writable by group or others: chmod go-w"));
  fs::permissions(dir, fs::perms::others_write, fs::perm_options::remove);
  EXPECT_FALSE(cluster.Rescan());
  EXPECT_EQ(cluster.Plugin("probe")["swaps"], 1);
  cluster.ExpectStampedBy("b");
}

TEST(PluginRescan, ADirectoryThatIsGoneIsSaidOnceAndRarelyAgain) {
  PluginCluster cluster({Probe("good")});
  const std::string dir = fs::path(cluster.InDir("good.so")).parent_path(), aside = dir + ".aside";
  const auto lines = [&](const std::string& text) {
    int n = 0;
    for (const std::string& line : cluster.log()) n += line.find(text) != std::string::npos;
    return n;
  };
  fs::rename(dir, aside);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(cluster.Rescan()) << "look again";
  EXPECT_EQ(lines("Plugin directory is not looked at"), 1);
  cluster.Advance(15min);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(cluster.Rescan());
  EXPECT_EQ(lines("Plugin directory is not looked at"), 2);
  EXPECT_EQ(lines("Plugin directory is looked at again"), 0);
  fs::rename(aside, dir);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(cluster.Rescan());
  EXPECT_EQ(lines("Plugin directory is looked at again"), 1);
  EXPECT_EQ(lines("Plugin directory is not looked at"), 2);
  fs::rename(dir, aside);
  EXPECT_TRUE(cluster.Rescan());
  EXPECT_EQ(lines("Plugin directory is not looked at"), 3) << "another trouble, said at once";
}

TEST(PluginRescan, ChangedFileIsSwappedATouchedOneIsNot) {
  PluginCluster cluster({Probe("good")});
  Install(Probe("good_b"), cluster.InDir("good.so"));
  EXPECT_FALSE(cluster.Rescan());
  EXPECT_EQ(cluster.Plugin("probe")["swaps"], 1);
  cluster.ExpectStampedBy("b");
  // Written anew with the same bytes: another inode and time, the same build.
  Install(Probe("good_b"), cluster.InDir("good.so"));
  EXPECT_FALSE(cluster.Rescan());
  EXPECT_EQ(cluster.Plugin("probe")["swaps"], 1);
  // Renamed: the same build under another name.
  fs::rename(cluster.InDir("good.so"), cluster.InDir("probe-2.so"));
  EXPECT_FALSE(cluster.Rescan());
  EXPECT_EQ(cluster.Plugin("probe")["swaps"], 1);
  EXPECT_EQ(cluster.Plugin("probe")["file"], cluster.InDir("probe-2.so"));
  // Another build under another name, the old file gone.
  fs::remove(cluster.InDir("probe-2.so"));
  Install(Probe("good_c"), cluster.InDir("probe-3.so"));
  EXPECT_FALSE(cluster.Rescan());
  cluster.ExpectStampedBy("c");
  EXPECT_TRUE(cluster.Problems().empty());
}

TEST(PluginRescan, ABuildThatWasTakenBackDoesNotComeAgainByATouch) {
  PluginCluster cluster({Probe("good")});
  const std::string file = cluster.InDir("good.so");
  Install(Probe("good_b"), file);
  EXPECT_FALSE(cluster.Rescan());
  cluster.ExpectStampedBy("b");
  ASSERT_EQ(MessageOf(cluster.Rollback("probe")), "");
  EXPECT_EQ(cluster.Plugin("probe")["fileBuildId"], "b");
  EXPECT_EQ(cluster.Plugin("probe")["fileTakenBack"], "rolled back on request");
  Install(Probe("good_b"), file);  // the same bytes once more
  EXPECT_FALSE(cluster.Rescan());
  const std::string bytes = ReadAll(Probe("good_b"));
  WriteAll(file, bytes.substr(0, bytes.size() / 2));  // and once more, slowly
  EXPECT_TRUE(cluster.Rescan());
  WriteAll(file, bytes);
  EXPECT_FALSE(cluster.Rescan());
  cluster.ExpectStampedBy("a");
  EXPECT_EQ(cluster.Plugin("probe")["swaps"], 2) << "there and back";
  EXPECT_TRUE(cluster.Logged("was written again with the bytes it had"));
  EXPECT_TRUE(cluster.Problems().empty());
  // By hand it may be tried again, and other bytes are other bytes.
  ASSERT_EQ(MessageOf(cluster.SwapFile(file)), "");
  EXPECT_FALSE(cluster.Plugin("probe").contains("fileBuildId"));
  cluster.ExpectStampedBy("b");
  ASSERT_EQ(MessageOf(cluster.Rollback("probe")), "");
  Install(Probe("good_c"), file);
  EXPECT_FALSE(cluster.Rescan());
  cluster.ExpectStampedBy("c");
  EXPECT_FALSE(cluster.Plugin("probe").contains("fileTakenBack"));
}

TEST(PluginRescan, ABuildThatFailedItsProbationDoesNotComeAgainByATouch) {
  PluginCluster cluster({Probe("good")});
  Install(Probe("fail_reconcile"), cluster.InDir("good.so"));
  EXPECT_FALSE(cluster.Rescan());
  for (int i = 0; i < 5; ++i) cluster.CreateProbe("victim-" + std::to_string(i));
  cluster.Until(
      "the old build is back", [&] { return cluster.Plugin("probe")["buildId"] == "a"; }, 10s,
      500ms);
  const Json swaps = cluster.Plugin("probe")["swaps"];
  Install(Probe("fail_reconcile"), cluster.InDir("good.so"));
  EXPECT_FALSE(cluster.Rescan());
  EXPECT_EQ(cluster.Plugin("probe")["swaps"], swaps);
  EXPECT_TRUE(cluster.Plugin("probe").contains("fileTakenBack"));
  cluster.ExpectStampedBy("a");
}

TEST(PluginRescan, ABuildGivenByHandStaysWhenTheOldFileIsTouched) {
  PluginCluster cluster({Probe("good")});
  ASSERT_EQ(MessageOf(cluster.SwapFile(Probe("good_b"))), "");
  Install(Probe("good"), cluster.InDir("good.so"));
  EXPECT_FALSE(cluster.Rescan());
  cluster.ExpectStampedBy("b");
  EXPECT_EQ(cluster.Plugin("probe")["swaps"], 1);
}

TEST(PluginRescan, ARefusedBuildIsTriedAgainWhenItsFileIsTouched) {
  PluginCluster cluster({Probe("good")});
  for (int i = 0; i < 2; ++i) {
    Install(Probe("fail_create"), cluster.InDir("good.so"));
    const size_t lines = cluster.log().size();
    EXPECT_FALSE(cluster.Rescan());
    int failed = 0, refused = 0;
    for (size_t n = lines; n < cluster.log().size(); ++n) {
      failed += cluster.log()[n].find("Swap failed") != std::string::npos;
      refused += cluster.log()[n].find("Plugin refused") != std::string::npos;
    }
    EXPECT_EQ(failed, 1);
    EXPECT_EQ(refused, 0) << "said twice";
    ASSERT_EQ(cluster.Problems().size(), 1u);
    EXPECT_EQ(cluster.Problems()[0].find(cluster.InDir("good.so") + ": "), 0u);
  }
}

// What keeps a name from a file may go: then nobody has to write that file again.
TEST(PluginRescan, ASecondFileTakesThePlaceOfTheFirstThatIsRemoved) {
  PluginCluster cluster({Probe("good")});
  Install(Probe("good_b"), cluster.InDir("second.so"));
  EXPECT_FALSE(cluster.Rescan());
  ASSERT_EQ(cluster.Problems().size(), 1u);
  fs::remove(cluster.InDir("good.so"));
  EXPECT_FALSE(cluster.Rescan());
  EXPECT_TRUE(cluster.Problems().empty());
  EXPECT_EQ(cluster.Plugin("probe")["file"], cluster.InDir("second.so"));
  cluster.ExpectStampedBy("b");
  EXPECT_FALSE(cluster.Logged("Plugin unloaded"));
}

TEST(PluginRescan, AControllersNameIsFreeWhenItsPluginIsGone) {
  PluginCluster cluster({Probe("good")});
  Install(Probe("same_controller"), cluster.InDir("second.so"));
  EXPECT_FALSE(cluster.Rescan());
  ASSERT_EQ(cluster.Problems().size(), 1u);
  fs::remove(cluster.InDir("good.so"));
  EXPECT_TRUE(cluster.Rescan()) << "look again: the removal is not confirmed yet";
  EXPECT_TRUE(cluster.Plugin("copy").is_null());
  EXPECT_TRUE(cluster.Rescan(false)) << "look again: the name has just become free";
  EXPECT_FALSE(cluster.Rescan());
  EXPECT_TRUE(cluster.Plugin("probe").is_null());
  EXPECT_FALSE(cluster.Plugin("copy").is_null());
  EXPECT_TRUE(cluster.Problems().empty());
  cluster.Advance(1s);
  cluster.ExpectStampedBy("a");
}

TEST(PluginRescan, ADirectoryThatIsNotUsableHoldsUpNoOther) {
  const harness::TemporaryDir other;
  PluginCluster cluster({Probe("good")}, {"--plugin-dir=" + other.path()});
  const std::string dir = fs::path(cluster.InDir("good.so")).parent_path();
  fs::permissions(dir, fs::perms::others_write, fs::perm_options::add);
  Install(Probe("other"), other / "other.so");
  EXPECT_FALSE(cluster.Rescan());
  EXPECT_FALSE(cluster.Plugin("other").is_null());
  EXPECT_FALSE(cluster.Plugin("probe").is_null()) << "taken for removed";
  EXPECT_NE(MessageOf(cluster.host().manager()->Directories()).find("chmod go-w"),
            std::string::npos);
  fs::permissions(dir, fs::perms::others_write, fs::perm_options::remove);
  EXPECT_FALSE(cluster.Rescan());
  EXPECT_EQ(MessageOf(cluster.host().manager()->Directories()), "");
}

TEST(PluginRescan, ADirectoryThatIsNotUsableKeepsItsPluginsHoweverItIsWritten) {
  for (const char* end : {"", "/", "//"}) {
    SCOPED_TRACE(end);
    const harness::TemporaryDir other;
    PluginCluster cluster({Probe("good")}, {"--plugin-dir=" + other.path() + end});
    Install(Probe("other"), other / "other.so");
    EXPECT_FALSE(cluster.Rescan());
    fs::permissions(other.path(), fs::perms::others_write, fs::perm_options::add);
    EXPECT_FALSE(cluster.Rescan(false));
    EXPECT_FALSE(cluster.Plugin("other").is_null()) << "taken for removed";
  }
}

TEST(PluginRescan, HalfCopiedFileWaits) {
  PluginCluster cluster({Probe("good")});
  const std::string bytes = ReadAll(Probe("good_b"));
  WriteAll(cluster.InDir("good.so"), bytes.substr(0, bytes.size() / 2));
  EXPECT_TRUE(cluster.Rescan()) << "look again";
  cluster.ExpectStampedBy("a");
  EXPECT_TRUE(cluster.Rescan());
  ASSERT_EQ(cluster.Problems().size(), 1u);
  EXPECT_NE(cluster.Problems()[0].find("still being copied, or truncated"), std::string::npos);
  WriteAll(cluster.InDir("good.so"), bytes);
  EXPECT_FALSE(cluster.Rescan());
  cluster.ExpectStampedBy("b");
  EXPECT_TRUE(cluster.Problems().empty());
}

TEST(PluginRescan, HalfCopiedFileOfTheStartWaits) {
  PluginCluster cluster({Probe("good")});
  EXPECT_EQ(cluster.StopHost(), 0);
  const std::string bytes = ReadAll(Probe("other"));
  WriteAll(cluster.InDir("other.so"), bytes.substr(0, bytes.size() / 2));
  cluster.StartHost();
  EXPECT_EQ(cluster.Problems().size(), 1u);
  EXPECT_TRUE(cluster.Rescan()) << "look again";
}

TEST(PluginRescan, FileThatStaysEmptyIsCalledEmpty) {
  PluginCluster cluster({Probe("good")});
  const std::string file = cluster.InDir("other.so");
  WriteAll(file, "");
  EXPECT_TRUE(cluster.Rescan()) << "its content may just be on the way";
  ASSERT_EQ(cluster.Problems().size(), 1u);
  EXPECT_NE(cluster.Problems()[0].find("still being copied"), std::string::npos);
  fs::last_write_time(file, fs::last_write_time(file) - std::chrono::seconds(10));
  EXPECT_FALSE(cluster.Rescan());
  ASSERT_EQ(cluster.Problems().size(), 1u);
  EXPECT_EQ(cluster.Problems()[0], file + ": empty file: copy the plugin again, or remove it");
  EXPECT_EQ(MessageOf(cluster.SwapFile(file)),
            file + ": empty file: copy the plugin again, or remove it");
  WriteAll(file, ReadAll(Probe("other")));
  EXPECT_FALSE(cluster.Rescan());
  EXPECT_TRUE(cluster.Problems().empty());
  EXPECT_FALSE(cluster.Plugin("other").is_null());
}

TEST(PluginRescan, BadFileOverAGoodOneIsRefusedOnce) {
  PluginCluster cluster({Probe("good")});
  for (const char* probe : {"fail_create", "newer_minor", "no_entry"}) {
    SCOPED_TRACE(probe);
    Install(Probe(probe), cluster.InDir("good.so"));
    EXPECT_FALSE(cluster.Rescan());
    cluster.ExpectStampedBy("a");
    EXPECT_EQ(cluster.Problems().size(), 1u);
    const size_t lines = cluster.log().size();
    EXPECT_FALSE(cluster.Rescan());
    for (size_t i = lines; i < cluster.log().size(); ++i)
      EXPECT_EQ(cluster.log()[i].find("refused"), std::string::npos)
          << "tried again though nothing changed: " << cluster.log()[i];
  }
  EXPECT_EQ(cluster.Plugin("probe")["swaps"], 0);
  Install(Probe("good_b"), cluster.InDir("good.so"));
  EXPECT_FALSE(cluster.Rescan());
  cluster.ExpectStampedBy("b");
  EXPECT_TRUE(cluster.Problems().empty());
}

TEST(PluginRescan, LastErrorGoesWithTheFileThatCausedIt) {
  PluginCluster cluster({Probe("good")});
  Install(Probe("fail_create"), cluster.InDir("good.so"));
  EXPECT_FALSE(cluster.Rescan());
  EXPECT_TRUE(cluster.Plugin("probe").contains("lastError"));
  Install(Probe("good"), cluster.InDir("good.so"));  // the build that runs
  EXPECT_FALSE(cluster.Rescan());
  EXPECT_FALSE(cluster.Plugin("probe").contains("lastError"));
  EXPECT_TRUE(cluster.Problems().empty());
  EXPECT_EQ(cluster.Plugin("probe")["swaps"], 0);
}

TEST(PluginRescan, NamesMustStayClear) {
  PluginCluster cluster({Probe("good")});
  const std::string good = cluster.InDir("good.so");
  // The plugin's name again, from a second file.
  Install(Probe("good_b"), cluster.InDir("second.so"));
  EXPECT_FALSE(cluster.Rescan());
  ASSERT_EQ(cluster.Problems().size(), 1u);
  EXPECT_EQ(cluster.Problems()[0], cluster.InDir("second.so") +
                                       ": plugin probe is already loaded from " + good +
                                       ": keep one of the two files");
  // A controller's name again, from another plugin.
  Install(Probe("same_controller"), cluster.InDir("second.so"));
  EXPECT_FALSE(cluster.Rescan());
  EXPECT_EQ(cluster.Problems()[0], cluster.InDir("second.so") +
                                       ": controller probe-controller is already declared by " +
                                       good + ": remove one of the two plugins");
  fs::remove(cluster.InDir("second.so"));
  // Another plugin in the file of a loaded one.
  Install(Probe("other"), good);
  EXPECT_FALSE(cluster.Rescan());
  ASSERT_EQ(cluster.Problems().size(), 1u);
  EXPECT_EQ(cluster.Problems()[0], good +
                                       ": holds plugin other now, but probe was loaded from it and "
                                       "keeps running: give each plugin a file of its own");
  cluster.ExpectStampedBy("a");
  // Files that others may change.
  Install(Probe("good_b"), good);
  ::chmod(good.c_str(), 0666);
  EXPECT_FALSE(cluster.Rescan());
  EXPECT_EQ(cluster.Problems()[0], good + ": writable by group or others: chmod go-w");
  ::chmod(good.c_str(), 0644);
  EXPECT_FALSE(cluster.Rescan());
  cluster.ExpectStampedBy("b");
}

}  // namespace
}  // namespace kcm::test
